-- Each node aggregates its part of a partitioned table, and the parts are
-- combined here as core combines its own: every aggregate of every type, to the
-- last digit as over a local table.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, t text, b bool, bits bit(8), m money,
	i2 int2, i4 int4, i8 int8, n numeric, f4 float4, f8 float8, iv interval, d date, ts timestamptz);
-- floats are sums of powers of two: their sums are exact in any order
INSERT INTO here.t SELECT i, nullif(i % 7, 0), CASE WHEN i % 5 > 0 THEN 't' || i % 13 END, i % 3 = 0, (i % 256)::bit(8), i::numeric::money,
	i % 100 - 50, i * 3 - 4000, i * 10000000000::int8, CASE WHEN i % 9 > 0 THEN (i / 7.0)::numeric(20, 5) * (i % 3 - 1) END,
	i / 8.0, CASE WHEN i % 4 > 0 THEN i / 16.0 END, i * interval '1 day 3.5 sec', date '2020-01-01' + i, timestamptz '2020-01-01 UTC' + i * interval '1 min'
FROM generate_series(1, 3000) i;
CALL smart.distribute('t', '{1,1001,2001,3001,4001}');  -- the fourth node is empty
SET search_path = dist;
CREATE FUNCTION smart.explained(query text) RETURNS SETOF text
LANGUAGE plpgsql SET search_path = dist, public AS 'BEGIN RETURN QUERY EXECUTE ''EXPLAIN (VERBOSE, COSTS OFF) '' || query; END';
-- as EXPLAIN shows it
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, count(*), avg(n) FILTER (WHERE b) FROM t GROUP BY g HAVING count(*) > 10;
-- sums of numbers, counts, extremes
SELECT a, smart.check(format('SELECT g, %s FROM t GROUP BY g', a)) AS grouped, smart.check(format('SELECT %s FROM t', a)) AS plain
FROM unnest('{count(*),count(n),count(t)}'::text[]) a
UNION ALL
SELECT a, smart.check(format('SELECT g, %s FROM t GROUP BY g', a)), smart.check(format('SELECT %s FROM t', a))
FROM unnest('{sum,avg,min,max,variance,var_pop,var_samp,stddev,stddev_pop,stddev_samp}'::text[]) WITH ORDINALITY f(f, o),
	unnest('{i2,i4,i8,n}'::text[]) WITH ORDINALITY x(x, p), format('%s(%s)', f, x) a;
SELECT a, smart.check(format('SELECT g, %s FROM t GROUP BY g', a)) AS grouped, smart.check(format('SELECT %s FROM t', a)) AS plain
FROM unnest('{sum,avg,min,max}'::text[]) f, unnest('{f4,f8,iv}'::text[]) x, format('%s(%s)', f, x) a
UNION ALL
SELECT a, smart.check(format('SELECT g, %s FROM t GROUP BY g', a)), smart.check(format('SELECT %s FROM t', a))
FROM unnest('{sum(m),min(m),max(m),min(t),max(t),min(d),max(d),min(ts),max(ts),bool_and(b),bool_or(b),every(b),bit_and(i2),bit_or(i4),bit_xor(i8),bit_and(bits),bit_or(bits)}'::text[]) a;
-- of floats the last digits depend on the order in which core adds them
SELECT a, smart.check(format('SELECT g, round((%s)::numeric, 6) FROM t GROUP BY g', a)) AS grouped, smart.check(format('SELECT round((%s)::numeric, 6) FROM t', a)) AS plain
FROM unnest('{variance,var_pop,stddev,stddev_pop}'::text[]) f, unnest('{f4,f8}'::text[]) x, format('%s(%s)', f, x) a;
-- groups, expressions, filters, HAVING, what is computed above
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, t, count(*), avg(i8) FROM t GROUP BY g, t',
	'SELECT g + 1, sum(i4 * 2 + g), avg(n * n) FROM t GROUP BY g + 1',
	'SELECT (g + 1) * 2, sum(i4) FROM t GROUP BY g + 1 ORDER BY 1 LIMIT 3',
	'SELECT CASE WHEN b THEN g END AS x, avg(i4) FROM t GROUP BY 1',
	'SELECT g FROM t GROUP BY g',
	'SELECT g FROM t WHERE k * 0 > 1 GROUP BY g',
	'SELECT g, count(*) FILTER (WHERE b), sum(n) FILTER (WHERE i4 > 0), avg(i2) FILTER (WHERE t LIKE ''t1%'') FROM t GROUP BY g',
	'SELECT g, avg(n) / nullif(count(t), 0) + max(i2) FROM t GROUP BY g HAVING avg(n) > 0 OR g IS NULL',
	'SELECT g, count(*) FROM t GROUP BY g HAVING sum(i4) > 10 AND g > 2',
	'SELECT t, stddev(i4), stddev(n) FROM t WHERE i4 > 0 GROUP BY t HAVING count(*) > 20',
	'SELECT count(*), sum(i8), avg(n), stddev(i4), max(t), avg(f8), avg(iv) FROM t WHERE k * 0 > 1',
	'SELECT g, avg(n), stddev(n) FROM t WHERE n IS NULL GROUP BY g',
	'SELECT g, avg(k * -3000000000000000), sum(k * 3000000000000000), avg((i4 - 1) * 1000000000000000) FROM t GROUP BY g',
	'SELECT g, stddev(i4 * -400000), var_pop(i4 * 400000) FROM t GROUP BY g',
	'SELECT g, sum(i4), rank() OVER (ORDER BY sum(i4) DESC) FROM t GROUP BY g',
	'SELECT max(c) FROM (SELECT g, count(*) c FROM t GROUP BY g) s',
	'SELECT g, count(*) FROM t WHERE g = 3 GROUP BY g',
	'SELECT g, g, count(*) FROM t GROUP BY 1, 2',
	'SELECT d - date ''2020-01-01'' > 1500, count(*), avg(k) FROM t GROUP BY 1',
	'SELECT (SELECT avg(n) FROM t WHERE i4 > x) FROM generate_series(-4000, 6000, 1500) x',
	'SELECT x, a FROM generate_series(-4000, 6000, 1500) x, LATERAL (SELECT avg(n) a, count(*) c FROM t WHERE i4 > x AND k > x) s WHERE c > 5',
	'WITH s AS MATERIALIZED (SELECT g, sum(n) n FROM t GROUP BY g) SELECT * FROM s WHERE n > (SELECT avg(n) FROM s)',
	'SELECT s.g, s.c, u.c FROM (SELECT g, count(*) c FROM t GROUP BY g) s JOIN (SELECT g, count(*) c FROM t WHERE b GROUP BY g) u USING (g)',
	-- DISTINCT
	'SELECT DISTINCT g FROM t',
	'SELECT DISTINCT g, b, i2 % 3 FROM t WHERE k > 5 ORDER BY 3, 1, 2',
	'SELECT DISTINCT t FROM t ORDER BY t DESC LIMIT 4',
	'SELECT count(*) FROM (SELECT DISTINCT g, t FROM t) s',
	'SELECT DISTINCT b, 7 AS seven FROM t',
	'SELECT DISTINCT count(*) FROM t GROUP BY g']) q;
-- what stays as it is
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, b, count(*) FROM t GROUP BY ROLLUP (g, b)',
	'SELECT g, count(DISTINCT t), sum(i4) FROM t GROUP BY g',
	'SELECT string_agg(t, '','' ORDER BY k), avg(n) FROM t WHERE k % 500 = 1',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i4), sum(i4) FROM t',
	'SELECT corr(f4, f8) > 0.9 FROM t',
	'SELECT max(t COLLATE "C") FROM t',
	'SELECT t COLLATE "C", count(*) FROM t GROUP BY 1',
	'SELECT g + (random() < 2)::int, count(*) FROM t GROUP BY 1',
	'SELECT g, sum(i4) FROM t WHERE random() < 2 GROUP BY g',
	'SELECT tableoid > 0, count(*) FROM t GROUP BY 1',
	'SELECT g, count(t) FROM t WHERE to_char(ts, ''DD'') > ''0'' GROUP BY g',
	'SELECT DISTINCT ON (g) g, k FROM t ORDER BY g, k',
	'SELECT g, unnest(ARRAY[1, 2]), count(*) FROM t GROUP BY g']) q;
-- of columns that are never NULL rows are counted, once
ALTER TABLE t ALTER i4 SET NOT NULL, ALTER i8 SET NOT NULL;
SELECT substring(line FROM 'SELECT.*node1') AS asked FROM smart.explained('SELECT g, avg(i4), avg(i8), count(*), avg(n), sum(i4) FROM t GROUP BY g') line WHERE line ~ 'node1' AND current_setting('server_version_num')::int >= 170000
UNION SELECT 'SELECT g, count(*), sum(i4), sum(i8), count(n), sum(n) FROM node1';
SELECT smart.check(q) FROM unnest(ARRAY[
	'SELECT g, avg(i4), avg(i8), count(*), avg(n) FROM t GROUP BY g',
	'SELECT avg(i4) FILTER (WHERE b), avg(i8) FILTER (WHERE b), stddev(i4), avg(i8) FROM t',
	'SELECT g, avg(i8 * 2 + 1), sum(i8 - i4::numeric), stddev(i4 * n) FROM t GROUP BY g',
	'SELECT avg(i4), stddev(i8) FROM t WHERE k * 0 > 1']) q;
SELECT substring(line FROM 'SELECT.*node1') AS asked FROM smart.explained('SELECT g, sum(i8 * 2 + 1::numeric), avg(n + 1) FROM t GROUP BY g') line WHERE line ~ 'node1' AND current_setting('server_version_num')::int >= 170000
UNION SELECT 'SELECT g, count(*), sum(((i8 * 2) + 1::numeric)), count((n + 1::numeric)), sum((n + 1::numeric)) FROM node1';
-- aggregates without a combine function have no parts
CREATE AGGREGATE public.largest(int) (SFUNC = int4larger, STYPE = int);
CREATE AGGREGATE public.total(numeric) (SFUNC = numeric_add, STYPE = numeric);
CREATE AGGREGATE public.lasted(interval) (SFUNC = interval_pl, STYPE = interval);
SELECT smart.check(q) FROM unnest(ARRAY[
	'SELECT public.largest(i4), public.total(n), public.lasted(iv), count(*) FROM t',
	'SELECT g, public.largest(i4), public.total(n), public.lasted(iv) FROM t GROUP BY g']) q;
DROP AGGREGATE public.largest(int), public.total(numeric), public.lasted(interval);
-- one group a row: not worth it
SELECT smart.check('SELECT ts, count(*) FROM t GROUP BY ts');
SET shuttle.enable_storage_aggregate = off;
SELECT smart.check('SELECT g, count(*) FROM t GROUP BY g');
RESET shuttle.enable_storage_aggregate;
