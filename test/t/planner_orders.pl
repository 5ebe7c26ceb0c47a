# Local joins of partitions are planned for the first order of a join that nodes do, and
# for no other; copies of reference tables are joined with partitions by equalities first.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = PostgreSQL::Test::Cluster->new('node');
$server->init;
$server->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\n");
$server->start;
my $port = $server->port;
my $host = $server->host;
$server->safe_psql('postgres', qq{
CREATE EXTENSION pg_shuttle CASCADE;
CREATE SERVER n1 FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER n1;
CREATE FUNCTION here(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN \$1; END';
CREATE SCHEMA plain;
CREATE SCHEMA spread;
DO \$\$
BEGIN
	FOR t IN 1 .. 4 LOOP
		EXECUTE format('CREATE TABLE plain.f%s (k int, x int) PARTITION BY HASH (k)', t);
		EXECUTE format('CREATE TABLE spread.f%s (k int, x int) PARTITION BY HASH (k)', t);
		FOR i IN 0 .. 1 LOOP
			EXECUTE format('CREATE TABLE plain.f%1\$sp%2\$s PARTITION OF plain.f%1\$s FOR VALUES WITH (MODULUS 2, REMAINDER %2\$s)', t, i);
			EXECUTE format('CREATE FOREIGN TABLE spread.f%1\$sp%2\$s PARTITION OF spread.f%1\$s
				FOR VALUES WITH (MODULUS 2, REMAINDER %2\$s) SERVER n1 OPTIONS (schema_name ''plain'')', t, i);
		END LOOP;
		EXECUTE format('INSERT INTO plain.f%s SELECT i, i %% 90 FROM generate_series(1, 1000) i', t);
	END LOOP;
END \$\$;
CREATE TABLE plain.r (id int PRIMARY KEY, a int);
INSERT INTO plain.r SELECT i, i % 7 FROM generate_series(0, 100) i;
CREATE FOREIGN TABLE spread.r (id int, a int) SERVER n1 OPTIONS (schema_name 'plain', shuttle_replicated_on 'n1');
ANALYZE;
});

# Runs a query over partitions of the node. Returns how many orders were left out, the
# number of foreign scans, if the rows are those of the tables here, and how many joins
# with copies were put off.
sub plan_query
{
	my ($query, $by_nodes) = @_;
	my ($out, $err);
	my $joins = $by_nodes ? 'off' : 'on';

	$server->psql('postgres', qq{
SET enable_partitionwise_join = on;
SET enable_hashjoin = $joins;
SET enable_mergejoin = $joins;
SET enable_nestloop = $joins;
SET search_path = spread, public;
SET client_min_messages = debug1;
EXPLAIN (COSTS OFF) $query
}, stdout => \$out, stderr => \$err, on_error_stop => 1);
	my $norders = () = $err =~ /core plans no local joins of partitions/g;
	my $nlater = () = $err =~ /joined with no copy before there is an equality/g;
	my $nscans = () = $out =~ /Foreign Scan/g;
	my ($rows, $rows_here) = map {
		$server->safe_psql('postgres', "SET enable_partitionwise_join = on; SET search_path = $_, public; $query")
	} qw(spread plain);
	return ($norders, $nscans, $rows eq $rows_here && length($rows) > 0, $nlater);
}

for my $case (
	['two tables have one order', 0, 2,
		'SELECT f1.x, f2.x FROM f1 JOIN f2 ON f2.k = f1.k WHERE f1.x = 3 ORDER BY 1, 2'],
	['three tables have more', 1, 2,
		'SELECT f1.x, f2.x, f3.x FROM f1 JOIN f2 ON f2.k = f1.k JOIN f3 ON f3.k = f1.k WHERE f1.x = 3 ORDER BY 1, 2, 3'],
	['so do four, with outer joins', 1, 2,
		'SELECT f1.x, f2.x, f3.x, f4.x FROM f1 JOIN f2 ON f2.k = f1.k LEFT JOIN f3 ON f3.k = f1.k AND f3.x > 30 LEFT JOIN f4 ON f4.k = f2.k WHERE f1.x = 3 ORDER BY 1, 2, 3, 4'],
	['three with a reference table, by an OR', 1, 2,
		'SELECT f1.x, f2.x, f3.x, r.a FROM f1 JOIN f2 ON f2.k = f1.k JOIN f3 ON f3.k = f1.k JOIN r ON r.id = f2.x WHERE (r.a = 3 AND f1.x < 40) OR (r.a = 4 AND f1.x > 50) ORDER BY 1, 2, 3, 4', 1],
	['with a reference table by the OR alone', 1, 2,
		'SELECT f1.x, f2.x, r.a FROM f1 JOIN f2 ON f2.k = f1.k JOIN r ON (r.a = 3 AND f1.x < 4) OR (r.a = 4 AND f1.x > 86) WHERE r.id < 20 ORDER BY 1, 2, 3'],
	['what nodes cannot join is planned here', 0, 6,
		'SELECT f1.x, f2.x, f3.x FROM f1 LEFT JOIN f2 ON f2.k = f1.k AND here(f2.x) > f1.x LEFT JOIN f3 ON f3.k = f1.k AND here(f3.x) > f1.x ORDER BY 1, 2, 3'])
{
	my ($name, $leaves_out, $nscans_wanted, $query, $waits) = @$case;
	my ($norders, $nscans, $same, $nlater) = plan_query($query, $nscans_wanted == 2);

	is($norders > 0 ? 1 : 0, $leaves_out, "$name: other orders");
	is($nscans, $nscans_wanted, "$name: scans");
	ok($same, "$name: rows");
	is($nlater > 0 ? 1 : 0, $waits ? 1 : 0, "$name: copies that wait");
}
done_testing();
