-- trap 24: of the parts of one statement that write the same table none sees or
-- changes what another one has written, as over local tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE w AS SELECT i AS id, i AS v FROM generate_series(1, 8) i;
ALTER TABLE w ADD PRIMARY KEY (id);
CREATE TABLE parts (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (20);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (20) TO (100);
INSERT INTO parts SELECT i, i FROM generate_series(15, 25) i;
CALL test.mirror('w');
CALL test.mirror_partitions('parts');

-- How many rows a statement writes, or what it returns, and what has changed then.
CREATE FUNCTION test.outcome(side text, statement text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
	nrows bigint;
	returned text;
BEGIN
	PERFORM set_config('search_path', side || ', local', true);
	IF statement ~ 'SELECT \(SELECT' THEN
		EXECUTE statement INTO returned;
	ELSE
		EXECUTE statement;
	END IF;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	SELECT concat_ws(' ', nrows, 'rows', returned) || coalesce(', w ' || (SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM w WHERE id <> v), '')
		|| coalesce(', parts ' || (SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM parts WHERE id <> v), '')
		|| format(', %s and %s left', (SELECT count(*) FROM w), (SELECT count(*) FROM parts)) INTO answer;
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION WHEN SQLSTATE 'SH001' THEN
	NULL;
END $$;
CREATE FUNCTION test.beside(statement text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text := test.outcome('local', statement);
	answer text;
	forced text;
	buffered text;
BEGIN
	RETURN NEXT expected;
	FOR forced, buffered IN VALUES ('off', 'on'), ('on', 'on'), ('off', 'off') LOOP
		PERFORM set_config('shuttle.debug_force_batched_join', forced, true),
			set_config('shuttle.enable_write_buffer', buffered, true);
		answer := test.outcome('engine', statement);
		IF answer <> expected THEN
			RETURN NEXT format('DIFFERENT: batched %s, buffered %s: %s', forced, buffered, answer);
		END IF;
	END LOOP;
END $$;
-- a row that WITH inserts is not there yet
SELECT test.beside($$ WITH a AS (INSERT INTO w VALUES (70, 1) RETURNING id) UPDATE w SET v = 3 FROM a WHERE w.id = a.id $$);
SELECT test.beside($$ WITH a AS (INSERT INTO w VALUES (70, 1) RETURNING id) UPDATE w SET v = 3 FROM a WHERE w.id = a.id AND random() < 2 $$);
SELECT test.beside($$ WITH a AS (INSERT INTO w VALUES (70, 1) RETURNING id) DELETE FROM w WHERE id IN (SELECT id FROM a) $$);
SELECT test.beside($$ WITH a AS (INSERT INTO w VALUES (70, 1) RETURNING id) UPDATE w SET v = w.v + (SELECT count(*) FROM a) $$);
SELECT test.beside($$ WITH a AS (INSERT INTO w VALUES (70, 1) RETURNING id), b AS (UPDATE w SET v = 3 FROM a WHERE w.id = a.id RETURNING w.id) SELECT (SELECT count(*) FROM b) || ' ' || (SELECT count(*) FROM a) $$);
SELECT test.beside($$ WITH a AS (INSERT INTO parts VALUES (5, 1), (95, 1) RETURNING id) DELETE FROM parts USING a WHERE parts.id = a.id $$);
-- a row that WITH changes is changed once
SELECT test.beside($$ WITH a AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id) UPDATE w SET v = w.v + 100 FROM a WHERE w.id = a.id $$);
SELECT test.beside($$ WITH a AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id) DELETE FROM w USING a WHERE w.id = a.id AND random() < 2 $$);
SELECT test.beside($$ WITH a AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id) DELETE FROM w WHERE EXISTS (SELECT FROM a WHERE a.id = w.id AND random() < 2) $$);
SELECT test.beside($$ WITH a AS (UPDATE w SET v = 10 WHERE id < 4 RETURNING id), b AS (UPDATE w SET v = 20 WHERE id < 5 RETURNING id) SELECT (SELECT count(*) FROM a) || ' ' || (SELECT count(*) FROM b) $$);
SELECT test.beside($$ WITH a AS (UPDATE parts SET v = 0 WHERE id IN (16, 22) RETURNING id) UPDATE parts SET v = -1 FROM a WHERE parts.id IN (a.id, a.id - 1) $$);
SELECT test.beside($$ WITH a AS (UPDATE parts SET v = 0 WHERE id IN (16, 22) RETURNING id), b AS (DELETE FROM parts USING a WHERE parts.id BETWEEN a.id AND a.id + 1 RETURNING parts.id) SELECT (SELECT string_agg(id::text, ' ' ORDER BY id) FROM b) $$);
-- under its partition's name
SELECT test.beside($$ WITH a AS (UPDATE parts1 SET v = 0 WHERE id = 16 RETURNING id) DELETE FROM parts USING a WHERE parts.id = a.id $$);
-- the same tables in turn, without such a row
SELECT test.beside($$ WITH a AS (DELETE FROM w WHERE id < 4 RETURNING id, v) INSERT INTO w SELECT id + 100, v FROM a $$);
SELECT test.beside($$ WITH a AS (UPDATE w SET v = v - 5 WHERE id = 1 RETURNING id) UPDATE w SET v = v + 5 WHERE id = 2 $$);
-- also where the node's own estimates make a scan by key the cheapest one
ALTER FOREIGN TABLE engine.w OPTIONS (ADD shuttle_remote_estimate 'true');
SELECT test.beside($$ WITH a AS (UPDATE w SET v = v + 30 WHERE id = 2 RETURNING id, v) SELECT (SELECT string_agg(a.v || ' from ' || q.v, ', ') FROM a LEFT JOIN w q ON q.id = a.id) $$);
ALTER FOREIGN TABLE engine.w OPTIONS (DROP shuttle_remote_estimate);
-- who writes each of two tables once is left to the node
CREATE TABLE other AS SELECT * FROM w;
CALL test.mirror('other');
SET search_path = engine, local;
SELECT count(*) FROM test.plan_shape('WITH a AS (UPDATE other SET v = 0 WHERE id < 4 RETURNING id) UPDATE w SET v = w.v + 100 FROM a WHERE w.id = a.id') AS line WHERE line LIKE '%Keyed Write%';
SELECT count(*) FROM test.plan_shape('WITH a AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id) UPDATE w SET v = w.v + 100 FROM a WHERE w.id = a.id') AS line WHERE line LIKE '%Keyed Write%';
DROP TABLE local.w, local.other, local.parts;
