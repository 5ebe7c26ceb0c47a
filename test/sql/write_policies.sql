-- Row security of a partitioned table holds for its foreign partitions, too: for rows
-- that are inserted, changed, and moved there.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE p (id int, owner text, v int DEFAULT 1, double int GENERATED ALWAYS AS (v * 2) STORED) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (200) TO (300);
CREATE TABLE engine.p (id int, owner text, v int DEFAULT 1, double int GENERATED ALWAYS AS (v * 2) STORED) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE engine.p1 PARTITION OF engine.p FOR VALUES FROM (0) TO (100) SERVER engine OPTIONS (schema_name 'local');
CREATE FOREIGN TABLE engine.p2 PARTITION OF engine.p FOR VALUES FROM (100) TO (200) SERVER engine OPTIONS (schema_name 'local');
CREATE TABLE engine.p3 PARTITION OF engine.p FOR VALUES FROM (200) TO (300);
INSERT INTO p SELECT i, CASE WHEN i % 20 = 0 THEN 'test_writer' ELSE 'other' END FROM generate_series(10, 290, 10) i;
INSERT INTO engine.p3 (id, owner) SELECT id, owner FROM local.p3;
CREATE ROLE test_writer;
GRANT USAGE ON SCHEMA local, engine, test TO test_writer;
GRANT ALL ON local.p, engine.p TO test_writer;
SELECT format('CREATE USER MAPPING FOR test_writer SERVER engine OPTIONS (user %L, password_required ''false'')', current_user) \gexec
DO $$
DECLARE
	side text;
BEGIN
	FOREACH side IN ARRAY ARRAY['local', 'engine'] LOOP
		EXECUTE format('ALTER TABLE %I.p ENABLE ROW LEVEL SECURITY', side);
		EXECUTE format('CREATE POLICY seen ON %I.p FOR SELECT USING (owner = current_user)', side);
		EXECUTE format('CREATE POLICY changed ON %I.p FOR UPDATE USING (owner = current_user) WITH CHECK (double < 100)', side);
		EXECUTE format('CREATE POLICY made ON %I.p FOR INSERT WITH CHECK (owner = current_user AND id <> 7)', side);
	END LOOP;
END $$;

-- How many rows a statement writes and what they are then, or its error.
CREATE FUNCTION test.outcome(side text, statement text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
	nrows bigint;
BEGIN
	PERFORM set_config('search_path', side, true);
	EXECUTE statement;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	SELECT nrows || ' rows, ' || string_agg(format('%s %s %s', id, v, double), ', ' ORDER BY id) FILTER (WHERE v > 1 OR id % 10 > 0) INTO answer FROM p;
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION
	WHEN SQLSTATE 'SH001' THEN NULL;
	WHEN OTHERS THEN answer := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION test.secured(statement text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text := test.outcome('local', statement);
	answer text;
	buffered text;
BEGIN
	RETURN NEXT expected;
	FOREACH buffered IN ARRAY ARRAY['on', 'off'] LOOP
		PERFORM set_config('shuttle.enable_write_buffer', buffered, true);
		answer := test.outcome('engine', statement);
		IF answer <> expected THEN
			RETURN NEXT format('DIFFERENT, buffered %s: %s', buffered, answer);
		END IF;
	END LOOP;
END $$;
SET ROLE test_writer;
SELECT test.secured($$ INSERT INTO p VALUES (1, 'test_writer', 2), (101, 'test_writer', 3) $$);
SELECT test.secured($$ INSERT INTO p VALUES (1, 'test_writer', 2), (101, 'other', 3) $$);
SELECT test.secured($$ INSERT INTO p VALUES (1, 'other') RETURNING id $$);
SELECT test.secured($$ INSERT INTO p SELECT i, current_user FROM generate_series(5, 9) i $$);
SELECT test.secured($$ INSERT INTO p VALUES (1, 'other') ON CONFLICT DO NOTHING $$);
SELECT test.secured($$ UPDATE p SET v = 40 WHERE id < 150 $$);
SELECT test.secured($$ UPDATE p SET v = 60 WHERE id = 120 $$);
SELECT test.secured($$ UPDATE p SET v = 50 FROM (VALUES (20), (120)) AS x (id) WHERE x.id = p.id RETURNING p.v $$);
-- one that is seen no more, and rows that move from here
SELECT test.secured($$ UPDATE p SET owner = 'other' WHERE id = 120 $$);
SELECT test.secured($$ UPDATE p SET id = 7, v = 5 WHERE id = 220 $$);
SELECT test.secured($$ UPDATE p SET id = 8, v = 55 WHERE id = 220 $$);
RESET ROLE;
DROP OWNED BY test_writer;
DROP ROLE test_writer;
DROP TABLE local.p;
