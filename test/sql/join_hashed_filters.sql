-- A condition with a hashed subquery is tested above an Append: its children would each ask for the
-- subquery, and hash it.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE p (id int, k int, v int) PARTITION BY HASH (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE p2 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO p SELECT i, nullif(i % 101, 7), nullif(i % 6, 1) FROM generate_series(1, 900) i;
CREATE TABLE b AS SELECT i AS id, nullif(i % 70, 5) AS k, i % 9 AS v FROM generate_series(1, 300) i;
CREATE TABLE c AS SELECT i AS id, nullif(i % 17, 3) AS k, i % 5 AS v FROM generate_series(1, 40) i;
CALL test.mirror('b', 'c');
CALL test.mirror_partitions('p');
ANALYZE guest.b, guest.c, guest.p, engine.b, engine.c, engine.p;
SET shuttle.debug_force_batched_join = off;
SET shuttle.enable_storage_aggregate = off;

-- once for all partitions
SELECT test.plan_shape('SELECT id FROM p WHERE k IN (SELECT b.k FROM b WHERE b.v < 6) OR v = 2');
SELECT * FROM test.loops('SELECT id FROM p WHERE k IN (SELECT b.k FROM b WHERE b.v < 6) OR v = 2', '^ *SubPlan');
SELECT test.same_rows('SELECT id FROM p WHERE k IN (SELECT b.k FROM b WHERE b.v < 6) OR v = 2');
SELECT test.same_rows('SELECT v FROM p WHERE EXISTS (SELECT FROM b WHERE b.k = p.k AND b.v > 3) OR EXISTS (SELECT FROM c WHERE c.k = p.v)');
SELECT test.same_rows('SELECT v, count(*), sum(id) FROM p WHERE NOT EXISTS (SELECT FROM b WHERE b.k = p.k AND b.v > 3) OR k IN (SELECT c.id FROM c) GROUP BY v');
SELECT test.same_rows('SELECT id FROM p WHERE v NOT IN (SELECT c.v FROM c WHERE c.k > 3)');
SELECT test.same_rows('SELECT id FROM p WHERE k NOT IN (SELECT b.k FROM b WHERE b.k IS NOT NULL)');
SELECT test.same_rows('SELECT id FROM p WHERE k NOT IN (SELECT b.k FROM b)');
SELECT test.same_rows('SELECT p, tableoid IS NULL FROM p WHERE (k, v) IN (SELECT b.k, b.v FROM b) OR v IS NULL');

-- with further conditions: those in front stay, those behind follow
SELECT test.plan_shape('SELECT id FROM p WHERE (k IN (SELECT b.k FROM b) OR v = 2) AND v < (SELECT coalesce(sum(c.id), 99) FROM c WHERE c.k = p.k)');
SELECT test.same_rows('SELECT id FROM p WHERE (k IN (SELECT b.k FROM b) OR v = 2) AND v < (SELECT coalesce(sum(c.id), 99) FROM c WHERE c.k = p.k)');
SELECT test.same_rows('SELECT id FROM p WHERE v < (SELECT max(c.v) FROM c) AND (k IN (SELECT b.k FROM b) OR v = 2) AND id % 7 > (SELECT min(c.v) FROM c)');
SELECT test.same_rows('SELECT id FROM p WHERE v > 0 AND (12 / v > 3 OR k IN (SELECT b.k FROM b))');
SELECT test.same_error('SELECT id FROM p WHERE v IS NOT NULL AND (12 / v > 3 OR k IN (SELECT b.k FROM b))');

-- below joins, aggregates, LIMIT, sorted partitions, UNION ALL, CTEs and other subqueries
SELECT test.plan_shape('SELECT p.id, b.id FROM p JOIN b ON b.id = p.id WHERE p.k IN (SELECT c.k FROM c) OR p.v = 2');
SELECT test.same_rows('SELECT p.id, b.id FROM p JOIN b ON b.id = p.id WHERE p.k IN (SELECT c.k FROM c) OR p.v = 2');
SELECT test.same_rows('SELECT p.id, q.id FROM p JOIN p q USING (k) WHERE (p.k IN (SELECT c.k FROM c) OR p.v = 2) AND (q.k IN (SELECT b.k FROM b) OR q.v = 3)');
SELECT test.same_rows('SELECT b.id, p.id FROM b LEFT JOIN p ON p.k = b.k AND (p.k IN (SELECT c.k FROM c) OR p.v = 2)');
SELECT test.same_order('SELECT id, k FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2 ORDER BY id LIMIT 7');
SELECT test.same_order('SELECT id, v FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2 ORDER BY v, id OFFSET 100');
SELECT count(*) FROM (SELECT id FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2 LIMIT 9) s;
SELECT test.same_rows('SELECT id FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2 UNION ALL SELECT id FROM b WHERE k IN (SELECT c.k FROM c) OR v = 2');
SELECT test.same_rows('WITH s AS MATERIALIZED (SELECT id, v FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2) SELECT x.id, y.id FROM s x JOIN s y USING (v) WHERE x.id < 30');
SELECT test.same_rows('SELECT b.id, b.v < (SELECT avg(v) FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2) FROM b');
SELECT test.same_rows('SELECT b.id, (SELECT count(*) FROM p WHERE p.k = b.k AND (p.v IN (SELECT c.v FROM c) OR p.id < 50)) FROM b');
SELECT test.same_rows('SELECT c.id, s.n FROM c, LATERAL (SELECT count(*) FROM p WHERE p.v = c.v AND (p.k IN (SELECT b.k FROM b) OR p.id < c.id)) s (n)');
SELECT test.same_prepared('SELECT id FROM p WHERE k IN (SELECT b.k FROM b WHERE b.v < $1) OR v = $1', 'int', '2', '5', NULL);

-- nothing moves if rows are locked or changed
SELECT test.plan_shape('SELECT id FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2 FOR UPDATE');
SET search_path = engine, local, public;
BEGIN;
DELETE FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2;
SELECT count(*), sum(id) FROM p;
ROLLBACK;
SELECT count(*), sum(id) FROM local.p WHERE NOT (coalesce(k IN (SELECT c.k FROM local.c), false) OR coalesce(v = 2, false));

-- a cursor
BEGIN;
DECLARE chosen CURSOR FOR SELECT id FROM p WHERE k IN (SELECT c.k FROM c) OR v = 2;
MOVE 3 IN chosen;
FETCH 1 FROM chosen \gset
CLOSE chosen;
COMMIT;
SET search_path = local, public;
SELECT count(*) FROM p WHERE id = :id AND (k IN (SELECT c.k FROM c) OR v = 2);
DROP TABLE p, b, c CASCADE;
