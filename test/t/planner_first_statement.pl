# trap 38: each feature works as the first statement of a session, with and
# without the library preloaded, or the docs say what happens.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_prepared_transactions = 5");
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SCHEMA node;
	CREATE TABLE node.remote (id int PRIMARY KEY, v text);
	INSERT INTO node.remote SELECT i, 'v' || i FROM generate_series(1, 500) i;
	ANALYZE node.remote;
	CREATE TABLE local AS SELECT i AS id FROM generate_series(1, 50) i;
	ANALYZE local;
});
my $options = "host '$host', port '$port', dbname 'postgres'";
for my $wrapper ('shuttle', 'postgres_fdw')
{
	$node->safe_psql('postgres', qq{
		CREATE SERVER s_$wrapper FOREIGN DATA WRAPPER $wrapper OPTIONS ($options);
		CREATE USER MAPPING FOR CURRENT_USER SERVER s_$wrapper OPTIONS (user '$user');
		CREATE FOREIGN TABLE t_$wrapper (id int, v text) SERVER s_$wrapper
			OPTIONS (schema_name 'node', table_name 'remote');
	});
}

# One statement in a session of its own.
sub first
{
	my $sql = shift;
	my ($code, $out, $err) = $node->psql('postgres', $sql);
	return $code == 0 ? $out : $err;
}

# The same with settings that the session begins with.
sub first_with
{
	my ($settings, $sql) = @_;
	local $ENV{PGOPTIONS} = join(' ', map { "-c $_" } @$settings);
	return first($sql);
}

my @forced = ('shuttle.debug_force_batched_join=on', 'enable_hashjoin=off', 'enable_mergejoin=off');

# Every statement below has to do the same in both settings.
sub check_statements
{
	my $how = shift;

	is(first('SELECT count(*), max(v) FROM t_shuttle'), '500|v99', "$how: scan");
	is(first('SELECT v FROM t_shuttle WHERE id = 7'), 'v7', "$how: scan by key");
	for my $wrapper ('shuttle', 'postgres_fdw')
	{
		is( first(qq{SELECT count(v) FROM local l JOIN t_$wrapper f ON f.id = l.id * 7}),
			'50', "$how: join, $wrapper");
		is( first(qq{SELECT count(x.v) FROM local l LEFT JOIN LATERAL
				(SELECT v FROM t_$wrapper f WHERE f.id = l.id * 11 ORDER BY v LIMIT 1) x ON true}),
			'45', "$how: lateral, $wrapper");
		is( first(qq{SELECT sum((SELECT length(v) FROM t_$wrapper f WHERE f.id = l.id)) FROM local l}),
			'141', "$how: subplan, $wrapper");
		for my $query (
			"SELECT count(v) FROM local l JOIN t_$wrapper f ON f.id = l.id * 7",
			"SELECT count(l.id) FROM local l LEFT JOIN t_$wrapper f ON f.id = l.id * 11",
			"SELECT count(*) FROM local l WHERE EXISTS (SELECT FROM t_$wrapper f WHERE f.id = l.id)",
			"SELECT 50 + count(*) FROM local l WHERE NOT EXISTS (SELECT FROM t_$wrapper f WHERE f.id = l.id)",
			"SELECT count((SELECT v FROM t_$wrapper f WHERE f.id = l.id)) FROM local l",
			"WITH l AS MATERIALIZED (SELECT * FROM local) SELECT count(v) FROM l, LATERAL (SELECT v FROM t_$wrapper f WHERE f.id = l.id LIMIT 1) x")
		{
			is(first_with(\@forced, $query), '50', "$how: batched, $query");
		}
	}
	is(first(q{INSERT INTO t_shuttle VALUES (1001, 'new') RETURNING v}), 'new', "$how: insert");
	is(first(q{UPDATE t_shuttle SET v = 'newer' WHERE id = 1001 RETURNING v}), 'newer', "$how: update");
	is(first(q{UPDATE t_shuttle f SET v = 'joined' FROM local l WHERE f.id = l.id + 1000 AND l.id = 1 RETURNING v}),
		'joined', "$how: update by a join");
	is(first(q{DELETE FROM t_shuttle WHERE id = 1001 RETURNING v}), 'joined', "$how: delete");
	is(first('COPY (SELECT * FROM t_shuttle WHERE id = 3) TO STDOUT'),
		"3\tv3", "$how: copy out");
	is(first(q{DO $$BEGIN INSERT INTO t_shuttle VALUES (1002, 'x'); DELETE FROM t_shuttle WHERE id = 1002; END$$}),
		'', "$how: DO block");
	is(first('SELECT count(*) FROM (SELECT * FROM t_shuttle FOR UPDATE) x'), '500', "$how: locks");
	is(first('ANALYZE t_shuttle'), '', "$how: analyze");
	is( first(qq{IMPORT FOREIGN SCHEMA node FROM SERVER s_shuttle INTO public}),
		'', "$how: import");
	is(first('DROP FOREIGN TABLE remote'), '', "$how: drop what was imported");
	like(first('EXPLAIN (COSTS OFF) SELECT * FROM t_shuttle'), qr/Foreign Scan/, "$how: explain");
	like(first('EXPLAIN (ANALYZE, BUFFERS OFF) SELECT * FROM t_shuttle'),
		qr/Foreign Scan.*Execution Time/s, "$how: explain analyze");
	like(first(q{SELECT * FROM shuttle.adopt_server('s_postgres_fdw')}),
		qr/server s_postgres_fdw\|wrapper\|postgres_fdw\|shuttle/, "$how: adopt");
	like(first(q{SELECT * FROM shuttle.release_server('s_postgres_fdw')}),
		qr/server s_postgres_fdw\|wrapper\|shuttle\|postgres_fdw/, "$how: release");
	like(first(q{ALTER SERVER s_shuttle OPTIONS (shuttle_nosuch '1')}),
		qr/invalid option "shuttle_nosuch"/, "$how: validator");
	is(first(q{SET shuttle.batch_size = 7}), '', "$how: set");
}

# Correlated subqueries of a first statement are batched only if the library
# was there before; else a notice says so, once.
my $subquery = 'SELECT (SELECT v FROM t_shuttle f WHERE f.id = l.id) FROM local l LIMIT 1';

sub notices
{
	my $sql = shift;
	my ($code, $out, $err) = $node->psql('postgres', $sql);
	return $err;
}

check_statements('on demand');
like(notices($subquery), qr/NOTICE:  pg_shuttle was loaded too late.*HINT:  Load it before/s,
	'on demand: subquery');
my @told = notices("$subquery; $subquery") =~ /NOTICE/g;
is(scalar @told, 1, 'on demand: told once');
is(notices("LOAD 'pg_shuttle'; $subquery"), '', 'on demand: subquery after LOAD');
is(notices('SELECT count(*) FROM (SELECT max(id) FROM t_shuttle OFFSET 0) x'),
	'', 'on demand: a subquery that is not correlated');
like(first('EXPLAIN (ANALYZE, DIST) SELECT * FROM t_shuttle'),
	qr/unrecognized EXPLAIN option "dist"/, 'on demand: EXPLAIN (DIST) is not known yet');
like(first(q{LOAD 'pg_shuttle'; EXPLAIN (ANALYZE, DIST) SELECT * FROM t_shuttle}),
	qr/Storage Read Requests: [1-9]/, 'on demand: EXPLAIN (DIST) after LOAD');
like(first(q{SELECT count(*) FROM t_shuttle; EXPLAIN (ANALYZE, DIST) SELECT * FROM t_shuttle}),
	qr/Storage Read Requests: [1-9]/, 'on demand: EXPLAIN (DIST) after a scan');

for my $setting ('session_preload_libraries', 'shared_preload_libraries')
{
	$node->append_conf('postgresql.conf', "$setting = 'pg_shuttle'");
	$node->restart;
	check_statements($setting);
	like(first('EXPLAIN (ANALYZE, DIST) SELECT * FROM t_shuttle'),
		qr/Storage Read Requests: [1-9]/, "$setting: EXPLAIN (DIST)");
	is(first('SHOW shuttle.batch_size'), '1024', "$setting: show");
	is(notices($subquery), '', "$setting: subquery");
	$node->adjust_conf('postgresql.conf', $setting, undef);
}

$node->stop;
done_testing();
