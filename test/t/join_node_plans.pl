# A node looks up the keys of a batch, and does not read a whole table for them:
# its planner must not know how many there are.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_shuttle, auto_explain'
auto_explain.log_min_duration = 0
max_parallel_workers_per_gather = 0
autovacuum = off
fsync = off
});
$node->start;
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', qq{
CREATE EXTENSION pg_shuttle CASCADE;
CREATE TABLE a AS SELECT i AS id, (i * 7919) % 100000 + 1 AS k FROM generate_series(1, 3000) i;
CREATE TABLE b AS SELECT i AS id, i % 7 AS n FROM generate_series(1, 100000) i;
ALTER TABLE b ADD PRIMARY KEY (id);
VACUUM ANALYZE a, b;
CREATE SERVER engine FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE SERVER guest FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER engine;
CREATE USER MAPPING FOR CURRENT_USER SERVER guest;
CREATE FOREIGN TABLE engine_b (id int, n int) SERVER engine OPTIONS (table_name 'b');
CREATE FOREIGN TABLE guest_b (id int, n int) SERVER guest OPTIONS (table_name 'b');
});
for my $transport ('engine', 'guest')
{
	my $begin = -s $node->logfile;
	$node->safe_psql('postgres', qq{
SET shuttle.debug_force_batched_join = on;
SELECT sum(n) FROM a JOIN ${transport}_b b ON b.id = a.k;
});
	my ($log, @looked_up);

	# the node's process may write its last plan when the answer was read
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$log = slurp_file($node->logfile, $begin);
		@looked_up = $log =~ /(Index Scan using b_pkey)/g;
		last if @looked_up >= 3;
		usleep(100_000);
	}
	my @read = $log =~ /(Seq Scan on (?:public\.)?b)\b/g;
	cmp_ok(scalar(@looked_up), '>=', 3, "$transport: keys are looked up");
	is(scalar(@read), 0, "$transport: nothing is read as a whole");
}
done_testing();
