# Clients have storage nodes execute calls and routed statements (also ON CONFLICT and MERGE), alone
# with their COMMIT in one packet, and in transactions that leave them for later, while servers and their
# processes are killed at random, the query node's too: what a client was told of is in the ledger, what
# failed is not, nothing is there twice, and balances agree with it after each kill.
# SHUTTLE_LONG=n runs for n minutes; else 14 s.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use POSIX qw(_exit);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttleSession;

my $seconds = 60 * ($ENV{SHUTTLE_LONG} // 0) || 14;
my $nclients = 3;
my $naccounts = 12;
my $nall = 16;		# those behind are made by the first who pays into them
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

sub upsert
{
	my ($a, $amount) = @_;
	return "INSERT INTO bank.account AS t VALUES ($a, $amount, 0) ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v";
}

sub merge
{
	my ($a, $amount) = @_;
	return "MERGE INTO bank.account AS t USING (SELECT $a AS id, $amount AS v) AS q ON t.id = q.id
		WHEN MATCHED THEN UPDATE SET v = t.v + q.v WHEN NOT MATCHED THEN INSERT (v, id, touched) VALUES (q.v, q.id, 0)";
}

# Something that pays; transfers have large amounts.
sub payment
{
	my ($n) = @_;
	my ($a, $amount) = (1 + int rand $naccounts, 1 + int rand 20);
	my $any = 1 + int rand $nall;
	my $other = $any + 1 + int rand 3;
	my $large = 100 * $amount;
	my @all = (
		"SELECT bank.pay($a, $n, $amount);", "CALL bank.pay_too($a, $amount, $n);", "SELECT bank.pay_for($a, $n, $amount);",
		"WITH e AS (INSERT INTO bank.entry VALUES ($any, $n, $amount)) " . upsert($any, $amount) . " RETURNING $n;",
		'BEGIN; ' . upsert($any, $amount) . "; INSERT INTO bank.entry VALUES ($any, $n, $amount); COMMIT;\n\\echo $n",
		'BEGIN; ' . merge($any, $amount) . "; INSERT INTO bank.entry VALUES ($any, $n, $amount); COMMIT;\n\\echo $n",
		'BEGIN; ' . upsert($any, $large) . '; ' . merge($other, -$large) . "; INSERT INTO bank.entry VALUES ($any, $n, $large), ($other, $n, -$large); COMMIT;\n\\echo $n");
	return $all[ rand @all ];
}

# A session that answers; none before the deadline.
sub connect_till
{
	my ($deadline) = @_;
	while (time() < $deadline)
	{
		my $session = ShuttleSession->new($query, 'postgres');
		return $session if ($session->run('SELECT 1;'))[0] eq '1';
		usleep(50_000);
	}
	return;
}

# Writes down what the client was told: "did N", "failed N", or "unknown N".
sub pay_till
{
	my ($client, $deadline, $log) = @_;
	open(my $told, '>', $log) or _exit(1);
	$told->autoflush(1);
	srand($client + time());
	my $session;
	for (my $n = $client * 1_000_000; time() < $deadline; $n++)
	{
		$session //= connect_till($deadline) // last;
		my ($out, $err) = eval { $session->send(payment($n)); $session->result(30) };
		my $failed = ($err // '') =~ /^ERROR/m && $err !~ /08007/;
		print $told $failed ? 'failed' : ($out // '') eq $n && $err !~ /^ERROR/m ? 'did' : 'unknown', " $n\n";
		my $a = 1 + int rand $naccounts;
		usleep(30_000) if $failed;
		my ($touched) = eval { $session->run("UPDATE bank.account SET touched = touched + 1 WHERE id = $a RETURNING id;") };
		undef $session if ($touched // '') ne $a && eval { ($session->run('SELECT 1;'))[0] ne '1' } // 1;
	}
	_exit(0);
}

like($query->safe_psql('postgres', "EXPLAIN $_"), qr/Routed Statement/, 'it is routed') for upsert(3, 1), merge(3, 1),
	'WITH e AS (INSERT INTO bank.entry VALUES (3, 1, 1)) ' . upsert(3, 1);

my $deadline = time() + $seconds;
my @logs = map { PostgreSQL::Test::Utils::tempdir() . "/client$_" } 1 .. $nclients;
my @clients;
for my $client (1 .. $nclients)
{
	my $pid = fork();
	if ($pid == 0)
	{
		open(STDERR, '>', '/dev/null');
		$ENV{PGCONNECT_TIMEOUT} = 5;
		pay_till($client, $deadline, $logs[ $client - 1 ]);
	}
	push @clients, $pid;
}

# Who was killed may take connections until its server notices.
sub answer
{
	my ($sql) = @_;
	my $until = time() + 30;
	while (time() < $until)
	{
		my ($code, $out) = ShuttleCommit::ask($query, $sql);
		return $out if $code == 0;
		usleep(50_000);
	}
	return "no answer to $sql";
}

# Rows and ledger of an account are on one node, and here of one snapshot.
sub differences
{
	return answer(join ';', map { "SELECT a, v, amounts FROM (SELECT $_ AS a,
		(SELECT coalesce(sum(v), 0) FROM bank.account WHERE id = $_) AS v,
		(SELECT coalesce(sum(amount), 0) FROM bank.entry WHERE account = $_) AS amounts) AS s WHERE v <> amounts" } 1 .. $nall + 3);
}

my $nkills = 0;
my %after;		# what did not fit
while (time() < $deadline - 1)
{
	usleep(200_000 + rand 600_000);
	my $server = ($query, @nodes, @nodes)[ rand 5 ];
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
	$after{$_}++ for grep { $_ ne '' } differences(), answer('SELECT * FROM shuttle.check()');
}
waitpid($_, 0) for @clients;
$cluster->bring_up;
cmp_ok($nkills, '>', 0, "killed $nkills times");
is(join(' ', keys %after), '', 'after each, balances were those of the ledger, and check() found nothing');
$cluster->is_settled('the bank');

is(differences(), '', 'balances are those of the ledger');
is($query->safe_psql('postgres', 'SELECT n, account FROM bank.entry GROUP BY n, account HAVING count(*) > 1'), '', 'nothing is there twice');
is($query->safe_psql('postgres', 'SELECT n FROM bank.entry GROUP BY n HAVING count(*) <> CASE WHEN max(amount) >= 100 OR min(amount) < 0 THEN 2 ELSE 1 END'),
	'', 'transfers have both sides');
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

# a query node that was killed last has forgotten its counts
$query->safe_psql('postgres', 'SELECT bank.pay(1, 99000000, 1)');
cmp_ok($query->safe_psql('postgres', 'SELECT sum(calls) FROM shuttle.node_stats'), '>', 0, 'nodes executed calls');
is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'check');
$cluster->stop;
done_testing();
