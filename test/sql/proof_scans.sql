-- The text that postgres_fdw makes for a scan is read again as a node reads it, and compared with what was meant.
-- Here the texts are given, right and wrong ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE FUNCTION test.plan_with_text(statement text, text text) RETURNS void LANGUAGE c STRICT AS 'pg_shuttle', 'shuttle_scan_text_proof';
CREATE FUNCTION test.proof(statement text, text text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM test.plan_with_text(statement, text);
	RETURN 'the same';
EXCEPTION WHEN internal_error THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN coalesce(nullif(split_part(detail, E'\n', 2), ''), SQLERRM);
END $$;
CREATE TABLE a (id int PRIMARY KEY, n int, t varchar(8), c char(4));
CREATE TABLE b (id int PRIMARY KEY, a int, t text);
CALL test.mirror('a', 'b');
SET search_path = engine;
SET shuttle.debug_prove_texts = on;
-- a plan for all literals has other conditions
SET shuttle.enable_plan_reuse = off;
-- joins go to the node
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET shuttle.enable_batched_join = off;
-- those that mean the same
SELECT s AS statement, test.proof(s, x) FROM (VALUES
	('SELECT id, t FROM a WHERE id = 1', 'SELECT id, t FROM local.a WHERE ((id = 1))'),
	('SELECT id FROM a WHERE n IN (1, 2) AND t <> ''x''', 'SELECT id FROM local.a WHERE ((n = ANY (''{1,2}''::integer[]))) AND ((t <> ''x''))'),
	('SELECT id FROM a WHERE n IN (1, 2) AND t <> ''x''', 'SELECT id FROM local.a WHERE t <> ''x'' AND n = ANY (''{1,2}'')'),
	('SELECT count(*), max(n) FROM a WHERE id > 2', 'SELECT count(*), max(n) FROM local.a WHERE ((id > 2))'),
	('SELECT a.t, b.t FROM a JOIN b ON b.a = a.id WHERE a.n = 1', 'SELECT r1.t, r2.t FROM (local.a r1 INNER JOIN local.b r2 ON (((r1.id = r2.a)) AND ((r1.n = 1))))'),
	('SELECT a.t, b.t FROM a LEFT JOIN b ON b.a = a.id', 'SELECT r1.t, r2.t FROM (local.a r1 LEFT JOIN local.b r2 ON (((r2.a = r1.id))))'),
	('UPDATE a SET n = n + 1 WHERE id = 3', 'UPDATE local.a SET n = (n + 1) WHERE ((id = 3))'),
	('DELETE FROM a WHERE id = 3', 'DELETE FROM local.a WHERE ((id = 3))')) AS v(s, x);
-- those that do not
SELECT s AS statement, test.proof(s, x) FROM (VALUES
	('SELECT id, t FROM a WHERE id = 1', 'SELECT t, id FROM local.a WHERE ((id = 1))'),
	('SELECT id, t FROM a WHERE id = 1', 'SELECT id, t FROM local.a WHERE ((id = 2))'),
	('SELECT id, t FROM a WHERE id = 1', 'SELECT id, t FROM local.a'),
	('SELECT id, t FROM a', 'SELECT id, t FROM local.a WHERE ((id = 1))'),
	('SELECT id, t FROM a WHERE id = 1', 'SELECT id, t FROM local.b WHERE ((id = 1))'),
	('SELECT id FROM a WHERE n IN (1, 2) AND t <> ''x''', 'SELECT id FROM local.a WHERE t <> ''x'' OR n = ANY (''{1,2}'')'),
	('SELECT id FROM a WHERE t = ''x''', 'SELECT id FROM local.a WHERE ((c = ''x''))'),
	('SELECT id, t FROM a', 'SELECT DISTINCT id, t FROM local.a'),
	('SELECT id, t FROM a', 'SELECT id, t FROM local.a LIMIT 1'),
	('SELECT id, t FROM a', 'SELECT id, t FROM local.a ORDER BY id'),
	('SELECT id, t FROM a', 'SELECT id, t FROM local.a FOR UPDATE'),
	('SELECT count(*), max(n) FROM a WHERE id > 2', 'SELECT count(*), min(n) FROM local.a WHERE ((id > 2))'),
	('SELECT count(*), max(n) FROM a WHERE id > 2', 'SELECT count(*), max(n) FROM local.a WHERE ((id > 2)) GROUP BY n'),
	('SELECT a.t, b.t FROM a JOIN b ON b.a = a.id WHERE a.n = 1', 'SELECT r1.t, r2.t FROM (local.a r1 LEFT JOIN local.b r2 ON (((r1.id = r2.a)) AND ((r1.n = 1))))'),
	('SELECT a.t, b.t FROM a JOIN b ON b.a = a.id WHERE a.n = 1', 'SELECT r1.t, r2.t FROM (local.a r1 INNER JOIN local.b r2 ON (((r1.n = 1))))'),
	('SELECT a.t, b.t FROM a LEFT JOIN b ON b.a = a.id', 'SELECT r1.t, r2.t FROM (local.a r1 INNER JOIN local.b r2 ON (((r2.a = r1.id))))'),
	('UPDATE a SET n = n + 1 WHERE id = 3', 'UPDATE local.a SET n = (n + 2) WHERE ((id = 3))'),
	('UPDATE a SET n = n + 1 WHERE id = 3', 'UPDATE local.a SET id = (n + 1) WHERE ((id = 3))'),
	('UPDATE a SET n = n + 1 WHERE id = 3', 'UPDATE local.a SET n = (n + 1) WHERE ((id < 3))'),
	('DELETE FROM a WHERE id = 3', 'DELETE FROM local.a')) AS v(s, x);
-- it is the setting that does it
SET shuttle.debug_prove_texts = off;
SELECT test.proof('DELETE FROM a WHERE id = 3', 'DELETE FROM local.a');
SET shuttle.debug_prove_texts = on;
-- of columns that a text sorts by twice, the second one says nothing
SET enable_sort = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, n FROM a UNION ALL SELECT n, n FROM a ORDER BY 1, 2 DESC;
