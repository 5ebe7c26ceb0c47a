-- A merge join that ends early because its other side does reads little of a node.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote AS SELECT i AS k, repeat('x', 20) AS t FROM generate_series(1, 40000) i;
CREATE UNIQUE INDEX ON remote (k);
CREATE TABLE here AS SELECT i AS k FROM generate_series(1, 40) i;
ANALYZE remote, here;
CALL test.loopback('far');
CREATE FOREIGN TABLE ft (k int, t text) SERVER far OPTIONS (table_name 'remote');
ANALYZE ft;
CREATE FUNCTION told(what text, query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 ->> what;
END $$;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT k, t FROM ft JOIN here USING (k) ORDER BY k;
SELECT told('Storage Rows Returned', 'SELECT k, t FROM ft JOIN here USING (k) ORDER BY k') < 4000 AS few;
SELECT told('Storage Rows Returned', 'SELECT k, t FROM here JOIN ft USING (k) ORDER BY k') < 4000 AS few;
SELECT told('Storage Rows Returned', 'SELECT k, t FROM ft LEFT JOIN here USING (k) ORDER BY k') AS all_rows;
-- the statistics are wrong: nothing is missing
INSERT INTO here SELECT 40 + 5 * i FROM generate_series(1, 7000) i;
(SELECT k, t FROM ft JOIN here USING (k) ORDER BY k) EXCEPT ALL SELECT r.k, r.t FROM remote r JOIN here USING (k);
SELECT r.k, r.t FROM remote r JOIN here USING (k) EXCEPT ALL (SELECT k, t FROM ft JOIN here USING (k) ORDER BY k);
SELECT told('Storage Rows Returned', 'SELECT k, t FROM ft JOIN here USING (k) ORDER BY k') > 35000 AS most;
-- nobody knows that it ends early: no more pages are asked for than were read, but for a few
ANALYZE here;
DELETE FROM here WHERE k > 40;
SELECT told('Storage Read Requests', 'SELECT k, t FROM ft JOIN here USING (k) ORDER BY k') < 15 AS few;
SELECT told('Storage Read Requests', 'SELECT k, t FROM here JOIN ft USING (k) ORDER BY k') < 15 AS few;
SELECT told('Storage Read Requests', 'SELECT k, t FROM ft LEFT JOIN here USING (k) ORDER BY k') >= 40 AS all_pages;
RESET enable_hashjoin;
RESET enable_nestloop;
DROP FUNCTION told;
DROP SERVER far CASCADE;
DROP TABLE remote, here;
