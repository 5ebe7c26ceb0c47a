-- date_trunc() and extract() take the name of a field by no collation: they are
-- computed by nodes, in groups, filters and values.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, d date, ts timestamp, tz timestamptz, tm time, iv interval, part text, n int);
INSERT INTO here.t SELECT i, date '2020-01-01' + i % 700, timestamp '2020-01-01' + i % 900 * interval '1 day 7 hours', timestamptz '2020-01-01 UTC' + i * interval '1 day', time '00:00' + i * interval '7 min',
	CASE WHEN i % 9 > 0 THEN i % 30 * interval '7 days 1 hour' END, CASE i % 3 WHEN 1 THEN 'month' WHEN 2 THEN 'year' END, i % 50 FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,4001,5001}');  -- the fourth node is empty
SET search_path = dist;
SELECT substring(line FROM 'SELECT.*') AS asked FROM smart.asked('SELECT extract(year FROM d) AS y, avg(n) FROM t WHERE date_part(''month'', d) > 2 GROUP BY 1 HAVING count(*) > 1') line WHERE line ~ 'node1';
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT extract(year FROM d), count(*) FROM t GROUP BY 1',
	'SELECT extract(year FROM d) + 1, extract(month FROM d) * 2, avg(n) FROM t GROUP BY extract(year FROM d), extract(month FROM d) ORDER BY 1, 2 DESC LIMIT 7',
	'SELECT date_trunc(''month'', ts), sum(n), min(date_trunc(''day'', ts)) FROM t GROUP BY 1 HAVING sum(n) > 10 AND date_trunc(''month'', ts) > ''2020-02-01''',
	'SELECT date_trunc(''hour'', iv), count(*), array_agg(DISTINCT n) FROM t GROUP BY 1',
	'SELECT date_part(''dow'', ts), max(extract(hour FROM tm)), stddev(extract(epoch FROM iv)) FROM t WHERE extract(month FROM ts) = 5 GROUP BY 1',
	'SELECT DISTINCT extract(year FROM d) FROM t',
	'SELECT DISTINCT date_trunc(''year'', ts), extract(quarter FROM d) FROM t ORDER BY 2, 1',
	'SELECT count(DISTINCT date_trunc(''month'', ts)) FROM t',
	'SELECT k, extract(year FROM d), count(*) FROM t WHERE k < 500 GROUP BY 1, 2 HAVING extract(year FROM d) = 2021',
	'SELECT y, sum(n) FROM (SELECT extract(year FROM d) y, n FROM t) s GROUP BY y',
	'SELECT date_trunc(part, ts), count(*) FROM t GROUP BY 1',
	'SELECT date_trunc(part COLLATE "C", ts), count(*) FROM t GROUP BY 1',
	'SELECT sum(n) FROM t WHERE date_trunc(''month'', ts) = ''2020-05-01''',
	'SELECT max(rank) FROM (SELECT rank() OVER (ORDER BY extract(year FROM d)) rank FROM t GROUP BY extract(year FROM d)) s',
	-- what depends on the time zone of the session stays here
	'SELECT date_trunc(''month'', tz), count(*) FROM t GROUP BY 1',
	'SELECT extract(hour FROM tz), count(*) FROM t GROUP BY 1']) q;
-- one table, all of whose groups its node has
CREATE SCHEMA one;
CREATE FOREIGN TABLE one.t (k int, d date, ts timestamp, tz timestamptz, tm time, iv interval, part text, n int) SERVER smart3 OPTIONS (schema_name 'node3');
ANALYZE one.t;
CREATE FUNCTION smart.here(x numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN x; END';
SELECT q, smart.pushed(q) AS pushed, (SELECT count(*) FROM (SELECT smart.rows(q, 'one') EXCEPT ALL SELECT smart.rows(q, 'node3')) d) AS differing FROM unnest(ARRAY[
	'SELECT extract(year FROM d), count(*) FROM t GROUP BY 1',
	'SELECT extract(year FROM d) + 1 AS y, smart.here(extract(month FROM d)), count(*) FROM t GROUP BY extract(year FROM d), extract(month FROM d) HAVING smart.here(extract(month FROM d)) > 3 ORDER BY y',
	'SELECT extract(month FROM d) AS m, count(*) FROM t GROUP BY 1 HAVING smart.here(extract(month FROM d)) + count(*) > 30',
	'SELECT date_trunc(''month'', ts) AS m, count(*) FROM t WHERE extract(year FROM d) = 2020 GROUP BY m ORDER BY m LIMIT 3',
	'SELECT count(*) FROM t WHERE extract(year FROM d) = 2020']) q, set_config('search_path', 'one, dist', false);
DROP SCHEMA one CASCADE;
