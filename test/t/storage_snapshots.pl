# trap 15, trap 17, trap 18: what a transaction sees of a node, and when, and
# how many round trips that takes.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE a AS SELECT i AS id, 0 AS v FROM generate_series(1, 12) i;
	ALTER TABLE a ADD PRIMARY KEY (id);
	CREATE TABLE b AS SELECT * FROM a;
	ALTER TABLE b ADD PRIMARY KEY (id);
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 1000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY, v text);
	CREATE FUNCTION writes(i int) RETURNS int LANGUAGE sql VOLATILE AS
		'INSERT INTO public.written VALUES (i) RETURNING id';
	CREATE VIEW writing AS SELECT id, public.writes(id) AS w FROM numbers WHERE id <= 3;
	ANALYZE;
}, conf => "max_prepared_transactions = 5\nshuttle.enable_row_counts = off");	# they have connections of their own
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	CREATE FOREIGN TABLE writing_told (id int, w int) SERVER far
		OPTIONS (table_name 'writing', shuttle_volatile 'on');
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 12) i;
	ANALYZE wanted;
	CREATE FUNCTION local(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
	CREATE FUNCTION gate(i int, at int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN IF i = at THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN i; END';
	CREATE FUNCTION insert_row(i int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN INSERT INTO written VALUES (i, ''by function''); RETURN i; END';
});

my $holder = ShuttleSession->new($node, 'postgres');
my $writer = ShuttleSession->new($node, 'far');
my $session = ShuttleSession->new($node, 'postgres');
my $pid = $session->pid;
my $ours = q{FROM pg_stat_activity WHERE datname = 'far' AND application_name LIKE 'pg_shuttle %'};

sub one
{
	my $sql = shift;
	my ($out, $err) = $session->run($sql);
	return $err eq '' ? $out : "$out$err";
}

# Runs a statement up to its gate, commits a change on the node meanwhile, and
# returns what the statement then says.
sub change_within
{
	my ($statement, $change) = @_;
	$holder->run('SELECT pg_advisory_lock(1);');
	$session->send($statement);
	ok( $holder->poll("SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid"),
		"waits at the gate: $statement");
	my ($out, $err) = $writer->run($change);
	is($err, '', "changed: $change");
	$holder->run('SELECT pg_advisory_unlock(1);');
	($out, $err) = $session->result;
	return $err eq '' ? $out : "$out$err";
}

my $change = 'UPDATE a SET v = v + 1; UPDATE b SET v = v + 1; DELETE FROM a WHERE id = 12; INSERT INTO a VALUES (12, 7);';
my $reset = 'TRUNCATE a, b, written; INSERT INTO a SELECT i, 0 FROM generate_series(1, 12) i; INSERT INTO b SELECT * FROM a;';

# Statements that ask several times, with a gate after the first rows.
my %several = (
	'pages' => [ 'SET shuttle.fetch_limit = 2; SET shuttle.fetch_ahead = 1;',
		'SELECT count(*), sum(v) FROM (SELECT gate(id, 3) AS g, v FROM a OFFSET 0) x;' ],
	'batches' => [ 'SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 2; SET shuttle.batches_in_flight = 1; SET enable_hashjoin = off; SET enable_mergejoin = off;',
		'SELECT count(*), sum(a.v) FROM (SELECT id FROM wanted ORDER BY id OFFSET 0) w JOIN a ON a.id = w.id WHERE gate(a.id, 3) > 0;' ],
	'two tables' => [ 'SET shuttle.enable_early_start = off;',
		'WITH x AS MATERIALIZED (SELECT gate(id, 3) AS g, v FROM a) SELECT (SELECT count(*) FROM x), (SELECT sum(v) FROM x) + (SELECT sum(v) FROM b WHERE local(id) > 0 AND id >= (SELECT min(g) FROM x));' ],
	'nested loop' => [ 'SET shuttle.enable_batched_join = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;',
		'SELECT count(*), sum(b.v) FROM (SELECT gate(id, 3) AS g FROM wanted ORDER BY id OFFSET 0) w JOIN b ON b.id = w.g;' ],
);

for my $isolation ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	for my $name (sort keys %several)
	{
		my ($settings, $statement) = @{ $several{$name} };
		my $label = "$isolation, $name";
		$writer->run($reset);
		$session->run("RESET ALL; $settings SET client_min_messages = warning;");
		$session->run("BEGIN ISOLATION LEVEL $isolation;");
		is(change_within($statement, $change), '12|0', "$label: one state");
		my $then = $isolation eq 'READ COMMITTED' ? '12|18' : '12|0';
		is(one('SELECT count(*), sum(v) FROM a;'), $then, "$label: the next statement");
		$session->run('COMMIT;');
		is(one('SELECT count(*), sum(v) FROM a;'), '12|18', "$label: the next transaction");
	}
}
$session->run('RESET ALL;');

# Functions that read the node while their statement runs, which calls them for
# each row: they see what the statement sees, or those of its snapshot.
$node->safe_psql('postgres', q{
	CREATE FUNCTION read_a(i int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN RETURN (SELECT v FROM a WHERE id = i); END';
	CREATE FUNCTION read_stable(i int) RETURNS int LANGUAGE plpgsql STABLE AS
		'DECLARE r int; BEGIN SELECT v INTO r FROM a WHERE id = i; RETURN r; END';
	CREATE FUNCTION read_sql(i int) RETURNS bigint LANGUAGE sql STABLE AS
		'SELECT sum(v) FROM a WHERE id = i';
	CREATE FUNCTION read_caught(i int) RETURNS int LANGUAGE plpgsql STABLE AS
		'DECLARE r int; BEGIN SELECT v INTO r FROM a WHERE id = i; RETURN 1 / (i % 2) * r;
		 EXCEPTION WHEN division_by_zero THEN RETURN r; END';
	CREATE FUNCTION read_node_error(i int) RETURNS int LANGUAGE plpgsql STABLE AS
		'DECLARE r int; BEGIN SELECT v INTO r FROM a WHERE id = i; PERFORM 1 FROM b WHERE 1 / (id - i) > 0; RETURN r;
		 EXCEPTION WHEN division_by_zero THEN RETURN r; END';
	CREATE FUNCTION read_twice(i int) RETURNS text LANGUAGE plpgsql STABLE AS
		'DECLARE r int; s int; BEGIN SELECT v INTO r FROM a WHERE id = i; PERFORM gate(3, 3); SELECT v INTO s FROM a WHERE id = i; RETURN r || s::text; END';
	CREATE FUNCTION read_later(i int) RETURNS int LANGUAGE plpgsql AS
		'DECLARE r int; BEGIN PERFORM gate(i, 3); SELECT v INTO r FROM a WHERE id = 1; RETURN r; END';
	CREATE FUNCTION read_later_caught(i int) RETURNS int LANGUAGE plpgsql AS
		'DECLARE r int; BEGIN PERFORM gate(i, 3); SELECT v INTO r FROM a WHERE id = 1; RETURN 1 / (i % 2) * r;
		 EXCEPTION WHEN division_by_zero THEN RETURN r; END';
	CREATE FUNCTION read_later_sql(i int) RETURNS int LANGUAGE sql AS
		'SELECT gate(i, 3); SELECT v FROM a WHERE id = 1';
});
my $add = 'UPDATE a SET v = v + 1; UPDATE b SET v = v + 1;';
my $batches = 'SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 2; SET shuttle.batches_in_flight = 1; SET enable_hashjoin = off; SET enable_mergejoin = off;';
my $rows = '(SELECT id FROM wanted ORDER BY id OFFSET 0) w';
for my $savepoint ('', 'SAVEPOINT s;')
{
	for my $function ('read_later', 'read_later_caught', 'read_later_sql')
	{
		$writer->run($reset);
		$session->run("RESET ALL; $batches BEGIN; $savepoint");
		is(change_within("SELECT sum(a.v), count(*), sum($function(w.id)) FROM $rows JOIN a ON a.id = w.id;", $add), '0|12|0',
			"volatile $function in a batched join: one state $savepoint");
		is(one('SELECT sum(v) FROM a;'), 12, "volatile $function: the next statement $savepoint");
		$session->run('COMMIT; RESET ALL; SET shuttle.enable_batched_join = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;');
		$writer->run($reset);
		is(change_within("SELECT sum(x.v + $function(x.id)) FROM (SELECT w.id, (SELECT v FROM a WHERE id = w.id) AS v FROM $rows OFFSET 0) x;", $add), 0,
			"volatile $function beside a subquery: one state $savepoint");
	}
	$session->run('RESET ALL;');
	for my $function ('read_stable', 'read_sql', 'read_caught', 'read_node_error')
	{
		$writer->run($reset);
		$session->run("BEGIN; $savepoint");
		is(change_within("SELECT sum($function(gate(w.id, 3))) FROM $rows;", $add), 0, "stable $function: one state $savepoint");
		is(one("SELECT sum($function(w.id)) FROM $rows;"), 12, "stable $function: the next statement $savepoint");
		$session->run('COMMIT;');
	}

	# other functions do not change what a stable one sees, nor what is written
	$writer->run($reset);
	$session->run("BEGIN; $savepoint");
	is(change_within("SELECT sum(read_stable(w.id)), sum(read_later(w.id)) FROM $rows;", $add), '0|0', "stable and volatile: one state $savepoint");
	$session->run('COMMIT;');
	is(one('SELECT count(insert_row(w.id)), sum(read_stable(w.id)) FROM wanted w;'), '12|12', "stable, and a function that writes $savepoint");
	is(one('SELECT count(*) FROM written;'), 12, 'all were written');
}
$writer->run($reset);
is(change_within("DO \$\$ DECLARE r text; BEGIN r := read_twice(3); IF r <> '00' THEN RAISE '%', r; END IF; END \$\$; SELECT 'same';", $add), 'same',
	'a stable function without a statement around it: one state');

# Where no statement that runs has read the node, each statement sees what was committed.
$writer->run($reset);
$session->run('CREATE PROCEDURE read_both() LANGUAGE plpgsql AS $$ DECLARE r int; s int; BEGIN SELECT v INTO r FROM a WHERE id = 1; PERFORM gate(3, 3); SELECT v INTO s FROM a WHERE id = 1; IF r <> 0 OR s <> 1 THEN RAISE \'% %\', r, s; END IF; END $$;');
is(change_within("CALL read_both(); SELECT 'fresh';", $add), 'fresh', 'a procedure sees each commit');
$writer->run($reset);
is(change_within("SELECT string_agg(read_later(w.id)::text, '') FROM $rows;", $add), '001111111111', 'a volatile function that alone reads the node');
$writer->run($reset);
is(change_within("SELECT string_agg(r::text, '') FROM (SELECT read_a(gate(id, 3)) AS r FROM $rows OFFSET 0) x;", $add), '001111111111', 'and with a statement of one expression');
$session->run('DROP PROCEDURE read_both();');

# A cursor that is not being fetched from does not keep its state for others.
$writer->run($reset);
$session->run('BEGIN; DECLARE c CURSOR FOR SELECT v, read_later(4) FROM a; FETCH 1 FROM c;');
$writer->run($add);
is(one('SELECT sum(v) FROM a;'), 12, 'beside an open cursor: as committed');
is(one('FETCH 1 FROM c;'), '0|1', 'its rows are as they were');
is(one('FETCH ALL FROM c; COMMIT;') =~ tr/\n//, 9, 'and all are there');
is(one('BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT read_later(id), read_stable(id) FROM wanted; COMMIT; FETCH 2 FROM h; CLOSE h;'), "1|1\n1|1", 'with hold');

# Statement by statement, and one's own writes.
for my $isolation ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	my $fresh = $isolation eq 'READ COMMITTED';
	$writer->run($reset);
	$session->run("BEGIN ISOLATION LEVEL $isolation;");
	is(one('SELECT count(*) FROM a;'), 12, "$isolation: first statement");
	$writer->run('INSERT INTO a VALUES (13, 0);');
	is(one('SELECT count(*) FROM a;'), $fresh ? 13 : 12, "$isolation: second statement");
	is(one(q{INSERT INTO written VALUES (1, 'own'); SELECT v FROM written;}), 'own', "$isolation: own insert");
	$writer->run('INSERT INTO a VALUES (14, 0);');
	is(one('SELECT count(*) FROM a;'), $fresh ? 14 : 12, "$isolation: after a write");
	is(one(q{UPDATE written SET v = 'changed' WHERE local(id) = 1; SELECT v FROM written WHERE id = 1;}),
		'changed', "$isolation: own update");
	is(one('SAVEPOINT s; DELETE FROM written; SELECT count(*) FROM written; ROLLBACK TO s; SELECT v FROM written;'),
		"0\nchanged", "$isolation: savepoint");
	is(one('SELECT count(w.v) FROM wanted x JOIN written w ON w.id = x.id;'), 1, "$isolation: own write in a join");
	is(one('COMMIT; SELECT count(*) FROM written;'), 1, "$isolation: committed");
}

# READ COMMITTED waits for a lock and goes on, others fail as PostgreSQL does.
{
	$writer->run($reset);
	$session->run('BEGIN; SELECT count(*) FROM a;');
	$writer->run('UPDATE a SET v = 1 WHERE id = 1;');
	is(one('UPDATE a SET v = v + 1 WHERE id = 1 RETURNING v;'), 2, 'READ COMMITTED: update of a row changed meanwhile');
	$session->run('COMMIT;');
	$session->run('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM a;');
	$writer->run('UPDATE a SET v = 1 WHERE id = 1;');
	like(one('UPDATE a SET v = v + 1 WHERE id = 1 RETURNING v;'), qr/^ERROR:  40001: could not serialize access/,
		'REPEATABLE READ: update of a row changed meanwhile');
	$session->run('ROLLBACK;');

	# write skew
	$session->run('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM a; UPDATE b SET v = 5 WHERE id = 1;');
	$writer->run('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM b; UPDATE a SET v = 5 WHERE id = 2; COMMIT;');
	like(one('SELECT sum(v) FROM a; COMMIT;'), qr/ERROR:  40001/, 'SERIALIZABLE: write skew');
	$session->run('ROLLBACK;');
}

# trap 18: a cursor of the transaction, first read in a savepoint that rolls back.
for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	for my $settings ('SET LOCAL shuttle.fetch_limit = 2;', 'SET LOCAL shuttle.fetch_limit = 1000;')
	{
		my $label = "cursor, $isolation, $settings";
		$writer->run($reset);
		$session->run("BEGIN ISOLATION LEVEL $isolation; $settings DECLARE c CURSOR FOR SELECT id FROM a ORDER BY id;");
		is(one('SAVEPOINT s; FETCH 3 FROM c; ROLLBACK TO s; FETCH 2 FROM c;'), "1\n2\n3\n4\n5",
			"$label: first read in a savepoint");
		is(one(q{SAVEPOINT s; INSERT INTO written VALUES (1, 'x'); FETCH 1 FROM c; ROLLBACK TO s; FETCH 1 FROM c;}),
			"6\n7", "$label: read on behind a write that was undone");
		like(one('SAVEPOINT t; SELECT 1 / (id - 1) FROM a;'), qr/22012: division by zero/, "$label: error");
		is(one('ROLLBACK TO t; FETCH 2 FROM c; SELECT count(*) FROM written;'), "8\n9\n0", "$label: read on behind an error");
		is(one('RELEASE t; FETCH ALL FROM c; COMMIT;'), "10\n11\n12", "$label: to its end");

		# one of the savepoint goes with it
		$session->run("BEGIN ISOLATION LEVEL $isolation; $settings SAVEPOINT s; DECLARE c CURSOR FOR SELECT id FROM a ORDER BY id;");
		is(one('FETCH 1 FROM c; RELEASE s; FETCH 1 FROM c; SAVEPOINT s; DECLARE d CURSOR FOR SELECT id FROM b ORDER BY id; FETCH 1 FROM d;'),
			"1\n2\n1", "$label: of a savepoint");
		like(one('ROLLBACK TO s; FETCH 1 FROM c; FETCH 1 FROM d;'), qr/^3ERROR:  34000/, "$label: is gone with it");
		$session->run('ROLLBACK;');

		# and one that outlives its transaction
		is(one("BEGIN; $settings DECLARE h CURSOR WITH HOLD FOR SELECT id FROM a ORDER BY id; FETCH 1 FROM h; COMMIT; FETCH 2 FROM h; CLOSE h;"),
			"1\n2\n3", "$label: with hold");
	}
}

# trap 15: a function that writes, called by a statement that reads.
{
	$writer->run($reset);
	is(one('SELECT insert_row(1);'), 1, 'SELECT of a function that writes');
	is(one('SELECT count(*) FROM (SELECT insert_row(id + 10) FROM a OFFSET 0) x;'), 12, 'a scan whose rows write');
	is(one('SELECT count(*) FROM written;'), 13, 'all were written');
	is(one('BEGIN; SELECT count(*) FROM a; SELECT insert_row(2); SELECT count(*) FROM written; ROLLBACK; SELECT count(*) FROM written;'),
		"12\n2\n14\n13", 'reads, a function that writes, and back');
	is(one('SET shuttle.fetch_limit = 2; SELECT count(insert_row(id + 100)) FROM a; RESET shuttle.fetch_limit;'), 12, 'pages and writes');
	my ($out, $err) = $session->run('SELECT sum(w) FROM writing;');
	like($err, qr/^ERROR:  25006: .*read-only transaction.*HINT:  Set the option shuttle_volatile/s, 'a view that writes, not told');
	is(one('DELETE FROM written; SELECT sum(w) FROM writing_told; SELECT count(*) FROM written;'), "6\n3", 'a view that writes, told');
	is(($writer->run('SELECT count(*) FROM written;'))[0], 3, 'and it is committed');
}

# Read-only transactions.
for my $mode ('READ COMMITTED READ ONLY', 'REPEATABLE READ READ ONLY', 'SERIALIZABLE READ ONLY', 'SERIALIZABLE READ ONLY DEFERRABLE')
{
	is(one("BEGIN ISOLATION LEVEL $mode; SELECT count(*) FROM a;"), 12, "$mode: read");
	for my $write ('INSERT INTO written VALUES (50)', 'DELETE FROM written', 'SELECT insert_row(50)',
		'SELECT * FROM a FOR UPDATE', 'TRUNCATE written', 'SELECT * FROM writing_told')
	{
		like(one("SAVEPOINT s; $write;"), qr/^ERROR:  25006: cannot execute/, "$mode: $write");
		$session->run('ROLLBACK TO s;');
	}
	is(one('SELECT count(*) FROM a; COMMIT;'), 12, "$mode: read again");
}

# PREPARE TRANSACTION
is(one(q{BEGIN; SELECT count(*) FROM a; PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p';}), 12, 'PREPARE TRANSACTION after a read');
$session->run('BEGIN; INSERT INTO written VALUES (60);');
like(one(q{PREPARE TRANSACTION 'p';}), qr/^ERROR:  55000: cannot PREPARE a transaction that has written on storage nodes\nHINT:  Add pg_shuttle to shared_preload_libraries/,
	'PREPARE TRANSACTION after a write, without anyone who would recover it');
is(one('SELECT count(*) FROM written WHERE id = 60;'), 0, 'rolled back');
is(one(q{BEGIN; SELECT count(*) FROM wanted; PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p';}), 12, 'PREPARE TRANSACTION without the node');

# Errors of the node in a loop, each caught.
is( one(q{
	TRUNCATE written;
	DO $$
	DECLARE
		caught int := 0;
		n int;
	BEGIN
		FOR i IN 1..60 LOOP
			BEGIN
				INSERT INTO written VALUES (i, 'loop');
				IF i % 3 = 0 THEN
					PERFORM 1 / (id - 5) FROM numbers WHERE 10 / (id - 5) > 0;
				ELSIF i % 3 = 1 THEN
					INSERT INTO written VALUES (i, 'twice');
				END IF;
			EXCEPTION
				WHEN division_by_zero OR unique_violation THEN
					caught := caught + 1;
			END;
			SELECT count(*) INTO n FROM written;
			IF n <> (i + 1) / 3 THEN
				RAISE 'wrong number % in %', n, i;
			END IF;
		END LOOP;
		IF caught <> 40 THEN RAISE 'caught %', caught; END IF;
	END $$;
	SELECT count(*) FROM written;}), 20, 'caught errors in a loop');
is( one(q{
	BEGIN;
	SAVEPOINT a; INSERT INTO written VALUES (1000);
	SAVEPOINT b; INSERT INTO written VALUES (1001);
	SAVEPOINT c; INSERT INTO written VALUES (1002);
	ROLLBACK TO b;
	INSERT INTO written VALUES (1003);
	RELEASE a;
	COMMIT;
	SELECT string_agg(id::text, ',' ORDER BY id) FROM written WHERE id >= 1000;}), '1000,1003', 'nested savepoints');

# trap 17: N reads of one row take N round trips; COMMIT is not waited for.
{
	my $reads = 30;
	$session->run('SELECT n FROM numbers WHERE id = 1; SELECT n FROM numbers WHERE id = 1; SELECT n FROM numbers WHERE id = 1;');
	$proxy->delay_ms(100);

	# What a busy machine sends only when the COMMIT before it was answered counts
	# twice: the fewest of some tries.
	my $round_trips = sub {
		my ($sql, $enough) = @_;
		my $fewest;
		for my $try (1 .. 5)
		{
			$proxy->trips($session->pid);
			$session->run($sql);
			my $found = $proxy->trips($session->pid);
			$fewest = $found if !defined $fewest || $found < $fewest;
			last if $fewest < $enough;
		}
		return $fewest;
	};
	my $selects = join '', map { "SELECT n FROM numbers WHERE id = $_;" } 1 .. $reads;
	my $fewest = $round_trips->($selects, $reads * 1.5);
	cmp_ok($fewest, '>=', $reads * 0.95, 'reads of one row: each takes a round trip');
	cmp_ok($fewest, '<', $reads * 1.5, 'reads of one row: and not two');

	# in a transaction, each with a snapshot of its own
	cmp_ok($round_trips->("BEGIN;${selects}COMMIT;", $reads * 1.6), '<', $reads * 1.6, 'reads in a transaction');

	# writes are waited for twice: for their answer and for COMMIT
	my $updates = join '', map { "UPDATE written SET v = 'y' WHERE id = $_;" } 1 .. $reads;
	$fewest = $round_trips->($updates, $reads * 2.7);
	cmp_ok($fewest, '>=', $reads * 1.9, 'writes wait for COMMIT');
	cmp_ok($fewest, '<', $reads * 2.7, 'and for nothing else');
	$proxy->delay_ms(0);
}

# Idle connections are closed.
{
	my $count = "SELECT count(*) $ours";
	is(one('SELECT count(*) FROM a;'), 12, 'idle_timeout: used');
	ok($writer->poll("SELECT count(*) = 1 $ours"), 'idle_timeout: open');
	$session->run(q{SET shuttle.idle_timeout = '1s';});
	ok($writer->poll("SELECT count(*) = 0 $ours"), 'idle_timeout: closed, where it was shortened');
	is(one('SELECT count(*) FROM a;'), 12, 'idle_timeout: used again');
	$session->run('SELECT 1 / 0;');
	ok($writer->poll("SELECT count(*) = 0 $ours"), 'idle_timeout: closed, behind an error');
	is(one('SELECT count(*) FROM a;'), 12, 'idle_timeout: and again');

	# not within a transaction
	is(one('BEGIN; SELECT count(*) FROM a; SELECT pg_sleep(1.6); SELECT count(*) FROM a; COMMIT;'), "12\n\n12", 'idle_timeout: not in a transaction');
	$session->run('RESET shuttle.idle_timeout;');
}

# Changed options make a new connection, when the transaction has ended.
{
	my $name = "SELECT string_agg(application_name, ',') FROM pg_stat_activity WHERE datname = 'far' AND pid <> pg_backend_pid() AND application_name <> 'psql'";
	is(one('SELECT count(*) FROM a;'), 12, 'options: used');
	$session->run(q{BEGIN; SELECT count(*) FROM a;});
	$holder->run(q{ALTER SERVER far OPTIONS (ADD application_name 'renamed');});
	is(one('SELECT count(*) FROM a;'), 12, 'options: the transaction goes on');
	like(($writer->run("$name;"))[0], qr/^pg_shuttle [0-9a-f]{16}:\d+ \d+\/\d+$/, 'options: on its connection');
	is(one('COMMIT; SELECT count(*) FROM a;'), 12, 'options: used after the change');
	ok($writer->poll("SELECT ($name) = 'renamed'"), 'options: on a new connection');
	$holder->run(q{ALTER USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (SET user 'nobody_there');});
	like(one('SELECT count(*) FROM a;'), qr/^ERROR:  08001: .*role "nobody_there" does not exist/s, 'options: wrong user');
	$holder->run(qq{ALTER USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (SET user '$user');});
	is(one('SELECT count(*) FROM a;'), 12, 'options: right again');
	$session->run(q{BEGIN; SELECT count(*) FROM a;});
	my ($connected) = $writer->run("SELECT pid FROM pg_stat_activity WHERE application_name = 'renamed';");
	$holder->run(q{DROP USER MAPPING FOR CURRENT_USER SERVER far;});
	like(one('SELECT count(*) FROM a;'), qr/^ERROR:  42704: user mapping not found/, 'mapping dropped: told as by postgres_fdw');
	like(one('COMMIT; SELECT count(*) FROM a;'), qr/^ERROR:  42704: user mapping not found/, 'mapping dropped: and behind the transaction');
	ok($writer->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $connected"), 'mapping dropped: its connection is closed');
	$holder->run(qq{CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');});
	is(one('SELECT count(*) FROM a;'), 12, 'mapping made again: used');
	isnt(($writer->run("SELECT pid FROM pg_stat_activity WHERE application_name = 'renamed';"))[0], $connected,
		'mapping made again: another connection');
	$holder->run(q{ALTER SERVER far OPTIONS (DROP application_name, ADD keep_connections 'false');});
	is(one('SELECT count(*) FROM a;'), 12, 'options: not kept');
	ok($writer->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'far' AND pid <> pg_backend_pid() AND application_name <> 'psql'"),
		'options: is closed at the end of the transaction');
}

$_->quit for $session, $holder, $writer;
$node->stop;
done_testing();
