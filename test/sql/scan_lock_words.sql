-- trap 21: a storage node is asked for the locks that the statement names, no others.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = ours, pair;
\set SHOW_CONTEXT never

-- What the node is asked for, as EXPLAIN shows it.
CREATE FUNCTION pair.locks(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	locks text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ 'Remote SQL:.* FOR ' THEN
			locks := concat_ws(' |', nullif(locks, ''), substr(line, strpos(line, ' FOR ')));
		END IF;
	END LOOP;
	RETURN locks;
END $$;
SELECT strength, policy, pair.locks('SELECT id FROM account WHERE id = 1 FOR ' || strength || ' ' || policy)
FROM unnest(ARRAY['UPDATE', 'NO KEY UPDATE', 'SHARE', 'KEY SHARE']) strength, unnest(ARRAY['', 'SKIP LOCKED', 'NOWAIT']) policy;

-- joins that run on the node
SELECT pair.locks('SELECT a.id FROM account a JOIN branch b ON b.id = a.branch FOR KEY SHARE OF a');
SELECT pair.locks('SELECT a.id FROM account a JOIN branch b ON b.id = a.branch FOR NO KEY UPDATE SKIP LOCKED');
SELECT pair.locks('SELECT a.id FROM account a JOIN branch b ON b.id = a.branch FOR NO KEY UPDATE OF a FOR KEY SHARE OF b');
SELECT pair.locks('SELECT a.id FROM account a JOIN branch b ON b.id = a.branch FOR UPDATE OF a NOWAIT FOR UPDATE OF b');
SELECT pair.locks('SELECT a.id FROM account a JOIN branch b ON b.id = a.branch ORDER BY a.id LIMIT 3 FOR NO KEY UPDATE OF b NOWAIT');

-- a subquery that locks, and a table that is read beside it
SELECT pair.locks('SELECT * FROM (SELECT id FROM account FOR KEY SHARE SKIP LOCKED) a, branch b WHERE pair.here(b.id) = a.id');

-- what looks like a lock and is none
SELECT pair.locks('SELECT id FROM account WHERE owner = '' FOR UPDATE OF r1''');

-- the table that is written
SELECT pair.locks('UPDATE account SET balance = 1 WHERE pair.here(id) = 1');

-- partitions: each is locked in the same way
CREATE TABLE pair.parted (id int, v int) PARTITION BY LIST (id);
CREATE TABLE node.part1 (id int, v int);
CREATE TABLE node.part2 (id int, v int);
CREATE FOREIGN TABLE pair.part1 PARTITION OF pair.parted FOR VALUES IN (1) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE pair.part2 PARTITION OF pair.parted FOR VALUES IN (2) SERVER our_node OPTIONS (schema_name 'node');
SELECT pair.locks('SELECT id FROM pair.parted FOR KEY SHARE SKIP LOCKED');

-- and the node takes them so
SELECT pair.same_write('SELECT 1', 'SELECT id FROM account WHERE id < 5 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED');
BEGIN;
SELECT id FROM account WHERE id < 3 ORDER BY id FOR KEY SHARE;
SELECT DISTINCT mode FROM pg_locks WHERE relation = 'node.account'::regclass AND pid <> pg_backend_pid() ORDER BY 1;
-- a lock of a key does not stand in the way of other columns
SET lock_timeout = '5s';
UPDATE node.account SET balance = 7 WHERE id = 1;
ROLLBACK;

-- A batched join asks for them, too.
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE TABLE pair.want AS SELECT i AS id FROM generate_series(1, 20) i;
ANALYZE pair.want;
SELECT pair.locks('SELECT w.id FROM pair.want w JOIN account a ON a.id = w.id FOR NO KEY UPDATE OF a SKIP LOCKED');
SELECT count(*) FROM (SELECT w.id FROM pair.want w JOIN account a ON a.id = w.id FOR NO KEY UPDATE OF a SKIP LOCKED) x;
