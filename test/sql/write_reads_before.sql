-- trap 24: what a statement reads of a table that another part of it writes is as
-- it was before the statement, also where it is asked for by a value of that part.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE w AS SELECT i AS id, i * 10 AS v FROM generate_series(1, 8) i;
ALTER TABLE w ADD PRIMARY KEY (id);
CREATE TABLE other AS SELECT * FROM w;
CREATE TABLE parts (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (20);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (20) TO (100);
INSERT INTO parts SELECT i, i FROM generate_series(15, 25) i;
CREATE TABLE large AS SELECT i AS id, i AS v, repeat('x', 200) AS filler FROM generate_series(1, 3000) i;
CALL test.mirror('w', 'other', 'large');
CALL test.mirror_partitions('parts');
CREATE TABLE mixed (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE mixed1 PARTITION OF mixed FOR VALUES FROM (0) TO (20);
CREATE TABLE mixed2 PARTITION OF mixed FOR VALUES FROM (20) TO (100);
INSERT INTO mixed SELECT i, i FROM generate_series(15, 25) i;
CALL test.mirror_partitions('mixed', 'mixed2');
CREATE FOREIGN TABLE engine.alias (id int, v int) SERVER engine OPTIONS (schema_name 'local', table_name 'w');
CREATE VIEW local.alias AS SELECT * FROM local.w;

-- The rows that a statement returns, and what it has written, which is undone.
CREATE FUNCTION test.returned(side text, statement text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
	line record;
	lines text[] := '{}';
BEGIN
	PERFORM set_config('search_path', side || ', local', true);
	IF statement ~ '^ *MERGE' THEN
		EXECUTE statement;
	ELSE
		FOR line IN EXECUTE statement LOOP
			lines := lines || line::text;
		END LOOP;
	END IF;
	answer := array_to_string(ARRAY(SELECT unnest(lines) ORDER BY 1), ' ')
		|| coalesce(', w ' || (SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM w WHERE id <> v / 10), '')
		|| coalesce(', parts ' || (SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM parts WHERE id <> v), '')
		|| coalesce(', mixed ' || (SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM mixed WHERE id <> v), '');
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION WHEN SQLSTATE 'SH001' THEN
	NULL;
END $$;
CREATE FUNCTION test.before(statement text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text := test.returned('local', statement);
	answer text;
	forced text;
	buffered text;
BEGIN
	RETURN NEXT expected;
	FOR forced, buffered IN VALUES ('off', 'on'), ('on', 'on'), ('off', 'off') LOOP
		PERFORM set_config('shuttle.debug_force_batched_join', forced, true),
			set_config('shuttle.enable_write_buffer', buffered, true);
		answer := test.returned('engine', statement);
		IF answer IS DISTINCT FROM expected THEN
			RETURN NEXT format('DIFFERENT: batched %s, buffered %s: %s', forced, buffered, answer);
		END IF;
	END LOOP;
END $$;
-- correlated subqueries
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT w.v FROM w WHERE w.id = u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT a.v FROM alias a WHERE a.id = u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT sum(w.v) FROM w WHERE w.id > u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT sum(w.v + u.id) FROM w) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT sum(w.v) FROM w HAVING min(w.v) > u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT w.v FROM w ORDER BY abs(w.id - u.id), w.id LIMIT 1) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT w.v FROM w ORDER BY w.id LIMIT 1 OFFSET u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT o.v + w.v FROM w JOIN other o ON o.id = w.id WHERE w.id = u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT sum(o.v + w.v) FROM w JOIN other o ON o.id = w.id + u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, (SELECT sum(o.v + w.v) FROM other o LEFT JOIN w ON o.id = w.id AND w.id = u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, EXISTS (SELECT FROM w WHERE w.id = u.id AND w.v = 0), u.id IN (SELECT w.v FROM w WHERE w.id = u.id), CASE WHEN u.id = 2 THEN (SELECT w.v FROM w WHERE w.id = u.id) END FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT o.id, (SELECT w.v FROM w WHERE w.id = o.id), (SELECT count(*) FROM u) FROM local.other o WHERE o.id < 4 $$);
SELECT test.before($$ WITH u AS (INSERT INTO w VALUES (70, 1) RETURNING id) SELECT u.id, (SELECT count(*) FROM w WHERE w.id = u.id), (SELECT count(*) FROM w) FROM u $$);
SELECT test.before($$ WITH u AS (DELETE FROM w WHERE id > 6 RETURNING id) SELECT u.id, (SELECT v FROM w WHERE w.id = u.id) FROM u $$);
-- LATERAL
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, x.v FROM u, LATERAL (SELECT w.v FROM w WHERE w.id = u.id) x $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, x.v FROM u, LATERAL (SELECT w.v FROM w WHERE w.id >= u.id ORDER BY w.id LIMIT 1) x $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, x.v FROM u LEFT JOIN LATERAL (SELECT sum(w.v) AS v FROM w WHERE w.id >= u.id GROUP BY w.id % 2) x ON true $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, x.y FROM u LEFT JOIN LATERAL (SELECT coalesce(w.v, u.id) AS y FROM w WHERE w.id = u.id) x ON true $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, x.y FROM u LEFT JOIN LATERAL (SELECT coalesce(o.v + w.v, u.id) AS y FROM w JOIN other o ON o.id = w.id + u.id WHERE w.id <= u.id) x ON true $$);
-- values of subqueries that run once
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id = 3 RETURNING id) SELECT w.v FROM w WHERE w.id = (SELECT id FROM u) $$);
SELECT test.before($$ WITH u AS (INSERT INTO w VALUES (70, 1) RETURNING id) SELECT w.v FROM w WHERE w.id = (SELECT id FROM u) OR w.id = 2 $$);
SELECT test.before($$ WITH u AS (INSERT INTO w VALUES (70, 1) RETURNING id) SELECT count(*) FROM w WHERE w.id = ANY (ARRAY(SELECT id FROM u)) $$);
SELECT test.before($$ WITH u AS (INSERT INTO w VALUES (70, 1) RETURNING id) SELECT w.id FROM w ORDER BY 1 DESC LIMIT (SELECT count(*) FROM u) $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id = 3 RETURNING id) UPDATE w SET v = 1 WHERE id = (SELECT id FROM u) RETURNING id, v $$);
SELECT test.before($$ WITH u AS (INSERT INTO w VALUES (70, 1) RETURNING id) DELETE FROM w WHERE id = (SELECT id FROM u) RETURNING id, v $$);
SELECT test.before($$ WITH u AS (INSERT INTO w VALUES (70, 1) RETURNING id) UPDATE w SET v = -1 FROM other o WHERE o.id = w.id AND w.id >= (SELECT id - 64 FROM u) RETURNING w.id, w.v $$);
-- what is not read in any case
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, CASE WHEN u.id = 2 THEN (SELECT sum(w.v) FROM w) END FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id) SELECT u.id, u.id * 10 IN (SELECT w.v FROM w), u.id * 10 NOT IN (SELECT w.v FROM w) FROM u $$);
-- answers of many pages, which are read again
SET shuttle.fetch_limit = 100;
SELECT test.before($$ WITH u AS (UPDATE large SET v = 0 WHERE id IN (5, 1500, 2999) RETURNING id) SELECT u.id, (SELECT count(l.filler) || ' ' || sum(l.v) FROM large l WHERE l.id >= u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE large SET v = 0 WHERE id IN (5, 1500, 2999) RETURNING id) SELECT u.id, (SELECT l.v FROM large l WHERE l.id >= u.id ORDER BY id LIMIT 1) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE large SET v = 0 WHERE id IN (5, 1500, 2999) RETURNING id) SELECT u.id, EXISTS (SELECT FROM large l WHERE l.id = u.id AND l.v = 0) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE large SET v = 0 WHERE id IN (5, 1500, 2999) RETURNING id) SELECT u.id, l.v FROM u JOIN large l ON l.id >= u.id AND l.id < u.id + 3 $$);
SELECT test.before($$ WITH u AS (UPDATE large SET v = 0 WHERE id > 1000 RETURNING id) SELECT o.id, (SELECT sum(l.v) FROM large l WHERE l.id >= o.id), (SELECT count(*) FROM u) FROM local.other o WHERE o.id < 4 $$);
SELECT test.before($$ WITH u AS (UPDATE large SET v = 0 WHERE id > 1000 RETURNING id) SELECT o.id, (SELECT sum(l.v) FROM large l JOIN other x ON l.id >= x.id WHERE x.id = o.id), (SELECT count(*) FROM u) FROM local.other o WHERE o.id < 4 $$);
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT test.before($$ INSERT INTO large SELECT l.id + 10000 * o.id, 1, l.filler FROM local.other o JOIN large l ON l.id * o.id = 4000 RETURNING id $$);
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET shuttle.fetch_limit;
-- RETURNING
SELECT test.before($$ UPDATE w SET v = 0 WHERE id < 3 RETURNING id, (SELECT x.v FROM w x WHERE x.id = w.id) $$);
SELECT test.before($$ UPDATE w SET v = 0 WHERE id < 3 RETURNING id, (SELECT sum(x.v) FROM w x WHERE x.id <= w.id), CASE WHEN id = 2 THEN (SELECT sum(x.v) FROM w x) END $$);
SELECT test.before($$ DELETE FROM w WHERE id < 3 RETURNING id, (SELECT x.v FROM w x WHERE x.id = w.id) $$);
SELECT test.before($$ INSERT INTO w VALUES (70, 1) RETURNING id, (SELECT x.v FROM w x WHERE x.id = w.id), (SELECT count(*) FROM alias x WHERE x.id <= w.id) $$);
SELECT test.before($$ UPDATE w SET v = 0 FROM local.other o WHERE o.id = w.id AND o.id < 3 RETURNING o.id, (SELECT x.v FROM w x WHERE x.id = o.id) $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = 0 WHERE id < 3 RETURNING id, (SELECT x.v FROM w x WHERE x.id = w.id)) SELECT * FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE w SET v = v + (SELECT x.v FROM w x WHERE x.id = w.id + 1) WHERE id < 3 RETURNING id, v) SELECT * FROM u $$);
-- of its own writes, with batches and buffers or without
CREATE PROCEDURE test.own_writes()
LANGUAGE plpgsql AS $$
DECLARE
	statement text;
BEGIN
	FOREACH statement IN ARRAY ARRAY[
		'UPDATE large SET v = (SELECT count(*) FROM large x WHERE x.id <= large.id AND x.id > large.id - 3 AND x.v = x.id) WHERE id < 60 RETURNING v',
		'UPDATE large SET v = CASE WHEN id > 0 THEN (SELECT count(*) FROM large x WHERE x.id <= large.id AND x.id > large.id - 3 AND x.v = x.id AND random() < 2) END WHERE id < 60 RETURNING v',
		'UPDATE large SET v = x.s FROM other o, LATERAL (SELECT sum(y.v) AS s FROM large y WHERE y.id <= o.id) x WHERE o.id = large.id RETURNING large.v',
		'INSERT INTO large SELECT o.id + 10000, CASE WHEN o.id > 0 THEN (SELECT max(id) AS most FROM large WHERE id >= o.id) END, ''x'' FROM generate_series(1, 60) o (id) RETURNING v',
		'INSERT INTO large SELECT o.id + 10000, x.most FROM generate_series(1, 60) o (id), LATERAL (SELECT max(id) AS most FROM large WHERE id >= o.id) x RETURNING v',
		'DELETE FROM large WHERE id < 60 AND (SELECT count(*) FROM large x WHERE x.id <= large.id) < 20 RETURNING id',
		'WITH r AS MATERIALIZED (SELECT o.id, (SELECT max(id) FROM large WHERE id >= o.id) AS most FROM generate_series(1, 60) o (id)) INSERT INTO large SELECT id + 10000, most, ''x'' FROM r RETURNING v',
		'WITH r AS MATERIALIZED (SELECT o.id, x.most FROM generate_series(1, 60) o (id), LATERAL (SELECT max(id) AS most FROM large WHERE id >= o.id) x) UPDATE large SET id = r.most + r.id FROM r WHERE large.id = r.id RETURNING large.id',
		'UPDATE parts SET v = (SELECT sum(x.v) FROM parts x WHERE x.id <= parts.id) RETURNING v']
	LOOP
		IF (SELECT count(*) FROM test.before(statement)) <> 1 THEN
			RAISE NOTICE 'DIFFERENT: %', statement;
		END IF;
	END LOOP;
END $$;
SET shuttle.write_buffer_size = '1kB';
CALL test.own_writes();
SET shuttle.enable_batched_join = off;
CALL test.own_writes();
RESET shuttle.enable_batched_join;
RESET shuttle.write_buffer_size;
-- what MERGE inserts
SELECT test.before($$ MERGE INTO mixed m USING local.other o ON m.id = o.id + 20 AND m.id >= 20 WHEN NOT MATCHED THEN INSERT VALUES (o.id, (SELECT count(*) FROM mixed x WHERE x.id < o.id)) $$);
-- partitions
SELECT test.before($$ WITH u AS (UPDATE parts SET v = 0 WHERE id IN (16, 22) RETURNING id) SELECT u.id, (SELECT p.v FROM parts p WHERE p.id = u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE parts SET v = 0 WHERE id IN (16, 22) RETURNING id) SELECT u.id, (SELECT p.v FROM parts1 p WHERE p.id = u.id) FROM u $$);
SELECT test.before($$ WITH u AS (UPDATE parts1 SET v = 0 WHERE id = 16 RETURNING id) SELECT u.id, (SELECT sum(p.v) FROM parts p WHERE p.id > u.id) FROM u $$);
SELECT test.before($$ UPDATE parts SET v = 0 WHERE id IN (16, 22) RETURNING id, (SELECT sum(p.v) FROM parts p WHERE p.id >= parts.id) $$);
DROP VIEW local.alias;
DROP TABLE local.w, local.other, local.large, local.parts, local.mixed;
