-- trap 24: a statement that writes a foreign table and reads it by batches sees
-- the table as it was before the statement.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
SET client_min_messages = warning;
CREATE TABLE keys AS SELECT i % 3 + 1 AS k FROM generate_series(0, 5) i;
CREATE TABLE b AS SELECT i AS k, 0 AS v FROM generate_series(1, 100) i;
CREATE TABLE holes AS SELECT i AS k, CASE WHEN i % 2 = 0 THEN i - 1 ELSE i + 1 END AS g
  FROM generate_series(1, 40) i WHERE i % 5 <> 0;
CALL test.mirror('b', 'holes');
SET shuttle.debug_force_batched_join = on;
SET shuttle.batch_size = 2;
-- a key that comes in two batches, where the node cannot compute the new value
SELECT test.plan_shape('UPDATE engine.b SET v = v + 1 + 0 * length(to_char(v, ''9'')) FROM local.keys WHERE keys.k = b.k');
UPDATE engine.b SET v = v + 1 + 0 * length(to_char(v, '9')) FROM local.keys WHERE keys.k = b.k;
SELECT sum(v), count(*) FILTER (WHERE v > 0) FROM local.b;
UPDATE guest.b SET v = v + 1 FROM local.keys WHERE keys.k = b.k;
SELECT sum(v), count(*) FILTER (WHERE v > 0) FROM local.b;
-- keys that are asked for one at a time: by choice, or below a volatile function
CREATE FUNCTION likewise(k int) RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN k; END';
CREATE TABLE more AS SELECT * FROM generate_series(1, 3) AS k;
ANALYZE keys, more;
CREATE FUNCTION written(transport text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('search_path', transport || ', local, public', true);
	WITH w AS (UPDATE b SET v = b.v + 1 FROM keys JOIN more ON more.k = local.likewise(keys.k) WHERE more.k = b.k RETURNING b.k)
	SELECT string_agg(k::text, ' ' ORDER BY k) INTO answer FROM w;
	RETURN answer;
END $$;
SELECT local.written('guest');
SELECT local.written('engine');
SELECT local.written('local');
SET shuttle.batch_size = 1;
SELECT local.written('guest');
SELECT local.written('engine');
SET shuttle.batch_size = 2;
SELECT sum(v), count(*) FILTER (WHERE v > 0) FROM local.b;
-- rows that an earlier batch has made or taken away
INSERT INTO engine.b SELECT b.k + 100, 7 FROM generate_series(1, 6) AS o (k) JOIN engine.b ON b.k >= o.k AND b.k <= o.k + 1;
SELECT count(*) FROM local.b WHERE v = 7;
INSERT INTO guest.b SELECT b.k + 1000, 8 FROM generate_series(1, 6) AS o (k) JOIN guest.b ON b.k >= o.k + 95 AND b.k <= o.k + 102;
SELECT count(*) FROM local.b WHERE v = 8;
BEGIN;
DELETE FROM holes x WHERE NOT EXISTS (SELECT FROM holes y WHERE y.k = x.g);
SELECT count(*) FROM holes;
ROLLBACK;
BEGIN;
DELETE FROM engine.holes x WHERE NOT EXISTS (SELECT FROM engine.holes y WHERE y.k = x.g OFFSET 0);
SELECT count(*) FROM engine.holes;
ROLLBACK;
BEGIN;
DELETE FROM guest.holes x WHERE NOT EXISTS (SELECT FROM guest.holes y WHERE y.k = x.g OFFSET 0);
SELECT count(*) FROM guest.holes;
ROLLBACK;
-- an Append's child that may wait for its rows hands them on all the same
CREATE TABLE a (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE a1 PARTITION OF a FOR VALUES FROM (0) TO (50);
CREATE TABLE a2 PARTITION OF a FOR VALUES FROM (50) TO (1000);
INSERT INTO a SELECT i, i % 10 FROM generate_series(1, 100) i;
CREATE TABLE c AS SELECT i AS k FROM generate_series(1, 20) i;
CALL test.mirror('c');
CALL test.mirror_partitions('a');
ALTER SERVER guest OPTIONS (ADD async_capable 'true');
ALTER SERVER engine OPTIONS (ADD async_capable 'true');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.k = 0 OR EXISTS (SELECT 1 FROM c WHERE c.k = a.k OFFSET 0)');
