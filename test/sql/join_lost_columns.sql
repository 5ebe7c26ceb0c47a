-- A column that the node's table has no longer is its error, whatever its name: never one of the keys.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 4 AS k FROM generate_series(1, 10) i;
CREATE TABLE b AS SELECT i AS id, i % 4 AS k, i AS ord, i AS p1, i AS shuttle_keys, i AS shuttle_keys_p1 FROM generate_series(1, 10) i;
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b FROM a JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.ord FROM a JOIN b ON b.p1 = a.k AND b.shuttle_keys = a.k');
CREATE FUNCTION test.tell(query text) RETURNS TABLE (transport text, answer text)
LANGUAGE plpgsql AS $$
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM test.set_way((transport, transport, true, 1024, 1024, false));
		BEGIN
			EXECUTE query INTO answer;
		EXCEPTION WHEN OTHERS THEN
			answer := SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
ALTER TABLE local.b DROP COLUMN ord, DROP COLUMN p1, DROP COLUMN shuttle_keys, DROP COLUMN shuttle_keys_p1;
SELECT * FROM test.tell('SELECT sum(b.ord) FROM a JOIN b ON b.k = a.k');
SELECT * FROM test.tell('SELECT sum(b.id) FROM a JOIN b ON b.p1 = a.k');
SELECT * FROM test.tell('SELECT sum(b.shuttle_keys_p1) FROM a JOIN b ON b.k = a.k');
SELECT * FROM test.tell('SELECT count(b.shuttle_keys) FROM a JOIN b ON b.k = a.k');
SELECT * FROM test.tell('SELECT count((SELECT max(b.p1) FROM b WHERE b.k = a.k)) FROM a');
