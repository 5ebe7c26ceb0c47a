-- Nodes whose subqueries are looked ahead for keep what the nodes above them
-- need: going back, marks, junk columns, names.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE l AS SELECT i / 2 AS k, i AS id FROM generate_series(1, 30) i;
CREATE TABLE m AS SELECT i / 2 AS k, i AS id FROM generate_series(1, 30) i;
CREATE INDEX ON l (k);
CREATE INDEX ON m (k);
CREATE TABLE b AS SELECT i AS id, i % 13 AS k FROM generate_series(1, 40) i;
CALL test.mirror('b');
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	(1, 'SELECT l.id, m.id FROM l JOIN m ON m.k = l.k WHERE (SELECT count(*) FROM b WHERE b.k = m.k) > 1 AND (SELECT count(*) FROM b WHERE b.k = l.k) > 0'),
	(2, 'SELECT l.id, s.* FROM l LEFT JOIN (SELECT m.k, (SELECT count(*) FROM b WHERE b.k = m.k) AS n FROM m OFFSET 0) s ON s.k = l.k'),
	(3, 'SELECT l.id, m.id, (SELECT count(*) FROM b WHERE b.k = m.k + l.id) FROM l FULL JOIN m ON m.k = l.k'),
	(4, 'SELECT l.k, count(*), (SELECT count(*) FROM b WHERE b.k = l.k) FROM l WHERE (SELECT max(b.id) FROM b WHERE b.k = l.k) > 30 GROUP BY l.k'),
	(5, 'SELECT l.id, l.ctid, l.tableoid::regclass = ''l''::regclass, (SELECT count(*) FROM b WHERE b.k = l.k) FROM l'),
	(6, 'SELECT l, (SELECT count(*) FROM b WHERE b.k = l.k) FROM l'),
	(7, 'SELECT k, n FROM (SELECT k, (SELECT count(*) FROM b WHERE b.k = l.k) AS n FROM l UNION ALL SELECT k, (SELECT max(b.id) FROM b WHERE b.k = m.k) FROM m) s ORDER BY k, n'),
	(8, 'SELECT l.id, (SELECT count(*) FROM b WHERE b.k = l.k), generate_series(1, 2) FROM l');
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
SET enable_hashjoin = off;
SET enable_hashagg = off;
SET enable_nestloop = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET enable_material = off;
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
-- what a statement that writes takes from such a node
SET shuttle.debug_force_batched_join = on;
SET search_path = guest, local, public;
BEGIN;
UPDATE l SET id = (SELECT count(*) FROM b WHERE b.k = l.k) WHERE (SELECT max(b.id) FROM b WHERE b.k = l.k) > 30 RETURNING k, id;
DELETE FROM m WHERE (SELECT count(*) FROM b WHERE b.k = m.k) < 4 RETURNING id, (SELECT count(*) FROM b WHERE b.k = m.k);
INSERT INTO m SELECT k, (SELECT count(*) FROM b WHERE b.k = l.k) FROM l WHERE k < 3 RETURNING *;
SELECT l.id FROM l WHERE (SELECT count(*) FROM b WHERE b.k = l.k) = 4 ORDER BY id FOR UPDATE;
ROLLBACK;
-- a nested loop above such a node takes its parameters from the columns that the node returns
RESET enable_nestloop;
RESET enable_material;
SET search_path = local, public;
SELECT test.plan_shape('SELECT s.k, f.id FROM (SELECT 0 AS none, l.k FROM l WHERE EXISTS (SELECT FROM b WHERE b.k = l.id OFFSET 0) OFFSET 0) s CROSS JOIN LATERAL (SELECT b.id FROM b WHERE b.k = s.k ORDER BY b.id LIMIT 3) f');
SELECT test.same_rows('SELECT s.k, f.id FROM (SELECT 0 AS none, l.k FROM l WHERE EXISTS (SELECT FROM b WHERE b.k = l.id OFFSET 0) OFFSET 0) s CROSS JOIN LATERAL (SELECT b.id FROM b WHERE b.k = s.k ORDER BY b.id LIMIT 3) f');
SELECT test.same_rows('SELECT s.t, f.id FROM (SELECT 0 AS none, l.k::text || l.id AS t, l.k FROM l WHERE (SELECT count(*) FROM b WHERE b.k = l.id) > 1 OFFSET 0) s CROSS JOIN LATERAL (SELECT b.id FROM b WHERE b.k = s.k ORDER BY b.id LIMIT 3) f');
