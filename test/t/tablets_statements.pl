# Statements that nodes execute as a whole, routed or shipped, are to a client what they are over
# local tables: prepared, in cursors, savepoints and blocks, as sources of COPY and CREATE TABLE AS; so
# are the entries of pg_stat_statements and the plans of auto_explain.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = PostgreSQL::Test::Cluster->new('query');
$server->init;
# what comes later in the list sees calls that a node executes
$server->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_shuttle, pg_stat_statements, auto_explain'
pg_stat_statements.track = top
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
max_prepared_transactions = 10
autovacuum = off
});
$server->start;
my ($host, $port) = ($server->host, $server->port);
my $user = $server->safe_psql('postgres', 'SELECT current_user');
$server->safe_psql('postgres', "CREATE DATABASE $_") for 'near', 'far', 'n1', 'n2';
$server->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
$server->safe_psql($_, q{
	CREATE SCHEMA s; SET search_path = s;
	CREATE TABLE t (id int PRIMARY KEY, v int, s text);
	CREATE TABLE u (id int PRIMARY KEY, v int);
	INSERT INTO t SELECT i, i, 't' || i FROM generate_series(1, 50) AS i;
	INSERT INTO u SELECT i, i FROM generate_series(1, 50) AS i;
	CREATE FUNCTION up(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN UPDATE t SET v = v + 1 WHERE id = a; RETURN (SELECT v FROM t WHERE id = a); END';
	CREATE FUNCTION rows(a int) RETURNS SETOF t LANGUAGE sql AS 'SELECT * FROM t WHERE id = a';
	CREATE PROCEDURE add(a int, INOUT b int) LANGUAGE plpgsql AS 'BEGIN UPDATE u SET v = v + b WHERE id = a RETURNING v INTO b; RAISE NOTICE ''now %'', b; END';
	CREATE FUNCTION fails(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN UPDATE u SET v = v + 1 WHERE id = a; RETURN 1 / (a - 7); END';
	CREATE FUNCTION outs(a int, OUT x int, OUT y text) LANGUAGE plpgsql AS 'BEGIN SELECT v, s INTO x, y FROM t WHERE id = a; END';
	CREATE FUNCTION reads(a int) RETURNS int LANGUAGE plpgsql AS 'DECLARE n int := 0; r record; c CURSOR FOR SELECT v FROM t WHERE id = a; BEGIN FOR r IN c LOOP n := n + r.v; END LOOP; RETURN n; END';
}) for 'near', 'far';
$server->safe_psql('far', 'CREATE EXTENSION pg_shuttle CASCADE;' . join '', map { "
	CREATE SERVER $_ FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname '$_');
	CREATE USER MAPPING FOR PUBLIC SERVER $_ OPTIONS (user '$user'); SELECT shuttle.use_node('$_');" } 'n1', 'n2');
$server->safe_psql('far', q{SET search_path = s; SELECT shuttle.distribute_tables('{t.id, u.id}', tablets => 4);
	SELECT shuttle.distribute_function(oid, '$1', 't') FROM pg_proc WHERE pronamespace = 's'::regnamespace});

my @statements = split /\n/, q{SELECT * FROM t WHERE id = 3;
SELECT t.v, u.v FROM t JOIN u USING (id) WHERE t.id = 5;
UPDATE t SET v = v + 1 WHERE id = 4;
UPDATE t SET v = v + 1 WHERE id = 400;
DELETE FROM u WHERE id = 9;
INSERT INTO t VALUES (4, 1, 'x') ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v;
INSERT INTO t VALUES (4, 1, 'x') ON CONFLICT (id) DO NOTHING;
INSERT INTO t VALUES (201, 1, 'x'), (202, 1, 'y'), (203, 1, 'z');
INSERT INTO u SELECT id, v FROM t WHERE id = 201;
MERGE INTO t USING (SELECT 3 AS id, 4 AS v) q ON t.id = q.id WHEN MATCHED THEN UPDATE SET v = q.v WHEN NOT MATCHED THEN INSERT VALUES (q.id, q.v, 'n');
WITH w AS (UPDATE t SET v = 8 WHERE id = 12 RETURNING *) SELECT w.v, u.v FROM w JOIN u USING (id);
SELECT up(3);
SELECT up(3), up(4);
SELECT * FROM rows(3);
SELECT * FROM rows(3) WHERE v > 1000;
CALL add(3, 5);
SELECT fails(3);
SELECT fails(7);
SELECT * FROM outs(8);
SELECT (outs(8)).y;
SELECT reads(8);
SELECT id, up(id) FROM t WHERE id BETWEEN 3 AND 6 ORDER BY id;
SELECT t.id, r.v FROM t, LATERAL rows(t.id) r WHERE t.id < 5 ORDER BY 1;
UPDATE u SET v = up(id) WHERE id = 15 RETURNING *;
INSERT INTO u VALUES (300, up(3)) RETURNING *;
PREPARE a (int) AS SELECT * FROM rows($1);
EXECUTE a(3);
EXECUTE a(4);
EXECUTE a(5);
EXECUTE a(6);
EXECUTE a(7);
EXECUTE a(8);
EXECUTE a(NULL);
PREPARE b (int) AS UPDATE t SET v = v + $1 WHERE id = $1;
EXECUTE b(3);
EXECUTE b(NULL);
BEGIN;
DECLARE k CURSOR FOR SELECT * FROM rows(3);
FETCH 1 FROM k;
FETCH 1 FROM k;
SAVEPOINT s;
SELECT up(3);
SELECT fails(7);
ROLLBACK TO s;
SELECT up(3);
COMMIT;
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT up(3);
COMMIT;
FETCH ALL FROM h;
CLOSE h;
BEGIN READ ONLY;
SELECT * FROM rows(3);
SELECT up(3);
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT up(3);
SELECT * FROM rows(3);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT up(3);
COMMIT;
COPY (SELECT * FROM rows(3)) TO STDOUT;
CREATE TEMP TABLE made AS SELECT * FROM rows(3);
DO $$ DECLARE i int; BEGIN i := up(3); RAISE NOTICE 'i %', i; PERFORM up(4); SELECT up(5) INTO i; RAISE NOTICE '% %', i, FOUND; CALL add(6, i); RAISE NOTICE 'i %', i; END $$;
DO $$ DECLARE i int := 3; BEGIN BEGIN PERFORM fails(7); EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'caught %', SQLERRM; END; CALL add(6, i); COMMIT; CALL add(6, i); ROLLBACK; RAISE NOTICE 'i %', i; END $$;
SELECT up(NULL);
SELECT up('3');
SELECT up(a => 3);
SELECT coalesce((SELECT up(3)), 1);
SELECT CASE WHEN up(3) > 0 THEN up(4) ELSE up(5) END;
SELECT up(up(3) % 10 + 1);
TABLE t ORDER BY id;
TABLE u ORDER BY id;};

my (%shown, %counted);
for my $database ('near', 'far')
{
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$database.sql";
	append_to_file($file, join "\n", 'SET search_path = s;', '\set VERBOSITY verbose', @statements);
	$server->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
	# prints each statement in front of what comes of it
	IPC::Run::run([ 'psql', '-XAta', '-d', $server->connstr($database), '-f', $file ], '>', \my $out, '2>&1');
	$shown{$database} = $out =~ s/psql:\S+:\d+: |LOCATION:.*\n//gr;
	$counted{$database} = $server->safe_psql('postgres', "SELECT calls, rows, query FROM pg_stat_statements s JOIN pg_database d ON d.oid = dbid
		WHERE datname = '$database' AND query !~ 'shuttle' ORDER BY query COLLATE \"C\"");
}

sub difference
{
	my (%text) = @_;
	my @files = map { my $file = PostgreSQL::Test::Utils::tempdir() . "/$_.txt"; unlink $file; append_to_file($file, $text{$_}); $file } 'near', 'far';
	IPC::Run::run([ 'diff', '-U3', @files ], '>', \my $difference);
	return $difference =~ s/^(---|\+\+\+) .*\n//gmr;
}

like($shown{near}, qr/^CALL add\(3, 5\);\n.*NOTICE:  00000: now 8\n8\n/m, 'statements were run');
is(difference(%shown), '', 'rows, tags, notices and errors');
is(difference(%counted), '', 'pg_stat_statements');
my $log = slurp_file($server->logfile);
like($log, qr/Query Text: SELECT t\.v, u\.v FROM t JOIN u [^\n]*\n\s+Custom Scan \(Routed Statement\)/, 'auto_explain shows a routed statement');
like($log, qr/Query Text: SELECT up\(3\);\n\s+Custom Scan \(Shipped Call\)/, 'and a shipped call');
cmp_ok($server->safe_psql('far', 'SELECT sum(calls) FROM shuttle.node_stats'), '>', 10, 'nodes executed calls');
$server->stop;
done_testing();
