-- Rows of tablets under a LIMIT are locked when they are returned; where that is, and what it returns.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE "a Job" (gone int, id int, prio int, "the state" text DEFAULT 'new', mood mood DEFAULT 'ok', tags int[] DEFAULT '{1,2}',
	twice int GENERATED ALWAYS AS (id * 2) STORED, PRIMARY KEY (id));
ALTER TABLE "a Job" DROP COLUMN gone;
SELECT shuttle.distribute_table('"a Job"', 'id', tablets => 3);
INSERT INTO "a Job" (id, prio) SELECT i, i % 4 FROM generate_series(1, 40) AS i;
CREATE TABLE kind (prio int PRIMARY KEY, name text);
INSERT INTO kind SELECT i, 'k' || i FROM generate_series(0, 3) AS i;
CREATE TABLE copied (LIKE kind INCLUDING ALL);
INSERT INTO copied TABLE kind;
SELECT shuttle.reference_table('copied');
CREATE VIEW jobs AS SELECT * FROM "a Job" WHERE "the state" = 'new';
ANALYZE "a Job";
ANALYZE kind;
\pset format unaligned
-- in their turn
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM "a Job" WHERE "the state" = 'new' ORDER BY prio, id LIMIT 2 FOR UPDATE SKIP LOCKED;
CREATE FUNCTION requests(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, DIST, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Lock Ahead|Foreign Scan|Read Requests|Rows Returned' THEN
			RETURN NEXT regexp_replace(line, ' *\(actual.*', '');
		END IF;
	END LOOP;
END $$;
SELECT requests('SELECT id FROM "a Job" ORDER BY prio, id LIMIT 2 OFFSET 1 FOR SHARE');
-- of one tablet, whose rows are tested here
EXPLAIN (VERBOSE, COSTS OFF) SELECT prio FROM "a Job" WHERE id = 7 AND random() >= 0 LIMIT 1 FOR UPDATE;
-- by the scan: all rows that it reads are returned; there is no LIMIT
SET shuttle.enable_router = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT prio FROM "a Job" WHERE id = 7 LIMIT 1 FOR UPDATE;
RESET shuttle.enable_router;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM "a Job" WHERE prio = 2 FOR NO KEY UPDATE;
\pset format aligned
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	lines text[];
BEGIN
	FOR line IN EXECUTE query LOOP
		lines := lines || line::text;
	END LOOP;
	RETURN array_to_string(lines, ' ');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE here (LIKE "a Job" INCLUDING ALL);
INSERT INTO here (id, prio) SELECT id, prio FROM "a Job";
CREATE VIEW jobs_here AS SELECT * FROM here WHERE "the state" = 'new';
-- what is returned is that of an ordinary table
SELECT q, a AS answer, a IS NOT DISTINCT FROM b AS same FROM unnest(ARRAY[
	'SELECT * FROM %1$s j ORDER BY prio, id LIMIT 3 FOR UPDATE',
	'SELECT j, j.ctid IS NOT NULL, j.tableoid IS NOT NULL FROM %1$s j ORDER BY id DESC LIMIT 2 FOR NO KEY UPDATE',
	'SELECT id, tags[1], mood > ''sad'' FROM %1$s ORDER BY twice %% 10, id LIMIT 5 FOR KEY SHARE',
	'SELECT id FROM %2$s ORDER BY prio DESC, id LIMIT 2 OFFSET 4 FOR UPDATE',
	'SELECT id FROM %1$s ORDER BY prio, id LIMIT 0 FOR UPDATE',
	'SELECT id FROM %1$s ORDER BY prio, id LIMIT NULL FOR UPDATE',
	'SELECT id FROM %1$s ORDER BY prio, id FETCH FIRST 2 ROWS WITH TIES FOR UPDATE',
	'SELECT id FROM %1$s WHERE id IN (3, 5, 9) ORDER BY id LIMIT 2 FOR UPDATE',
	'SELECT id FROM %1$s WHERE id > 100 ORDER BY id LIMIT 2 FOR UPDATE',
	'SELECT j.id, k.name FROM %1$s j JOIN kind k USING (prio) ORDER BY j.id LIMIT 3 FOR UPDATE',
	'SELECT j.id, k.name FROM %1$s j JOIN kind k USING (prio) ORDER BY j.id LIMIT 3 FOR UPDATE OF j',
	'SELECT j.id, k.name FROM %1$s j JOIN kind k USING (prio) ORDER BY j.id LIMIT 3 FOR UPDATE OF k',
	'SELECT j.id, k.name FROM %1$s j JOIN copied k USING (prio) ORDER BY j.id LIMIT 3 FOR UPDATE',
	'SELECT j.id, l.id FROM %1$s j JOIN %1$s l ON l.id = j.id + 1 WHERE j.prio = 2 ORDER BY j.id LIMIT 3 FOR UPDATE OF l NOWAIT FOR SHARE OF j',
	'SELECT j.id, l.id FROM %1$s j LEFT JOIN %1$s l ON l.id = j.id + 20 ORDER BY j.id DESC LIMIT 3 FOR UPDATE OF j',
	'SELECT id, (SELECT max(l.id) FROM %1$s l WHERE l.prio = j.prio) FROM %1$s j ORDER BY id LIMIT 3 FOR UPDATE',
	'SELECT * FROM (SELECT id FROM %1$s ORDER BY prio, id LIMIT 3 FOR UPDATE SKIP LOCKED) j WHERE id > 4',
	'SELECT k.prio, j.id FROM kind k, LATERAL (SELECT id FROM %1$s l WHERE l.prio = k.prio ORDER BY id LIMIT 2 FOR UPDATE) j ORDER BY 1, 2',
	'SELECT prio, (SELECT id FROM %1$s j WHERE j.prio = k.prio ORDER BY id DESC LIMIT 1 FOR UPDATE) FROM kind k ORDER BY 1',
	'WITH j AS (SELECT id FROM %1$s ORDER BY prio, id LIMIT 2 FOR UPDATE), u AS (UPDATE %1$s t SET "the state" = ''done'' FROM j WHERE t.id = j.id RETURNING t.id) SELECT id FROM u ORDER BY 1',
	'WITH d AS (DELETE FROM %1$s WHERE id = (SELECT id FROM %2$s ORDER BY prio, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id) SELECT * FROM d',
	'SELECT id FROM %2$s ORDER BY prio, id LIMIT 3 FOR UPDATE',
	'SELECT id / (id - 8) FROM %1$s WHERE prio = 0 ORDER BY id LIMIT 3 FOR UPDATE']) WITH ORDINALITY AS s (q, i),
	LATERAL (SELECT replace(answer(format(q, '"a Job"', 'jobs')), 'a Job', 'here') AS a, answer(format(q, 'here', 'jobs_here')) AS b OFFSET 0) AS x ORDER BY i;
-- prepared, in a cursor, under other isolation levels, behind the transaction's own writes
PREPARE pop(int) AS SELECT id FROM "a Job" ORDER BY prio, id LIMIT $1 FOR UPDATE;
EXECUTE pop(2);
SET plan_cache_mode = force_generic_plan;
EXECUTE pop(1);
EXECUTE pop(3);
RESET plan_cache_mode;
BEGIN ISOLATION LEVEL REPEATABLE READ;
EXECUTE pop(2);
COMMIT;
BEGIN;
UPDATE "a Job" SET prio = -id WHERE id IN (11, 12);
SAVEPOINT a;
EXECUTE pop(3);
UPDATE "a Job" SET prio = -50 WHERE id = 20;
EXECUTE pop(2);
ROLLBACK TO a;
EXECUTE pop(2);
DECLARE c CURSOR FOR SELECT id FROM "a Job" ORDER BY prio, id LIMIT 4 FOR UPDATE;
FETCH 2 FROM c;
FETCH 5 FROM c;
CLOSE c;
COMMIT;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
