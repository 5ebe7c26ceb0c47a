# A node dies while it computes its part of an aggregate over two nodes: the
# statement fails with its name, the other node is left alone and free, and the
# next statement has all rows.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my %far;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'");
$node->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE TABLE t (k int, g int, n numeric) PARTITION BY RANGE (k);
	CREATE TABLE here AS SELECT i AS k, i % 5 AS g, i / 7.0 AS n FROM generate_series(1, 2000) i');

# The second node waits in the middle of its rows while its gate is closed.
for my $number (1, 2)
{
	my $name = "far$number";
	my ($first, $last) = ($number * 1000 - 999, $number * 1000);
	my $far = $far{$number} = PostgreSQL::Test::Cluster->new($name);
	$far->init;
	$far->append_conf('postgresql.conf', 'restart_after_crash = on');
	$far->start;
	my ($host, $port) = ($far->host, $far->port);
	$far->safe_psql('postgres', qq{
		CREATE TABLE numbers AS SELECT i AS k, i % 5 AS g, i / 7.0 AS n FROM generate_series($first, $last) i;
		CREATE TABLE gate (closed int);
		CREATE FUNCTION pass(k int) RETURNS bool LANGUAGE plpgsql AS \$\$
			BEGIN
				WHILE k = 1500 AND EXISTS (SELECT FROM public.gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
				RETURN true;
			END \$\$;
		CREATE VIEW gated AS SELECT * FROM numbers WHERE pass(k)});
	$node->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user');
		CREATE FOREIGN TABLE t$number PARTITION OF t FOR VALUES FROM ($first) TO (@{[$last + 1]}) SERVER $name OPTIONS (table_name 'gated')});
}

my $ours = "FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'";
my $query = 'SELECT g, count(*), avg(n), cardinality(array_agg(k)) FROM %s GROUP BY g ORDER BY g;';
my $session = ShuttleSession->new($node, 'postgres');
my ($expected) = $session->run(sprintf $query, 'here');
my ($plan) = $session->run('EXPLAIN (VERBOSE) ' . sprintf $query, 't');
is(() = $plan =~ /Aggregate on/g, 2, 'both nodes aggregate');
is(($session->run(sprintf $query, 't'))[0], $expected, 'all is well');

sub close_gate
{
	my ($label, $begin) = @_;
	$far{2}->safe_psql('postgres', 'INSERT INTO gate VALUES (1)');
	$session->run($begin);
	$session->send(sprintf $query, 't');
	ok($far{2}->poll_query_until('postgres', "SELECT count(*) = 1 $ours AND wait_event = 'PgSleep'"), "$label: is there");
	return;
}

# What was not answered is sent again, and then the node may not be up yet.
sub is_told
{
	my $label = shift;
	my ($out, $err) = $session->result;
	like($err, qr/^ERROR:  (08006: connection to storage node "far2" was lost|08001: could not connect to server "far2"|57P0[12]: )/, "$label: what is told");
	is($out, '', "$label: no rows");
	$session->run('ROLLBACK;');
	ok($far{1}->poll_query_until('postgres', "SELECT count(*) = 0 $ours AND state <> 'idle'"), "$label: the other node is free");
	return;
}

sub goes_on
{
	my $label = shift;
	$far{2}->safe_psql('postgres', 'TRUNCATE gate');
	is(($session->run(sprintf $query, 't'))[0], $expected, "$label: and then all rows");
	return;
}

for my $begin ('', 'BEGIN;', 'BEGIN; INSERT INTO here SELECT 0, 0, 0 WHERE false; SELECT count(*) FROM t1;')
{
	my $label = $begin eq '' ? 'alone' : $begin =~ /INSERT/ ? 'in a transaction that has asked' : 'in a transaction';
	close_gate("ended, $label", $begin);
	$far{2}->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $ours");
	is_told("ended, $label");
	goes_on("ended, $label");
	close_gate("killed, $label", $begin);
	ShuttleSession::kill_backend($far{2}, $far{2}->safe_psql('postgres', "SELECT pid $ours"), sub { is_told("killed, $label"); });
	goes_on("killed, $label");
}
close_gate('stopped', '');
$far{2}->stop('immediate');
my ($out, $err) = $session->result;
like($err, qr/^ERROR:  (08006|08001|57P0)/, 'stopped: what is told');
($out, $err) = $session->run(sprintf $query, 't');
like($err, qr/^ERROR:  08001: could not connect to server "far2"/, 'stopped: nobody there');
is(($session->run('SELECT count(*) FROM t1;'))[0], 1000, 'stopped: the other node answers');
$far{2}->start;
$far{2}->safe_psql('postgres', 'TRUNCATE gate');
is(($session->run(sprintf $query, 't'))[0], $expected, 'started: all rows');
$session->quit;
done_testing();
