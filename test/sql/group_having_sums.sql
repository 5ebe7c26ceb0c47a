-- HAVING sum(x) > c with c far from the mean of the sums leaves few groups: the
-- statistics of x tell, not core's third.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, q int, n numeric, f float8, s int2, b int8, e int);
INSERT INTO here.t SELECT i % 1000, v, v, v, v, v, nullif(0, 0)
FROM (SELECT i, 1 + i * 7919 % 50 + i / 1000 % 2 AS v FROM generate_series(0, 3999) i) s;
CALL smart.distribute('t', '{0,250,500,750,1000}');
SET search_path = dist;
\set ECHO none
-- the part of the groups that HAVING is expected to leave, to a tenth
CREATE FUNCTION smart.part(query text, filter text) RETURNS numeric LANGUAGE sql AS $$
SELECT round(smart.estimated(query || ' HAVING ' || filter) / smart.estimated(query), 1) $$;
\set ECHO all
SELECT h, smart.part('SELECT k FROM t GROUP BY k', h), smart.check('SELECT k FROM t GROUP BY k HAVING ' || h)
FROM unnest(ARRAY['sum(q) > 300', 'sum(n) > 300', 'sum(f) >= 300', 'sum(s) > 300', 'sum(b) > 300',
	'sum(q) < -100', 'sum(q) <= -100', 'sum(q) > 300 AND count(*) > 1']) h;
-- as core estimates: near the mean, or on the side of most sums, or what no statistics tell of
SELECT h, smart.part('SELECT k FROM t GROUP BY k', h), smart.check('SELECT k FROM t GROUP BY k HAVING ' || h)
FROM unnest(ARRAY['sum(q) > 110', 'sum(q) < 300', 'sum(q) > -100', 'sum(DISTINCT q) > 300', 'sum(q) FILTER (WHERE q > 3) > 300',
	'sum(q + 1) > 300', 'sum(e) > 300', 'avg(q) > 300', 'sum(n) > ''NaN''', 'sum(f) < ''infinity''']) h;
SELECT smart.part('SELECT k FROM t WHERE q > 45 GROUP BY k', 'sum(q) > 300'),
	smart.part('SELECT k FROM t WHERE s > 0 GROUP BY k', 'sum(q) > 300');
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT k, sum(q) FROM t WHERE k IN (SELECT k FROM t GROUP BY k HAVING sum(q) > 160) GROUP BY k',
	'SELECT k, sum(q) FROM t WHERE k IN (SELECT k FROM t GROUP BY k HAVING sum(q) > -9) GROUP BY k']) q;
