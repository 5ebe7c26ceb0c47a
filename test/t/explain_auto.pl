# shuttle.explain_dist in auto_explain, and auto_explain beside EXPLAIN (DIST).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_timing = off
auto_explain.log_nested_statements = on
});
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE TABLE remote AS SELECT i AS id FROM generate_series(1, 20) i;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE FOREIGN TABLE ft (id int) SERVER far OPTIONS (table_name 'remote');
	ANALYZE remote, ft;
	CREATE FUNCTION reads() RETURNS bigint LANGUAGE plpgsql AS
		'BEGIN RETURN (SELECT count(*) FROM (SELECT id FROM ft OFFSET 0) x); END';
});

# What a session tells the client, and what it writes to the log.
sub run
{
	my $sql = shift;
	my $offset = -s $node->logfile;
	my $out = $node->safe_psql('postgres', $sql);
	return ($out, slurp_file($node->logfile, $offset));
}

# The hooks of both libraries in either order.
for my $libraries ('pg_shuttle, auto_explain', 'auto_explain, pg_shuttle')
{
	$node->append_conf('postgresql.conf', "session_preload_libraries = '$libraries'");
	$node->reload;

	my ($out, $log) = run('SELECT * FROM ft');
	like($log, qr/Foreign Scan on public.ft|Foreign Scan on ft/, "$libraries: plan is logged");
	unlike($log, qr/Storage Read Requests/, "$libraries: no counters unless wanted");

	($out, $log) = run('SET shuttle.explain_dist = on; SELECT * FROM ft');
	like($log, qr/Storage Read Requests: 1\n.*Storage Rows Scanned: 20\n.*Storage Rows Returned: 20/s,
		"$libraries: counters of a logged plan");

	($out, $log) = run('SET shuttle.explain_dist = on; SELECT reads()');
	like($log, qr/Storage Rows Returned: 20/, "$libraries: of a nested plan");

	for my $format ('json', 'yaml', 'xml')
	{
		($out, $log) = run("SET shuttle.explain_dist = on; SET auto_explain.log_format = $format; SELECT * FROM ft");
		like($log, qr/Storage.Read.Requests/, "$libraries: $format");
	}

	# From 19 on auto_explain takes options of extensions.
	if ($node->pg_version >= 19)
	{
		($out, $log) = run("SET auto_explain.log_extension_options = 'dist'; SELECT * FROM ft");
		like($log, qr/Storage Read Requests: 1\n.*Storage Rows Returned: 20/s, "$libraries: log_extension_options");
		($out, $log) = run("SET auto_explain.log_extension_options = 'dist off'; SELECT reads()");
		unlike($log, qr/Storage/, "$libraries: and without");
	}

	# The logged plan is no EXPLAIN (DIST), even if one ran it.
	($out, $log) = run('EXPLAIN (ANALYZE, DIST, BUFFERS OFF) SELECT id, reads() FROM ft LIMIT 2');
	my @shown = ($out =~ /Storage Read Requests/g);
	is(scalar @shown, 2, "$libraries: node and total are shown");
	unlike($log, qr/Storage/, "$libraries: nothing in the log");

	# The same with a prepared statement, whose parameter is read by a query.
	($out, $log) = run(q{PREPARE p(int) AS SELECT id FROM ft WHERE id < $1;
		EXPLAIN (ANALYZE, DIST, BUFFERS OFF) EXECUTE p(reads()::int)});
	like($out, qr/^ +Storage Rows Returned: 19\n.*^Storage Rows Returned: 19\n/ms,
		"$libraries: prepared statement");
	unlike($log, qr/Storage/, "$libraries: nothing in the log, prepared statement");
}

$node->stop;
done_testing();
