-- From 17 on postgres_fdw ships semi joins as EXISTS, also where a condition
-- stays here that reads the inner side: SQL that no node takes (42P01).
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE FUNCTION alike(a int, b int) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 1 AS 'BEGIN RETURN a = b; END';
CREATE TABLE a AS SELECT i AS id, i % 50 AS k FROM generate_series(1, 60) i;
CREATE TABLE b AS SELECT i AS id, i % 40 AS k FROM generate_series(1, 50) i;
CALL test.mirror('a', 'b');
ANALYZE guest.a, guest.b, engine.a, engine.b;
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	(1, 'SELECT count(a.k) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE local.alike(b.k, a.k) IS NOT FALSE)'),
	(2, 'SELECT count(a.k) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id <> a.id AND local.alike(b.k, a.k))'),
	(3, 'SELECT count(a.k) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.id < 20)');
-- stock postgres_fdw fails here, so nothing is compared with it
SELECT nr, coalesce(transport, 'local') AS tables,
	test.answer(query, ROW('plain', transport, true, 1024, 1024, false)::test.way)
FROM queries, unnest(ARRAY[NULL, 'guest', 'engine']) AS transport ORDER BY 1, 2;
SET enable_nestloop = off;
SELECT nr, coalesce(transport, 'local') AS tables,
	test.answer(query, ROW('plain', transport, true, 1024, 1024, false)::test.way)
FROM queries, unnest(ARRAY[NULL, 'guest', 'engine']) AS transport ORDER BY 1, 2;
