# Clients have storage nodes execute calls, each a transaction with its COMMIT in its packet, and
# routed UPDATEs, while nodes and their processes are killed at random: each call that a client was
# told of is in the ledger, none that failed is, none is there twice, and balances agree with it.
# SHUTTLE_LONG=n runs for n minutes; else 8 s.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use POSIX qw(_exit);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttleSession;

my $seconds = 60 * ($ENV{SHUTTLE_LONG} // 0) || 8;
my $nclients = 3;
my $naccounts = 12;
my $cluster = ShuttleCommit->new(2);
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
srand($ENV{SHUTTLE_SEED} // time());

my $user = $query->safe_psql('postgres', 'SELECT current_user');
$query->safe_psql('postgres', qq{
	DROP USER MAPPING FOR CURRENT_USER SERVER $_;
	CREATE USER MAPPING FOR PUBLIC SERVER $_ OPTIONS (user '$user')}) for 'node1', 'node2';
$query->safe_psql('postgres', qq{
	SELECT shuttle.use_node('node1'), shuttle.use_node('node2');
	CREATE SCHEMA bank;
	CREATE TABLE bank.account (id int PRIMARY KEY, v int NOT NULL, touched int NOT NULL);
	CREATE TABLE bank.entry (account int, n bigint, amount int);
	INSERT INTO bank.account SELECT i, 0, 0 FROM generate_series(1, $naccounts) AS i;
	SELECT shuttle.distribute_tables('{bank.account.id, bank.entry.account}', tablets => 4);
	CREATE FUNCTION bank.pay(a int, n bigint, amount int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN
		UPDATE bank.account SET v = v + amount WHERE id = a; INSERT INTO bank.entry VALUES (a, n, amount); RETURN n; END';
	CREATE PROCEDURE bank.pay_too(a int, amount int, INOUT n bigint) LANGUAGE plpgsql AS 'BEGIN
		INSERT INTO bank.entry VALUES (a, n, amount); UPDATE bank.account SET v = v + amount WHERE id = a; END';
	-- its other key may be on the other node, so that it runs here
	CREATE FUNCTION bank.pay_for(a int, n bigint, amount int) RETURNS bigint LANGUAGE plpgsql AS 'DECLARE b int := 1 + a % $naccounts; BEGIN
		UPDATE bank.account SET v = v + amount WHERE id = b; INSERT INTO bank.entry VALUES (b, n, amount); RETURN n; END';
	SELECT shuttle.distribute_function(oid, '\$1', 'bank.account') FROM pg_proc WHERE pronamespace = 'bank'::regnamespace
});

# Writes down what the client was told: "did N", "failed N", or "unknown N".
sub pay_till
{
	my ($client, $deadline, $log) = @_;
	open(my $told, '>', $log) or _exit(1);
	$told->autoflush(1);
	srand($client + time());
	my $session = ShuttleSession->new($query, 'postgres');
	for (my $n = $client * 1_000_000; time() < $deadline; $n++)
	{
		my ($a, $amount) = (1 + int rand $naccounts, 1 + int rand 20);
		my @calls = ("SELECT bank.pay($a, $n, $amount);", "CALL bank.pay_too($a, $amount, $n);", "SELECT bank.pay_for($a, $n, $amount);");
		my ($out, $err) = $session->run($calls[ rand @calls ]);
		print $told $out eq $n && $err !~ /^ERROR/m ? 'did' : $err =~ /08007/ ? 'unknown' : 'failed', " $n\n";
		if ($err =~ /^ERROR/m)
		{
			usleep(30_000);
			$session->run("SELECT v FROM bank.account WHERE id = $a;");
		}
		$session->run("UPDATE bank.account SET touched = touched + 1 WHERE id = $a;") if rand() < 0.3;
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
		pay_till($client, $deadline, $logs[ $client - 1 ]);
	}
	push @clients, $pid;
}

my $nkills = 0;
while (time() < $deadline - 1)
{
	usleep(200_000 + rand 600_000);
	my $server = $nodes[ rand @nodes ];
	if (rand() < 0.3)
	{
		$cluster->kill_server($server);
		$nkills++;
	}
	else
	{
		my ($code, $pid) = ShuttleCommit::ask($server, q{SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()
			AND backend_type = 'client backend' ORDER BY state = 'idle', random() LIMIT 1});
		next unless $code == 0 && $pid =~ /^\d+$/;
		$cluster->kill_backend($pid);
		$nkills++;
	}
	$cluster->bring_up;
}
waitpid($_, 0) for @clients;
$cluster->bring_up;
cmp_ok($nkills, '>', 0, "killed $nkills times");
$cluster->is_settled('the bank');

is($query->safe_psql('postgres', 'SELECT id, v, (SELECT sum(amount) FROM bank.entry WHERE account = id) FROM bank.account
	WHERE v <> coalesce((SELECT sum(amount) FROM bank.entry WHERE account = id), 0)'), '', 'balances are those of the ledger');
is($query->safe_psql('postgres', 'SELECT n, count(*) FROM bank.entry GROUP BY n HAVING count(*) > 1'), '', 'nothing is there twice');
my %there = map { $_ => 1 } split /\n/, $query->safe_psql('postgres', 'SELECT n FROM bank.entry');
my %number = (did => 0, failed => 0, unknown => 0);
my (@missing, @undead);
for my $log (@logs)
{
	open(my $told, '<', $log) or die "no log: $!";
	while (<$told>)
	{
		my ($what, $n) = /^(\w+) (\d+)/ or next;
		$number{$what}++;
		push @missing, $n if $what eq 'did' && !$there{$n};
		push @undead, $n if $what eq 'failed' && $there{$n};
	}
	close $told;
}
cmp_ok($number{did}, '>', 0, "$number{did} calls were done, $number{failed} failed, $number{unknown} are unknown");
is("@missing", '', 'each that was done is there');
is("@undead", '', 'none that failed is there');
cmp_ok($query->safe_psql('postgres', 'SELECT sum(calls) FROM shuttle.node_stats'), '>', 0, 'nodes executed calls');
is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'check');
$cluster->stop;
done_testing();
