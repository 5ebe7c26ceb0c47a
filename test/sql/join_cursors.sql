-- Cursors: row by row, in steps, and back again.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 40) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, i % 6 AS k FROM generate_series(1, 9) i;
CALL test.mirror('b');
-- the rows of a list of moves, in each way; a number for each answer
CREATE FUNCTION moves(scroll text, query text, moves text[]) RETURNS TABLE (answer text, ways bigint) LANGUAGE plpgsql AS $$
DECLARE
	way test.way;
	move text;
	moved record;
	answers text[];
BEGIN
	CREATE TEMP TABLE answers (way text, answer text) ON COMMIT DROP;
	FOR way IN SELECT w.* FROM unnest(test.transports()) AS t, test.ways(t) AS w UNION ALL SELECT 'local', NULL, false, 1024, 1024, false LOOP
		answers := '{}';
		PERFORM test.set_way(way);
		EXECUTE format('DECLARE steps %s CURSOR FOR %s', scroll, query);
		FOREACH move IN ARRAY moves LOOP
			answers := answers || upper(move);
			FOR moved IN EXECUTE format('FETCH %s FROM steps', move) LOOP
				answers := answers || moved::text;
			END LOOP;
		END LOOP;
		EXECUTE 'CLOSE steps';
		INSERT INTO pg_temp.answers VALUES (way.label, array_to_string(answers, ' '));
	END LOOP;
	RETURN QUERY SELECT a.answer, count(*) FROM pg_temp.answers a GROUP BY 1;
	DROP TABLE pg_temp.answers;
END $$;
SELECT * FROM moves('', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.id < 5 ORDER BY a.id', '{1,1,3,5,9}');
SELECT * FROM moves('SCROLL', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.id < 5 ORDER BY a.id',
	'{5,backward 2,1,prior,first,last,absolute 9,relative -3,backward 4,absolute 0,next}');
SELECT * FROM moves('SCROLL', 'SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a ORDER BY a.id', '{4,backward 2,last,prior,next}');
SELECT * FROM moves('NO SCROLL', 'SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k) ORDER BY a.id', '{1,2,2,all}');
SELECT * FROM moves('SCROLL', 'SELECT count(*), a.k FROM a JOIN b ON b.k = a.k GROUP BY a.k ORDER BY a.k', '{2,backward all,all,1}');
-- closed before its end, two at once, and held beyond the transaction
SET shuttle.debug_force_batched_join = on;
SET shuttle.batch_size = 3;
SET search_path = guest, local, public;
BEGIN;
DECLARE c CURSOR FOR SELECT a.id, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.id, b.id;
DECLARE d CURSOR WITH HOLD FOR SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.id > 3 ORDER BY a.id, b.id;
FETCH 2 FROM c;
FETCH 2 FROM d;
FETCH 2 FROM c;
CLOSE c;
FETCH 2 FROM d;
COMMIT;
FETCH 2 FROM d;
CLOSE d;

-- WHERE CURRENT OF finds the row fetched last, where stock finds it
CREATE FUNCTION test.positions(query text, moves text[]) RETURNS TABLE (answer text, ways bigint) LANGUAGE plpgsql AS $$
DECLARE
	way test.way;
	move text;
BEGIN
	CREATE TEMP TABLE answers (answer text);
	FOR way IN SELECT 'local', NULL, false, 1024, 1024, false UNION ALL SELECT w.* FROM unnest(test.transports()) AS t, test.ways(t) AS w LOOP
		PERFORM test.set_way(way);
		BEGIN
			EXECUTE 'DECLARE c CURSOR FOR ' || query;
			FOREACH move IN ARRAY moves LOOP
				EXECUTE 'MOVE ' || move || ' FROM c';
				UPDATE local.a SET k = k + 100 WHERE CURRENT OF c;
			END LOOP;
			RAISE EXCEPTION SQLSTATE 'UL000' USING MESSAGE =
				(SELECT string_agg(a.id::text, ' ' ORDER BY a.id) FROM local.a WHERE a.k >= 100);
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO pg_temp.answers VALUES (SQLERRM);
		END;
	END LOOP;
	RETURN QUERY SELECT a.answer, count(*) FROM pg_temp.answers a GROUP BY 1 ORDER BY 1;
	DROP TABLE answers;
END $$;
SELECT * FROM test.positions('SELECT id, (SELECT max(b.id) FROM b WHERE b.k = a.k) FROM a', '{1,4,10}');
SELECT * FROM test.positions('SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k OFFSET 0)', '{1,4,10}');
SELECT * FROM test.positions('SELECT id, x + 1 FROM (SELECT id, (SELECT max(b.id) FROM b WHERE b.k = a.k) AS x FROM a LIMIT 20) l', '{2,3}');
SELECT * FROM test.positions('SELECT id, (SELECT max(b.id) FROM b WHERE b.k = a.k) FROM a FOR UPDATE', '{1,4}');
SELECT * FROM test.positions('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.id, b.id', '{1,4}');
SET search_path = engine, local, public;
DO $$
DECLARE
	c CURSOR FOR SELECT id, (SELECT max(b.id) FROM b WHERE b.k = a.k) AS most FROM a WHERE id < 9;
BEGIN
	FOR r IN c LOOP
		UPDATE a SET k = r.most WHERE CURRENT OF c;
	END LOOP;
END $$;
SELECT id, k FROM a WHERE id < 11 ORDER BY id;
