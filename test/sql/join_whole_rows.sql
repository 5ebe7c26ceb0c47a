-- trap 3: whole rows, system columns and no columns of the inner table.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 6 AS k FROM generate_series(1, 24) i;
CREATE TABLE b AS SELECT i AS id, i % 5 AS k, nullif('t' || i % 4, 't1') AS t FROM generate_series(1, 20) i;
ALTER TABLE b DROP COLUMN t;
ALTER TABLE b ADD COLUMN u text DEFAULT 'u';
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a, b FROM a JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.*, row_to_json(b), to_jsonb(b) - ''id'' FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, (b).u, b IS NULL, b.* IS NOT NULL FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.ctid IS NULL, b.ctid FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.tableoid::regclass::text LIKE ''%b'' FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT count(*) FROM a JOIN b ON b.k = a.k AND (b).u IS DISTINCT FROM ''v''');
SELECT test.same_rows('SELECT a.id FROM a, LATERAL (SELECT NULL FROM b WHERE b.k = a.k OFFSET 0) s');
SELECT test.same_rows('SELECT s.b FROM a, LATERAL (SELECT b FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 2) s');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.k = (SELECT (array_agg(b))[1].k FROM b WHERE b.k = a.k)');
SELECT test.same_rows('SELECT a.id, array_agg(b ORDER BY b.id) FROM a JOIN b ON b.k = a.k GROUP BY a.id');
-- a table with an inheritance child
CREATE TABLE b_child () INHERITS (b);
INSERT INTO b_child SELECT i + 100, i, 'child' FROM generate_series(1, 5) i;
SELECT test.same_rows('SELECT a.id, b.id, b.u FROM a LEFT JOIN b ON b.k = a.k');
-- locked rows; the same from all sides, so not FOR UPDATE
SELECT test.same_rows('SELECT * FROM (SELECT a.id, b FROM a JOIN b ON b.k = a.k FOR SHARE) s');
SELECT test.same_rows('SELECT * FROM (SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k FOR UPDATE OF a) s');
SELECT test.same_rows('SELECT * FROM (SELECT a.id AS a_id, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.id, b.id LIMIT 3 FOR SHARE OF b) s');
