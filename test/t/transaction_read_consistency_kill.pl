# Readers sum up what clients move between three nodes while servers and backends are killed
# at random: with shuttle.read_consistency = atomic no sum is wrong, also right after a
# restart, when nothing is known of what is left prepared.
# SHUTTLE_LONG=n runs for n minutes; else 12 s.
# trap 5 of consistent reads
# expected in server log: terminated by signal 9
use strict;
use warnings;

use POSIX qw(_exit);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;

my $seconds = $ENV{SHUTTLE_LONG} ? 60 * $ENV{SHUTTLE_LONG} : 12;
my $cluster = ShuttleCommit->new(3, query_conf => "shuttle.commit_wait = 2000\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $expected = 3 * $ShuttleCommit::accounts * $ShuttleCommit::balance;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $parts = '(SELECT sum(v) FROM account1) + (SELECT sum(v) FROM account2) + (SELECT sum(v) FROM account3)';
append_to_file("$directory/read.sql", "SET shuttle.read_consistency = atomic;\n" . "SELECT $parts;\n" x 20);
append_to_file("$directory/write.sql", join '', map {
		my ($a, $b) = (1 + int rand $ShuttleCommit::accounts, 1 + int rand $ShuttleCommit::accounts);
		my ($from, $to) = @{ [ [ 1, 2 ], [ 2, 3 ], [ 3, 1 ], [ 2, 1 ] ]->[ $_ % 4 ] };
		"BEGIN;\nUPDATE account$from SET v = v - 1 WHERE id = $a;\nUPDATE account$to SET v = v + 1 WHERE id = $b;\nCOMMIT;\n";
	} 1 .. 40);
my $deadline = time() + $seconds;

# Runs a file again and again, over new connections; what it prints is kept.
sub run_till_end
{
	my ($file, $out) = @_;
	my $pid = fork() // die "could not fork: $!";
	return $pid if $pid;
	open(STDERR, '>', '/dev/null');
	until (-e "$directory/end")
	{
		system("timeout 20 psql -XAtq -f '$directory/$file.sql' -d '@{[ $query->connstr('postgres') ]} connect_timeout=5' >> '$directory/$out'");
		usleep(20_000);
	}
	_exit(0);
}
my @pids = ((map { run_till_end('write', "write$_") } 1 .. 3), (map { run_till_end('read', "read$_") } 1 .. 2));

# In turn: this server, a node, and a backend of either.
my $nkills = 0;
while (time() < $deadline - 2 || $nkills < 3)
{
	usleep(800_000 + rand 800_000);
	my $server = $nkills % 3 == 0 ? $query : $nodes[ rand @nodes ];
	if ($nkills % 3 < 2)
	{
		$cluster->kill_server($server);
	}
	else
	{
		my ($code, $pid) = ShuttleCommit::ask($server, q{SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()
			AND backend_type = 'client backend' ORDER BY state = 'active' DESC LIMIT 1});
		$cluster->kill_backend($pid) if $code == 0 && $pid =~ /^\d+$/;
	}
	$nkills++;
	$cluster->bring_up;
}
usleep(2_000_000);
append_to_file("$directory/end", '');
waitpid($_, 0) for @pids;
$cluster->bring_up;
my @sums = map { split /\n/, slurp_file("$directory/read$_") } 1 .. 2;
my @wrong = grep { $_ ne $expected } @sums;
note("killed $nkills times");
cmp_ok(scalar @sums, '>', 50, scalar(@sums) . ' sums');
is("@wrong", '', 'none is wrong');
$cluster->is_settled('the end');
is((split /\|/, $cluster->state)[0] + (split /\|/, $cluster->state)[1] + (split /\|/, $cluster->state)[2], $expected, 'no money is lost or made');
$cluster->stop;
done_testing();
