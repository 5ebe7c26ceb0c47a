# A proxy in front of a storage node that spoils one message of an answer: what
# a server says that is broken, or none. Connect without TLS.
#
#   my $garbage = ShuttleGarbage->new($node);    # listens on 127.0.0.1
#   $garbage->port;
#   ShuttleGarbage::kinds();          # names of what can be done
#   ShuttleGarbage::keeps_values($kind);    # false: another value may come out
#   $garbage->spoil($kind, $number, $seed); # to the number-th message from now
#                                     # on that the kind is for
#   $garbage->messages($kind);        # how many there were since the last call
#   $garbage->spoiled;                # type of the message that it was done to;
#                                     # its connection ends
#
# Messages of a connection's beginning do not count. When nothing comes any more
# behind a spoiled message, the connection is closed.
package ShuttleGarbage;

use strict;
use warnings;

use parent 'ShuttleRelay';

use IO::Select;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(time);

my $silence_s = 0.03;

sub message { my ($type, $body) = @_; return $type . pack('N', 4 + length $body) . $body; }
sub dice { my $n = shift; return int(rand($n)); }
sub bytes { my $n = shift; return join '', map { chr dice(256) } 1 .. $n; }

# Values of a row, undef for NULL; and the columns of a description.
sub values_of
{
	my $message = shift;
	my ($n, $rest) = unpack('na*', substr($message, 5));
	my @values;
	for (1 .. $n)
	{
		my $length = unpack('l>', substr($rest, 0, 4, ''));
		push @values, $length < 0 ? undef : substr($rest, 0, $length, '');
	}
	return @values;
}

sub row
{
	return message('D', pack('n', scalar @_) . join('', map { defined $_ ? pack('N/a', $_) : pack('l>', -1) } @_));
}

sub columns_of
{
	my $message = shift;
	my ($n, $rest) = unpack('na*', substr($message, 5));
	my @columns;
	for (1 .. $n)
	{
		my ($name) = unpack('Z*', $rest);
		substr($rest, 0, length($name) + 1, '');
		push @columns, [ $name, unpack('NnNnNn', substr($rest, 0, 18, '')) ];
	}
	return @columns;
}

sub description
{
	return message('T', pack('n', scalar @_) . join('', map { pack('Z*NnNnNn', @$_) } @_));
}

# Changes one value of a row, if it has one.
sub change_value
{
	my ($message, $change) = @_;
	my @values = values_of($message);
	my @places = grep { defined $values[$_] } 0 .. $#values;
	return $message unless @places;
	my $place = $places[ dice(scalar @places) ];
	$values[$place] = $change->($values[$place]);
	return row(@values);
}

sub in_front { my $more = shift; return [ '.', 1, sub { return $more->() . $_[0]; } ]; }

# Each: the types of messages that it is for, whether values stay as they are,
# and what becomes of the message.
my %kinds = (
	flip => [ '.', 0, sub { my $m = shift; substr($m, dice(length $m), 1) ^= chr(1 << dice(8)); return $m; } ],
	longer => [ '.', 1, sub { my $m = shift; substr($m, 1, 4) = pack('N', unpack('N', substr($m, 1, 4)) + 1 + dice(dice(2) ? 10 : 1e6)); return $m; } ],
	shorter => [ '.', 1, sub { my $m = shift; my $n = unpack('N', substr($m, 1, 4)); substr($m, 1, 4) = pack('N', dice($n)); return $m; } ],
	cut => [ '.', 1, sub { my $m = shift; return (substr($m, 0, dice(length $m)), 'close'); } ],
	other_type => [ '.', 1, sub { my $m = shift; substr($m, 0, 1) = chr(33 + dice(94)); return $m; } ],
	dropped => [ '.', 1, sub { return ''; } ],
	no_rows => [ '2', 0, sub { return (shift, 'no rows'); } ],
	twice => [ '.', 1, sub { my $m = shift; return $m . $m; } ],
	noise => [ '.', 1, sub { return bytes(1 + dice(200)); } ],
	behind => [ '.', 1, sub { my $m = shift; return $m . bytes(1 + dice(200)); } ],
	fewer_values => [ 'D', 1, sub { my @v = values_of(shift); splice @v, dice(scalar @v), 1; return row(@v); } ],
	more_values => [ 'D', 1, sub { my @v = values_of(shift); return row(@v, '7'); } ],
	many_values => [ 'D', 1, sub { my $m = shift; substr($m, 5, 2) = pack('n', 65535); return $m; } ],
	null => [ 'D', 0, sub { return change_value(shift, sub { return undef; }); } ],
	short_value => [ 'D', 0, sub { return change_value(shift, sub { return substr($_[0], 0, dice(length($_[0]) || 1)); }); } ],
	long_value => [ 'D', 0, sub { return change_value(shift, sub { return $_[0] . bytes(1 + dice(20)); }); } ],
	no_text => [ 'D', 0, sub { return change_value(shift, sub { return "\xc3\xff\x80" . $_[0] . "\xe2\x82"; }); } ],
	with_nul => [ 'D', 0, sub { return change_value(shift, sub { return "a\0b"; }); } ],
	wrong_bytes => [ 'D', 0, sub { return change_value(shift, sub { return bytes(length $_[0]); }); } ],
	fewer_columns => [ 'T', 1, sub { my @c = columns_of(shift); pop @c; return description(@c); } ],
	more_columns => [ 'T', 1, sub { my @c = columns_of(shift); return description(@c, [ 'x', 0, 0, 25, 65535, 0xffffffff, 0 ]); } ],
	other_types => [ 'T', 0, sub { my @c = columns_of(shift); $_->[3] = (16, 17, 20, 25, 701, 1184, 2950, 0, 99999)[ dice(9) ] for @c; return description(@c); } ],
	other_format => [ 'T', 0, sub { my @c = columns_of(shift); $_->[6] = 1 - $_->[6] for @c; return description(@c); } ],
	wrong_tag => [ 'C', 1, sub { return message('C', ('', 'SELECT 3', 'FETCH', 'FETCH 18446744073709551617', 'COMMIT', 'ROLLBACK', 'x' x 200, "\xff\xfe")[ dice(8) ] . "\0"); } ],
	wrong_state => [ 'Z', 1, sub { return message('Z', ('I', 'T', 'E', 'x')[ dice(4) ]); } ],
	copy_in => in_front(sub { return message('G', pack('Cnn', 0, 1, 0)); }),
	copy_out => in_front(sub { return message('H', pack('Cnn', 0, 1, 0)) . message('d', "1\n"); }),
	copy_both => in_front(sub { return message('W', pack('Cn', 0, 0)); }),
	notice => in_front(sub { return message('N', "SNOTICE\0VNOTICE\0C00000\0M" . bytes(20) . "\0\0"); }),
	bare_notice => in_front(sub { return message('N', "\0"); }),
	notification => in_front(sub { return message('A', pack('NZ*Z*', 1, 'a', 'b')) x 100; }),
	parameter => in_front(sub { return message('S', ("server_version\0abc\0", "client_encoding\0SJIS\0", "integer_datetimes\0off\0", "server_version\0" . "9.0.1\0")[ dice(4) ]); }),
	bare_error => in_front(sub { return message('E', "\0"); }),
	odd_error => in_front(sub { return message('E', "SERROR\0VERROR\0C" . bytes(dice(9)) . "\0M" . bytes(30) . "\0H%s%n\0\0"); }),
	fatal => in_front(sub { return message('E', "SFATAL\0VFATAL\0C57P01\0Mgoing\0\0"); }),
	password => in_front(sub { return message('R', pack('N', 3)); }),
	function => in_front(sub { return message('V', pack('N', 0)); }),
	suspended => in_front(sub { return message('s', ''); }),
	empty => in_front(sub { return message('I', ''); }),
	ready => in_front(sub { return message('Z', 'I'); }),
	parsed => in_front(sub { return message((1, 2, 3, 'n')[ dice(4) ], ''); }),
	tag => in_front(sub { return message('C', ("SELECT 0\0", "COMMIT\0", "ROLLBACK\0")[ dice(3) ]); }),
	stray_row => in_front(sub { return row('1', '2'); }),
	description => in_front(sub { return description([ 'x', 0, 0, 25, 65535, 0xffffffff, 0 ]); }),
	parameters => in_front(sub { return message('t', pack('n', 3)); }),
	negotiation => in_front(sub { return message('v', pack('NN', 1, 0)); }),
);

sub kinds { return ((grep { $_ ne 'no_rows' } sort keys %kinds), 'no_rows'); }
sub keeps_values { my $kind = shift; return $kinds{$kind}[1]; }

sub spoil { my ($self, $kind, $number, $seed) = @_; return $self->ask("spoil $kind $number $seed"); }
sub spoiled { return $_[0]->ask('spoiled'); }
sub messages { my ($self, $kind) = @_; return $self->ask("messages $kind"); }

# ---- the child

my (%order, @links, %counts, $spoiled);

sub serve
{
	my ($listener, $control, $host, $port) = @_;
	$control->autoflush(1);
	for (;;)
	{
		my $select = IO::Select->new($listener, $control, map { @$_{qw(client server)} } @links);
		my $doubtful = grep { $_->{spoiled} } @links;
		for my $handle ($select->can_read($doubtful ? $silence_s / 2 : undef))
		{
			if ($handle == $listener) { accept_link($listener, $host, $port); }
			elsif ($handle == $control) { obey($control) or return; }
			else { carry($handle); }
		}
		for my $link (@links)
		{
			end_link($link) if $link->{spoiled} && time() - $link->{heard} > $silence_s;
		}
		@links = grep { !$_->{ended} } @links;
	}
	return;
}

sub obey
{
	my $control = shift;
	my $line = <$control> // return 0;
	my ($command, $kind, $number, $seed) = split ' ', $line;
	my $answer = 'ok';
	if ($command eq 'spoil')
	{
		%order = (kind => $kind, number => $number, seed => $seed);
		$spoiled = '';
	}
	elsif ($command eq 'spoiled')
	{
		%order = ();
		$answer = $spoiled;
		end_link($_) for grep { $_->{spoiled} && !$_->{ended} } @links;
	}
	elsif ($command eq 'messages')
	{
		$answer = 0;
		$answer += $counts{$_} for grep { /^$kinds{$kind}[0]$/ } keys %counts;
	}
	%counts = () if $command ne 'messages';
	print $control "$answer\n";
	return 1;
}

sub accept_link
{
	my ($listener, $host, $port) = @_;
	my $client = $listener->accept or return;
	my $server = ShuttleRelay::connect_to($host, $port) or return;
	setsockopt($client, IPPROTO_TCP, TCP_NODELAY, 1) or die "setsockopt: $!";
	push @links, { client => $client, server => $server, rest => '', heard => time() };
	return;
}

sub end_link
{
	my $link = shift;
	close $link->{$_} for qw(client server);
	$link->{ended} = 1;
	return;
}

sub carry
{
	my $handle = shift;
	my ($link) = grep { !$_->{ended} && ($_->{client} == $handle || $_->{server} == $handle) } @links;
	return unless $link;
	$link->{heard} = time();
	my $up = $link->{client} == $handle;
	my $size = sysread($handle, my $piece, 65536);
	return end_link($link) unless $size;
	my $close = 0;
	($piece, $close) = change($link, $piece) unless $up;
	my $to = $link->{ $up ? 'server' : 'client' };
	while (length $piece)
	{
		my $written = syswrite($to, $piece) // return end_link($link);
		substr($piece, 0, $written, '');
	}
	end_link($link) if $close;
	return;
}

# An answer without its rows, and with a tag that says so.
sub without_rows
{
	my ($link, $message, $type) = @_;
	return '' if $type eq 'D';
	return $message unless $type =~ /[CEsZ]/;
	$link->{no_rows} = 0;
	return $type eq 'C' ? message('C', substr($message, 5) =~ s/\d+\0$/0\0/r) : $message;
}

# Takes whole messages of the server.
sub change
{
	my ($link, $piece) = @_;
	my $out = '';
	my $close = 0;
	$link->{rest} .= $piece;
	while (length $link->{rest} >= 5)
	{
		my $size = 1 + unpack('N', substr($link->{rest}, 1, 4));
		last if length $link->{rest} < $size;
		my $message = substr($link->{rest}, 0, $size, '');
		my $type = substr($message, 0, 1);
		if (!$link->{started}) { $link->{started} = $type eq 'Z'; }
		else
		{
			$counts{$type}++;
			$message = without_rows($link, $message, $type) if $link->{no_rows};
			if (%order && $type =~ /^$kinds{ $order{kind} }[0]$/ && --$order{number} == 0)
			{
				srand($order{seed});
				my $how = $kinds{ $order{kind} }[2];
				($message, $close) = ($how->($message), '');
				%order = ();
				$spoiled = $type;
				$link->{spoiled} = 1;
				$link->{no_rows} = $close eq 'no rows';
				$close = $close eq 'close';
			}
		}
		$out .= $message;
		last if $close;
	}
	return ($out, $close);
}

1;
