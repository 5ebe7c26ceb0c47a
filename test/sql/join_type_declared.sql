-- A column that is declared with another type than the node's: the node compares its own.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE a AS SELECT i AS id, (ARRAY['sad', 'ok', 'happy'])[i % 4] AS m, i % 5 AS n FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT id, m::mood AS m, n FROM a;
CALL test.mirror('b');
SELECT format('ALTER FOREIGN TABLE %I.b ALTER m TYPE text, ALTER n TYPE int8', t) FROM unnest(test.transports()) t \gexec
CREATE FUNCTION test.tell(query text) RETURNS TABLE (transport text, joined text, answer text)
LANGUAGE plpgsql AS $$
DECLARE
	batched bool;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		FOREACH batched IN ARRAY '{f,t}'::bool[] LOOP
			joined := CASE WHEN batched THEN 'batched' ELSE 'here' END;
			PERFORM test.set_way((joined, transport, batched, 1024, 1024, false));
			BEGIN
				EXECUTE query INTO answer;
			EXCEPTION WHEN undefined_function THEN
				answer := SQLERRM;
			END;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM test.tell('SELECT count(*) FROM a JOIN b ON b.m = a.m');
SELECT * FROM test.tell('SELECT count(*) FROM a JOIN b ON b.n = a.n');
-- declared as they are, they are asked for
SELECT format('ALTER FOREIGN TABLE %I.b ALTER m TYPE mood', t) FROM unnest(test.transports()) t \gexec
SELECT * FROM test.tell('SELECT count(*) FROM a JOIN b ON b.m = a.m::mood');
