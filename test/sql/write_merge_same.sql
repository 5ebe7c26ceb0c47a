-- MERGE into a table with partitions on nodes and here does what it does to local ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE part (id int, v int, t text DEFAULT 'none') PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (20);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (20) TO (40);
CREATE TABLE part3 PARTITION OF part FOR VALUES FROM (40) TO (60);
ALTER TABLE part ADD PRIMARY KEY (id);
INSERT INTO part SELECT i, i * 10, 'old ' || i FROM generate_series(2, 58, 2) i;
CREATE TABLE other (id int, v int, t text);
INSERT INTO other SELECT i, i, nullif('new ' || i, 'new 5') FROM generate_series(1, 59, 4) i;
INSERT INTO other VALUES (2, 2, 'two'), (22, NULL, 'more'), (42, 0, NULL), (NULL, 1, 'none');
CALL test.mirror('other');
CALL test.mirror_partitions('part', 'part3');
ALTER TABLE engine.part3 ADD PRIMARY KEY (id);
ALTER TABLE engine.part ALTER t SET DEFAULT 'none';

-- What a statement does: its count or its error, and the table afterwards; undone.
CREATE FUNCTION test.done(side text, statement text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
	nrows bigint;
BEGIN
	PERFORM set_config('search_path', side || ', local', true);
	EXECUTE statement;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	answer := nrows || ': ' || coalesce((SELECT string_agg(concat_ws(' ', id, v, t), ', ' ORDER BY id, v, t)
		FROM part WHERE (v, t) IS DISTINCT FROM (id * 10, 'old ' || id)), '')
		|| ', without ' || coalesce((SELECT string_agg(i::text, ' ' ORDER BY i)
		FROM generate_series(2, 58, 2) i WHERE i NOT IN (SELECT id FROM part)), 'none');
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION WHEN SQLSTATE 'SH001' THEN
	NULL;
WHEN OTHERS THEN
	answer := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION test.merge(statement text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text := test.done('local', statement);
	answer text;
	way record;
BEGIN
	RETURN NEXT expected;
	FOR way IN SELECT * FROM unnest('{off,on}'::text[]) batched, unnest('{on,off}'::text[]) buffered,
		unnest('{on,off}'::text[]) early
		WHERE early = 'on' OR buffered = 'on' LOOP
		PERFORM set_config('shuttle.enable_batched_join', way.batched, true),
			set_config('shuttle.debug_force_batched_join', way.batched, true),
			set_config('shuttle.enable_write_buffer', way.buffered, true),
			set_config('shuttle.enable_early_start', way.early, true);
		answer := test.done('engine', statement);
		IF answer IS DISTINCT FROM expected THEN
			RETURN NEXT format('DIFFERENT: batched %s, buffered %s, early %s: %s', way.batched, way.buffered, way.early, answer);
		END IF;
	END LOOP;
END $$;
-- sources: local, of nodes, VALUES, functions, subqueries, the table itself
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED THEN UPDATE SET v = o.v WHEN NOT MATCHED AND o.id IS NOT NULL THEN INSERT VALUES (o.id, o.v, o.t) $$);
SELECT test.merge($$ MERGE INTO part p USING other o ON o.id = p.id WHEN MATCHED THEN UPDATE SET v = o.v WHEN NOT MATCHED AND o.id IS NOT NULL THEN INSERT VALUES (o.id, o.v, o.t) $$);
SELECT test.merge($$ MERGE INTO part USING (VALUES (2, 1), (3, 1), (22, 1), (43, 1)) s (i, j) ON i = id WHEN MATCHED THEN UPDATE SET v = j, t = t || '!' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (i, j) $$);
SELECT test.merge($$ MERGE INTO part p USING generate_series(1, 50, 3) i ON i = p.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, -i) $$);
SELECT test.merge($$ MERGE INTO part p USING (SELECT o.id, count(*) AS n FROM other o JOIN local.other l ON l.v >= o.v GROUP BY o.id) s ON s.id = p.id WHEN MATCHED THEN UPDATE SET v = n WHEN NOT MATCHED AND s.id < 60 THEN INSERT VALUES (s.id, n) $$);
SELECT test.merge($$ MERGE INTO part p USING part s ON s.id = p.id + 2 WHEN MATCHED AND p.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id + 1, s.v) $$);
SELECT test.merge($$ MERGE INTO part p USING (part s LEFT JOIN other o USING (id)) x ON x.id = p.id WHEN MATCHED AND x.v IS NOT NULL THEN UPDATE SET v = 0 $$);
SELECT test.merge($$ WITH w AS (SELECT id + 1 AS id, v FROM other WHERE id < 50), x AS (SELECT max(v) AS v FROM w) MERGE INTO part p USING w ON w.id = p.id WHEN MATCHED AND p.id < (SELECT v FROM x) - 10 THEN UPDATE SET v = (SELECT max(v) FROM x) WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (w.id, (SELECT v FROM x)) $$);
SELECT test.merge($$ MERGE INTO part p USING (local.other l LEFT JOIN other o ON o.id = l.id + 4) ON l.id = p.id WHEN MATCHED AND o.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = o.v WHEN NOT MATCHED AND o.v IS NOT NULL AND l.id > 0 THEN INSERT VALUES (l.id, o.v + l.v, o.t) $$);
SELECT test.merge($$ MERGE INTO part p USING (local.other l FULL JOIN (SELECT id, v + 1 AS w FROM other WHERE v < 30) o USING (id)) x ON x.id = p.id WHEN MATCHED THEN UPDATE SET v = w WHEN NOT MATCHED AND w IS NOT NULL AND x.id > 0 THEN INSERT VALUES (x.id, w, x.t) $$);
-- actions and their conditions; NULL is not true
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED AND o.v > 1 THEN DELETE WHEN MATCHED AND o.v IS NULL THEN DO NOTHING WHEN MATCHED THEN UPDATE SET t = o.t $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED AND o.v > 1 THEN UPDATE SET v = 1 WHEN MATCHED AND o.t = 'more' THEN UPDATE SET t = 'x', v = 2 WHEN MATCHED THEN UPDATE SET t = DEFAULT WHEN NOT MATCHED AND o.v > 50 THEN DO NOTHING WHEN NOT MATCHED AND o.v > 20 THEN INSERT (v, id) VALUES (o.v, o.id) WHEN NOT MATCHED AND o.id < 10 THEN INSERT (id) VALUES (o.id) $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED THEN DELETE $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN NOT MATCHED AND o.id > 0 THEN INSERT VALUES (o.id, o.v, o.t) $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id AND o.v > 20 AND p.v < 400 WHEN MATCHED THEN UPDATE SET v = o.v WHEN NOT MATCHED AND o.id % 2 = 1 THEN INSERT VALUES (o.id, o.v) $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED AND p.v / (o.v - 2) > 0 THEN DELETE $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED AND o.v <> 2 THEN UPDATE SET v = 1 / (o.v - 2) WHEN MATCHED THEN UPDATE SET v = 7 $$);
-- subqueries in conditions and values see the state before
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id WHEN MATCHED AND (SELECT count(*) FROM part x WHERE x.id < p.id) > 5 THEN UPDATE SET v = (SELECT sum(x.v) FROM part x WHERE x.id <= p.id) WHEN NOT MATCHED AND o.id > 0 THEN INSERT VALUES (o.id, (SELECT count(*) FROM part x WHERE x.id > o.id)) $$);
SELECT test.merge($$ MERGE INTO part p USING local.other o ON o.id = p.id AND EXISTS (SELECT FROM other x WHERE x.id = p.id AND x.v = 2) WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND EXISTS (SELECT FROM part x WHERE x.id = o.id + 1) THEN INSERT VALUES (o.id, 0) $$);
-- joined otherwise than by the key
SELECT test.merge($$ MERGE INTO part p USING (VALUES (100, 'a'), (200, 'b')) s (v, t) ON s.v = p.v WHEN MATCHED THEN UPDATE SET t = s.t WHEN NOT MATCHED THEN INSERT VALUES (1, 1) $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (10, 15), (30, 41)) s (low, high) ON p.id BETWEEN s.low AND s.high WHEN MATCHED THEN UPDATE SET v = s.low $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (1)) s (v) ON true WHEN MATCHED THEN UPDATE SET v = p.v + s.v WHEN NOT MATCHED THEN INSERT VALUES (1, 1) $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (1), (3)) s (v) ON false WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.v, 1) $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (4), (24), (25)) s (v) ON p.id = 24 WHEN MATCHED AND s.v = 4 THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.v, 1) $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (4), (24), (25)) s (v) ON p.id = s.v AND p.id < 20 WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.v % 2 = 1 THEN INSERT VALUES (s.v, 1) $$);
-- a row of the table that several rows of the source act upon
SELECT test.merge($$ MERGE INTO part p USING (VALUES (2, 1), (4, 2), (2, 3)) s (id, v) ON s.id = p.id WHEN MATCHED THEN UPDATE SET v = s.v $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (2, 1), (4, 2), (2, 3)) s (id, v) ON s.id = p.id WHEN MATCHED AND s.v = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (2, 1), (4, 2), (2, 3)) s (id, v) ON s.id = p.id WHEN MATCHED AND s.v < 3 THEN DELETE WHEN MATCHED THEN DO NOTHING $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (42, 1), (44, 2), (42, 3)) s (id, v) ON s.id = p.id WHEN MATCHED AND s.v < 3 THEN DELETE WHEN MATCHED AND s.v > 3 THEN UPDATE SET v = 0 $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (42, 1), (44, 2), (42, 3)) s (id, v) ON s.id = p.id WHEN MATCHED THEN DELETE $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (3, 1), (3, 2)) s (id, v) ON s.id = p.id WHEN NOT MATCHED THEN INSERT VALUES (50 + s.v * 2 - 1, s.v) $$);
-- rows that change their partition
SELECT test.merge($$ MERGE INTO part p USING (VALUES (2, 21), (22, 41), (42, 1), (3, 3)) s (id, v) ON s.id = p.id WHEN MATCHED THEN UPDATE SET id = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.v, s.v) $$);
SELECT test.merge($$ MERGE INTO part p USING (VALUES (2), (4)) s (id) ON s.id = p.id WHEN MATCHED THEN UPDATE SET id = p.id + 100 $$);
-- keys that are taken, or free by another action
SELECT test.merge($$ MERGE INTO part p USING (VALUES (2, 4), (24, 23)) s (id, v) ON s.id = p.id WHEN MATCHED AND s.v = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET id = s.v $$);
SELECT test.done(side, $$ MERGE INTO part p USING (VALUES (3), (24)) s (id) ON s.id = p.id + 1 WHEN NOT MATCHED THEN INSERT VALUES (s.id) $$) ~ '^23505 duplicate key' FROM unnest('{local,engine}'::text[]) side;
SELECT test.merge($$ MERGE INTO part p USING (VALUES (70)) s (id) ON s.id = p.id WHEN NOT MATCHED THEN INSERT VALUES (s.id) $$);
-- whole rows, system columns, volatile functions
SELECT test.merge($$ MERGE INTO part p USING other o ON o.id = p.id WHEN MATCHED AND p.tableoid::regclass::text LIKE '%part2' THEN UPDATE SET t = p::text || o::text WHEN MATCHED AND p.* IS NOT NULL THEN UPDATE SET t = 'seen' WHEN NOT MATCHED AND o.* IS NOT NULL THEN INSERT VALUES (o.id, length(o::text)) $$);
CREATE SEQUENCE number;
SELECT test.merge($$ MERGE INTO part p USING (SELECT o.*, nextval('local.number') - currval('local.number') AS n FROM other o) o ON o.id = p.id WHEN MATCHED AND random() < 2 THEN UPDATE SET v = n + o.v WHEN NOT MATCHED AND random() < 0 THEN DO NOTHING WHEN NOT MATCHED AND o.id > 0 AND random() >= 0 THEN INSERT VALUES (o.id, n) $$);
SELECT test.merge($$ MERGE INTO part p USING generate_series(1, 5) i ON false WHEN NOT MATCHED THEN INSERT VALUES (i * 4 + 1, i % 2, setval('local.number', 1)) $$);
-- many rows, in several batches and requests
SET shuttle.batch_size = 7;
SET shuttle.write_buffer_size = 1;
SELECT md5(x) FROM test.merge($$ MERGE INTO part p USING (SELECT i, repeat(chr(60 + i), 500) FROM generate_series(1, 59) i) s (id, t) ON s.id = p.id WHEN MATCHED AND s.id % 10 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET t = s.t WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.id, s.t) $$) x;
RESET shuttle.batch_size;
RESET shuttle.write_buffer_size;

-- prepared, with plans of its own for each value and with one for all
CREATE FUNCTION test.prepared(mode text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	i int;
	side text;
BEGIN
	PERFORM set_config('plan_cache_mode', mode, true);
	FOREACH side IN ARRAY '{local,engine}'::text[] LOOP
		PERFORM set_config('search_path', side || ', local', true);
		EXECUTE format('PREPARE %s (int, int, text) AS MERGE INTO part p USING (VALUES ($1, $2)) s (id, v) ON s.id = p.id
			WHEN MATCHED AND $3 IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v, t = $3 WHEN NOT MATCHED THEN INSERT VALUES ($1, $2, $3)', side);
	END LOOP;
	FOR i IN 1 .. 6 LOOP
		RETURN NEXT test.done('local', format('EXECUTE local(%s, %s, %L)', i * 9, i, nullif('t' || i, 't2'))) || CASE WHEN
			test.done('local', format('EXECUTE local(%s, %s, %L)', i * 9, i, nullif('t' || i, 't2'))) = test.done('engine', format('EXECUTE engine(%s, %s, %L)', i * 9, i, nullif('t' || i, 't2'))) THEN ', same' ELSE ', DIFFERENT' END;
	END LOOP;
	DEALLOCATE local;
	DEALLOCATE engine;
END $$;
SELECT test.prepared('auto');
SELECT test.prepared('force_generic_plan');

-- the tag, PL/pgSQL, SQL functions, and no more than two requests for each node
SET search_path = engine, local;
BEGIN;
MERGE INTO part p USING (VALUES (2, 1), (3, 2), (24, 3), (41, 4)) s (id, v) ON s.id = p.id WHEN MATCHED AND s.v > 2 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v);
DO $$
DECLARE
	one int := 1;
	n int;
BEGIN
	FOR i IN 1 .. 3 LOOP
		MERGE INTO part p USING (SELECT i * 20 - 15 AS id) s ON s.id = p.id WHEN MATCHED THEN UPDATE SET v = p.v + one WHEN NOT MATCHED THEN INSERT VALUES (s.id, one);
		GET DIAGNOSTICS n = ROW_COUNT;
		RAISE NOTICE '% %', n, FOUND;
	END LOOP;
END $$;
CREATE FUNCTION put(int, int) RETURNS void LANGUAGE sql AS
	'MERGE INTO engine.part p USING (SELECT $1 AS id, $2 AS v) s ON s.id = p.id WHEN MATCHED THEN UPDATE SET v = p.v + s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)';
SELECT put(5, 10), put(7, 10);
SELECT * FROM part WHERE id <> v / 10 ORDER BY id;
ROLLBACK;
CREATE FUNCTION test.requests(statement text, OUT reads int, OUT writes int) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	reads := plan -> 0 ->> 'Storage Read Requests';
	writes := plan -> 0 ->> 'Storage Flush Requests';
END $$;
SET shuttle.debug_force_batched_join = on;
BEGIN;
SELECT * FROM test.requests($$ MERGE INTO part p USING generate_series(1, 39) i ON i = p.id WHEN MATCHED THEN UPDATE SET v = i $$);
SELECT * FROM test.requests($$ MERGE INTO part p USING generate_series(1, 39) i ON i = p.id WHEN NOT MATCHED THEN INSERT VALUES (i, i) $$);
SELECT * FROM test.requests($$ MERGE INTO part p USING generate_series(1, 39) i ON i = p.id WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = i WHEN NOT MATCHED THEN INSERT VALUES (i, i) $$);
SELECT * FROM test.requests($$ MERGE INTO part p USING (VALUES (7)) s (i) ON i = p.id WHEN MATCHED THEN UPDATE SET v = i WHEN NOT MATCHED THEN INSERT VALUES (i, i) $$);
ROLLBACK;
