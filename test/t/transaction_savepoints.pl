# trap 18: savepoints and blocks that catch errors cost no round trip of their
# own, at any depth; what they undo is undone on the node, and nothing else.
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(usleep);

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE written (id int PRIMARY KEY, v int);
	CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, 1000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE VIEW cursors AS SELECT count(*) FROM pg_cursors;
	ANALYZE;
});
$node->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	CREATE FUNCTION plain(i int) RETURNS void LANGUAGE plpgsql AS
		'BEGIN INSERT INTO written VALUES (i, 0); UPDATE written SET v = 1 WHERE id = i; END';
	CREATE FUNCTION guarded(i int) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (i, 0);
		UPDATE written SET v = 1 WHERE id = i;
		RETURN 'written';
	EXCEPTION WHEN unique_violation THEN
		RETURN 'refused';
	END $$;
	CREATE FUNCTION upsert(i int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (i, 0);
	EXCEPTION WHEN unique_violation THEN
		UPDATE written SET v = v + 1 WHERE id = i;
	END $$;

	-- A row at each level; an error at one level undoes all from there on down.
	CREATE FUNCTION nested(level int, most int, fails int) RETURNS int LANGUAGE plpgsql AS $$
	BEGIN
		BEGIN
			INSERT INTO written VALUES (level, most);
			IF level < most THEN PERFORM nested(level + 1, most, fails); END IF;
			IF level = fails THEN RAISE 'fails at %', level; END IF;
		EXCEPTION WHEN raise_exception THEN
			INSERT INTO written VALUES (1000 + level, most);
		END;
		RETURN level;
	END $$;
});

my $session = ShuttleSession->new($node, 'postgres');

sub one
{
	my $sql = shift;
	my ($out, $err) = $session->run($sql);
	return $err eq '' ? $out : "$out$err";
}

# How often the node is spoken to, for statements that were run before.
sub trips
{
	my $sql = shift;
	usleep(60_000);		# answers that nobody waits for
	$proxy->trips;
	my $answer = one($sql);
	usleep(60_000);
	unlike($answer, qr/ERROR/, "no error: $sql") or diag($answer);
	return $proxy->trips;
}

# A busy machine lets what belongs together go out in two packets now and then.
sub near
{
	my ($got, $wanted, $name) = @_;
	ok($got >= $wanted && $got <= $wanted + 1 + $wanted / 10, $name)
	  or diag("$got trips, and not $wanted");
}

# ---- trips; a delay keeps what the node says from coming between packets

one("SELECT plain(i), guarded(-i), upsert(i) FROM generate_series(1, 3) i; DELETE FROM written;");
$proxy->delay_ms(20);
near(trips('DO $$ BEGIN PERFORM plain(1); END $$;'), 3, 'INSERT, UPDATE and COMMIT');
near(trips('DO $$ BEGIN PERFORM guarded(2); END $$;'), 3, 'as many in a block that catches errors');
near(trips('DO $$ BEGIN FOR i IN 11..20 LOOP PERFORM guarded(i); END LOOP; END $$;'), 21, 'ten of them');
near(trips('DO $$ BEGIN PERFORM guarded(2); END $$;'), 2, 'an error, and ROLLBACK that nobody waits for');
near(trips('DO $$ BEGIN FOR i IN 11..20 LOOP PERFORM guarded(i); END LOOP; END $$;'), 11, 'ten errors');
near(trips('DO $$ BEGIN PERFORM plain(3); FOR i IN 11..20 LOOP PERFORM guarded(i); END LOOP; END $$;'), 13,
	'ten errors in a transaction that has written');
near(trips('DO $$ BEGIN FOR i IN 11..20 LOOP PERFORM upsert(i); END LOOP; END $$;'), 21, 'an error and a second statement');
near(trips('BEGIN; SAVEPOINT a; SAVEPOINT b; INSERT INTO written VALUES (100); RELEASE b; RELEASE a; COMMIT;'), 2,
	'savepoints of the client');
near(trips('BEGIN; INSERT INTO written VALUES (101); SAVEPOINT a; ROLLBACK TO a; SAVEPOINT b; COMMIT;'), 2,
	'savepoints that the node need not know of');
near(trips('BEGIN; INSERT INTO written VALUES (102); SAVEPOINT a; INSERT INTO written VALUES (103); ROLLBACK TO a; INSERT INTO written VALUES (104); COMMIT;'),
	4, 'one that is rolled back');
is(one('SELECT string_agg(id::text, $$,$$ ORDER BY id) FROM written WHERE id > 99;'), '100,101,102,104', 'what is left');
is(one('SELECT string_agg(id || $$:$$ || v, $$,$$ ORDER BY id) FROM written WHERE id < 13;'), '1:1,2:1,3:1,11:2,12:2', 'and updated');
near(trips('DO $$ BEGIN FOR i IN 1..10 LOOP BEGIN PERFORM FROM numbers WHERE id = i; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$;'),
	11, 'reads, and COMMIT that nobody waits for');

# ---- depth

one('DELETE FROM written;');
near(trips('SELECT nested(1, 50, 0);'), 51, 'fifty levels: their INSERTs and COMMIT');
is(one('SELECT count(*), sum(id) FROM written;'), '50|1275', 'all there');
$proxy->delay_ms(0);
for my $fails (50, 49, 25, 2, 1)
{
	one('DELETE FROM written;');
	is(one("SELECT nested(1, 50, $fails);"), 1, "an error at level $fails");
	my $kept = $fails - 1;
	is( one(q{SELECT count(*) FILTER (WHERE id <= 50), coalesce(max(id) FILTER (WHERE id <= 50), 0), array_agg(id) FILTER (WHERE id > 50) FROM written;}),
		"$kept|$kept|{" . (1000 + $fails) . '}', "undoes what is below level $fails");
}

# Errors of the node at random levels, beside the same with local tables.
one(q{
	CREATE TABLE here (id int PRIMARY KEY, v int);
	CREATE FUNCTION walk(target regclass, seed float8, steps int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		choice float8 := random();
	BEGIN
		IF steps <= 0 THEN RETURN; END IF;
		EXECUTE format('INSERT INTO %s VALUES ($1, $2)', target) USING (random() * 60)::int, steps;
		IF choice < 0.5 THEN
			BEGIN
				PERFORM walk(target, seed, steps - 1 - (random() * 3)::int);
			EXCEPTION WHEN unique_violation OR raise_exception THEN
				IF random() < 0.3 THEN RAISE; END IF;
			END;
		ELSIF choice < 0.6 THEN
			RAISE 'stop';
		END IF;
		PERFORM walk(target, seed, steps - 1);
	END $$;
	CREATE FUNCTION start_walk(target regclass, seed float8, steps int) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM setseed(seed);
		PERFORM walk(target, seed, steps);
		RETURN 'done';
	EXCEPTION WHEN unique_violation OR raise_exception THEN
		RETURN SQLSTATE;
	END $$;});
my %ends;
for my $i (1 .. 40)
{
	my $seed = $i / 100;
	my $here = one("TRUNCATE here; SELECT start_walk('here', $seed, 2 + $i); SELECT array_agg(h ORDER BY id) FROM here h;");
	my $there = one("DELETE FROM written; SELECT start_walk('written', $seed, 2 + $i); SELECT array_agg(h ORDER BY id) FROM written h;");
	is($there, $here, "walk $i") or last;
	$ends{ (split /\n/, $here)[0] }++;
}
is_deeply([ sort keys %ends ], [ '23505', 'P0001', 'done' ], 'of all kinds') or diag(explain(\%ends));

# ---- the client's own savepoints: rolled back at each level of fifty

for my $level (2, 26, 50)
{
	my $sql = "DELETE FROM written; BEGIN;";
	$sql .= " SAVEPOINT l$_; INSERT INTO written VALUES ($_);" for 1 .. 50;
	$sql .= " ROLLBACK TO l$level; INSERT INTO written VALUES (100); RELEASE l1; COMMIT; SELECT count(*), max(id) FROM written;";
	is(one($sql), "$level|100", "rolled back to level $level");
}

# An error of the node in the middle: the outer levels live on.
like( one(q{DELETE FROM written; BEGIN; SAVEPOINT a; INSERT INTO written VALUES (1); SAVEPOINT b; SAVEPOINT c; INSERT INTO written VALUES (1);}),
	qr/^ERROR:  23505/, 'an error inside');
like(one('SELECT count(*) FROM written;'), qr/^ERROR:  25P02/, 'the transaction is aborted');
is(one('ROLLBACK TO b; SELECT count(*) FROM written;'), 1, 'an outer level is as it was');
is(one('ROLLBACK TO a; SELECT count(*) FROM written; COMMIT;'), 0, 'and the one above that');

# ---- settings: those of a savepoint go with it

my $waiter = ShuttleSession->new($node, 'far');
one('INSERT INTO written VALUES (1);');
$waiter->run('BEGIN; UPDATE written SET v = 1 WHERE id = 1;');
one(q{BEGIN; SAVEPOINT a; SET LOCAL lock_timeout = '100ms';});
like(one('UPDATE written SET v = 2 WHERE id = 1;'), qr/^ERROR:  55P03/, 'lock_timeout of a savepoint');
one(q{ROLLBACK TO a; SET LOCAL statement_timeout = '700ms';});
my $began = time();
like(one('UPDATE written SET v = 2 WHERE id = 1;'), qr/^ERROR:  57014: canceling statement due to statement timeout/, 'is gone with it');
one(q{ROLLBACK; BEGIN; SAVEPOINT a; SET LOCAL lock_timeout = '100ms'; SELECT count(*) FROM written; RELEASE a;});
like(one('UPDATE written SET v = 2 WHERE id = 1;'), qr/^ERROR:  55P03/, 'and stays where it was released');
one('ROLLBACK;');
$waiter->run('ROLLBACK;');
is(one('UPDATE written SET v = 2 WHERE id = 1; SELECT v FROM written;'), 2, 'and ends with the transaction');
one('BEGIN; SET LOCAL shuttle.fetch_limit = 10; DECLARE c CURSOR FOR SELECT id FROM numbers ORDER BY id; FETCH 1 FROM c;');
is(one('SHOW shuttle.fetch_limit;'), 10, 'SET LOCAL of ours');
is(one('COMMIT; SHOW shuttle.fetch_limit;'), 1024, 'is local');

# ---- cursors that are closed leave nothing on the node

one('BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL shuttle.fetch_limit = 10;');
my $open = one('SELECT * FROM cursors;');
one("DECLARE c$_ CURSOR FOR SELECT id FROM numbers; FETCH 1 FROM c$_;") for 1 .. 5;
is(one('SELECT * FROM cursors;'), $open + 5, 'five cursors are open');
one('CLOSE c1; CLOSE c4;');
is(one('SELECT * FROM cursors;'), $open + 3, 'three, when two were closed');
is(one('FETCH 2 FROM c5;'), "2\n3", 'the others go on');
one('CLOSE ALL;');
is(one('SELECT * FROM cursors;'), $open, 'and none');
one('COMMIT;');
is( one(q{BEGIN; SET LOCAL shuttle.fetch_limit = 10; DECLARE h CURSOR WITH HOLD FOR SELECT id FROM numbers ORDER BY id; DECLARE n CURSOR FOR SELECT id FROM numbers;
	FETCH 1 FROM h; FETCH 1 FROM n; COMMIT; FETCH 2 FROM h; MOVE 990 FROM h; FETCH ALL FROM h;}),
	"1\n1\n2\n3\n994\n995\n996\n997\n998\n999\n1000", 'held: all of it');
like(one('FETCH 1 FROM n;'), qr/^ERROR:  34000/, 'not held: gone');
is(one('CLOSE h; SELECT * FROM cursors;'), $open, 'nothing is left');
is( one(q{BEGIN; SAVEPOINT s; DECLARE h CURSOR WITH HOLD FOR SELECT id FROM numbers ORDER BY id; FETCH 1 FROM h; ROLLBACK TO s; COMMIT;
	SELECT count(*) FROM pg_cursors;}),
	"1\n0", 'held, of a savepoint that is rolled back');

$_->quit for $session, $waiter;
$node->stop;
done_testing();
