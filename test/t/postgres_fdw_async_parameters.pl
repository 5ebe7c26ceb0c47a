# What stock postgres_fdw cannot do, without our library: compute a parameter of a
# scan by scans that are asynchronous on the same connection; our wrapper can.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $options = "host '" . $node->host . "', port '" . $node->port . "', dbname 'postgres', async_capable 'true'";

$node->safe_psql('postgres', q{
	CREATE TABLE remote AS SELECT i AS id, i % 3 AS w FROM generate_series(1, 50) i;
	CREATE TABLE remote_too AS SELECT * FROM remote;
	ANALYZE;
});

# Its partitions a and c are on the server, b is here.
sub make_tables
{
	my $wrapper = shift;

	$node->safe_psql('postgres', qq{
		CREATE SERVER s_$wrapper FOREIGN DATA WRAPPER $wrapper OPTIONS ($options);
		CREATE USER MAPPING FOR CURRENT_USER SERVER s_$wrapper;
		CREATE SCHEMA on_$wrapper;
		SET search_path = on_$wrapper;
		CREATE FOREIGN TABLE whole (id int, w int) SERVER s_$wrapper OPTIONS (schema_name 'public', table_name 'remote');
		CREATE TABLE parts (id int, w int) PARTITION BY LIST (w);
		CREATE FOREIGN TABLE a PARTITION OF parts FOR VALUES IN (1) SERVER s_$wrapper OPTIONS (schema_name 'public', table_name 'remote');
		CREATE TABLE b PARTITION OF parts FOR VALUES IN (2);
		CREATE FOREIGN TABLE c PARTITION OF parts FOR VALUES IN (0) SERVER s_$wrapper OPTIONS (schema_name 'public', table_name 'remote_too');
		INSERT INTO b SELECT i, 2 FROM generate_series(1, 50) i;
	});
}

# The subquery is a parameter of the SELECT: count(*) ... WHERE \$1.
sub query
{
	my $wrapper = shift;

	return "SET search_path = on_$wrapper; SELECT count(*) FROM whole WHERE EXISTS (SELECT FROM parts WHERE id > 0)";
}

$node->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
make_tables('postgres_fdw');
my ($code, $out, $err) = $node->psql('postgres', query('postgres_fdw'));
like($err, qr/another command is already in progress/, 'postgres_fdw alone');

$node->safe_psql('postgres', "ALTER SERVER s_postgres_fdw OPTIONS (SET async_capable 'false')");
is($node->safe_psql('postgres', query('postgres_fdw')), '50', 'postgres_fdw alone, not asynchronous');

$node->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle');
make_tables('shuttle');
is($node->safe_psql('postgres', query('shuttle')), '50', 'our wrapper');

$node->stop;
done_testing();
