-- The key of what is written is that of the value, which an outer join may make NULL; so may grouping
-- sets, and rows that RETURNING has not. Rows and errors are those of core's plans, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET DateStyle = 'ISO, MDY';
SET IntervalStyle = postgres;
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE a (k int, n int);
CREATE TABLE b (k int, n int);
CREATE TABLE dst (k int, n int, note text);
CREATE TABLE keyed (k int, n int, PRIMARY KEY (k, n));
INSERT INTO a SELECT i % 10, i FROM generate_series(1, 40) AS i;
INSERT INTO b SELECT i % 10, i FROM generate_series(1, 40, 3) AS i WHERE i % 10 <> 3;
INSERT INTO b VALUES (3, 3), (3, 13);
INSERT INTO keyed SELECT k, n FROM a WHERE k < 4;
INSERT INTO dst SELECT k, n, 'old' FROM b;
CREATE TABLE plain.a AS TABLE a;
CREATE TABLE plain.b AS TABLE b;
CREATE TABLE plain.dst AS TABLE dst;
CREATE TABLE plain.keyed (LIKE keyed INCLUDING ALL);
INSERT INTO plain.keyed TABLE keyed;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{a.k, b.k, dst.k, keyed.k}', tablets => 4);
RESET client_min_messages;
\i :test/include/compared.sql
CREATE FUNCTION run_once(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	found := array(SELECT unnest(answer(query)) ORDER BY 1);
	RETURN found || array(SELECT d::text FROM dst d ORDER BY 1) || array(SELECT d::text FROM keyed d ORDER BY 1);
END $$;
SELECT q AS statement, compare(q) FROM unnest(ARRAY[
	'INSERT INTO dst SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3',
	'INSERT INTO dst SELECT b.k, a.n FROM b RIGHT JOIN a ON b.k = a.k AND b.n = a.n WHERE a.k = 3',
	'INSERT INTO dst SELECT b.k, a.n FROM a FULL JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3',
	'INSERT INTO dst SELECT k, a.n FROM a LEFT JOIN b USING (k, n) WHERE k = 3',
	'INSERT INTO dst SELECT b.k, n FROM a LEFT JOIN b USING (k, n) WHERE a.k = 3',
	'INSERT INTO dst SELECT k, n FROM b RIGHT JOIN a USING (k, n) WHERE k = 3',
	'INSERT INTO dst SELECT j.k, j.n FROM (a LEFT JOIN b ON b.k = a.k AND b.n = a.n) AS j (ak, an, k, n) WHERE ak = 3',
	'INSERT INTO dst SELECT b.k, count(*) FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3 GROUP BY b.k',
	'INSERT INTO dst SELECT a.k, count(b.k) FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3 GROUP BY a.k',
	'INSERT INTO dst SELECT a.k, count(*) FROM a WHERE a.k = 3 GROUP BY ROLLUP (a.k)',
	'INSERT INTO dst SELECT a.k, b.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3',
	'INSERT INTO dst SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3 AND b.k = 3',
	'INSERT INTO dst SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3 AND b.k = a.k',
	'INSERT INTO dst SELECT c.k, a.n FROM a LEFT JOIN (b JOIN dst c ON c.k = b.k AND c.n = b.n) ON b.k = a.k AND b.n = a.n WHERE a.k = 3',
	'INSERT INTO dst SELECT c.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n JOIN dst c ON c.k = b.k WHERE a.k = 3',
	'INSERT INTO dst SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n JOIN dst c ON c.k = b.k WHERE a.k = 3',
	'INSERT INTO dst SELECT s.k, a.n FROM a LEFT JOIN (SELECT 3 AS k, n FROM b WHERE k = 3) s ON s.n = a.n WHERE a.k = 3',
	'INSERT INTO dst SELECT s.k, a.n FROM a LEFT JOIN (VALUES (3, 3), (3, 13)) s (k, n) ON s.n = a.n WHERE a.k = 3',
	'INSERT INTO dst SELECT s.k, s.n FROM (SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3) s',
	'INSERT INTO dst SELECT s.k, s.n FROM (SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3) s WHERE s.k = 3',
	'INSERT INTO dst SELECT l.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n CROSS JOIN LATERAL (SELECT b.k) l WHERE a.k = 3',
	'INSERT INTO dst SELECT (SELECT b.k), a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3',
	'WITH c AS (SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3) INSERT INTO dst SELECT k, n FROM c',
	'INSERT INTO dst WITH c AS MATERIALIZED (SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3) SELECT k, n FROM c',
	'INSERT INTO dst SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k IN (3, 3)',
	'INSERT INTO dst SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3 RETURNING k, n',
	'INSERT INTO keyed SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3 ON CONFLICT DO NOTHING',
	'INSERT INTO keyed SELECT b.k, b.n FROM a JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3 ON CONFLICT (k, n) DO UPDATE SET n = EXCLUDED.n + 100',
	'WITH d AS (DELETE FROM a USING b WHERE a.k = 3 AND b.k = a.k RETURNING b.k, a.n) INSERT INTO dst SELECT k, n FROM d',
	'WITH d AS (DELETE FROM keyed t USING a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE t.k = a.k AND t.n = a.n AND a.k = 3 RETURNING b.k, t.n) INSERT INTO dst SELECT k, n FROM d',
	'WITH u AS (UPDATE keyed t SET n = t.n + 1000 FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE t.k = a.k AND t.n = a.n AND a.k = 3 RETURNING b.k, t.n) INSERT INTO dst SELECT k, n FROM u',
	'UPDATE dst SET k = b.k FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE dst.k = a.k AND a.k = 3',
	'DELETE FROM keyed t USING a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE t.k = b.k AND t.n = a.n AND a.k = 3',
	'MERGE INTO dst d USING (SELECT b.k, a.n FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3) s ON d.k = s.k AND d.k = 3 AND d.n = s.n WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, s.n)',
	'MERGE INTO dst d USING (SELECT b.k, a.n FROM a JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = 3) s ON d.k = s.k AND d.n = s.n WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, s.n)',
	'MERGE INTO dst d USING (a LEFT JOIN b ON b.k = a.k AND b.n = a.n AND a.k = 3) ON d.k = a.k AND d.k = 3 AND d.n = a.n WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, n) VALUES (b.k, a.n)'
]) WITH ORDINALITY AS s (q, i) ORDER BY i;

-- rows that RETURNING has not, since 18
SELECT count(*) AS different FROM unnest(ARRAY[
	'WITH i AS (INSERT INTO dst VALUES (3, 1) RETURNING old.k, n) INSERT INTO dst SELECT k, n FROM i',
	'WITH d AS (DELETE FROM keyed WHERE k = 3 RETURNING new.k, n) INSERT INTO dst SELECT k, n FROM d']) AS q
WHERE current_setting('server_version_num')::int >= 180000 AND compare(q) NOT LIKE '%same';

-- prepared, and in functions
PREPARE fill(int) AS INSERT INTO dst SELECT b.k, a.n, 'prepared' FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE fill(3);
EXECUTE fill(2);
RESET plan_cache_mode;
EXECUTE fill(5);
CREATE FUNCTION fill(key int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	INSERT INTO dst SELECT b.k, a.n, 'function' FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n WHERE a.k = key;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
CREATE FUNCTION roll(key int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	INSERT INTO dst SELECT key, count(*), 'rolled' FROM a WHERE a.k = key GROUP BY ROLLUP (1);
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
SELECT fill(3), roll(3) FROM generate_series(1, 6);
CREATE FUNCTION fill_same(key int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	INSERT INTO dst SELECT b.k, a.n, 'same' FROM a LEFT JOIN b ON b.k = a.k AND b.n = a.n AND b.k = key WHERE a.k = key;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
SELECT shuttle.distribute_function('fill_same(int)', 'key', 'dst');
SELECT shuttle.distribute_function('fill(int)', 'key', 'dst');
SELECT shuttle.distribute_function('roll(int)', 'key', 'dst');
SELECT fill(3);
SELECT roll(3);
SELECT fill_same(3);
SELECT note, k, count(*), sum(n) FROM dst WHERE note <> 'old' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM shuttle.check();
DROP SCHEMA shop, plain CASCADE;
