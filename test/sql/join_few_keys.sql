-- A node sees how many keys it is asked for if they are few and have many rows: it
-- assumes ten otherwise, and may read a table as a whole for three.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('far');
CREATE SCHEMA node;
CREATE TABLE node.wide WITH (autovacuum_enabled = off) AS SELECT i AS id, i % 250 AS k, repeat('x', 150) AS t FROM generate_series(1, 40000) i;
CREATE INDEX ON node.wide (k);
ANALYZE node.wide;
CREATE FOREIGN TABLE wide (id int, k int, t text) SERVER far OPTIONS (schema_name 'node');
ANALYZE wide;
CREATE TABLE few AS SELECT i * 80 AS k FROM generate_series(1, 3) i;
CREATE TABLE more AS SELECT i * 20 AS k FROM generate_series(1, 12) i;
ANALYZE few, more;
CREATE FUNCTION test.numbers(query text) RETURNS TABLE (requests text, scanned text, returned text) LANGUAGE sql AS $$
	SELECT n ->> 'Storage Read Requests', n ->> 'Storage Rows Scanned', n ->> 'Storage Rows Returned' FROM test.dist_json(query) n $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM test.numbers('SELECT f.k, w.id FROM few f JOIN wide w ON w.k = f.k');
SELECT * FROM test.numbers('SELECT f.k, s.* FROM few f LEFT JOIN LATERAL (SELECT w.id FROM wide w WHERE w.k = f.k OFFSET 0) s ON true');
SELECT returned FROM test.numbers('SELECT m.k, w.id FROM more m JOIN wide w ON w.k = m.k');
-- the same rows, again and again with other keys, which the node may prepare
SELECT count(*), sum(w.id) FROM few f JOIN wide w ON w.k = f.k;
SELECT count(*), sum(w.id) FROM few f JOIN node.wide w ON w.k = f.k;
DO $$
DECLARE
	here bigint;
	there bigint;
BEGIN
	FOR i IN 1 .. 12 LOOP
		SELECT sum(w.id) INTO there FROM (SELECT k + i AS k FROM more WHERE k <= i * 20) f JOIN wide w ON w.k = f.k;
		SELECT sum(w.id) INTO here FROM (SELECT k + i AS k FROM more WHERE k <= i * 20) f JOIN node.wide w ON w.k = f.k;
		IF here IS DISTINCT FROM there THEN
			RAISE EXCEPTION '% keys: % instead of %', i, there, here;
		END IF;
	END LOOP;
END $$;
DROP SERVER far CASCADE;
DROP SCHEMA node CASCADE;
DROP TABLE few, more;
