-- trap 35: keys that are pointers outlive the slot and the batch that they came
-- from, and no slot is read after its batch is gone.  Builds with assertions
-- overwrite what was freed.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, repeat('key ' || i % 6, 1 + i % 3 * 30) AS t, (i % 7)::numeric / 4 AS n, ARRAY[i % 5, i % 3] AS r,
	uuid(lpad(to_hex(i % 8), 32, '0')) AS u, decode(repeat(to_hex(16 + i % 9), 20), 'hex') AS y FROM generate_series(1, 36) i;
CREATE TABLE b AS SELECT i AS id, repeat('key ' || i % 8, 1 + i % 3 * 30) AS t, (i % 9)::numeric / 4 AS n, ARRAY[i % 4, i % 3] AS r,
	uuid(lpad(to_hex(i % 10), 32, '0')) AS u, decode(repeat(to_hex(16 + i % 11), 20), 'hex') AS y FROM generate_series(1, 50) i;
CREATE TABLE p (id int, t text, n numeric) PARTITION BY LIST (n);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0, 0.25, 0.5);
CREATE TABLE p1 PARTITION OF p DEFAULT;
INSERT INTO p SELECT id, t, n FROM b;
CALL test.mirror('b');
CALL test.mirror_partitions('p');
SELECT c, test.same_rows(format('SELECT a.id, a.t, a.n, b.id, b.%1$s FROM a LEFT JOIN b ON b.%1$s = a.%1$s', c)) FROM unnest('{t,n,r,u,y}'::text[]) AS c;
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t = a.t AND b.n = a.n OR b.y = a.y');
-- the outer row is a result that the next call overwrites
SELECT test.same_rows('SELECT s.x, b.id FROM (SELECT t || id % 2 AS x, id FROM a OFFSET 0) s LEFT JOIN b ON b.t || ''1'' = s.x');
SELECT test.same_rows('SELECT s.x, b.id FROM (SELECT string_agg(t, '''' ORDER BY id) AS x, n FROM a GROUP BY n) s LEFT JOIN b ON b.n = s.n AND b.t < s.x');
SELECT test.same_rows('SELECT s.x, b.id FROM unnest(ARRAY[''key 1'', ''key 2'', NULL, ''key 1'']) AS s (x) LEFT JOIN b ON b.t LIKE s.x || ''%''');
-- an inner row that is the next join's outer row, and its key
SELECT test.same_rows('SELECT a.id, b.t, x.t FROM a JOIN b ON b.t = a.t LEFT JOIN b AS x ON x.n = b.n AND x.t > a.t WHERE a.id < 20');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.t, b.n FROM b WHERE b.t = a.t ORDER BY b.t DESC, b.id LIMIT 2) s');
SELECT test.same_rows('SELECT a.id, (SELECT max(b.t) FROM b WHERE b.n = a.n), (SELECT min(b.n) FROM b WHERE b.t = a.t) FROM a');
-- routes that are chosen by such a key
SELECT test.same_rows('SELECT a.id, p.id, p.t FROM a LEFT JOIN p ON p.n = a.n');
SELECT test.same_rows('SELECT a.id, p.id, p.t FROM a LEFT JOIN p ON p.n = a.n AND p.t = a.t');
-- started again with values that are gone since
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT x.id AS x, b.id AS b FROM a AS x LEFT JOIN b ON b.t = x.t AND b.n > a.n WHERE x.n = a.n OFFSET 0) s WHERE a.id < 15');
-- few rows a batch for want of memory, and rows in files
SET work_mem = '64kB';
SELECT c, test.same_rows(format('SELECT a.id, b.id, b.t, b.y FROM a LEFT JOIN b ON b.%1$s = a.%1$s', c)) FROM unnest('{t,n,y}'::text[]) AS c;
SET shuttle.fetch_limit = 1;
SELECT test.same_rows('SELECT a.id, b.t FROM a JOIN b ON b.t = a.t WHERE a.id < 12');
RESET shuttle.fetch_limit;
RESET work_mem;
-- a cursor whose batch is let go of in the middle, and whose plan waits
BEGIN;
SET LOCAL search_path = engine, local, public;
SET LOCAL shuttle.debug_force_batched_join = on;
SET LOCAL shuttle.batch_size = 2;
DECLARE c CURSOR FOR SELECT a.id, left(b.t, 5) FROM a JOIN b ON b.t = a.t AND b.n = 0.25 ORDER BY a.id, b.id;
FETCH 3 FROM c;
SELECT count(*) FROM a JOIN b ON b.y = a.y;
FETCH 3 FROM c;
COMMIT;
