# Nodes that can't prepare transactions: whoever writes on a second one is told, and
# by which option it goes all the same. A server that is not preloaded: sessions
# finish what a crash left, and a standby finishes nothing.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttlePoints;
use ShuttleSession;

my @nodes = map { PostgreSQL::Test::Cluster->new("node$_") } 1, 2;
for my $node (@nodes)
{
	$node->init;
	$node->append_conf('postgresql.conf', "max_prepared_transactions = 0\njit = off");
	$node->start;
	$node->safe_psql('postgres', 'CREATE TABLE account AS SELECT i AS id, 100 AS v FROM generate_series(1, 10) i');
}
my $query = PostgreSQL::Test::Cluster->new('query');
$query->init(allows_streaming => 1);
$query->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off\nrestart_after_crash = on\nmax_connections = 30");
$query->start;
my $user = $query->safe_psql('postgres', 'SELECT current_user');
$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE TABLE here (id int)');
for my $i (1, 2)
{
	my ($host, $port) = ($nodes[ $i - 1 ]->host, $nodes[ $i - 1 ]->port);
	$query->safe_psql('postgres', "CREATE SERVER node$i FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER node$i OPTIONS (user '$user');
		CREATE FOREIGN TABLE account$i (id int, v int) SERVER node$i OPTIONS (table_name 'account')");
}

my $refused = qr/^ERROR:  55000: storage node "node[12]" cannot take part in an atomic commit over several servers\nDETAIL:  Its max_prepared_transactions is 0\.\nHINT:  Set max_prepared_transactions .*shuttle_two_phase 'off'/m;
my ($first, $second) = map { "UPDATE account$_ SET v = v + 1 WHERE id = 1;" } 1, 2;
for my $connected ('', $first . $second)
{
	my $session = ShuttleSession->new($query, 'postgres');
	$session->run($_) for split /(?<=;)/, $connected;
	my $label = $connected eq '' ? 'a new session' : 'a session that is connected';
	$session->run("BEGIN; $first");
	my ($out, $err) = $session->run($second);
	like($err, $refused, "$label: the second node is refused");
	$session->run("ROLLBACK; BEGIN; $first INSERT INTO here VALUES (1);");
	($out, $err) = $session->run('COMMIT;');
	like($err, $refused, "$label: one node and here are refused");
	($out, $err) = $session->run("BEGIN; $first SELECT sum(v) > 0 FROM account2; COMMIT;");
	is("$out$err", 't', "$label: one node alone is not");
	$session->quit;
}
$query->safe_psql('postgres', 'ALTER SERVER node1 RENAME TO "Node 1"');
$query->psql('postgres', "BEGIN; $first INSERT INTO here VALUES (1); COMMIT;", stderr => \my $hint);
like($hint, qr/ALTER SERVER "Node 1" OPTIONS/, 'the hint quotes the name of the server');
$query->safe_psql('postgres', 'ALTER SERVER "Node 1" RENAME TO node1');
$query->safe_psql('postgres', "ALTER SERVER node$_ OPTIONS (ADD shuttle_two_phase 'off')") for 1, 2;
is(scalar $query->psql('postgres', "BEGIN; $first $second INSERT INTO here VALUES (1); COMMIT;"), 0, 'with the option off it goes');
$query->safe_psql('postgres', "ALTER SERVER node$_ OPTIONS (DROP shuttle_two_phase)") for 1, 2;

# ---- without a worker

for my $node (@nodes)
{
	$node->append_conf('postgresql.conf', 'max_prepared_transactions = 10');
	$node->restart;
}
my $points = ShuttlePoints->new($query);
SKIP:
{
	skip 'the server has no points to stop at', 1 unless defined $points;
	for my $point ('prepared', 'committed')
	{
		my $session = ShuttleSession->new($query, 'postgres');
		my @was = map { $_->safe_psql('postgres', 'SELECT v FROM account WHERE id = 1') } @nodes;
		$session->run("BEGIN; $first $second");
		$points->arm($point);
		$session->send('COMMIT;');
		ok($points->reached($point, $session->pid), "$point: gets there");
		ShuttleSession::kill_backend($query, $session->pid, sub { $session->result; $session->quit; });
		$points->forget;
		is($nodes[0]->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 1, "$point: node1 holds it");

		# what is younger than a second may be somebody's at work
		sleep 2;
		$session = ShuttleSession->new($query, 'postgres');
		my ($out, $err) = $session->run('SELECT v FROM account1 WHERE id = 1 FOR UPDATE; SELECT v FROM account2 WHERE id = 1 FOR UPDATE;');
		my $expected = join "\n", map { $_ + ($point eq 'committed') } @was;
		is("$out$err", $expected, "$point: the next session finds it " . ($point eq 'committed' ? 'done' : 'undone') . ' and waits for nobody');
		$session->quit;
		is($_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 0, "$point: nothing is held on " . $_->name) for @nodes;
	}
	$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
	is($query->safe_psql('postgres', 'SELECT count(*) FROM shuttle.commit_records'), 0, 'records are forgotten');

	# the table of records, while a record is not committed
	{
		my $session = ShuttleSession->new($query, 'postgres');
		$session->run("BEGIN; $first $second");
		$points->arm('prepared');
		$session->send('COMMIT;');
		ok($points->reached('prepared', $session->pid), 'a record: gets there');
		$query->psql('postgres', q{SET lock_timeout = '200ms'; TRUNCATE shuttle.commit_records}, stderr => \my $error);
		like($error, qr/canceling statement due to lock timeout/, 'a record: its table is not emptied meanwhile');
		$points->release('prepared');
		is(($session->result)[1], '', 'a record: is kept');
		is($query->safe_psql('postgres', 'SELECT count(*) FROM shuttle.commit_records'), 1, 'a record: is there');
		$session->quit;
		$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
	}

	# somebody else ends what is prepared
	{
		my $session = ShuttleSession->new($query, 'postgres');
		$session->run("BEGIN; $first $second");
		$points->arm('committed');
		$session->send('COMMIT;');
		ok($points->reached('committed', $session->pid), 'ended by somebody else: gets there');
		my $gid = $nodes[0]->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
		$nodes[0]->safe_psql('postgres', "ROLLBACK PREPARED '$gid'");
		$points->release('committed');
		my ($out, $err) = $session->result;
		like($err, qr/^WARNING:  08007: storage node "node1" may not have committed\n/, 'ended by somebody else: is told');
		$session->quit;
	}

	# a copy that was started beside it, and knows nothing of what the original is at
	$query->backup('beside');
	my $copy = PostgreSQL::Test::Cluster->new('beside');
	$copy->init_from_backup($query, 'beside');
	$copy->start;
	for my $run ('before', 'behind')
	{
		# it gives out the same numbers
		$copy->safe_psql('postgres', 'INSERT INTO here SELECT 1; ' x 20) if $run eq 'behind';
		my $session = ShuttleSession->new($query, 'postgres');
		my @was = map { $_->safe_psql('postgres', 'SELECT v FROM account WHERE id = 1') } @nodes;
		$session->run("BEGIN; $first $second");
		$points->arm('prepared');
		$session->send('COMMIT;');
		ok($points->reached('prepared', $session->pid), "a copy, $run: the original has prepared");
		is($copy->safe_psql('postgres', 'SELECT string_agg(DISTINCT state, $$,$$) FROM shuttle.transactions'), 'in progress', "a copy, $run: sees that");
		is($copy->safe_psql('postgres', 'SELECT sum(rolled_back), sum(unfinished) FROM shuttle.recover()'), '0|2', "a copy, $run: leaves it alone");
		$points->release('prepared');
		my ($out, $err) = $session->result;
		is($err, '', "a copy, $run: the original commits");
		is(join('|', map { $_->safe_psql('postgres', 'SELECT v FROM account WHERE id = 1') } @nodes), join('|', map { $_ + 1 } @was), "a copy, $run: on both nodes");
		$session->quit;
	}
	$copy->stop;
}

# ---- a standby, and what it is after its promotion

$query->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($query, 'copy', has_streaming => 1);
$standby->start;
my ($code, $out, $err) = $standby->psql('postgres', 'SELECT * FROM shuttle.recover()');
like($err, qr/recovery of transactions is for the primary server/, 'a standby recovers nothing');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM account1'), 10, 'a standby reads');

my $stem = $query->safe_psql('postgres', "SELECT 'shuttle_' || cluster || '_' || (SELECT oid FROM pg_database WHERE datname = 'postgres') || '_' || pg_current_xact_id() || '_%s_'
	|| (SELECT oid FROM pg_foreign_server WHERE srvname = 'node1') || '_1' FROM shuttle.identity");

# who waits for what is prepared finishes it where there is no worker, but not there
my $other = sprintf($stem, '0000000000000002');
$nodes[0]->safe_psql('postgres', "BEGIN; LOCK account; PREPARE TRANSACTION '$other'");
($code, $out, $err) = $standby->psql('postgres', "SET shuttle.deadlock_timeout = '100ms'; SET statement_timeout = '1s'; SELECT count(*) FROM account1");
like($err, qr/statement timeout/, 'a standby waits for what is prepared');
is($nodes[0]->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'), $other, 'a standby leaves what is prepared alone');
$nodes[0]->safe_psql('postgres', "ROLLBACK PREPARED '$other'");

my $gid = sprintf($stem, '0000000000000001');
$nodes[0]->safe_psql('postgres', "BEGIN; UPDATE account SET v = 0 WHERE id = 2; PREPARE TRANSACTION '$gid'");
$standby->promote;
like($standby->safe_psql('postgres', 'SELECT state FROM shuttle.transactions'), qr/confirm_identity/, 'promoted: it waits to be told what it is');
is($standby->safe_psql('postgres', q{SELECT * FROM shuttle.recover() WHERE server = 'node1'}), 'node1|0|0|1|waits for shuttle.confirm_identity() or shuttle.new_identity()', 'promoted: nothing is rolled back');
is(scalar $standby->psql('postgres', "BEGIN; $first $second COMMIT;"), 0, 'promoted: it commits');
$standby->safe_psql('postgres', 'SELECT shuttle.confirm_identity()');
is($standby->safe_psql('postgres', q{SELECT * FROM shuttle.recover() WHERE server = 'node1'}), 'node1|0|1|0|', 'confirmed: it is');

$_->stop for $standby, $query, @nodes;
done_testing();
