# A query node that is a standby: it reads, by batches too, and writes nothing
# anywhere; when it is promoted it writes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->start;
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "jit = off\nmax_prepared_transactions = 5");
$primary->start;
my ($host, $port) = ($far->host, $far->port);
my $user = $primary->safe_psql('postgres', 'SELECT current_user');

$far->safe_psql('postgres', q{
	CREATE TABLE a AS SELECT i AS id, i % 7 AS v FROM generate_series(1, 2000) i;
	ALTER TABLE a ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY);
	CREATE FUNCTION writes(i int) RETURNS int LANGUAGE sql VOLATILE AS
		'INSERT INTO public.written VALUES (i) RETURNING id';
	CREATE VIEW writing AS SELECT public.writes(0) AS w;
	ANALYZE;
});
$primary->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	ALTER FOREIGN TABLE writing OPTIONS (ADD shuttle_volatile 'on');
	CREATE TABLE wanted AS SELECT i * 3 AS id FROM generate_series(1, 500) i;
	CREATE FUNCTION insert_row(i int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN INSERT INTO written VALUES (i); RETURN i; END';
	ANALYZE;
});
my $backup = 'for_standby';
$primary->backup($backup);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, $backup, has_streaming => 1);

sub one
{
	my ($session, $sql) = @_;
	my ($out, $err) = $session->run($sql);
	return $err eq '' ? $out : "$out$err";
}

sub written { return $far->safe_psql('postgres', 'SELECT count(*) FROM written'); }

for my $preload ('', 'pg_shuttle')
{
	my $label = $preload eq '' ? 'not preloaded' : 'preloaded';
	$standby->append_conf('postgresql.conf', "session_preload_libraries = '$preload'");
	$preload eq '' ? $standby->start : $standby->restart;
	$primary->wait_for_catchup($standby, 'replay');
	my $session = ShuttleSession->new($standby, 'postgres');
	is(one($session, 'SELECT pg_is_in_recovery();'), 't', "$label: a standby");

	# reading, in all ways
	is(one($session, 'SELECT count(*), sum(v) FROM a;'), '2000|6000', "$label: an aggregate");
	is(one($session, 'SET shuttle.fetch_limit = 100; SELECT count(*) FROM (SELECT id FROM a OFFSET 0) x; RESET shuttle.fetch_limit;'),
		2000, "$label: pages");
	one($session, 'SET shuttle.debug_force_batched_join = on; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;');
	my $join = 'SELECT count(*), sum(a.v) FROM wanted w JOIN a ON a.id = w.id';
	like(one($session, "EXPLAIN $join;"), qr/Look Ahead/, "$label: a batched join is planned") if $preload ne '';
	is(one($session, "$join;"), '500|1502', "$label: a join");
	one($session, 'RESET ALL;');
	is(one($session, 'BEGIN; SELECT count(*) FROM a; SAVEPOINT s; SELECT count(*) FROM a WHERE id < 10; ROLLBACK TO s; SELECT count(*) FROM written; COMMIT;'),
		"2000\n9\n0", "$label: a transaction");
	is(one($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR SELECT id FROM a ORDER BY id; FETCH 2 FROM c; COMMIT;'),
		"1\n2", "$label: a cursor, REPEATABLE READ");
	is(one($session, 'EXPLAIN (ANALYZE, DIST, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM a;') =~ /Storage Read Requests: 1/ ? 1 : 0,
		1, "$label: EXPLAIN (DIST)");

	# nothing else
	for my $statement ('INSERT INTO written VALUES (1)', 'UPDATE a SET v = 0', 'DELETE FROM a', 'TRUNCATE a',
		'SELECT * FROM a WHERE id = 1 FOR UPDATE', 'SELECT insert_row(1)', q{COPY written FROM PROGRAM 'echo 1'}, 'ANALYZE a',
		'IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public', q{SELECT * FROM shuttle.release_server('far')})
	{
		like(one($session, "$statement;"), qr/^ERROR:  25006: cannot execute|^ERROR:  25006: /, "$label: $statement");
	}
	like(one($session, 'SELECT w FROM writing;'), qr/^ERROR:  25006: cannot execute INSERT in a read-only transaction/,
		"$label: a view that writes is refused by the node");
	is(one($session, 'SELECT count(*) FROM a;'), 2000, "$label: and the session goes on");
	is(written(), 0, "$label: nothing was written");
	$session->quit;
}

# Promoted, in the middle of a session.
my $session = ShuttleSession->new($standby, 'postgres');
is(one($session, 'SELECT count(*) FROM a;'), 2000, 'a session on the standby');
$standby->promote;
is(one($session, 'INSERT INTO written VALUES (1) RETURNING id;'), 1, 'writes when it was promoted');
is(one($session, 'SELECT insert_row(2);'), 2, 'from functions, too');
is(one($session, 'SELECT w FROM writing;'), 0, 'and by a view');
is(written(), 3, 'all of it is there');
$session->quit;

$_->stop for $standby, $primary, $far;
done_testing();
