-- Correlated subqueries with an aggregate in WHERE become joins with groups, if the
-- answer is the same.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE o AS SELECT i AS id, nullif(i % 9, 0) AS k, i % 3 AS m, (i % 5)::int8 AS l, 'k' || i % 7 AS t, ('k' || i % 7)::varchar(4) AS v, i / 3.0 AS x, i % 4 AS y FROM generate_series(1, 40) i;
CREATE TABLE big AS SELECT i AS id, nullif(i % 12, 11) AS k, i % 5 AS m, nullif(i % 4, 3) AS n, i / 7.0 AS x, i / 3.0::float8 AS f, 'k' || i % 6 AS t, ('K' || i % 6) COLLATE caseless AS u, date '2026-01-01' + i AS d FROM generate_series(1, 200) i;
CREATE INDEX ON big (k);
CREATE TABLE dim AS SELECT i AS m, 'd' || i AS name FROM generate_series(0, 3) i;
CREATE TABLE parts (id int, k int, x numeric) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
INSERT INTO parts SELECT id, k, x FROM big;
CALL test.mirror('big', 'dim');
CALL test.mirror_partitions('parts');
CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN CASE WHEN plan::text ~ '"Parent Relationship": "SubPlan"' THEN 'by row' ELSE 'joined' END;
END $$;
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	-- comparisons; keys that are NULL, that have no group, of other types
	(1, 'SELECT id FROM o WHERE x > (SELECT avg(x) - 10 FROM big WHERE big.k = o.k)'),
	(2, 'SELECT id FROM o WHERE x < (SELECT 0.7 * avg(x) FROM big WHERE o.k = big.k AND n > 0) AND id > 3'),
	(3, 'SELECT id FROM o WHERE (SELECT sum(n) FROM big WHERE big.k = o.k AND big.m = o.m) <= id'),
	(4, 'SELECT id FROM o WHERE y = (SELECT min(n) FROM big WHERE big.k = o.l)'),
	(5, 'SELECT id FROM o WHERE y <> (SELECT max(n) FROM big WHERE big.t = o.t)'),
	(6, 'SELECT id FROM o WHERE t >= (SELECT min(t) FROM big WHERE big.t = o.v)'),
	(7, 'SELECT id FROM o WHERE x < (SELECT 2 * sum(x * n - 1) / 3 FROM big WHERE big.k = o.k)'),
	(8, 'SELECT id FROM o WHERE x * 9 > (SELECT variance(n) - stddev_pop(x) FROM big WHERE big.k = o.k AND big.k = o.l)'),
	(9, 'SELECT id FROM o WHERE x > (SELECT min(f) FROM big WHERE big.k = o.k)'),
	-- several, nested, in a view, a subquery, a WITH query, a UNION, behind an outer join
	(10, 'SELECT id FROM o WHERE x > (SELECT avg(x) / 4 FROM big WHERE big.k = o.k) AND id > (SELECT min(id) FROM big WHERE big.k = o.l)'),
	(11, 'SELECT id FROM o WHERE x > (SELECT avg(x) / 2 FROM big b WHERE b.k = o.k AND b.x > (SELECT avg(x) / 3 FROM big c WHERE c.m = b.m))'),
	(12, 'SELECT id FROM o WHERE k IN (SELECT k FROM big WHERE id > (SELECT 0.5 * sum(m) FROM dim WHERE dim.m = big.n))'),
	(13, 'SELECT p.id, q.id FROM o p LEFT JOIN o q ON q.id = p.id + 30 WHERE p.x > (SELECT min(x) FROM big WHERE big.k = q.k)'),
	(14, 'WITH w AS (SELECT k, sum(x) AS s, m FROM big GROUP BY k, m) SELECT * FROM w a WHERE s > (SELECT avg(s) * 1.01 FROM w b WHERE b.k = a.k)'),
	(15, 'SELECT k, count(*) FROM (SELECT k FROM o WHERE x > (SELECT min(x) FROM big WHERE big.k = o.k) UNION ALL SELECT m FROM o) u GROUP BY k'),
	(16, 'SELECT id FROM o WHERE x > (SELECT avg(b.x) / 3 FROM big b JOIN dim USING (m) WHERE b.k = o.k AND dim.name <> ''d2'')'),
	(17, 'SELECT id FROM o WHERE x > (SELECT avg(b.x) / 3 FROM big b LEFT JOIN dim USING (m) WHERE dim.m = o.m)'),
	(18, 'SELECT id FROM o WHERE x > (SELECT avg(x) / 3 FROM big WHERE k = o.k AND n IN (SELECT m FROM dim))'),
	(19, 'SELECT id, (SELECT count(*) FROM o p WHERE p.id > o.id AND p.x > (SELECT max(x) / 3 FROM big WHERE big.k = p.k)) FROM o'),
	(20, 'SELECT id FROM o WHERE x > (SELECT avg(x) / 3 FROM parts WHERE parts.k = o.k)'),
	(21, 'SELECT id, x FROM parts p WHERE x > (SELECT 1.3 * avg(x) FROM parts WHERE parts.k = p.k)'),
	(22, 'SELECT DISTINCT m, rank() OVER (ORDER BY m) FROM o WHERE x > (SELECT avg(x) / 4 FROM big WHERE big.k = o.k)'),
	(23, 'SELECT id FROM o WHERE x > (SELECT 0.5 * avg(x) / 0 FROM big WHERE big.k = o.k AND big.k > 20)'),
	-- other values for no rows, or that depend on the order of rows
	(30, 'SELECT id FROM o WHERE y < (SELECT count(*) FROM big WHERE big.k = o.k)'),
	(31, 'SELECT id FROM o WHERE y < (SELECT coalesce(sum(n), 5) FROM big WHERE big.k = o.k)'),
	(32, 'SELECT id FROM o WHERE 1 > (SELECT 0.5 FROM big WHERE big.id = o.id)'),
	(33, 'SELECT id FROM o WHERE x * 3 > (SELECT avg(f)::int FROM big WHERE big.k = o.k)'),
	(34, 'SELECT id FROM o WHERE x IS DISTINCT FROM (SELECT avg(x) FROM big WHERE big.k = o.k)'),
	(35, 'SELECT id FROM o WHERE x > (SELECT avg(x) FROM big WHERE big.k = o.k) OR id = 7'),
	(36, 'SELECT id FROM o WHERE NOT x > (SELECT avg(x) FROM big WHERE big.k = o.k) IS TRUE'),
	-- errors of groups that no row asks for
	(37, 'SELECT id FROM o WHERE x < (SELECT max(id / (m + 1)) FROM big WHERE big.k = o.k)'),
	(38, 'SELECT id FROM o WHERE x < (SELECT avg(x) / min(id) FROM big WHERE big.k = o.k)'),
	(51, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k = o.k AND 1 / (big.k - 10) < 3)'),
	(52, 'SELECT id FROM o WHERE x < (SELECT avg(y) FROM (SELECT k, x + 1 / (k - 10) AS y FROM big) b WHERE b.k = o.k)'),
	(53, 'WITH w AS (SELECT k, x + 1 / (k - 10) AS y FROM big) SELECT id FROM o WHERE x < (SELECT avg(y) FROM w WHERE w.k = o.k)'),
	(54, 'SELECT id FROM o WHERE x < (SELECT avg(b.x) FROM big b JOIN dim ON 1 / (b.k - 10) < dim.m WHERE b.k = o.k)'),
	(55, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k = o.k AND d < (date ''2026-01-01'' + interval ''90 days'') AND n <> 1 + 1)'),
	-- correlation that is no equality of a column, that groups differently, within an aggregate
	(39, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k < o.k)'),
	(40, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k + 1 = o.k)'),
	(41, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.u = o.t)'),
	(42, 'SELECT id FROM o WHERE x < (SELECT avg(big.x * o.x) FROM big WHERE big.k = o.k)'),
	(43, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k = o.k AND big.n <= o.y)'),
	(44, 'SELECT id FROM o WHERE x < (SELECT avg(b.x) FROM big b LEFT JOIN dim ON dim.m = o.m WHERE b.k = o.k)'),
	-- subqueries that are more than an aggregate
	(45, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k = o.k HAVING count(*) > 3)'),
	(46, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k = o.k GROUP BY big.k)'),
	(47, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM big WHERE big.k = o.k LIMIT 1)'),
	(48, 'SELECT id FROM o WHERE x < (SELECT avg(x) FILTER (WHERE n > 1) FROM big WHERE big.k = o.k)'),
	(49, 'SELECT id FROM o WHERE x < (SELECT sum(DISTINCT x) FROM big WHERE big.k = o.k)'),
	-- not of nodes
	(50, 'SELECT id FROM o WHERE x < (SELECT avg(x) FROM o p WHERE p.k = o.k)');
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
SET search_path = engine, local, public;
SELECT string_agg(nr::text, ' ' ORDER BY nr) AS joined FROM queries WHERE plan_of(query) = 'joined';
SET shuttle.enable_subquery_joins = off;
SELECT string_agg(nr::text, ' ' ORDER BY nr) AS joined FROM queries WHERE plan_of(query) = 'joined';
RESET shuttle.enable_subquery_joins;
-- statements that lock or write, rows that are secured
SELECT plan_of('SELECT id FROM o WHERE x > (SELECT avg(x) FROM big WHERE big.k = o.k) FOR UPDATE'),
	plan_of('DELETE FROM o WHERE x > (SELECT avg(x) FROM big WHERE big.k = o.k)'),
	plan_of('INSERT INTO o SELECT * FROM o p WHERE x > (SELECT avg(x) FROM big WHERE big.k = p.k)');
CREATE VIEW secured WITH (security_barrier) AS SELECT * FROM big;
SELECT plan_of('SELECT id FROM o WHERE x > (SELECT avg(x) FROM secured WHERE secured.k = o.k)');
-- parameters, views
SET search_path = local, public;
SELECT test.same_prepared('SELECT id FROM o WHERE x > (SELECT $1 * avg(x) FROM big WHERE big.k = o.k AND n > $1)', 'int', '0', '1', '2');
SET search_path = engine, local, public;
CREATE VIEW above AS SELECT id, k FROM o WHERE x > (SELECT avg(x) / 4 FROM big WHERE big.k = o.k);
SELECT plan_of('SELECT * FROM above WHERE k = 3');
SELECT * FROM above WHERE k = 3;
