-- Stable expressions without columns are computed here and sent as values, so
-- that now() keeps nothing from its node: filters, aggregates, LIMIT, joins,
-- writes. Estimates are those of the expressions.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, at timestamptz, day date, t text COLLATE "C", who name);
INSERT INTO here.t SELECT i, i % 7, now() + (i - 3000 + CASE WHEN i > 3000 THEN 20 ELSE 0 END) * interval '1 min', current_date + i % 11, 't' || i % 13,
	CASE WHEN i % 2 = 0 THEN session_user ELSE 'nobody' END FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,3001,4001}');
ANALYZE here.t;
SET search_path = dist;
CREATE FUNCTION smart.today(int DEFAULT 0) RETURNS date STABLE LANGUAGE plpgsql AS 'BEGIN RETURN current_date + $1; END';
CREATE FUNCTION smart.never(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RAISE ''computed''; END';
-- what nodes are asked, and what is checked here
CREATE FUNCTION smart.shipped(query text) RETURNS TABLE (shipped text)
LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ 'Remote SQL.*node1' OR line ~ '^ *Filter' THEN
			RETURN QUERY SELECT substring(line FROM '(?:WHERE|Filter|UPDATE|DELETE).*');
		END IF;
	END LOOP;
END $$;
SELECT q, smart.check(q), ARRAY(SELECT DISTINCT shipped FROM smart.shipped(q)) FROM unnest(ARRAY[
	'SELECT k FROM t WHERE at > now()',
	'SELECT k FROM t WHERE at > now() - interval ''1 hour'' AND at <= CURRENT_TIMESTAMP + interval ''1 hour''',
	'SELECT k FROM t WHERE day = current_date',
	'SELECT k FROM t WHERE day = smart.today() OR day = smart.today(2)',
	'SELECT k FROM t WHERE day IN (current_date, current_date + 1)',
	'SELECT k FROM t WHERE who = session_user AND k < 100',
	'SELECT k FROM t WHERE t = ''t'' || date_part(''isodow'', now())',
	'SELECT g, count(*), max(k) FROM t WHERE at < now() GROUP BY g',
	'SELECT k FROM t WHERE at < now() ORDER BY k DESC LIMIT 3',
	'SELECT k FROM t WHERE k < 1000 AND CASE WHEN g = 1 THEN at < now() ELSE at > now() END',
	'SELECT k FROM t WHERE k < 1000 AND CASE g WHEN 1 THEN at < now() WHEN 2 THEN day = current_date END',
	'SELECT k FROM t WHERE at > now() AND pg_typeof(k) = ''int''::regtype AND k % 100 = 0',
	'SELECT k FROM t WHERE k < 100 AND to_char(at, ''DD'') = to_char(now(), ''DD'')',
	'SELECT k FROM t WHERE k < 100 AND now() > ''2000-01-01''']) q;
-- expressions see the settings of the user, not those that values travel under
SET datestyle = 'German';
SET search_path = dist, smart;
CREATE TABLE smart.conf AS SELECT 3 AS n;
CREATE FUNCTION smart.configured() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT n FROM conf); END';
SELECT count(*) FROM t WHERE g = configured();
SET plan_cache_mode = force_generic_plan;
PREPARE as_text(date) AS SELECT count(*) FROM t WHERE 't' || k <> $1::text AND k = 1;
PREPARE german(date) AS SELECT count(*) FROM (VALUES ('05.01.2024')) v(x), LATERAL (SELECT FROM t WHERE k = 1 AND x = $1::text) s;
EXECUTE as_text('2024-01-05');
EXECUTE german('2024-01-05');
RESET plan_cache_mode;
BEGIN;
UPDATE t SET t = date '2024-01-05'::text || current_setting('search_path', true) WHERE k = 1 RETURNING t;
UPDATE t SET t = current_date::text WHERE k = 1 RETURNING t = current_date::text AS german;
ROLLBACK;
RESET datestyle;
SET search_path = dist;
-- where a row may not come to a value that may fail, it is computed of rows
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT k FROM t WHERE k < 5 AND (k > 0 OR t || current_setting(''smart.missing'') = ''x'')',
	'SELECT k FROM t WHERE k < 5 AND CASE WHEN k > 0 THEN true ELSE g = smart.never(1) END',
	'SELECT k FROM t WHERE k < 0 AND g + smart.never(1) > 1',
	'SELECT k FROM t WHERE k < 5 AND coalesce(g, smart.never(1)) >= 0',
	'SELECT EXISTS (SELECT FROM t WHERE k = -1 AND g + smart.never(1) > 3)']) q;
BEGIN;
UPDATE t SET g = CASE WHEN k < 0 THEN smart.never(1) ELSE 9 END WHERE k < 3;
UPDATE t SET g = smart.never(1) WHERE k < 0;
DELETE FROM t WHERE k < 3 AND CASE WHEN k > 0 THEN k = 2 ELSE g = smart.never(1) END;
ROLLBACK;
-- a function is not called for nothing; of a parameter the planner does not know its value
SET plan_cache_mode = force_generic_plan;
PREPARE pruned(int) AS SELECT count(*) FROM t WHERE g = smart.never($1) AND k > 9000;
PREPARE pruned_late(int, int) AS SELECT count(*) FROM t WHERE g = smart.never($1) AND k = $2;
PREPARE no_rows(int) AS SELECT count(*) FROM (SELECT FROM t WHERE g = smart.never($1) LIMIT 0) s;
PREPARE not_reached(int) AS SELECT count(*) FROM generate_series(1, 3) x
	WHERE CASE WHEN x < 9 THEN true ELSE EXISTS (SELECT FROM t WHERE k = x AND g = smart.never($1)) END;
PREPARE reached(int) AS SELECT count(*) FROM t WHERE g = smart.never($1);
EXECUTE pruned(1);
EXECUTE pruned_late(1, 9000);
EXECUTE no_rows(1);
EXECUTE not_reached(1);
EXECUTE reached(1);
RESET plan_cache_mode;
-- estimates
SELECT q, smart.estimated(q) BETWEEN actual * 0.8 AND actual * 1.25 AS close FROM (VALUES
	('SELECT FROM t WHERE at > now()', 1000),
	('SELECT FROM t WHERE at > now() - interval ''1 hour'' AND at <= now() + interval ''1 hour'' ', 100),
	('SELECT FROM t WHERE day = current_date', 364),
	('SELECT FROM t WHERE day = current_date OR at > now()', 1273)) e(q, actual);
-- joins on nodes, batched joins, subqueries, lateral values
SELECT q, smart.check(q), ARRAY(SELECT DISTINCT shipped FROM smart.shipped(q)) FROM unnest(ARRAY[
	'SELECT a.k, b.g FROM t a JOIN t b ON b.k = a.k + 1 WHERE a.k = 7 AND b.k = 8 AND b.at < now()',
	'SELECT x, k FROM generate_series(1, 4000, 500) x JOIN t ON k = x AND at < now() AND day >= current_date',
	'SELECT x, k FROM generate_series(1, 4000, 500) x LEFT JOIN t ON k = x AND day = current_date + x % 11',
	'SELECT x, (SELECT count(*) FROM t WHERE k BETWEEN x AND x + 10 AND day = current_date) FROM generate_series(1, 4000, 500) x',
	'SELECT x, s.* FROM generate_series(1, 4000, 1500) x, LATERAL (SELECT k FROM t WHERE k > x AND at < now() ORDER BY k LIMIT 2) s']) q;
-- the same statement, executed again later
SET plan_cache_mode = force_generic_plan;
SET smart.days = 0;
CREATE FUNCTION smart.day() RETURNS date STABLE LANGUAGE plpgsql AS 'BEGIN RETURN current_date + current_setting(''smart.days'')::int; END';
PREPARE of_day(int) AS SELECT count(*), min(k) FROM t WHERE day = smart.day() AND g = $1;
EXECUTE of_day(1);
SET smart.days = 5;
EXECUTE of_day(1);
EXECUTE of_day(2);
RESET plan_cache_mode;
-- writes that run wholly on their nodes
SELECT * FROM smart.shipped('UPDATE t SET at = now(), g = g + 1 WHERE at > now() AND k < 1000');
SELECT * FROM smart.shipped('DELETE FROM t WHERE at > now() + interval ''990 min'' ');
BEGIN;
UPDATE t SET at = now() - interval '1 day', g = g + 1, day = smart.today(3) WHERE at > now() AND k < 3004 RETURNING k, at = now() - interval '1 day' AND day = current_date + 3 AS done;
SELECT count(*) FROM t WHERE at = now() - interval '1 day' AND day = smart.today(3);
DELETE FROM t WHERE at < now() AND k < 3900;
SELECT count(*), min(k) FROM t;
ROLLBACK;
