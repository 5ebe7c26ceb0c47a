# Clients transfer money between accounts on three nodes and write most transfers,
# those of the first accounts, into a ledger here, while servers and their processes are killed at random: no
# money is lost or made, each transfer that a client was told of is in the ledger
# and no other one, and soon nothing is prepared any more.
# SHUTTLE_LONG=n runs for n minutes, with fsync on; else 15 s.
# trap 27, 28, 29
# expected in server log: terminated by signal 9
use strict;
use warnings;

use POSIX qw(_exit);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;

my $long = $ENV{SHUTTLE_LONG} // 0;
my $seconds = $long ? 60 * $long : 15;
my $nclients = 4;
my $cluster = ShuttleCommit->new(3, conf => $long ? "fsync = on\n" : '');
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
srand($ENV{SHUTTLE_SEED} // time());

# A client writes down what it was told: "did N" or "failed N"; of a transfer
# without such a line, it was told nothing.
sub transfer_till
{
	my ($client, $deadline, $log) = @_;
	open(my $told, '>', $log) or _exit(1);
	$told->autoflush(1);
	srand($client + time());
	for (my $n = $client * 1_000_000; time() < $deadline; $n++)
	{
		my ($from, $to) = (1 + int rand 3, 1 + int rand 3);
		my $here = rand() < 0.8;
		my $half = $ShuttleCommit::accounts / 2;
		my ($a, $b) = map { ($here ? 0 : $half) + 1 + int rand $half } 1, 2;
		my $amount = 1 + int rand 20;
		my $nested = rand() < 0.3 ? 'SAVEPOINT s; UPDATE account1 SET v = v + 1000 WHERE id = 1; ROLLBACK TO s;' : '';
		my $sql = "BEGIN; UPDATE account$from SET v = v - $amount WHERE id = $a; $nested
			UPDATE account$to SET v = v + $amount WHERE id = $b;" . ($here ? " INSERT INTO ledger VALUES ($n, $from, $to, $amount);" : '') . ' COMMIT;';
		# libpq does not come back from a server that is killed in some states
		my $code = system('timeout', '20', 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null',
			'-d', $query->connstr('postgres') . ' connect_timeout=5', '-c', 'SET statement_timeout = 5000', map { ('-c', $_) } split /(?<=;)\s*/, $sql);
		print $told $code == 0 ? 'did' : 'failed', " $n\n" if $here;
		usleep(50_000) if $code != 0;
	}
	_exit(0);
}

my $deadline = time() + $seconds;
my @logs = map { PostgreSQL::Test::Utils::tempdir() . "/client$_" } 1 .. $nclients;
my @clients;
for my $client (1 .. $nclients)
{
	my $pid = fork();
	if ($pid == 0)
	{
		open(STDERR, '>', '/dev/null');
		transfer_till($client, $deadline, $logs[ $client - 1 ]);
	}
	push @clients, $pid;
}

# Any backend, or a whole server; then a while without.
sub kill_someone
{
	my @servers = ($query, $query, @nodes);
	my $server = $servers[ rand @servers ];
	if (rand() < 0.3)
	{
		$cluster->kill_server($server);
		return 'server ' . $server->name;
	}
	my ($code, $out) = ShuttleCommit::ask($server, q{SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()
		AND backend_type = 'client backend' AND state <> 'idle' ORDER BY random() LIMIT 1});
	return 'nobody' unless $code == 0 && $out =~ /^\d+$/;
	$cluster->kill_backend($out);
	return 'a backend of ' . $server->name;
}

my $nkills = 0;
while (time() < $deadline - 2)
{
	usleep(300_000 + rand 1_500_000);
	my $whom = kill_someone();
	note("killed: $whom");
	$nkills++ if $whom ne 'nobody';
	$cluster->bring_up;
}
waitpid($_, 0) for @clients;
$cluster->bring_up;

cmp_ok($nkills, '>', 0, "killed $nkills times");
$cluster->is_settled('the bank');
my @balances = split /\|/, $cluster->state;
for my $i (1 .. 3)
{
	my $half = $ShuttleCommit::accounts / 2;
	my $expected = $query->safe_psql('postgres', "SELECT $half * $ShuttleCommit::balance
		+ coalesce(sum(CASE WHEN target = $i THEN amount ELSE 0 END - CASE WHEN source = $i THEN amount ELSE 0 END), 0) FROM ledger");
	is($nodes[ $i - 1 ]->safe_psql('postgres', "SELECT sum(v) FROM account WHERE id <= $half"), $expected,
		"node $i has what the ledger says");
}
is($balances[0] + $balances[1] + $balances[2], 3 * $ShuttleCommit::accounts * $ShuttleCommit::balance, 'no money is lost or made');

my %ledger = map { $_ => 1 } split /\n/, $query->safe_psql('postgres', 'SELECT transfer FROM ledger');
my ($ndid, @missing) = (0);
for my $log (@logs)
{
	open(my $told, '<', $log) or die "no log: $!";
	while (<$told>)
	{
		next unless /^did (\d+)/;
		$ndid++;
		push @missing, $1 unless $ledger{$1};
	}
	close $told;
}
cmp_ok($ndid, '>', 0, "$ndid transfers were done");
is("@missing", '', 'each of them is in the ledger');
ok($query->poll_query_until('postgres', 'SELECT count(*) = 0 FROM shuttle.commit_records'), 'no record is left');
$cluster->stop;
done_testing();
