# Clients that run a script of pgbench for some seconds beside a test.
#
#   my $writers = ShuttleWriters->new($query, 'BEGIN; ... COMMIT;');
#   $writers->start(10);
#   my ($done, $errors) = $writers->end;  # acknowledged transactions, and errors
package ShuttleWriters;

use strict;
use warnings;

use POSIX ();
use PostgreSQL::Test::Utils;

sub new
{
	my ($class, $query, $script) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$directory/write.sql", $script);
	return bless { query => $query, script => "$directory/write.sql", out => "$directory/writers" }, $class;
}

sub start
{
	my ($self, $seconds) = @_;
	$self->{pid} = fork() // die "could not fork: $!";
	return if $self->{pid};
	open(STDOUT, '>', $self->{out}); open(STDERR, '>&', \*STDOUT);
	exec 'pgbench', '-n', '-c', '4', '-T', $seconds, '-M', 'prepared', '-f', $self->{script},
		'-h', $self->{query}->host, '-p', $self->{query}->port, 'postgres' or POSIX::_exit(1);
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
