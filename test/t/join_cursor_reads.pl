# Cursors and loops: of 10 000 rows nodes send at most twice those that were
# taken.  auto_explain tells how many came.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'auto_explain, pg_shuttle'
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_timing = off
auto_explain.log_nested_statements = on
shuttle.explain_dist = on
shuttle.debug_force_batched_join = on
});
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE TABLE a AS SELECT i AS id, i AS k FROM generate_series(1, 10000) i;
	CREATE UNIQUE INDEX ON a (id);
	CREATE TABLE b AS SELECT i AS id, i AS k, i % 10 AS v FROM generate_series(1, 10000) i;
	CREATE INDEX ON b (k);
	CREATE SERVER guest FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE SERVER engine FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER guest OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER engine OPTIONS (user '$user');
	CREATE SCHEMA guest;
	CREATE SCHEMA engine;
	CREATE FOREIGN TABLE guest.fa (id int, k int) SERVER guest OPTIONS (schema_name 'public', table_name 'a');
	CREATE FOREIGN TABLE engine.fa (id int, k int) SERVER engine OPTIONS (schema_name 'public', table_name 'a');
	CREATE FOREIGN TABLE guest.fb (id int, k int, v int) SERVER guest OPTIONS (schema_name 'public', table_name 'b');
	CREATE FOREIGN TABLE engine.fb (id int, k int, v int) SERVER engine OPTIONS (schema_name 'public', table_name 'b');
	ANALYZE a; ANALYZE b; ANALYZE guest.fa; ANALYZE guest.fb; ANALYZE engine.fa; ANALYZE engine.fb;
});

# Runs statements, and returns what they print and the rows that nodes sent.
sub fetched
{
	my ($transport, $sql) = @_;
	my $offset = -s $node->logfile;
	my $out = $node->safe_psql('postgres', "SET search_path = $transport, public; $sql");
	my $rows = 0;
	my $log = slurp_file($node->logfile, $offset);
	$rows += $1 while $log =~ /Storage Rows Returned: (\d+)/g;
	return ($out, $rows);
}

my $join = 'SELECT a.id, fb.v FROM a JOIN fb ON fb.k = a.k ORDER BY a.id';
my $left = 'SELECT a.id, fb.v FROM a LEFT JOIN fb ON fb.k = a.k ORDER BY a.id';
# over a table alone a cursor has no Look Ahead: WHERE CURRENT OF may need its row
my $subplan = 'SELECT a.k, (SELECT count(*) FROM fb WHERE fb.k = a.k) FROM generate_series(1, 1000) AS a (k)';
my $lateral = 'SELECT a.id, s.v FROM a, LATERAL (SELECT v FROM fb WHERE fb.k = a.k LIMIT 1) s ORDER BY a.id';

# statements, and rows that are taken of nodes
my @cases = (
	[ 'FETCH 5', "BEGIN; DECLARE c CURSOR FOR $join; FETCH 5 FROM c; COMMIT;", 5 ],
	[ 'FETCH FORWARD 5, left join', "BEGIN; DECLARE c NO SCROLL CURSOR FOR $left; FETCH FORWARD 5 FROM c; CLOSE c; COMMIT;", 5 ],
	[ 'FETCH 5, twice', "BEGIN; DECLARE c CURSOR FOR $join; FETCH 5 FROM c; FETCH 5 FROM c; COMMIT;", 10 ],
	[ 'FETCH 1, five times', 'BEGIN; DECLARE c CURSOR FOR ' . $join . ';' . ' FETCH 1 FROM c;' x 5 . 'COMMIT;', 5 ],
	[ 'MOVE 5 and FETCH 5', "BEGIN; DECLARE c CURSOR FOR $join; MOVE 5 FROM c; FETCH 5 FROM c; COMMIT;", 10 ],
	[ 'SCROLL, forth and back', "BEGIN; DECLARE c SCROLL CURSOR FOR $join; FETCH 5 FROM c; FETCH BACKWARD 3 FROM c; FETCH 2 FROM c; FETCH FIRST FROM c; COMMIT;", 5 ],
	[ 'ABSOLUTE 5', "BEGIN; DECLARE c SCROLL CURSOR FOR $left; FETCH ABSOLUTE 5 FROM c; COMMIT;", 6 ],
	[ 'of a LIMIT that is larger', "BEGIN; DECLARE c CURSOR FOR $join LIMIT 1000; FETCH 5 FROM c; COMMIT;", 5 ],
	[ 'subquery', "BEGIN; DECLARE c NO SCROLL CURSOR FOR $subplan; FETCH 5 FROM c; COMMIT;", 5 ],
	[ 'LATERAL', "BEGIN; DECLARE c NO SCROLL CURSOR FOR $lateral; FETCH 5 FROM c; COMMIT;", 5 ],
	# outside of a function's transaction, plpgsql fetches a row at a time
	[ 'FOR with EXIT', qq{DO \$\$ DECLARE r record; BEGIN FOR r IN $join LOOP EXIT WHEN r.id = 5; END LOOP; END \$\$;}, 5 ],
	[ 'FOR with EXIT behind the first rows', qq{DO \$\$ DECLARE r record; BEGIN FOR r IN $left LOOP EXIT WHEN r.id = 15; END LOOP; END \$\$;}, 15 ],
	[ 'FOR over EXECUTE', qq{DO \$\$ DECLARE r record; BEGIN FOR r IN EXECUTE '$join' LOOP EXIT WHEN r.id = 5; END LOOP; END \$\$;}, 5 ],
	# in one, 10 rows for a loop, and then 50 at a time
	[ 'FOR with EXIT, in a function', qq{CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS \$\$ DECLARE r record; BEGIN FOR r IN $join LOOP EXIT WHEN r.id = 5; END LOOP; END \$\$; SELECT f(); DROP FUNCTION f();}, 10 ],
	[ 'cursor of plpgsql', qq{DO \$\$ DECLARE c CURSOR FOR $join; r record; BEGIN OPEN c; FOR i IN 1 .. 5 LOOP FETCH c INTO r; END LOOP; CLOSE c; END \$\$;}, 5 ],
	[ 'SELECT INTO', qq{DO \$\$ DECLARE r record; BEGIN $join INTO r; END \$\$;}, 1 ],
	[ 'IF EXISTS', qq{DO \$\$ BEGIN IF EXISTS (SELECT FROM a JOIN fb ON fb.k = a.k) THEN NULL; END IF; END \$\$;}, 1 ],
	[ 'LIMIT of a parameter', "PREPARE q (int) AS $join LIMIT \$1; SET plan_cache_mode = force_generic_plan; EXECUTE q (5);", 5 ],
	[ 'LIMIT of a variable', qq{DO \$\$ DECLARE n int := 5; r record; BEGIN FOR r IN $join LIMIT n LOOP NULL; END LOOP; END \$\$;}, 5 ],
	[ 'function in FROM', "CREATE FUNCTION firsts() RETURNS SETOF int LANGUAGE sql AS 'SELECT a.id FROM a JOIN fb ON fb.k = a.k ORDER BY a.id LIMIT 5'; SELECT count(*) FROM firsts(); DROP FUNCTION firsts();", 5 ],
);
foreach my $transport (qw(guest engine))
{
	foreach my $case (@cases)
	{
		my ($name, $sql, $needed) = @$case;
		my ($out, $rows) = fetched($transport, $sql);
		cmp_ok($rows, '<=', 2 * $needed, "$transport: $name: at most twice the rows");
		cmp_ok($rows, '>=', $needed, "$transport: $name: and these are counted");
	}
}
# both sides of another server
my ($out, $rows) = fetched('engine', 'BEGIN; DECLARE c CURSOR FOR SELECT fa.id, fb.v FROM fa JOIN b AS l ON l.k = fa.k JOIN fb ON fb.k = l.id ORDER BY fa.id; FETCH 5 FROM c; COMMIT;');
cmp_ok($rows, '<=', 20, 'foreign outer side: at most twice the rows');
is($out, join("\n", map { "$_|$_" } 1 .. 5), 'foreign outer side: rows');
# a cursor that is held reads all when its transaction ends
($out, $rows) = fetched('engine', "BEGIN; DECLARE c CURSOR WITH HOLD FOR $join; FETCH 2 FROM c; COMMIT; FETCH 2 FROM c; CLOSE c;");
is($rows, 10000, 'WITH HOLD: all rows');
is($out, join("\n", map { "$_|$_" } 1 .. 4), 'WITH HOLD: rows');
$node->stop;
done_testing();
