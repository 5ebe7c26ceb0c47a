# A long session: thousands of short statements through one connection, texts
# that never repeat, errors, savepoints, cursors, writes, batches. Its memory
# stays what it was after the first ones.
#
# With SHUTTLE_FULL_MEMORY=1 there are 100 000 statements.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

plan skip_all => 'needs /proc' unless -r "/proc/$$/status";

my $full = $ENV{SHUTTLE_FULL_MEMORY} // 0;
my $nrounds = $full ? 20 : 3;
my $per_round = 300;
my $allowed_kb = 256;
my $allowed_anonymous_kb = 2048;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\njit = off\n");
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', q{
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n, 'number ' || i AS name FROM generate_series(1, 1000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY, v text);
	CREATE VIEW broken AS SELECT id, 100 / (id - 500) AS q FROM numbers;
	ANALYZE;
});
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	ALTER DATABASE postgres SET session_preload_libraries = 'pg_shuttle';
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'far');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE FOREIGN TABLE numbers (id int, n int, name text) SERVER far;
	CREATE FOREIGN TABLE broken (id int, q int) SERVER far;
	CREATE FOREIGN TABLE written (id int, v text) SERVER far;
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 20) i;
	ANALYZE wanted;
});

# 17 statements; \$i is the number of the turn.
my $turn = q{
	SELECT name FROM numbers WHERE id = $i % 1000;
	SELECT count(*) AS turn_$i FROM numbers WHERE n < 7 AND name <> 'text $i';
	EXECUTE by_id ($i % 1000);
	SELECT count(*) FROM (SELECT * FROM numbers WHERE id > $i % 500 OFFSET 0) x;
	INSERT INTO written VALUES ($i, 'one');
	UPDATE written SET v = repeat('v', $i % 1000) WHERE id = $i;
	DELETE FROM written WHERE id = $i;
	BEGIN;
	DECLARE c CURSOR FOR SELECT id, name FROM numbers WHERE id <> $i;
	FETCH 120 FROM c;
	SAVEPOINT a;
	SELECT count(q) FROM (SELECT q FROM broken OFFSET 0) x;
	ROLLBACK TO a;
	FETCH 3 FROM c;
	COMMIT;
	SELECT count(*), sum(b.id) FROM wanted a JOIN numbers b ON b.id = a.id + $i % 900;
	SELECT name FROM numbers WHERE id < $i % 400 LIMIT 5;
};

my $session = ShuttleSession->new($node, 'postgres');

sub memory_kb
{
	my ($contexts) = $session->run('SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts;');
	my ($top) = $session->run("SELECT total_bytes / 1024 FROM pg_backend_memory_contexts WHERE name = 'TopMemoryContext';");
	open(my $status, '<', '/proc/' . $session->pid . '/status') or die;
	my ($anonymous) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$status>;
	return (int $contexts, $top, $anonymous);
}

my $number = 0;

sub run_round
{
	my $sql = '';
	for (1 .. $per_round)
	{
		$number++;
		$sql .= $turn =~ s/\$i/$number/gr;
	}
	my (undef, $err) = $session->run("\\o /dev/null\n$sql\n\\o");
	my @errors = grep { /ERROR/ } split /\n/, $err;
	is(scalar(grep { !/22012: division by zero/ } @errors), 0, "round: only errors that were meant")
	  or diag($err);
	is(scalar(@errors), $per_round, 'round: as many as were meant');
	return;
}

$session->run(q{
	SET shuttle.fetch_limit = 100;
	SET shuttle.debug_force_batched_join = on;
	PREPARE by_id (int) AS SELECT name FROM numbers WHERE id = $1;});
run_round();
my ($contexts, $top, $anonymous) = memory_kb();
run_round() for 1 .. $nrounds;
my ($contexts_now, $top_now, $anonymous_now) = memory_kb();
note(sprintf('%d statements: contexts %d -> %d kB, TopMemoryContext %d -> %d kB, RssAnon %d -> %d kB',
	17 * $per_round * $nrounds, $contexts, $contexts_now, $top, $top_now, $anonymous, $anonymous_now));
cmp_ok($contexts_now, '<=', $contexts + $allowed_kb, 'all contexts');
cmp_ok($top_now, '<=', $top + $allowed_kb, 'TopMemoryContext');
cmp_ok($anonymous_now, '<=', $anonymous + $allowed_anonymous_kb, 'RssAnon');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_activity WHERE datname = \'far\''), '1', 'one connection');

$session->quit;
$node->stop;
done_testing();
