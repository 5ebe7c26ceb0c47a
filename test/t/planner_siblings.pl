# How often postgres_fdw writes the SELECT of a partition does not grow with the number
# of partitions (trap 36).
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = PostgreSQL::Test::Cluster->new('server');
$server->init;
$server->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nautovacuum = off\n");
$server->start;

# Nothing is asked of these nodes: queries are planned, and not run.
$server->safe_psql('postgres', q{
CREATE EXTENSION pg_shuttle CASCADE;
CREATE SERVER guest FOREIGN DATA WRAPPER postgres_fdw;
CREATE SERVER engine FOREIGN DATA WRAPPER shuttle;
CREATE TABLE o AS SELECT i AS id, i AS k, i % 10 AS x FROM generate_series(1, 100) i;
ANALYZE o;
DO $$
DECLARE
	transport text;
	n int;
BEGIN
	FOREACH transport IN ARRAY '{guest,engine}'::text[] LOOP
		FOREACH n IN ARRAY '{20,200}'::int[] LOOP
			EXECUTE format('CREATE SCHEMA %s%s', transport, n);
			EXECUTE format('CREATE TABLE %s%s.p (id int, x int) PARTITION BY HASH (id)', transport, n);
			FOR i IN 0 .. n - 1 LOOP
				EXECUTE format('CREATE FOREIGN TABLE %1$s%2$s.p%3$s PARTITION OF %1$s%2$s.p
					FOR VALUES WITH (MODULUS %2$s, REMAINDER %3$s) SERVER %1$s', transport, n, i);
			END LOOP;
			EXECUTE format('CREATE VIEW %1$s%2$s.u AS %3$s', transport, n,
				(SELECT string_agg(format('SELECT id, x FROM %s%s.p%s', transport, n, i), ' UNION ALL ')
				FROM generate_series(0, n - 1) i));
		END LOOP;
	END LOOP;
END $$;
});

# How many are written while a query is planned, and if it has as many scans.
sub written
{
	my ($schema, $query) = @_;
	my ($out, $err);

	$server->psql('postgres', qq{
SET search_path = $schema, public;
SET shuttle.debug_force_batched_join = on;
SET client_min_messages = debug1;
EXPLAIN (COSTS OFF) $query
}, stdout => \$out, stderr => \$err, on_error_stop => 1);
	my ($n) = $schema =~ /(\d+)/;
	my $nscans = () = $out =~ /Foreign Scan/g;
	my $nwritten = () = $err =~ /postgres_fdw writes the SELECT/g;
	return ($nscans % $n == 0 && $nscans > 0 ? 'all' : $nscans, $nwritten,
		$out =~ /Look Ahead/ ? 'batched' : 'not batched');
}

my %queries = (
	'one condition' => 'SELECT o.id, p.x FROM o JOIN p ON p.id = o.k',
	'two conditions' => 'SELECT o.id, p.x FROM o JOIN p ON p.id = o.k AND p.x = o.x',
	'UNION ALL' => 'SELECT o.id, u.x FROM o JOIN u ON u.id = o.k',
	'two tables' => 'SELECT o.id FROM o JOIN p ON p.id = o.k JOIN p AS q ON q.id = p.x');
for my $transport ('guest', 'engine')
{
	for my $name (sort keys %queries)
	{
		my ($nscans, $few, $few_joined) = written("${transport}20", $queries{$name});
		my ($nscans_many, $many, $joined) = written("${transport}200", $queries{$name});
		is("$nscans $nscans_many", 'all all', "$transport, $name: all children are scanned");
		is($joined, 'batched', "$transport, $name: batched");
		cmp_ok($few, '>', 0, "$transport, $name: something is written");
		is($many, $few, "$transport, $name: as often for 200 as for 20 children");
	}
}
done_testing();
