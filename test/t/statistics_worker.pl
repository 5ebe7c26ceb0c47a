# Statistics follow those of storage nodes: estimates and row counts after ANALYZE on the
# nodes, at one request for each node and interval; while a node does not answer, a table
# is locked, or a database is dropped; by settings that are reloaded.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleSession;

sub start_server
{
	my ($name, $conf) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$server->init;
	$server->append_conf('postgresql.conf', "max_prepared_transactions = 10\nautovacuum = off\n$conf");
	$server->start;
	return $server;
}

my $query = start_server('query', "shared_preload_libraries = 'pg_shuttle'\nshuttle.statistics_interval = 1\nshuttle.recovery_interval = 0");
my @nodes = map { start_server("node$_", "log_statement = all\nlog_min_messages = log") } 1 .. 2;
my $user = $query->safe_psql('postgres', 'SELECT current_user');

sub make_server
{
	my ($database, $i) = @_;
	my ($host, $port) = ($nodes[ $i - 1 ]->host, $nodes[ $i - 1 ]->port);
	return "CREATE SERVER node$i FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR PUBLIC SERVER node$i OPTIONS (user '$user');";
}

# Waits at most 20 s: many times longer than an interval.
sub follows
{
	my ($sql, $expected, $label) = @_;
	my $until = time + 20;
	my $last;

	while (($last = $query->safe_psql('postgres', $sql)) ne $expected && time < $until)
	{
		usleep(200_000);
	}
	is($last, $expected, $label);
	return;
}

sub set_up
{
	my ($name, $value) = @_;
	$query->safe_psql('postgres', "ALTER SYSTEM SET $name = $value");
	$query->reload;
	return;
}

$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE;' . make_server('postgres', 1) . make_server('postgres', 2) . q{
	SELECT shuttle.use_node('node1'), shuttle.use_node('node2');
	CREATE TABLE orders (id int PRIMARY KEY, customer int, note text);
	SELECT shuttle.distribute_table('orders', 'id', tablets => 4);
	CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
	DECLARE plan json;
	BEGIN
		EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
		RETURN plan->0->'Plan'->>'Plan Rows';
	END $$;
});
my @tablets = split /\n/, $query->safe_psql('postgres', "SELECT c.relname, s.srvname FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid
	JOIN pg_foreign_table ON ftrelid = c.oid JOIN pg_foreign_server s ON s.oid = ftserver WHERE inhparent = 'orders'::regclass ORDER BY 2, 1");
is(scalar(@tablets), 4, 'tablets') or BAIL_OUT('no tablets');
my ($tablet1) = $tablets[0] =~ /^(.*)\|node1$/;
my ($tablet2) = $tablets[3] =~ /^(.*)\|node2$/;

# rows are loaded, the nodes analyze by themselves
$query->safe_psql('postgres', "INSERT INTO orders SELECT i, i % 100, 'note ' || i FROM generate_series(1, 10000) AS i");
for my $tablet (@tablets)
{
	my ($name, $i) = $tablet =~ /^(.*)\|node(\d)$/;
	$nodes[ $i - 1 ]->safe_psql('postgres', "ANALYZE $name");
}
follows("SELECT estimate('SELECT FROM orders')", '10000', 'estimate of rows');
follows("SELECT reltuples FROM pg_class WHERE oid = 'orders'::regclass", '10000', 'number of rows of the parent');
follows("SELECT estimate('SELECT FROM orders GROUP BY customer')", '100', 'estimate of groups, by the sample of the parent');

# one request for each node and interval
usleep(1_500_000);
my $asked = sub { my $n = () = slurp_file($nodes[0]->logfile) =~ /statement: .*pg_stat_get_mod_since_analyze/g; return $n; };
my $all = sub { my $n = () = slurp_file($nodes[0]->logfile) =~ /(?:statement|execute [^:]*): /g; return $n; };
my ($asked_before, $all_before, $since) = ($asked->(), $all->(), time);
usleep(3_500_000);
my ($nasked, $nall, $intervals) = ($asked->() - $asked_before, $all->() - $all_before, time - $since);
cmp_ok($nasked, '>=', 1, 'the node is asked');
cmp_ok($nasked, '<=', $intervals + 1, 'once an interval');
cmp_ok($nall, '<=', 2 * $nasked + 2, 'and for nothing else') or diag("$nall statements, $nasked requests");

# a node that does not answer
my $grow = sub {
	my ($i, $tablet, $n) = @_;
	$nodes[ $i - 1 ]->safe_psql('postgres', "INSERT INTO $tablet SELECT i, 0 FROM generate_series((SELECT max(id) FROM orders) + 1, 200000) AS i
		WHERE satisfies_hash_partition('orders'::regclass, 4, (SELECT substring(pg_get_expr(relpartbound, oid) FROM 'remainder (\\d+)')::int FROM pg_class WHERE relname = '$tablet'), i) LIMIT $n;
		ANALYZE $tablet");
	return $nodes[ $i - 1 ]->safe_psql('postgres', "SELECT count(*) FROM $tablet");
};
my $stopped = $nodes[1]->data_dir . '/postmaster.pid';
my ($postmaster) = slurp_file($stopped) =~ /^(\d+)/;
kill 'STOP', $postmaster;
my $rows = $grow->(1, $tablet1, 1000);
follows("SELECT reltuples FROM pg_class WHERE oid = 'shuttle_tablets.$tablet1'::regclass", $rows, 'a node that does not answer delays no other');

# DROP DATABASE while a worker waits for that node
set_up('shuttle.statistics_tables', "'all'");
$query->safe_psql('postgres', 'CREATE DATABASE other');
$query->safe_psql('other', 'CREATE EXTENSION pg_shuttle CASCADE;' . make_server('other', 2) . 'CREATE FOREIGN TABLE t (a int) SERVER node2; EXPLAIN SELECT FROM t');
ok($query->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = 'other' AND backend_type = 'pg_shuttle statistics worker'"), 'a worker is in the database');
is($query->psql('postgres', 'DROP DATABASE other'), 0, 'which can be dropped');
kill 'CONT', $postmaster;

# a table that somebody holds
my $session = ShuttleSession->new($query, 'postgres');
$session->run('BEGIN;');
$session->run("COMMENT ON FOREIGN TABLE shuttle_tablets.$tablet1 IS 'held';");
my $rows1 = $grow->(1, $tablet1, 2000);
my $rows2 = $grow->(2, $tablet2, 2000);
follows("SELECT reltuples FROM pg_class WHERE oid = 'shuttle_tablets.$tablet2'::regclass", $rows2, 'a locked table delays no other');
is($query->safe_psql('postgres', "SELECT reltuples FROM pg_class WHERE oid = 'shuttle_tablets.$tablet1'::regclass"), $rows, 'it is left alone');
is($query->safe_psql('postgres', "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND backend_type LIKE 'pg_shuttle%'"), '0', 'nobody waits for it');
$session->run('COMMIT;');
follows("SELECT reltuples FROM pg_class WHERE oid = 'shuttle_tablets.$tablet1'::regclass", $rows1, 'until it is free');
follows("SELECT reltuples = (SELECT sum(c.reltuples) FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'orders'::regclass) FROM pg_class WHERE oid = 'orders'::regclass", 't', 'the parent follows');

# other foreign tables, by the setting
$nodes[0]->safe_psql('postgres', 'CREATE TABLE plain AS SELECT i AS a FROM generate_series(1, 777) AS i; ANALYZE plain');
$query->safe_psql('postgres', 'CREATE FOREIGN TABLE plain (a int) SERVER node1');
follows("SELECT reltuples FROM pg_class WHERE oid = 'plain'::regclass", '777', 'a foreign table that is no tablet');
set_up('shuttle.statistics_tables', 'tablets');
$query->poll_query_until('postgres', "SELECT setting = 'tablets' FROM pg_settings WHERE name = 'shuttle.statistics_tables'");
usleep(1_200_000);
$nodes[0]->safe_psql('postgres', 'INSERT INTO plain SELECT generate_series(1, 223); ANALYZE plain');

# off
my $last = $query->safe_psql('postgres', 'SELECT max(copied_at) FROM shuttle.copied_statistics');
set_up('shuttle.statistics_interval', 0);
usleep(1_200_000);
$asked_before = $asked->();
$grow->(1, $tablet1, 3000);
usleep(2_200_000);
is($asked->(), $asked_before, 'no request when it is off');
is($query->safe_psql('postgres', "SELECT reltuples FROM pg_class WHERE oid = 'plain'::regclass"), '777', 'only tablets');
is($query->safe_psql('postgres', "SELECT string_agg(relation || ': ' || error, ', ') FROM shuttle.copied_statistics"), '', 'no table has failed');
isnt($last, '', 'what was copied can be seen');

done_testing();
