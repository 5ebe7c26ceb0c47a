-- Statements that write foreign tables, and local ones, by what a batched join
-- found: they write the same rows in every way, and lock no others.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
\i :test/include/writes.sql
CREATE TABLE a AS SELECT i AS id, i % 13 AS k, i % 5 AS v FROM generate_series(1, 40) i;
CREATE TABLE b AS SELECT i AS id, i % 20 AS k, i % 4 AS v, 'b ' || i AS t FROM generate_series(1, 60) i;
CREATE INDEX ON a (id);
CREATE INDEX ON b (id);
CREATE INDEX ON b (k);
CREATE TABLE c AS SELECT i AS id, i % 9 AS k, i % 6 AS n FROM generate_series(1, 30) i;
CREATE TABLE l AS SELECT i AS id, i % 15 AS k, 0 AS v FROM generate_series(1, 25) i;
CALL test.mirror('b', 'c');
-- what is found decides which rows of a foreign table are written
SELECT test.same_write('TABLE b', 'UPDATE b SET v = a.v + 100 FROM a WHERE a.id = b.id RETURNING b.id, b.v, b.t, a.id');
SELECT test.same_write('TABLE b', 'UPDATE b SET t = a.v::text FROM a WHERE a.id = b.id AND a.k = b.k');
SELECT test.same_write('TABLE b', 'UPDATE b SET v = c.n FROM a JOIN c ON c.id = a.k WHERE b.id = a.id RETURNING b.*, c.id');
SELECT test.same_write('TABLE b', 'DELETE FROM b USING a WHERE a.k = b.k AND a.v > 1 RETURNING b.id');
-- the engine's node is given the keys, and deletes by itself: no batch
SELECT test.same_write('TABLE b', 'DELETE FROM b WHERE EXISTS (SELECT FROM c WHERE c.k = b.v AND c.n > 2) RETURNING b.id, b');
SELECT test.same_write('TABLE b', 'DELETE FROM b WHERE NOT EXISTS (SELECT FROM c WHERE c.k = b.k OFFSET 0)');
SELECT test.same_write('TABLE b', 'UPDATE b SET v = (SELECT count(*) FROM c WHERE c.k = b.v) WHERE b.id % 3 = 0 RETURNING id, v');
SELECT test.same_write('TABLE b', 'UPDATE b SET v = CASE WHEN b.v > 1 THEN (SELECT max(c.id) FROM c WHERE c.k = b.v) ELSE -1 END RETURNING id, v');
SELECT test.same_write('TABLE b', 'INSERT INTO b SELECT a.id + 1000, c.k, c.n, ''new'' FROM a LEFT JOIN c ON c.k = a.k RETURNING *');
SELECT test.same_write('TABLE b', 'INSERT INTO b SELECT a.id + 1000, x.k, x.v, x.t FROM a JOIN b AS x ON x.k = a.k');
-- a local table, by what is found elsewhere
SELECT test.same_write('TABLE l', 'UPDATE l SET v = b.v + 1 FROM b WHERE b.id = l.k RETURNING l.id, l.v, b.t');
SELECT test.same_write('TABLE l', 'DELETE FROM l USING b, c WHERE b.id = l.k AND c.k = b.v RETURNING l.id');
SELECT test.same_write('TABLE l', 'INSERT INTO l SELECT a.id + 100, b.k, b.v FROM a JOIN b ON b.k = a.k AND b.v = a.v RETURNING id, k');
-- WITH
SELECT test.same_write('TABLE b', 'WITH gone AS (DELETE FROM b USING a WHERE a.id = b.id AND a.v = 2 RETURNING b.id, b.k)
	SELECT gone.id, c.id FROM gone LEFT JOIN c ON c.k = gone.k');
SELECT test.same_write('TABLE b', 'WITH moved AS (UPDATE b SET k = c.n FROM c WHERE c.id = b.id RETURNING b.id)
	INSERT INTO l SELECT id + 500, id, 1 FROM moved RETURNING *');
SELECT test.same_write('TABLE b', 'WITH w AS (UPDATE b SET v = 77 FROM a WHERE a.id = b.id RETURNING 1) SELECT a.id, c.id FROM a JOIN c ON c.k = a.k');
-- one row is found several times, and written once
SELECT test.same_write('SELECT id, v FROM b', 'UPDATE b SET v = b.v + 10 FROM a WHERE a.k = b.k RETURNING b.id, b.v');
-- triggers that query the table that is written, at the end of the statement; a
-- node's own would fire as well
CREATE TABLE log (seen text);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('search_path') NOT LIKE 'pg_catalog%' THEN
		INSERT INTO log SELECT format('%s: %s', NEW.id, count(*)) FROM a JOIN b ON b.k = a.k WHERE b.v = 77;
	END IF;
	RETURN NULL;
END $$;
SELECT format('CREATE TRIGGER look AFTER UPDATE ON %I.b FOR EACH ROW EXECUTE FUNCTION look()', t) FROM unnest(test.transports() || 'local'::text) AS t \gexec
SELECT test.same_write('SELECT seen FROM log', 'UPDATE b SET v = 77 FROM a WHERE a.id = b.id RETURNING b.id, a.id');
SELECT format('DROP TRIGGER look ON %I.b', t) FROM unnest(test.transports() || 'local'::text) AS t \gexec
CREATE TRIGGER look AFTER UPDATE ON l FOR EACH ROW EXECUTE FUNCTION look();
SELECT test.same_write('SELECT seen FROM log', 'UPDATE l SET v = b.v FROM b WHERE b.id = l.k RETURNING l.id');
DROP TRIGGER look ON l;
-- rows that a statement locks or changes on the node: those that it found
CREATE FUNCTION marked(statement text) RETURNS TABLE (transport text, nrows bigint, marked bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		BEGIN
			CREATE TEMP TABLE before AS SELECT ctid AS row, xmax::text AS mark FROM local.b;
			PERFORM test.set_way((transport, transport, true, 7, 1024, false));
			EXECUTE statement;
			GET DIAGNOSTICS nrows = ROW_COUNT;
			SELECT count(*) INTO marked FROM local.b JOIN pg_temp.before ON row = b.ctid WHERE b.xmax::text <> mark;
			RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
		EXCEPTION WHEN SQLSTATE 'SH001' THEN
			NULL;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM marked('UPDATE b SET v = 5 FROM a WHERE a.id = b.id AND a.v = 3');
SELECT * FROM marked('DELETE FROM b USING a WHERE a.k = b.k AND a.id < 4');
SELECT * FROM marked('SELECT b.id FROM a JOIN b ON b.id = a.id WHERE a.v = 3 FOR UPDATE OF b');
SELECT * FROM marked('SELECT b.id FROM a JOIN b ON b.k = a.k WHERE a.id = 7 FOR SHARE OF b');
SELECT * FROM marked('SELECT b.id FROM a JOIN b ON b.id = a.id ORDER BY a.id LIMIT 3 FOR NO KEY UPDATE OF b');
