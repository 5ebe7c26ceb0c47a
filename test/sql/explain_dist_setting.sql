-- shuttle.explain_dist: plain EXPLAIN ANALYZE shows the same; auto_explain is in a TAP test.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote AS SELECT i AS id FROM generate_series(1, 20) i;
CALL test.loopback('far');
CREATE FOREIGN TABLE ft (id int) SERVER far OPTIONS (table_name 'remote');
PREPARE p AS SELECT * FROM ft WHERE id = $1;
SELECT count(*) FROM test.explained('EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) SELECT * FROM ft') l WHERE l ~ 'Storage';
SET shuttle.explain_dist = on;
SELECT count(*) > 0 AS shown, count(*) FILTER (WHERE l ~ '^Storage') > 0 AS totals
FROM test.explained('EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) SELECT * FROM ft') l WHERE l ~ 'Storage';
SELECT count(*) > 0 AS shown, count(*) FILTER (WHERE l ~ '^Storage') > 0 AS totals
FROM test.explained('EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) EXECUTE p(1)') l WHERE l ~ 'Storage';
SELECT count(*) FROM test.explained('EXPLAIN (COSTS OFF) SELECT * FROM ft') l WHERE l ~ 'Storage';
RESET shuttle.explain_dist;
DEALLOCATE p;
DROP SERVER far CASCADE;
DROP TABLE remote;
