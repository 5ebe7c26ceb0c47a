# Scans that are read a few rows at a time: to their end they never wait for the
# node more often than postgres_fdw does, and who stops early has had few rows.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;
use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off");
$node->start;
my $proxy = ShuttleProxy->new($node);
my $port = $proxy->port;
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', q{
	CREATE TABLE t AS SELECT i AS id, i % 7 AS v FROM generate_series(1, 3000) i;
	ALTER TABLE t ADD PRIMARY KEY (id);
	CREATE TABLE few AS SELECT 0 AS id, 0 AS v;
	ANALYZE;
	INSERT INTO few SELECT i, i FROM generate_series(1, 3000) i;
});
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER ours FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$port', dbname 'far');
	CREATE SERVER stock FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '$port', dbname 'far', fetch_size '100');
	CREATE FUNCTION here(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
	CREATE FUNCTION loops(query text) RETURNS bigint LANGUAGE plpgsql AS
		'DECLARE r record; n bigint := 0; BEGIN FOR r IN EXECUTE query LOOP n := n + 1; END LOOP; RETURN n; END';
	CREATE FUNCTION leaves(query text, rows int) RETURNS bigint LANGUAGE plpgsql AS
		'DECLARE r record; n bigint := 0; BEGIN FOR r IN EXECUTE query LOOP n := n + 1; EXIT WHEN n = rows; END LOOP; RETURN n; END';
});
for my $name (qw(ours stock))
{
	$node->safe_psql('postgres', qq{
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user');
		CREATE SCHEMA $name;
		IMPORT FOREIGN SCHEMA public FROM SERVER $name INTO $name;
		ANALYZE $name.t;
	});
}
my %session = map { $_ => ShuttleSession->new($node, 'postgres') } qw(ours stock);
$session{$_}->run("SET search_path = $_, public; SELECT count(*) FROM t WHERE id < 3;") for keys %session;

# Runs statements and returns what came and how often the node was waited for.
sub run
{
	my ($name, @statements) = @_;
	$proxy->trips;
	$proxy->answered;
	my ($out, $err) = $session{$name}->run(join('; ', @statements) . ';');
	is($err, '', "$name: no error") if $err ne '';
	return ($out, $proxy->trips, $proxy->answered);
}

# what reads a query to its end
my %readers = (
	'FETCH 1' => sub {
		my ($query, $n) = @_;
		return ("BEGIN; DECLARE c CURSOR FOR $query", ('FETCH 1 FROM c') x ($n + 1), 'COMMIT');
	},
	'FETCH 1, then 50' => sub {
		my ($query, $n) = @_;
		return ("BEGIN; DECLARE c CURSOR FOR $query; FETCH 1 FROM c",
			('FETCH 50 FROM c') x (1 + $n / 50), 'COMMIT');
	},
	'FETCH 7' => sub {
		my ($query, $n) = @_;
		return ("BEGIN; DECLARE c CURSOR FOR $query", ('FETCH 7 FROM c') x (1 + $n / 7), 'COMMIT');
	},
	'FETCH 1, then all' => sub {
		return ("BEGIN; DECLARE c CURSOR FOR $_[0]; FETCH 1 FROM c", 'FETCH ALL FROM c', 'COMMIT');
	},
	'FETCH 0, then all' => sub {
		return ("BEGIN; DECLARE c CURSOR FOR $_[0]; FETCH 0 FROM c", 'FETCH ALL FROM c', 'COMMIT');
	},
	'loop of a function' => sub { return "SELECT loops('$_[0]')"; },
	'loop of DO' => sub { return "DO \$\$ DECLARE r record; BEGIN FOR r IN $_[0] LOOP END LOOP; END \$\$"; },
	'cursor of DO' => sub {
		return "DO \$\$ DECLARE c CURSOR FOR $_[0]; r record; BEGIN OPEN c;"
			. ' LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; END LOOP; CLOSE c; END $$';
	},
);
for my $reader (sort keys %readers)
{
	my @worse;
	for my $n (0, 1, 2, 9, 10, 11, 12, 60, 99, 100, 101, 110, 111, 112, 160, 199, 200, 222, 299, 300, 450, 999, 1000)
	{
		next if $reader eq 'FETCH 1' && $n > 300;
		for my $query ("SELECT id, v FROM t WHERE id <= $n",
			"SELECT id, v FROM t WHERE id <= $n ORDER BY id",
			"SELECT id, v FROM few WHERE id BETWEEN 1 AND $n",
			"SELECT id, v FROM t WHERE id <= $n AND here(v) >= 0")
		{
			my @statements = $readers{$reader}->($query, $n);
			my ($stock_out, $stock_trips) = run('stock', @statements);
			my ($out, $trips) = run('ours', @statements);
			is($out, $stock_out, "$reader, $n rows: answer") if $out ne $stock_out;
			push @worse, "$trips > $stock_trips for $n rows: $query" if $trips > $stock_trips;
		}
	}
	is(join("\n", @worse), '', "$reader: never more round trips");
}

# who stops early: rows that came, by their bytes (12 or so of a row are values)
my ($out, undef, $bytes) = run('ours', 'BEGIN; DECLARE c CURSOR FOR SELECT id, v FROM t; FETCH 1 FROM c', 'COMMIT');
cmp_ok($bytes, '<', 600, 'FETCH 1: a page');
($out, undef, $bytes) = run('ours', 'BEGIN; DECLARE c CURSOR FOR SELECT id, v FROM t; FETCH 1 FROM c; FETCH 1 FROM c', 'COMMIT');
cmp_ok($bytes, '<', 1000, 'FETCH 1 twice: two pages');
($out, undef, $bytes) = run('ours', 'BEGIN; DECLARE c CURSOR FOR SELECT id, v FROM t; FETCH 0 FROM c; FETCH 1 FROM c', 'COMMIT');
cmp_ok($bytes, '<', 600, 'FETCH 0 and 1: a page');
($out, undef, $bytes) = run('ours', "SELECT leaves('SELECT id, v FROM t', 10)");
cmp_ok($bytes, '<', 1000, 'a loop that ends behind 10 rows: a page');
($out, undef, $bytes) = run('ours', "SELECT leaves('SELECT id, v FROM t', 60)");
cmp_ok($bytes, '<', 3000, 'a loop that ends behind 60 rows: two pages');

$_->quit for values %session;
$node->stop;
done_testing();
