# Clients that run a script of pgbench for some seconds beside a test.
#
#   my $writers = ShuttleWriters->new($query, 'BEGIN; ... COMMIT;');
#   $writers->start(10);
#   my ($done, $errors) = $writers->end;  # acknowledged transactions, and errors
#
# They begin RATE transactions a second, so that a move meets writers at each of its steps and
# other tests have the cores; rate => 0 has no limit, for races that only many meetings show.
package ShuttleWriters;

use strict;
use warnings;

use POSIX ();
use PostgreSQL::Test::Utils;

use constant RATE => 80;

sub new
{
	my ($class, $query, $script, %how) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$directory/write.sql", $script);
	my $rate = $how{rate} // RATE;
	return bless { query => $query, script => "$directory/write.sql", out => "$directory/writers", limit => [ $rate ? ('-R', $rate) : () ] }, $class;
}

sub start
{
	my ($self, $seconds) = @_;
	$self->{pid} = fork() // die "could not fork: $!";
	return if $self->{pid};
	open(STDOUT, '>', $self->{out}); open(STDERR, '>&', \*STDOUT);
	exec 'pgbench', '-n', '-c', '4', '-T', $seconds, '-M', 'prepared', '-f', $self->{script}, @{ $self->{limit} },
		'-h', $self->{query}->host, '-p', $self->{query}->port, 'postgres' or POSIX::_exit(1);
}

# Ends them now. SIGINT would be ignored where the shell runs tests in the background.
sub stop
{
	my ($self) = @_;
	kill 'TERM', $self->{pid};
	waitpid($self->{pid}, 0);
	return;
}

sub end
{
	my ($self) = @_;
	waitpid($self->{pid}, 0);
	my $out = slurp_file($self->{out});
	my ($done) = $out =~ /actually processed: (\d+)/;
	return ($done // 0, join('; ', $out =~ /(.*error:.*)/g));
}

1;
