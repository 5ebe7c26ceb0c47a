# auto_explain logs batched joins, with what Look Ahead did.
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
shuttle.debug_force_batched_join = on
});
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
$node->safe_psql('postgres', qq{
	CREATE TABLE a AS SELECT i AS id, i % 5 AS k FROM generate_series(1, 20) i;
	CREATE TABLE b AS SELECT i AS id, i % 4 AS k FROM generate_series(1, 8) i;
});
my %wrapper = (guest => 'postgres_fdw', engine => 'shuttle');

foreach my $transport (sort keys %wrapper)
{
	$node->safe_psql('postgres', qq{
		CREATE SERVER $transport FOREIGN DATA WRAPPER $wrapper{$transport}
			OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $transport OPTIONS (user '$user');
		CREATE FOREIGN TABLE ${transport}_b (id int, k int) SERVER $transport OPTIONS (table_name 'b');
	});
	my $offset = -s $node->logfile;
	is($node->safe_psql('postgres', "SELECT count(*) FROM a LEFT JOIN ${transport}_b b ON b.k = a.k"),
		'36', "$transport: rows of the join");
	my $log = slurp_file($node->logfile, $offset);
	like($log, qr/Custom Scan \(Look Ahead\) .*actual rows=20/, "$transport: node is logged");
	like($log, qr/Batches: 1\n\s+Keys: 20\n\s+Distinct Keys: 5\n\s+Largest Batch: 20\n/, "$transport: numbers are logged");
}
$node->stop;
done_testing();
