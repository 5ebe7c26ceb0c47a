# What the proxies of the tests share: a child that serves, and is told what to
# do a line at a time. A class on top has
#
#   serve($listener, $control, $host, $port)    # runs in the child until
#                                     # $control ends; answers each line there
package ShuttleRelay;

use strict;
use warnings;

use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);

sub new
{
	my ($class, $node) = @_;
	my $listener = IO::Socket::INET->new(
		LocalAddr => '127.0.0.1', Listen => 32, ReuseAddr => 1) or die "listen: $!";
	socketpair(my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!";
	my $pid = fork() // die "fork: $!";
	if ($pid == 0)
	{
		close $ours;
		$SIG{TERM} = 'DEFAULT';
		$SIG{PIPE} = 'IGNORE';
		eval { $class->can('serve')->($listener, $theirs, $node->host, $node->port); };
		warn $@ if $@;
		require POSIX;
		POSIX::_exit(0);
	}
	close $theirs;
	$ours->autoflush(1);
	my $self = bless { pid => $pid, control => $ours, port => $listener->sockport }, $class;
	close $listener;
	return $self;
}

sub port { return $_[0]->{port}; }

sub ask
{
	my ($self, $command) = @_;
	my $control = $self->{control};
	print $control "$command\n";
	my $answer = <$control>;
	die "proxy is gone" unless defined $answer;
	chomp $answer;
	return $answer;
}

sub DESTROY
{
	my $self = shift;
	return unless defined $self->{pid};
	local $?;
	shutdown $self->{control}, 2;	# children of later proxies have it open, too
	close $self->{control};
	waitpid($self->{pid}, 0);
	$self->{pid} = undef;
	return;
}

# A connection to the node, for the child; undef where there is none.
sub connect_to
{
	my ($host, $port) = @_;
	return $host =~ m{^/}
	  ? IO::Socket::UNIX->new(Peer => "$host/.s.PGSQL.$port")
	  : IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port);
}

1;
