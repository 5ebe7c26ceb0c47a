# The examples of docs/consistency.md, each with its heading there: what one
# storage node, several nodes and a statement that writes can show.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off\nmax_prepared_transactions = 10");
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

# Tables a and b of two nodes; the second one's are named a2 and b2 here.
my $tables = q{
	CREATE TABLE a (id int PRIMARY KEY, v int);
	CREATE TABLE b (id int PRIMARY KEY, v int);
	CREATE TABLE unwilling (id int);
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not willing to commit'; END $$;
	CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON unwilling DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION refuse();
	ANALYZE;
};
for my $name ('one', 'two')
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, $tables);
}
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER one FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'one');
	CREATE SERVER two FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'two');
	CREATE SERVER again FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'one');
	CREATE USER MAPPING FOR CURRENT_USER SERVER one OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER two OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER again OPTIONS (user '$user');
	CREATE FOREIGN TABLE a (id int, v int) SERVER one;
	CREATE FOREIGN TABLE b (id int, v int) SERVER one;
	CREATE FOREIGN TABLE a_again (id int, v int) SERVER again OPTIONS (table_name 'a');
	CREATE FOREIGN TABLE a2 (id int, v int) SERVER two OPTIONS (table_name 'a');
	CREATE FOREIGN TABLE unwilling2 (id int) SERVER two OPTIONS (table_name 'unwilling');
	CREATE TABLE here (id int);
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 12) i;
	ANALYZE wanted;
	CREATE FUNCTION gate(i int, at int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN IF i = at THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN i; END';
});

my $holder = ShuttleSession->new($node, 'postgres');
my $session = ShuttleSession->new($node, 'postgres');
my $other = ShuttleSession->new($node, 'postgres');
my $pid = $session->pid;

sub one
{
	my ($sql, $by) = @_;
	my ($out, $err) = ($by // $session)->run($sql);
	return $err eq '' ? $out : "$out$err";
}

sub fresh
{
	$node->safe_psql($_, 'TRUNCATE a, b; INSERT INTO a SELECT i, 100 FROM generate_series(1, 12) i; INSERT INTO b TABLE a; ANALYZE;')
	  for 'one', 'two';
	one('RESET ALL;');
	return;
}

# Runs a statement up to its gate, commits a change meanwhile, and returns what
# the statement then says.
sub change_within
{
	my ($statement, @changes) = @_;
	$holder->run('SELECT pg_advisory_lock(1);');
	$session->send($statement);
	ok($holder->poll("SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid"), 'waits at its gate');
	$node->safe_psql(@$_) for @changes;
	$holder->run('SELECT pg_advisory_unlock(1);');
	my ($out, $err) = $session->result;
	return $err eq '' ? $out : "$out$err";
}

my $by_batches = 'SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 2; SET shuttle.batches_in_flight = 1;
	SET enable_hashjoin = off; SET enable_mergejoin = off;';
my $transfer = [ 'one', 'UPDATE a SET v = v - 10 WHERE id = 1; UPDATE a SET v = v + 10 WHERE id = 12' ];
my $sum = 'SELECT sum(a.v) FROM (SELECT id FROM wanted ORDER BY id OFFSET 0) w JOIN a ON a.id = w.id WHERE gate(a.id, 3) > 0;';

# ---- One node

fresh();
one($by_batches);
is(change_within($sum, $transfer), 1200, 'one node: a SELECT of several requests sees one state');
is(one('SELECT v FROM a WHERE id = 1;'), 90, 'and the next one the next');

# ---- A transfer half done

fresh();
one('SET shuttle.enable_early_start = off;');
is( change_within(
		'WITH x AS MATERIALIZED (SELECT gate(id, 1) AS id, v FROM a WHERE id = 1) SELECT (SELECT sum(v) FROM x) + (SELECT v FROM a2 WHERE id = (SELECT min(id) FROM x));',
		[ 'one', 'UPDATE a SET v = v - 10 WHERE id = 1' ], [ 'two', 'UPDATE a SET v = v + 10 WHERE id = 1' ]),
	210, 'several nodes: one before, one after a transfer');

# ---- Commits

fresh();
my $several = 'BEGIN; INSERT INTO here VALUES (1); UPDATE a SET v = 0 WHERE id = 1; INSERT INTO unwilling2 VALUES (1); COMMIT;';
my $found = 'SELECT (SELECT v FROM a WHERE id = 1), (SELECT count(*) FROM unwilling2), (SELECT count(*) FROM here);';
my $said = one($several);
like($said, qr/^ERROR:  P0001: not willing to commit/m, 'several nodes: one refuses to commit');
unlike($said, qr/WARNING/, 'and that is all');
is(one($found), '100|0|0', 'none has committed');

# ---- The option shuttle_two_phase

fresh();
one("ALTER SERVER one OPTIONS (ADD shuttle_two_phase 'off'); ALTER SERVER two OPTIONS (ADD shuttle_two_phase 'off');");
# The answers to COMMIT arrive in any order, so the warning may stand before or behind the error.
$said = one($several);
like($said, qr/^ERROR:  P0001: not willing to commit/m, 'off: one refuses to commit');
like($said, qr/^WARNING:  08007: storage node "one" has committed/m, 'and the session says what the other one did');
is(one($found), '0|0|0', 'the other one has committed');
one("ALTER SERVER one OPTIONS (DROP shuttle_two_phase); ALTER SERVER two OPTIONS (DROP shuttle_two_phase);");

# ---- One node under two names

fresh();
is(one('BEGIN; UPDATE a SET v = 0 WHERE id = 1; SELECT (SELECT v FROM a WHERE id = 1), (SELECT v FROM a_again WHERE id = 1);'), '0|100',
	'two names: neither sees what the other writes');
like(one(q{UPDATE a_again SET v = 1 WHERE id = 1;}), qr/^ERROR:  40P01: deadlock detected/,
	'two names: they wait for each other');
one('ROLLBACK;');

# ---- SERIALIZABLE

fresh();
one('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM a WHERE id = 1; UPDATE a2 SET v = 0 WHERE id = 1;');
one('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM a2 WHERE id = 1; UPDATE a SET v = 0 WHERE id = 1;', $other);
is(one('COMMIT;') . one('COMMIT;', $other), '', 'SERIALIZABLE: each read what the other wrote, on two nodes');
is(one('SELECT (SELECT v FROM a WHERE id = 1) + (SELECT v FROM a2 WHERE id = 1);'), 0, 'and both are there');
fresh();
one('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM a WHERE id = 1; UPDATE b SET v = 0 WHERE id = 1;');
one('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM b WHERE id = 1; UPDATE a SET v = 0 WHERE id = 1;', $other);
like(one('COMMIT;') . one('COMMIT;', $other), qr/ERROR:  40001/, 'SERIALIZABLE: on one node, one of them fails');
$_->run('ROLLBACK;') for $session, $other;

# ---- A cursor that outlives its statement

for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	fresh();
	one($by_batches);
	one("BEGIN ISOLATION LEVEL $isolation; DECLARE c CURSOR FOR SELECT a.id, a.v FROM (SELECT id FROM wanted ORDER BY id OFFSET 0) w JOIN a ON a.id = w.id;");
	is(one('FETCH 2 FROM c;'), "1|100\n2|100", "cursor, $isolation: its first rows");
	$node->safe_psql('one', 'UPDATE a SET v = 0');
	is(one('SELECT v FROM a WHERE id = 1;'), $isolation eq 'READ COMMITTED' ? 0 : 100, "cursor, $isolation: a later statement");
	is(one('MOVE 9 FROM c; FETCH 1 FROM c;'), $isolation eq 'READ COMMITTED' ? '12|0' : '12|100', "cursor, $isolation: its last row");
	one('COMMIT;');
}

# ---- Reading after the first write

for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	fresh();
	one($by_batches);
	one("BEGIN ISOLATION LEVEL $isolation; UPDATE b SET v = 0 WHERE id = 1;");
	is(change_within($sum, $transfer), $isolation eq 'READ COMMITTED' ? 1210 : 1200, "after a write, $isolation: a SELECT of several requests");
	one('COMMIT;');
}

# ---- A query that goes on while its session writes

for my $batched ('on', 'off')
{
	fresh();
	one($by_batches) if $batched eq 'on';
	one("SET shuttle.enable_batched_join = $batched;");
	is( one(q{BEGIN; CREATE TEMP TABLE seen (v int); DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT w.id, a.v FROM wanted w JOIN a ON a.id = w.id LOOP
			UPDATE a SET v = 0 WHERE id = r.id + 5;
			INSERT INTO seen VALUES (r.v);
		END LOOP; END $$; SELECT min(v), max(v) FROM seen; ROLLBACK;}),
		$batched eq 'on' ? '0|100' : '100|100', "own writes in a loop, batched join $batched");
}

# ---- A statement that writes: rows that are changed

# The row is locked, and looked at again as it is then, wherever a condition is checked.
fresh();
$other->run('BEGIN; UPDATE a SET v = 5 WHERE id = 1; UPDATE a SET v = 300 WHERE id = 2;');
$session->send('UPDATE a SET v = v + 1 WHERE gate(v, 0) > 50 RETURNING id, v;');
ok($holder->poll("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"), 'rows: it waits for the other session');
$other->run('COMMIT;');
my ($out, $err) = $session->result;
is($err, '', 'rows: and goes on') or diag($err);
is((scalar split /\n/, $out), 11, 'rows: the one that does not match any more is left out');
is(one('SELECT v FROM a WHERE id IN (1, 2) ORDER BY id;'), "5\n301", 'rows: the other one is changed as it is now');

# ---- A statement that writes: what else it reads

# Tables that are read in one request each, before the first row is written.
fresh();
one('SET enable_mergejoin = off; SET enable_nestloop = off;');
is( change_within('UPDATE a SET v = gate(b.v, 100) FROM b WHERE b.id = a.id AND a.id < 3 RETURNING a.v;',
		[ 'one', 'UPDATE b SET v = 7' ]), "100\n100", 'other tables: as they were when they were read');

# Requests that follow: each sees what was committed before it.
fresh();
one($by_batches);
is( change_within('UPDATE a SET v = (SELECT b.v FROM b WHERE b.id = a.id) WHERE id IN (1, 11, 12) AND gate(id, 1) > 0 RETURNING a.v;',
		[ 'one', 'UPDATE b SET v = 7' ]), "7\n7\n7", 'other tables: by requests that follow, as they are then');

# Never the statement's own writes.
fresh();
one($by_batches);
is(one('INSERT INTO a SELECT a.id + 100, x.most FROM wanted w JOIN a ON a.id = w.id, LATERAL (SELECT max(id) AS most FROM a WHERE id >= w.id) x;'),
	'', 'own writes: an INSERT that reads its target by keys');
is(one('SELECT count(*), min(v), max(v) FROM a WHERE id > 100;'), '12|12|12', 'own writes: none is seen');

# Nor key by key, row by row.
fresh();
one('SET shuttle.enable_batched_join = off; SET shuttle.enable_write_buffer = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;');
one('INSERT INTO a SELECT w.id + 100, x.most FROM (SELECT id FROM wanted ORDER BY id OFFSET 0) w, LATERAL (SELECT max(id) AS most FROM a WHERE id >= w.id) x;');
is(one('SELECT count(*), min(v), max(v) FROM a WHERE id > 100;'), '12|12|12', 'own writes: nor without batches');

# ---- A data-modifying CTE

fresh();
is(one('WITH w AS (UPDATE a SET v = 0 WHERE id = 1 RETURNING id) SELECT sum(a.v) FROM a;'), 1200, 'CTE: the query sees the state before it');
fresh();
one($by_batches);
is( one('WITH w AS (UPDATE a SET v = 0 WHERE id = 1 RETURNING id) SELECT a.v FROM w JOIN a ON a.id = w.id;'),
	100, 'CTE: a join does so as well');
fresh();
one($by_batches);
is( one('WITH w AS (UPDATE a SET v = 0 WHERE id = 1 RETURNING id) SELECT (SELECT a.v FROM a WHERE a.id = w.id) FROM w;'),
	100, 'CTE: so does what is asked for by its rows');

# ---- Several parts that write one table

fresh();
is( one('WITH w AS (UPDATE a SET v = 0 WHERE id < 3 RETURNING id) UPDATE a SET v = a.v + 1 FROM w WHERE w.id = a.id;'),
	'', 'several parts: an UPDATE of rows that a CTE has changed');
is(one('SELECT string_agg(v::text, \' \' ORDER BY id) FROM a WHERE id < 4;'), '0 0 100', 'several parts: changes none of them');

$_->quit for $holder, $session, $other;
$node->stop;
done_testing();
