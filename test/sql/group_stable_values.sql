-- Stable values in what is computed of groups: they are computed here and sent, so
-- that nodes group, filter and aggregate by them.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, at timestamptz, day date, n numeric, who name);
INSERT INTO here.t SELECT i, i % 7, now() + (i - 3000 + CASE WHEN i > 3000 THEN 20 ELSE 0 END) * interval '1 min', current_date + i % 11, i / 3.0,
	CASE WHEN i % 2 = 0 THEN session_user ELSE 'nobody' END FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,3001,4001}');
SET search_path = dist;
CREATE FUNCTION smart.today(int DEFAULT 0) RETURNS date STABLE LANGUAGE plpgsql AS 'BEGIN RETURN current_date + $1; END';
CREATE VIEW smart.sources AS SELECT * FROM (VALUES
	-- FILTER, arguments, ORDER BY of nothing
	('SELECT g, count(*) FILTER (WHERE at > now()), sum(n) FILTER (WHERE day = current_date) FROM t GROUP BY g'),
	('SELECT count(*) FILTER (WHERE at > now() - interval ''1 hour''), max(k) FILTER (WHERE who = session_user) FROM t'),
	('SELECT g, sum(day - current_date), max(at - now()), avg(n + extract(isodow FROM now())) FROM t GROUP BY g'),
	('SELECT sum(CASE WHEN at < now() THEN 1 ELSE 0 END), count(nullif(who, session_user)) FROM t'),
	('SELECT string_agg(who::text || current_user, '','') FILTER (WHERE k < 5) FROM t WHERE k < 900'),
	-- groups
	('SELECT day > current_date + 3, count(*) FROM t GROUP BY 1'),
	('SELECT day - current_date AS d, g, sum(n) FROM t GROUP BY d, g'),
	('SELECT DISTINCT day - current_date FROM t'),
	('SELECT DISTINCT at > now(), g FROM t WHERE k > 100'),
	('SELECT k, at > now(), count(*) FROM t WHERE g = 3 GROUP BY k, 2'),
	('SELECT count(DISTINCT day - current_date) FROM t'),
	-- conditions of groups
	('SELECT g, min(day) FROM t GROUP BY g HAVING max(day) > current_date + 4 AND count(*) > 3'),
	('SELECT k, max(at) FROM t WHERE g = 1 GROUP BY k HAVING max(at) > now()'),
	-- nothing but the value
	('SELECT count(now()), max(current_date), min(session_user) FROM t'),
	('SELECT g, now(), count(*) FROM t GROUP BY g'),
	('SELECT g, count(*) + date_part(''isodow'', now()) FROM t GROUP BY g'),
	('SELECT now() AS moment, count(*) FROM t GROUP BY moment'),
	('SELECT count(*) FILTER (WHERE now() > ''2000-01-01'') FROM t'),
	-- with an order, and below others
	('SELECT k, count(*) FILTER (WHERE at > now()) AS c FROM t GROUP BY k ORDER BY c DESC, k LIMIT 3'),
	('SELECT day - current_date AS d, count(*) FROM t GROUP BY d ORDER BY d DESC LIMIT 2'),
	('SELECT x, c FROM generate_series(0, 6, 2) x JOIN (SELECT g, count(*) FILTER (WHERE at > now()) AS c FROM t GROUP BY g) s ON s.g = x'),
	('SELECT x, (SELECT count(*) FILTER (WHERE at > now()) FROM t WHERE g = x) FROM generate_series(0, 6, 2) x')) v(q);
SELECT q, smart.check(q) FROM smart.sources;
-- a table of one node
CREATE TABLE here.t2 AS SELECT * FROM here.t WHERE k BETWEEN 1001 AND 2000;
SELECT replace(q, 'FROM t', 'FROM t2') AS q, smart.check(replace(q, 'FROM t', 'FROM t2')) FROM smart.sources;
-- what nodes are asked; they send groups
SELECT s.* FROM smart.sources, smart.sent(replace(q, 'FROM t', 'FROM t2'), 'SELECT') s WHERE q ~ '^SELECT g|HAVING|now..\)' AND q !~ ' k, ';
SELECT s.* FROM smart.sources, smart.sent(replace(q, 'FROM t', 'FROM t2'), 'SELECT') s WHERE q ~ 'GROUP BY mom|count.now|count.. FILTER .WHERE now';
-- no rows are no groups
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT now() AS moment, count(*) FROM t2 WHERE k < 0 GROUP BY moment',
	'SELECT now() AS moment, count(*) FROM t WHERE k < 0 GROUP BY moment',
	'SELECT DISTINCT now() FROM t2 WHERE k < 0',
	'SELECT current_date, now(), count(*) FROM t2 WHERE k > 5000 GROUP BY 1, 2',
	'SELECT max(now()), count(*) FROM t2 WHERE k > 5000',
	'SELECT now() FROM t2 WHERE k > 5000 HAVING now() > ''2000-01-01'' ',
	'SELECT count(*) FROM t2 WHERE k > 5000 HAVING now() < ''2000-01-01'' ']) q;
-- a function that may fail is not computed ahead of rows
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, count(*) FILTER (WHERE day = smart.today()) FROM t GROUP BY g',
	'SELECT count(*) FILTER (WHERE day = current_setting(''smart.missing'')::date) FROM t WHERE k < 0']) q;
-- settings are those of the user
SET datestyle = 'German';
SET timezone = 'Asia/Kolkata';
SELECT smart.check('SELECT max(who || now()::text), count(*) FILTER (WHERE day::text = current_date::text) FROM t');
RESET datestyle;
RESET timezone;
-- the same statement, executed again later
SET plan_cache_mode = force_generic_plan;
PREPARE later AS SELECT count(*) FILTER (WHERE at <= statement_timestamp() - interval '1 day'), max(statement_timestamp()) = statement_timestamp() AS now FROM t;
EXECUTE later;
EXECUTE later;
PREPARE of_days(int) AS SELECT count(*) FILTER (WHERE day = current_date + $1) FROM t;
EXECUTE of_days(1);
EXECUTE of_days(30);
RESET plan_cache_mode;
