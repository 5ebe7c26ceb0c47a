-- UPDATE and DELETE that nodes run by themselves, of several partitions: all are sent at
-- once, and do what they do to tables of here.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS node, far, near CASCADE;
RESET client_min_messages;
CREATE SCHEMA node;
CREATE SCHEMA far;
CREATE SCHEMA near;
CALL test.loopback('one');
CALL test.loopback('two');
CREATE TABLE node.p1 (id int PRIMARY KEY, v int CONSTRAINT small CHECK (v < 1000));
CREATE TABLE node.p2 (LIKE node.p1 INCLUDING ALL);
CREATE TABLE node.p4 (LIKE node.p1 INCLUDING ALL);
CREATE TABLE far.p (id int, v int CONSTRAINT small CHECK (v < 1000)) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE far.p1 PARTITION OF far.p FOR VALUES FROM (0) TO (10) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.p2 PARTITION OF far.p FOR VALUES FROM (10) TO (20) SERVER two OPTIONS (schema_name 'node');
CREATE TABLE far.p3 PARTITION OF far.p FOR VALUES FROM (20) TO (30);
CREATE FOREIGN TABLE far.p4 PARTITION OF far.p FOR VALUES FROM (30) TO (40) SERVER one OPTIONS (schema_name 'node');
CREATE TABLE near.p (id int PRIMARY KEY, v int CONSTRAINT small CHECK (v < 1000)) PARTITION BY RANGE (id);
CREATE TABLE near.p1 PARTITION OF near.p FOR VALUES FROM (0) TO (10);
CREATE TABLE near.p2 PARTITION OF near.p FOR VALUES FROM (10) TO (20);
CREATE TABLE near.p3 PARTITION OF near.p FOR VALUES FROM (20) TO (30);
CREATE TABLE near.p4 PARTITION OF near.p FOR VALUES FROM (30) TO (40);
CREATE TABLE here (k int);
INSERT INTO here VALUES (15);
INSERT INTO far.p SELECT i, i FROM generate_series(1, 39, 2) i;
INSERT INTO near.p TABLE far.p;

-- What a statement returns or how many rows it changes, and the rows then; undone.
CREATE FUNCTION test.outcome(side text, statement text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
	nrows bigint;
	returned record;
	lines text := '';
BEGIN
	PERFORM set_config('search_path', side || ', public', true);
	IF statement ~ 'RETURNING|^SELECT|^WITH' THEN
		FOR returned IN EXECUTE statement LOOP
			lines := lines || returned;
		END LOOP;
	ELSE
		EXECUTE statement;
	END IF;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	SELECT concat_ws(' ', nrows, lines, md5(string_agg(id || ':' || v, ' ' ORDER BY id)), count(*), sum(v)) INTO answer FROM p;
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION
	WHEN SQLSTATE 'SH001' THEN NULL;
	WHEN OTHERS THEN answer := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION test.same(statement text, early text DEFAULT 'on') RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	expected text := test.outcome('near', statement);
	answer text;
BEGIN
	PERFORM set_config('shuttle.enable_early_start', early, true);
	answer := test.outcome('far', statement);
	RETURN CASE WHEN answer = expected THEN regexp_replace(answer, ' \S{32} ', ', now ') ELSE 'DIFFERENT: ' || answer || ' in place of ' || expected END;
END $$;

EXPLAIN (COSTS OFF) UPDATE far.p SET v = v + 1;
SELECT test.same('UPDATE p SET v = v + 1');
SELECT test.same('UPDATE p SET v = v + 1', 'off');
SELECT test.same('UPDATE p SET v = v + 1 WHERE id % 3 = 0 RETURNING id, v');
SELECT test.same('UPDATE p SET v = 5 WHERE id > 25 RETURNING 1');
-- new values are computed on the nodes alone: from the rows that they return they would fail
SELECT test.same('UPDATE p SET v = -50000000 * v WHERE id > 5 RETURNING *');
SELECT test.same('UPDATE p SET v = 40 / (v - 39) WHERE id < 30 AND (SELECT k FROM here) > 0 RETURNING 1');
SELECT test.same('DELETE FROM p WHERE id % 3 = 0 RETURNING *');
SELECT test.same('DELETE FROM p');

-- subqueries see what was there before, also of the partitions that are pruned by them
SELECT test.same('UPDATE p SET v = (SELECT sum(v) FROM p)');
SELECT test.same('UPDATE p SET v = v + (SELECT max(v) FROM p WHERE id < 18) WHERE id <> (SELECT min(id) + 2 FROM p) RETURNING id, v');
SELECT test.same('DELETE FROM p WHERE id < (SELECT k FROM here)');
SELECT test.same('DELETE FROM p WHERE id = (SELECT k FROM here) RETURNING id');
SELECT test.same('UPDATE p SET v = 1 WHERE id >= (SELECT k FROM here) AND id <= (SELECT max(id) - 5 FROM p)');
SELECT test.same('UPDATE p SET v = 0 WHERE EXISTS (SELECT FROM p WHERE v = 9)');
SELECT test.same('UPDATE p SET v = 0 WHERE EXISTS (SELECT FROM p WHERE v = 8)');
SELECT test.same('WITH u AS (UPDATE p SET v = 7 RETURNING id) SELECT count(*), sum(id) FROM u');
SELECT test.same('WITH u AS (UPDATE p SET v = 7) SELECT sum(v) FROM p');
PREPARE raise(int) AS UPDATE far.p SET v = v + 1 WHERE id > $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE raise(8);
EXECUTE raise(22);
EXECUTE raise(40);
RESET plan_cache_mode;
UPDATE far.p SET v = id;

-- an error of one node undoes what the others have done
SELECT test.same('UPDATE p SET v = v + 981 WHERE id < 20');
SELECT test.same('UPDATE p SET v = v / (id - 33)');
UPDATE far.p SET v = CASE id WHEN 15 THEN 1000 ELSE 0 END;
DO $$
BEGIN
	UPDATE far.p SET v = v + 1;
	BEGIN
		UPDATE far.p SET v = CASE id WHEN 35 THEN 1000 ELSE 0 END;
	EXCEPTION WHEN check_violation THEN
		RAISE NOTICE '%', SQLERRM;
	END;
END $$;
SELECT count(*), sum(v - id) FROM far.p;

-- triggers of the statement
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% %', TG_WHEN, (SELECT sum(v) FROM far.p);
	RETURN NULL;
END $$;
CREATE TRIGGER before BEFORE UPDATE ON far.p EXECUTE FUNCTION tell();
CREATE TRIGGER after AFTER UPDATE ON far.p EXECUTE FUNCTION tell();
UPDATE far.p SET v = 0;
DROP TRIGGER before ON far.p;
DROP TRIGGER after ON far.p;

-- The first node waits until the others are at work, and says if they never are.
CREATE FUNCTION node.waits() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	until timestamptz := clock_timestamp() + interval '20 s';
BEGIN
	WHILE NOT EXISTS (SELECT FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND classid = 1701 AND granted) LOOP
		IF clock_timestamp() > until THEN
			RAISE EXCEPTION 'nobody else is at work';
		END IF;
		PERFORM pg_catalog.pg_sleep(0.01);
	END LOOP;
	RETURN NULL;
END $$;
CREATE FUNCTION node.works() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_catalog.pg_advisory_xact_lock(1701, 1);
	RETURN NULL;
END $$;
CREATE TRIGGER waits BEFORE UPDATE OR DELETE ON node.p1 EXECUTE FUNCTION node.waits();
CREATE TRIGGER works BEFORE UPDATE OR DELETE ON node.p2 EXECUTE FUNCTION node.works();
SELECT test.outcome('far', 'UPDATE p SET v = 1');
SELECT test.outcome('far', 'UPDATE p SET v = 1 RETURNING id');
SELECT test.outcome('far', 'DELETE FROM p WHERE id < (SELECT k FROM here)');
DROP SERVER one, two CASCADE;
DROP SCHEMA node, far, near CASCADE;
DROP FUNCTION tell();
DROP TABLE here;
