# Storage nodes of versions that no query node of ours runs on: reads, batched
# joins, writes, commits over two nodes and statistics.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Servers without clients, that "tools/servers install nodes" fetched, as name=prefix.
my %prefix = map { split /=/, $_, 2 } split /:/, $ENV{SHUTTLE_NODES} // '';
plan skip_all => 'no servers of other versions; run: tools/servers install nodes'
	if !%prefix;

my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'");
$query->start;
$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE TABLE wanted AS
	SELECT 7 * i AS id FROM generate_series(1, 20) i; ANALYZE wanted');
my $user = $query->safe_psql('postgres', 'SELECT current_user');
my @started;

for my $name (sort keys %prefix)
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $log = start_node($name, $port);
	my $far = "host=127.0.0.1 port=$port user=$user";

	for my $database ('one', 'two')
	{
		$query->safe_psql('postgres', "CREATE DATABASE $database", connstr => "$far dbname=postgres");
		$query->safe_psql('postgres', q{
			CREATE TABLE t (id int PRIMARY KEY, grp int, name text, at timestamptz, many int[]);
			INSERT INTO t SELECT i, i % 10, 'name ' || i, '2024-01-01 00:00+00', ARRAY[i, NULL]
			FROM generate_series(1, 1000) i;
			ANALYZE t}, connstr => "$far dbname=$database");
		$query->safe_psql('postgres', qq{
			CREATE SERVER $database FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$port', dbname '$database');
			CREATE USER MAPPING FOR CURRENT_USER SERVER $database OPTIONS (user '$user');
			CREATE SCHEMA $database;
			IMPORT FOREIGN SCHEMA public FROM SERVER $database INTO $database});
	}
	test_node($name, $log, sub {
		return join ' ', map { $query->safe_psql('postgres', $_[0], connstr => "$far dbname=$_") } 'one', 'two';
	});
	$query->safe_psql('postgres', 'DROP SERVER one, two CASCADE; DROP SCHEMA one, two');
	stop_node();
}

# Starts a node that lets everybody in, and returns its log file.
sub start_node
{
	my ($name, $port) = @_;
	my $bin = "$prefix{$name}/bin";
	my $data = PostgreSQL::Test::Utils::tempdir() . '/data';
	my $log = "$PostgreSQL::Test::Utils::log_path/$name.log";

	system_or_bail("$bin/initdb", '-D', $data, '-A', 'trust', '-N', '-E', 'UTF8', '--locale=C');
	append_to_file("$data/postgresql.conf", "port = $port\nlisten_addresses = '127.0.0.1'
		unix_socket_directories = ''\nfsync = off\nmax_prepared_transactions = 10\nlog_statement = all\n");
	system_or_bail("$bin/pg_ctl", '-D', $data, '-l', $log, '-w', 'start');
	push @started, [ "$bin/pg_ctl", $data ];
	return $log;
}

sub stop_node
{
	my ($pg_ctl, $data) = @{ pop @started };
	return system_log($pg_ctl, '-D', $data, '-m', 'fast', '-w', 'stop');
}

END
{
	my $status = $?;
	stop_node() while @started;
	$? = $status;
}

# far_says runs a query in both databases of the node.
sub test_node
{
	my ($name, $log, $far_says) = @_;
	my $run = sub { return $query->safe_psql('postgres', $_[0]) };

	is($run->("SELECT count(*), sum(id), max(name), min(at) = '2024-01-01 00:00+00', count(many[2])
		FROM one.t WHERE grp < 5"), '500|249500|name 994|t|0', "$name: rows are read");
	is($run->('SELECT name, many FROM one.t WHERE id = 5'), 'name 5|{5,NULL}', "$name: a row is read");
	is($run->('SELECT count(*) FROM one.t a JOIN one.t b ON b.id = a.id + 1 WHERE a.grp = 3'),
		'100', "$name: a join on the node");

	my $join = 'FROM wanted w JOIN one.t ON t.id = w.id';
	$run->('ANALYZE one.t, two.t');
	like($run->("EXPLAIN SELECT t.name $join"), qr/Look Ahead/, "$name: a join is batched");
	is($run->("SELECT count(*), sum(t.grp) $join"), '20|90', "$name: and finds its rows");
	is($run->("SELECT reltuples FROM pg_class WHERE oid = 'one.t'::regclass"), '1000',
		"$name: ANALYZE counts rows");
	is($run->("SELECT n_distinct FROM pg_stats WHERE schemaname = 'one' AND attname = 'grp'"),
		'10', "$name: and has statistics of a column");

	is($run->("WITH new AS (INSERT INTO one.t SELECT i, 0, 'new' FROM generate_series(1001, 1500) i RETURNING id)
		SELECT count(*), max(id) FROM new"), '500|1500', "$name: rows are inserted");
	is($run->("INSERT INTO one.t VALUES (1, 0, 'again') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING name"),
		'again', "$name: a conflict is resolved");
	$run->("UPDATE one.t SET grp = 20 FROM wanted w WHERE t.id = w.id; DELETE FROM one.t WHERE id > 1400");
	is($run->('SELECT count(*), sum(grp) FILTER (WHERE grp = 20) FROM one.t'), '1400|400',
		"$name: rows are changed and deleted");

	unlike(slurp_file($log), qr/PREPARE TRANSACTION/, "$name: one node commits at once");
	$run->('BEGIN; UPDATE one.t SET grp = -1 WHERE id = 2; UPDATE two.t SET grp = -1 WHERE id = 2; COMMIT');
	like(slurp_file($log), qr/COMMIT PREPARED/, "$name: two nodes commit in two phases");
	is($far_says->('SELECT grp FROM t WHERE id = 2'), '-1 -1', "$name: both have committed");
	$run->('BEGIN; UPDATE one.t SET grp = -2 WHERE id = 2; SAVEPOINT s; UPDATE two.t SET grp = -2 WHERE id = 3;
		ROLLBACK TO s; UPDATE two.t SET grp = -3 WHERE id = 2; ROLLBACK');
	is($far_says->('SELECT grp FROM t WHERE id = 2'), '-1 -1', "$name: both have rolled back");
	is($far_says->('SELECT count(*) FROM pg_prepared_xacts'), '0 0', "$name: nothing is left prepared");

	my ($code, undef, $err) = $query->psql('postgres', 'SELECT 1 / (id - id) FROM one.t');
	isnt($code, 0, "$name: an error arrives");
	like($err, qr/division by zero/, "$name: with its message");
}

$query->stop;
done_testing();
