-- A LIMIT below a LATERAL subquery is sent with each key: a partition returns no more rows of a key than the LIMIT reads.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE FUNCTION here(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE TABLE a AS SELECT i AS id, nullif(i % 13, 12) AS k, i % 4 AS m FROM generate_series(1, 60) i;
CREATE TABLE p (k int, n int, t text COLLATE "C") PARTITION BY HASH (n);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE p2 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 2);
-- partitioned by the key, so that each row of a goes to one of them
CREATE TABLE r (k int, n int, t text COLLATE "C") PARTITION BY LIST (k);
CREATE TABLE r0 PARTITION OF r FOR VALUES IN (0, 3, 6, 9);
CREATE TABLE r1 PARTITION OF r FOR VALUES IN (1, 4, 7, 10);
CREATE TABLE r2 PARTITION OF r DEFAULT;
INSERT INTO p SELECT i % 11, i, 't' || i * 7919 % 997 FROM generate_series(1, 900) i;
INSERT INTO r TABLE p;
ANALYZE a, p, r;
CALL test.mirror_partitions('p');
CALL test.mirror_partitions('r');
SET shuttle.debug_force_batched_join = on;
CREATE TABLE queries (nr int, sends_limit bool, query text);
INSERT INTO queries VALUES
	(1, true, 'SELECT a.id, s.* FROM a, LATERAL (SELECT n, t FROM p WHERE p.k = a.k ORDER BY t, n LIMIT 2) s'),
	(2, true, 'SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT n FROM p WHERE p.k = a.k ORDER BY n DESC OFFSET 1 LIMIT 3) s ON true'),
	(3, true, 'SELECT a.id, s.* FROM a, LATERAL (SELECT n FROM r WHERE r.k = a.k ORDER BY t, n LIMIT 2) s'),
	(4, true, 'SELECT a.id, count(s.*) FROM a, LATERAL (SELECT n FROM r WHERE r.k = a.k LIMIT 5) s GROUP BY a.id'),
	(5, true, 'SELECT a.id, (SELECT t FROM p WHERE p.k = a.k AND p.n > a.id ORDER BY t, n LIMIT 1) FROM a'),
	(6, true, 'SELECT a.id, s.* FROM a, LATERAL (SELECT x.n FROM (SELECT n, t FROM p WHERE p.k = a.k ORDER BY t, n LIMIT 4) x LIMIT 2) s'),
	-- all rows have to come: ties, a filter here, numbers of the outer row, no number, sorted or grouped here
	(10, false, 'SELECT a.id, s.* FROM a, LATERAL (SELECT n % 5 AS m FROM p WHERE p.k = a.k ORDER BY 1 FETCH FIRST 2 ROWS WITH TIES) s'),
	(11, false, 'SELECT a.id, s.* FROM a, LATERAL (SELECT n FROM p WHERE p.k = a.k AND here(n) > 300 ORDER BY n LIMIT 2) s'),
	(12, false, 'SELECT a.id, s.* FROM a, LATERAL (SELECT n FROM p WHERE p.k = a.k ORDER BY n LIMIT a.m) s'),
	(13, false, 'SELECT a.id, s.* FROM a, LATERAL (SELECT n FROM p WHERE p.k = a.k ORDER BY n LIMIT NULL) s'),
	(14, false, 'SELECT a.id, s.* FROM a, LATERAL (SELECT n FROM p WHERE p.k = a.k ORDER BY here(n) LIMIT 2) s'),
	(15, false, 'SELECT a.id, s.* FROM a, LATERAL (SELECT DISTINCT here(n % 4) AS n FROM p WHERE p.k = a.k ORDER BY 1 LIMIT 2) s'),
	(16, false, 'SELECT a.id, s.n FROM a, LATERAL (SELECT n FROM p WHERE p.k = a.k ORDER BY n LIMIT 0) s');
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
-- rows that the partitions returned: at most three times what is read if they have the LIMIT
CREATE FUNCTION limited(query text) RETURNS TABLE (transport text, limited bool) LANGUAGE sql AS $$
	SELECT transport, max(rows_returned) < 900 FROM test.numbers(query) GROUP BY transport
$$;
SELECT nr, transport, limited = sends_limit AS as_expected FROM queries, limited(query) WHERE nr NOT IN (13, 16) ORDER BY nr, transport;
-- the number comes with each execution
SELECT test.same_prepared('SELECT a.id, s.* FROM a, LATERAL (SELECT n FROM p WHERE p.k = a.k ORDER BY n LIMIT $1) s', 'bigint', '0', '1', '7', NULL);
-- rows that are locked are those that are read
SET search_path = engine, local, public;
BEGIN;
SELECT count(*) AS read FROM a, LATERAL (SELECT n FROM p WHERE p.k = a.k ORDER BY n LIMIT 2 FOR UPDATE) s;
SELECT 900 - count(*) AS locked FROM (SELECT FROM local.p FOR UPDATE SKIP LOCKED) free;
ROLLBACK;
