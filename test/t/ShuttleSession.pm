# A psql session that lives as long as a test wants, whose statements may wait.
#
#   my $session = ShuttleSession->new($node, 'postgres');
#   my ($out, $err) = $session->run('SELECT 1;');    # to its end
#   $session->send('SELECT pg_sleep(60);');          # begins it
#   ($out, $err) = $session->result;                 # waits for its end, three minutes at most
#   $session->seconds;        # how long that took, from send() on
#   $session->pid;            # of the server process
#   $session->poll($query, $seconds);    # until the query returns t; false: never
#
#   ShuttleSession::kill_backend($node, $pid, sub { ... });    # the server is back when it returns
#
# Errors have their SQLSTATE in front, as VERBOSITY verbose has it.
package ShuttleSession;

use strict;
use warnings;

use IO::Select;
use IPC::Open3;
use Symbol qw(gensym);
use Time::HiRes qw(time usleep);

my $most_seconds = 180;		# a row of 1 GB takes a slow machine more than one minute

sub new
{
	my ($class, $node, $database, @options) = @_;
	my $errors = gensym;
	my $pid = open3(my $in, my $out, $errors, 'psql', '-XAtq', @options,
		'-d', $node->connstr($database));
	binmode $_ for $in, $out, $errors;
	$in->autoflush(1);
	my $self = bless { psql => $pid, in => $in, out => $out, err => $errors, number => 0 }, $class;
	$self->run('\set VERBOSITY verbose');
	($self->{pid}) = $self->run('SELECT pg_backend_pid();');
	return $self;
}

sub pid { return $_[0]->{pid}; }
sub seconds { return $_[0]->{ended} - $_[0]->{began}; }

# When the last statement was sent and when it was over.
sub began { return $_[0]->{began}; }
sub ended { return $_[0]->{ended}; }

sub send
{
	my ($self, $sql) = @_;
	local $SIG{PIPE} = 'IGNORE';
	my $number = ++$self->{number};
	$self->{began} = time();
	my $in = $self->{in};
	print $in "$sql\n\\echo =end $number=\n\\warn =end $number=\n";
	return;
}

# Ends early, with what was printed, where the session does.
sub result
{
	my ($self, $seconds) = @_;
	my $mark = "=end $self->{number}=\n";
	my %text = (out => '', err => '');
	my $select = IO::Select->new($self->{out}, $self->{err});
	my $deadline = time() + ($seconds // $most_seconds);
	until ($text{out} =~ /$mark/ && $text{err} =~ /$mark/)
	{
		die "no answer in time: $text{out}$text{err}" if time() > $deadline;
		for my $handle ($select->can_read(0.5))
		{
			my $name = $handle == $self->{out} ? 'out' : 'err';
			next if sysread($handle, $text{$name}, 65536, length $text{$name});
			$select->remove($handle);
		}
		last if $select->count == 0;
	}
	$self->{ended} = time();
	for my $name ('out', 'err')
	{
		$text{$name} =~ s/$mark//;
		chomp $text{$name};
	}
	return ($text{out}, $text{err});
}

sub run
{
	my ($self, $sql) = @_;
	$self->send($sql);
	return $self->result;
}

sub poll
{
	my ($self, $query, $seconds) = @_;
	my $deadline = time() + ($seconds // 20);
	for (;;)
	{
		my ($out, $err) = $self->run("$query;");
		return 1 if $out eq 't';
		return 0 if time() > $deadline;
		usleep(2000);
	}
	return;
}

sub quit
{
	my $self = shift;
	return unless defined $self->{psql};
	local $?;
	close $self->{in};
	waitpid($self->{psql}, 0);
	$self->{psql} = undef;
	return;
}

# After a failure its statement may never end.
sub DESTROY
{
	my $self = shift;
	kill 'KILL', $self->{psql} if defined $self->{psql};
	return $self->quit;
}

# Kills a server process, does what is given while the server is restarting, and waits
# until that is over: it takes connections until it sees that a process has died.
sub kill_backend
{
	my ($node, $pid, $meanwhile) = @_;
	my $offset = -s $node->logfile;
	kill 'KILL', $pid;
	$meanwhile->();
	$node->wait_for_log(qr/ready to accept connections/, $offset);
	return;
}

1;
