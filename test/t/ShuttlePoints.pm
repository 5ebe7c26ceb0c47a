# Named points of the library at which a session of a query node stops: core's
# injection points where the server has them, else those of builds for tests.
#
#   my $points = ShuttlePoints->new($node);    # undef: this server has none
#   my $points = ShuttlePoints->new($node, $standby);    # the points of its standby
#   $points->arm('prepared');            # the next session that gets there waits
#   $points->reached('prepared', $pid);  # false: it does not come
#   $points->release('prepared');        # it goes on, if it is still there, and nobody else waits
#   $points->release('prepared', 3);     # the same for three
#   $points->forget;                     # the server was killed
package ShuttlePoints;

use strict;
use warnings;

use Time::HiRes qw(time usleep);

my $most_seconds = 30;

sub new
{
	my ($class, $node, $standby) = @_;
	my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
	my $injected = $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_available_extensions WHERE name = 'injection_points'});
	return if $version >= 170000 && !$injected;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS injection_points') if $injected;
	return bless { node => $standby // $node, injected => $injected }, $class;
}

sub file { return $_[0]->{node}->data_dir . "/shuttle-$_[1]"; }

sub arm
{
	my ($self, $name) = @_;
	if ($self->{injected})
	{
		$self->{node}->safe_psql('postgres', "SELECT injection_points_attach('shuttle-$name', 'wait')");
		return;
	}
	open(my $file, '>', $self->file($name)) or die "could not make a point: $!";
	close $file;
	return;
}

sub reached
{
	my ($self, $name, $pid) = @_;
	my $deadline = time() + $most_seconds;
	while (time() < $deadline)
	{
		return 1 if $self->{injected}
		  ? $self->{node}->safe_psql('postgres', "SELECT wait_event FROM pg_stat_activity WHERE pid = $pid") eq "shuttle-$name"
		  : -e $self->file($name) . ".$pid";
		usleep(5000);
	}
	return 0;
}

sub release
{
	my ($self, $name, $waiting) = @_;
	if ($self->{injected})
	{
		$self->{node}->safe_psql('postgres', "SELECT injection_points_detach('shuttle-$name')");
		$self->{node}->psql('postgres', "SELECT injection_points_wakeup('shuttle-$name')", on_error_die => 0) for 1 .. $waiting // 1;
		return;
	}
	unlink $self->file($name);
	return;
}

sub forget
{
	my $self = shift;
	unlink glob($self->file('*'));
	return;
}

1;
