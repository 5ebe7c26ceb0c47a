-- A subquery that each child of an Append evaluates has one scan, which the
-- Look Aheads above the children take in turn.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE f AS SELECT i AS id, i % 40 AS k, i % 7 AS j FROM generate_series(1, 200) i;
CREATE TABLE parts (id int, k int) PARTITION BY LIST (k);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN (0, 1, 2);
CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN (3, 4, 5);
CREATE TABLE parts_c PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT i, i % 9 FROM generate_series(1, 50) i;
CREATE INDEX ON parts (id);
CREATE TABLE heirs (id int, k int);
CREATE TABLE heir (more text) INHERITS (heirs);
INSERT INTO heirs SELECT i, nullif(i % 5, 0) FROM generate_series(1, 20) i;
INSERT INTO heir SELECT i, i % 6, 'more' FROM generate_series(21, 40) i;
CREATE TABLE g (k int, t text) PARTITION BY HASH (k);
CREATE TABLE g0 PARTITION OF g FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE g1 PARTITION OF g FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE g2 PARTITION OF g FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO g SELECT i % 12, 't' || i FROM generate_series(1, 60) i;
ANALYZE parts, heirs, heir;
CALL test.mirror('f');
CALL test.mirror_partitions('g');

-- All children look ahead, and no scan asks alone.
SELECT * FROM test.numbers('SELECT p.id, (SELECT count(*) FROM f WHERE f.k = p.k) FROM parts p');
SELECT test.same_rows('SELECT p.id, (SELECT count(*) FROM f WHERE f.k = p.k) FROM parts p');
SELECT test.same_rows('SELECT h.id, (SELECT sum(f.id) FROM f WHERE f.k = h.k) FROM heirs h');
SELECT test.same_rows('SELECT h.id, ARRAY(SELECT f.id FROM f WHERE f.k = h.k AND f.j > 2 ORDER BY id) FROM heirs h');
SELECT test.same_rows($$
	SELECT id, k FROM parts p WHERE k = 4 OR EXISTS (SELECT FROM f WHERE f.j = p.k AND f.id = p.id OFFSET 0) $$);
SELECT test.same_rows($$
	SELECT id, CASE WHEN k > 2 THEN (SELECT sum(f.id) FROM f WHERE f.k = p.k) ELSE 0 END FROM parts p $$);
SELECT test.same_rows($$
	SELECT id, (SELECT count(*) FROM f WHERE f.k = u.k) FROM
		(SELECT id, k FROM heirs UNION ALL SELECT id, k FROM parts_a UNION ALL SELECT id, k FROM parts_c) u $$);

-- Two subqueries, one inside the other.
SELECT test.same_rows($$
	SELECT id, (SELECT count(*) FROM f WHERE f.k = p.k), (SELECT max(f.id) FROM f WHERE f.j = p.k) FROM parts p $$);
SELECT test.same_rows($$
	SELECT id, (SELECT sum((SELECT count(*) FROM f g WHERE g.j = f.j AND g.k = p.k)) FROM f WHERE f.k = p.k)
	FROM parts p $$);

-- The children are read in turn, row by row.
SET enable_sort = off;
SELECT test.plan_shape('SELECT id, (SELECT count(*) FROM f WHERE f.k = p.k) FROM parts p ORDER BY id');
SELECT test.same_order('SELECT id, (SELECT count(*) FROM f WHERE f.k = p.k) FROM parts p ORDER BY id');
SELECT test.same_order('SELECT id, (SELECT max(id) FROM f WHERE f.k = p.k) FROM parts p ORDER BY id LIMIT 7');
SELECT test.same_order($$
	SELECT id FROM parts p WHERE NOT EXISTS (SELECT FROM f WHERE f.j = p.k OFFSET 0) OR id % 2 = 0 ORDER BY id $$);
SELECT test.same_order($$
	SELECT id, (SELECT string_agg(t, ',' ORDER BY t) FROM g WHERE g.k = p.k) FROM parts p ORDER BY id $$);
RESET enable_sort;

-- The subquery's own table has partitions: the keys are routed for each child.
SELECT * FROM test.numbers('SELECT id, (SELECT count(t) FROM g WHERE g.k = p.k) FROM parts p');
SELECT test.same_rows('SELECT id, (SELECT count(t) FROM g WHERE g.k = p.k) FROM parts p');
SELECT test.same_rows('SELECT id, (SELECT count(t) FROM g WHERE g.k = h.k) FROM heirs h');
SELECT test.same_rows('SELECT id FROM parts p WHERE id < 9 OR EXISTS (SELECT FROM g WHERE g.k = p.k + 6 OFFSET 0)');

-- Groups by partition, and a subquery that starts again.
SET enable_partitionwise_aggregate = on;
SELECT test.same_rows('SELECT k, sum((SELECT count(*) FROM f WHERE f.k = p.k)) FROM parts p GROUP BY k');
SELECT test.same_rows('SELECT k, (SELECT count(*) FROM f WHERE f.k = p.k) FROM parts p GROUP BY k');
RESET enable_partitionwise_aggregate;
SELECT test.same_rows($$
	SELECT h.id, s.* FROM heirs h CROSS JOIN LATERAL
		(SELECT p.id, (SELECT count(*) FROM f WHERE f.k = p.k + h.k) FROM parts p WHERE p.k = h.k OFFSET 0) s $$);
DROP TABLE f, parts, heirs, g CASCADE;
