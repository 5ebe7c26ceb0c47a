-- Window functions over groups: from 16 on, core leaves columns out of GROUP BY that depend on a key there, or equal a constant, and does not mark
-- them in what is below the window function. postgres_fdw looks for them there ("ORDER/GROUP BY expression not found in targetlist").
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE t (id int PRIMARY KEY, n int, s text);
INSERT INTO t SELECT i, i % 5, i::text FROM generate_series(1, 12) AS i;
SET client_min_messages = warning;
SELECT shuttle.distribute_table('t', 'id', 3);
SELECT id, n, row_number() OVER (ORDER BY id), sum(id) FROM t GROUP BY id, n ORDER BY id DESC LIMIT 3;
SELECT id, n, row_number() OVER (ORDER BY id, count(*)), string_agg(s, ',') FROM t GROUP BY id, n ORDER BY id NULLS FIRST LIMIT 3;
SELECT id, row_number() OVER (ORDER BY id) FROM t GROUP BY id, n ORDER BY id DESC LIMIT 2;
SELECT id, n, id, rank() OVER (PARTITION BY n ORDER BY id) FROM t GROUP BY id, n, id ORDER BY n, id DESC LIMIT 3;
SELECT id, n + 1, row_number() OVER (ORDER BY id) FROM t WHERE n + 1 = 3 GROUP BY id, n + 1 ORDER BY id DESC;
SELECT n + 1, s, row_number() OVER (ORDER BY s), count(*) FROM t WHERE n + 1 = 3 GROUP BY s, n + 1 ORDER BY s DESC;
SELECT id, n, max(id) OVER () FROM t WHERE id = n GROUP BY id, n ORDER BY id DESC;
-- one foreign table, whose node may do it all
SELECT id, n, row_number() OVER (ORDER BY id), sum(id) FROM shuttle_tablets.t_t0 GROUP BY id, n ORDER BY id DESC LIMIT 1;
SELECT id, n, row_number() OVER (ORDER BY id), sum(id) FROM shuttle_tablets.t_t0 WHERE id = n GROUP BY id, n ORDER BY id DESC LIMIT 1;
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
