-- trap 34d: chains of look-aheads inside LATERAL ask once a batch and scan,
-- not once a row.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 12 AS k FROM generate_series(1, 120) i;
CREATE TABLE b AS SELECT i AS id, i % 10 AS k, i % 20 AS n FROM generate_series(1, 100) i;
CREATE TABLE c AS SELECT i AS id, i % 20 AS n FROM generate_series(1, 40) i;
CALL test.mirror('b', 'c');
SET shuttle.debug_force_batched_join = on;
SELECT transport, max(requests) <= 2 AS few_requests FROM test.numbers('SELECT a.id, s.* FROM a, LATERAL
	(SELECT b.id AS b_id FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 2) s') GROUP BY 1;
SELECT transport, max(requests) <= 2 AS few_requests FROM test.numbers('SELECT a.id, s.* FROM a, LATERAL
	(SELECT count(*) FROM b WHERE b.k = a.k) s') GROUP BY 1;
-- a join inside of the subquery runs for each row of a
SELECT transport, max(requests) AS requests FROM test.numbers('SELECT a.id, s.* FROM a, LATERAL
	(SELECT b.id AS b_id, c.id AS c_id FROM b JOIN c ON c.n = b.n WHERE b.k = a.k ORDER BY 1, 2 LIMIT 3) s') GROUP BY 1;
SELECT transport, max(requests) AS requests FROM test.numbers('SELECT a.id, s.* FROM a, LATERAL
	(SELECT b.id AS b_id, c.id AS c_id FROM b LEFT JOIN c ON c.n = b.n WHERE b.k = a.k OFFSET 0) s') GROUP BY 1;
