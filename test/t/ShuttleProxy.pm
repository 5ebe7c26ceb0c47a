# A proxy between a query node and a storage node, for tests of bad days: it
# makes any one statement fail, delays, freezes and drops.
#
#   my $proxy = ShuttleProxy->new($node);      # listens on 127.0.0.1
#   $proxy->port;
#   $proxy->inject($n);       # the n-th statement from now on fails; 0: none
#   my ($n, $text) = $proxy->report;   # statements since then; what was failed
#   $proxy->delay_ms($rtt); $proxy->freeze; $proxy->thaw; $proxy->drop;
#   $proxy->reset;            # as drop, but with a RST
#   $proxy->rate($bytes);     # most bytes a second, each way of each connection; 0: all
#   $proxy->connections;      # opened since the last call, cancels left out
#   $proxy->hold('^ROLLBACK'); # freezes in front of a statement like that
#   $proxy->is_held;          # false: none came in 10 s
#   $proxy->mute(1);          # answers are held back, 0: handed on
#   $proxy->answered;         # bytes handed to clients since the last call
#   $proxy->trips;            # times since then that the client spoke first, or
#                             # behind an answer: waits for the node
#   $proxy->trips($pid);      # those of one session, by its process; others may come
#                             # from the worker, at any time
#   $proxy->record;           # from now on notes when each connection is used:
#   my @used = $proxy->recorded; # until now: [sent|answered, connection, time]
#   $proxy->refuse(1);        # new connections end at once
#   $proxy->cut($n);          # what clients say next is lost, n times, and their
#                             # connection reset, as by a host that was restarted
#   $proxy->stall($ms, '^SAVEPOINT'); # a statement like that is handed on so much
#                             # later, and fails where a cancel comes before it is
#   $proxy->cancels($n);      # hands on so many cancels, and holds others back; -1: all
#
# A text with the words "stop counting" ends the counting of statements.  A
# statement is what one Parse prepares, or a Bind of a statement that was
# prepared before.  A failed Parse gets a text that the node refuses, a failed
# Bind the name of no statement, and COMMIT becomes ROLLBACK: a COMMIT that
# fails ends its transaction too.
package ShuttleProxy;

use strict;
use warnings;

use parent 'ShuttleRelay';

use IO::Select;
use Socket qw(IPPROTO_TCP TCP_NODELAY SOL_SOCKET SO_LINGER);
use Time::HiRes qw(time usleep);

sub inject { my ($self, $n) = @_; return $self->ask("inject $n"); }
sub delay_ms { my ($self, $ms) = @_; return $self->ask("delay $ms"); }
sub freeze { return $_[0]->ask('freeze 1'); }
sub thaw { return $_[0]->ask('freeze 0'); }
sub reset { return $_[0]->ask('reset'); }
sub rate { my ($self, $bytes) = @_; return $self->ask("rate $bytes"); }
sub drop { return $_[0]->ask('drop'); }
sub cut { my ($self, $n) = @_; return $self->ask("cut $n"); }
sub hold { my ($self, $pattern) = @_; return $self->ask("hold $pattern"); }
sub stall { my ($self, $ms, $pattern) = @_; return $self->ask("stall $ms $pattern"); }
sub cancels { my ($self, $n) = @_; return $self->ask("cancels $n"); }
sub mute { my ($self, $yes) = @_; return $self->ask("mute $yes"); }

sub is_held
{
	my $self = shift;
	my $deadline = time() + 10;
	until ($self->ask('held'))
	{
		return 0 if time() > $deadline;
		usleep(2000);
	}
	return 1;
}

sub refuse { my ($self, $yes) = @_; return $self->ask("refuse $yes"); }
sub answered { return $_[0]->ask('answered'); }
sub connections { return $_[0]->ask('connections'); }
sub trips { my ($self, $pid) = @_; return $self->ask(defined $pid ? "trips_of $pid" : 'trips'); }

sub record { return $_[0]->ask('record'); }
sub recorded { return map { [ split /,/ ] } split / /, $_[0]->ask('recorded'); }

sub report
{
	my $self = shift;
	return split / /, $self->ask('report'), 2;
}

# ---- the child

my %state;
my @links;

sub serve
{
	my ($listener, $control, $host, $port) = @_;
	%state = (statements => 0, inject => 0, failed => '', delay => 0,
		frozen => 0, refuse => 0, cut => 0, connections => 0, hold => undef, held => 0,
		mute => 0, answered => 0, rate => 0, trips => 0, stall => undef, cancels => -1,
		links => 0, used => undef);
	$control->autoflush(1);
	for (;;)
	{
		my $select = IO::Select->new($listener, $control);
		my $timeout;
		for my $link (@links)
		{
			last if $state{frozen};
			for my $flow (@{ $link->{flows} })
			{
				$select->add($flow->{from}) unless $flow->{ended} || is_full($flow);
				next unless @{ $flow->{pieces} };
				next if is_held_back($flow);
				my $rest = due($flow) - time();
				$rest = 0.0005 if $rest < 0.0005;
				$timeout = $rest if !defined $timeout || $rest < $timeout;
			}
		}
		for my $handle ($select->can_read($timeout))
		{
			if ($handle == $listener) { accept_link($listener, $host, $port); }
			elsif ($handle == $control) { obey($control) or return; }
			else { read_piece($handle); }
		}
		write_pieces() unless $state{frozen};
		@links = grep { !$_->{closed} } @links;
	}
	return;
}

sub obey
{
	my $control = shift;
	my $line = <$control>;
	return 0 unless defined $line;
	chomp $line;
	my ($command, $argument) = split ' ', $line, 2;
	my $answer = 'ok';
	if ($command eq 'inject')
	{
		@state{qw(inject statements failed)} = ($argument, 0, '');
	}
	elsif ($command eq 'report') { $answer = "$state{statements} $state{failed}" =~ s/\s+/ /gr; }
	elsif ($command eq 'delay') { $state{delay} = $argument / 2000; }
	elsif ($command eq 'freeze') { $state{frozen} = $argument; }
	elsif ($command eq 'refuse') { $state{refuse} = $argument; }
	elsif ($command eq 'hold') { @state{qw(hold held)} = (qr/$argument/, 0); }
	elsif ($command eq 'stall') { $state{stall} = [ split ' ', $argument, 2 ]; }
	elsif ($command eq 'cancels')
	{
		$state{cancels} = $argument;
		delete $_->{flows}[0]{held_back} for @links;
	}
	elsif ($command eq 'held') { $answer = $state{held}; }
	elsif ($command eq 'mute') { $state{mute} = $argument; }
	elsif ($command eq 'cut') { $state{cut} = $argument; }
	elsif ($command eq 'rate') { $state{rate} = $argument; }
	elsif ($command eq 'record') { $state{used} = []; }
	elsif ($command eq 'recorded')
	{
		$answer = join ' ', @{ $state{used} };
		$state{used} = undef;
	}
	elsif ($command eq 'reset') { reset_link($_) for @links; }
	elsif ($command eq 'drop') { close_link($_) for @links; }
	elsif ($command eq 'connections' || $command eq 'answered' || $command eq 'trips')
	{
		$answer = $state{$command};
		$state{$command} = 0;
	}
	elsif ($command eq 'trips_of')
	{
		$answer = 0;
		for my $link (grep { ($_->{startup} // '') =~ /\0application_name\0[^\0]*:$argument\b/ } @links)
		{
			$answer += $link->{trips};
			$link->{trips} = 0;
		}
	}
	print $control "$answer\n";
	return 1;
}

sub accept_link
{
	my ($listener, $host, $port) = @_;
	my $client = $listener->accept or return;
	if ($state{refuse})
	{
		close $client;
		return;
	}
	my $server = ShuttleRelay::connect_to($host, $port);
	if (!$server)
	{
		close $client;
		return;
	}
	setsockopt($client, IPPROTO_TCP, TCP_NODELAY, 1) or die "setsockopt: $!";
	my $link = { client => $client, server => $server, trips => 0, number => ++$state{links} };
	$link->{flows} = [
		{ link => $link, from => $client, to => $server, pieces => [], up => 1, unread => '' },
		{ link => $link, from => $server, to => $client, pieces => [] }
	];
	push @links, $link;
	return;
}

sub read_piece
{
	my $handle = shift;
	for my $link (@links)
	{
		for my $flow (@{ $link->{flows} })
		{
			next unless $flow->{from} == $handle && !$link->{closed};
			my $size = sysread($handle, my $piece, 65536);
			if (!$size)
			{
				$flow->{ended} = 1;
				$piece = undef;
			}
			elsif ($flow->{up} && $flow->{started} && $state{cut} > 0)
			{
				$state{cut}--;
				reset_link($link);
				next;
			}
			elsif ($flow->{up})
			{
				note_use('sent', $link, time());
				$_->{trips} += $link->{speaks} ? 0 : 1 for \%state, $link;
				$link->{speaks} = 1;
				$piece = change_messages($flow, $piece);
			}
			my $stalled = delete $flow->{stalled};
			push @{ $flow->{pieces} },
			  [ time() + $state{delay} + ($stalled ? $stalled->{seconds} : 0), $piece, $stalled ];
		}
	}
	return;
}

sub note_use
{
	my ($what, $link, $when) = @_;
	push @{ $state{used} }, sprintf('%s,%d,%.6f', $what, $link->{number}, $when) if $state{used};
	return;
}

sub write_pieces
{
	my $now = time();
	for my $link (@links)
	{
		for my $flow (@{ $link->{flows} })
		{
			next if is_held_back($flow);
			while (!$link->{closed} && @{ $flow->{pieces} } && due($flow) <= $now)
			{
				my $piece = next_piece($flow, $now);
				note_use('answered', $link, $now) unless $flow->{up};
				if (defined $piece && !$flow->{up}) { $state{answered} += length $piece; }
				if (!defined $piece || !write_all($flow->{to}, $piece)) { close_link($link); }
				$link->{speaks} = 0 unless $flow->{up};
			}
		}
	}
	return;
}

sub is_held_back
{
	my $flow = shift;
	return $state{mute} && !$flow->{up} || $flow->{held_back};
}

# A slow line takes no more than a small buffer.
sub is_full
{
	my $flow = shift;
	return 0 unless $state{rate};
	my $size = 0;
	$size += length($_->[1] // '') for @{ $flow->{pieces} };
	return $size > 65536;
}

# When the next bytes of a flow may be handed on.
sub due
{
	my $flow = shift;
	my $due = $flow->{pieces}[0][0];
	return $state{rate} && ($flow->{free} // 0) > $due ? $flow->{free} : $due;
}

# Takes what may be handed on at once: at a rate, that of 50 ms.
sub next_piece
{
	my ($flow, $now) = @_;
	my $piece = $flow->{pieces}[0][1];
	my $size = int($state{rate} / 20) || 1;
	if ($state{rate} && defined $piece)
	{
		$flow->{free} = $now + (length $piece < $size ? length $piece : $size) / $state{rate};
		return substr($flow->{pieces}[0][1], 0, $size, '') if length $piece > $size;
	}
	shift @{ $flow->{pieces} };
	return $piece;
}

sub write_all
{
	my ($handle, $piece) = @_;
	while (length $piece)
	{
		my $size = syswrite($handle, $piece);
		return 0 unless defined $size;
		substr($piece, 0, $size) = '';
	}
	return 1;
}

sub close_link
{
	my $link = shift;
	close $link->{client};
	close $link->{server};
	$link->{closed} = 1;
	return;
}

# Ends a link as a host does that knows nothing of it.
sub reset_link
{
	my $link = shift;
	setsockopt($link->{client}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)) or die "setsockopt: $!";
	return close_link($link);
}

# Takes whole messages of a client apart, and gives back what to send.
sub change_messages
{
	my ($flow, $piece) = @_;
	my $out = '';
	$flow->{unread} .= $piece;
	for (;;)
	{
		my $header = $flow->{started} ? 5 : 4;
		last if length($flow->{unread}) < $header;
		my $size = unpack('N', substr($flow->{unread}, $header - 4, 4)) + $header - 4;
		last if length($flow->{unread}) < $size;
		my $message = substr($flow->{unread}, 0, $size, '');
		if (!$flow->{started})
		{
			my $code = unpack('N', substr($message, 4, 4));

			# 3.x is the protocol; others ask for encryption, or cancel
			$flow->{started} = ($code >> 16) == 3;
			$state{connections}++ if $flow->{started};
			$flow->{link}{startup} = $message if $flow->{started};
			take_cancel($flow) if $code == 80877102;
		}
		else { $message = change_message($flow, $message); }
		$out .= $message;
	}
	return $out;
}

sub take_cancel
{
	my $flow = shift;
	$flow->{held_back} = 1 if $state{cancels} == 0;
	$state{cancels}-- if $state{cancels} > 0;
	for my $piece (map { @{ $_->{pieces} } } map { @{ $_->{flows} } } @links)
	{
		next unless $piece->[2];
		$piece->[1] =~ s/\Q$piece->[2]{statement}\E/$piece->[2]{refused}/;
	}
	return;
}

sub change_message
{
	my ($flow, $message) = @_;
	my $type = substr($message, 0, 1);
	if ($type eq 'P')
	{
		my ($name, $query) = unpack('Z*Z*', substr($message, 5));
		if ($state{hold} && $query =~ $state{hold})
		{
			@state{qw(hold held frozen)} = (undef, 1, 1);
		}
		if ($state{stall} && $query =~ $state{stall}[1])
		{
			$flow->{stalled} = { seconds => $state{stall}[0] / 1000, statement => $message,
				refused => with_size('P', pack('Z*Z*n', $name, 'SELECT refused', 0)) };
			$state{stall} = undef;
		}
		$state{inject} = -1 if $query =~ /stop counting/;
		return $message unless counts();
		$state{failed} = $query;
		$query = $query eq 'COMMIT' ? 'ROLLBACK' : 'SELECT injected';
		return with_size('P', pack('Z*Z*n', $name, $query, 0));
	}
	if ($type eq 'B')
	{
		my ($portal, $name) = unpack('Z*Z*', substr($message, 5));
		return $message if $name eq '' || !counts();
		$state{failed} = "prepared statement $name";
		my $rest = substr($message, 5 + length($portal) + 1 + length($name) + 1);
		return with_size('B', pack('Z*Z*', $portal, 'injected') . $rest);
	}
	return $message;
}

# Counts a statement; true if it is the one to fail.
sub counts
{
	return 0 if $state{inject} < 0;
	return ++$state{statements} == $state{inject};
}

sub with_size
{
	my ($type, $body) = @_;
	return $type . pack('N', length($body) + 4) . $body;
}

1;
