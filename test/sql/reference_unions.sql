-- A UNION ALL of distributed tables is joined with reference tables in its branches, by
-- the copies on nodes; answers are those without that, and those of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE day (gone int, id int PRIMARY KEY, year int, name text COLLATE "C");
ALTER TABLE day DROP COLUMN gone;
CREATE TABLE season (id int PRIMARY KEY, year int, label text);
CREATE TABLE sale (id int PRIMARY KEY, day int, item int, price numeric(7,2));
CREATE TABLE ret (id int PRIMARY KEY, day int, item int, loss numeric(7,2), kind bigint);
CREATE TABLE extra (id int, day int, price numeric);
INSERT INTO day SELECT i, 2000 + i / 10, 'd' || i % 7 FROM generate_series(1, 40) AS i;
ALTER TABLE day DROP CONSTRAINT day_pkey;
INSERT INTO day VALUES (5, 2000, 'twice'), (5, 2000, 'twice');
ALTER TABLE day ADD COLUMN nr int GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
INSERT INTO season VALUES (1, 2000, 'zero'), (2, 2001, 'one'), (3, 2003, NULL), (4, NULL, 'none');
INSERT INTO sale SELECT i, nullif(i % 50, 0), i % 9, i / 3.0 FROM generate_series(1, 900) AS i;
INSERT INTO ret SELECT i, nullif(i % 45, 0), nullif(i % 7, 0), i / 7.0, i % 3 FROM generate_series(1, 400) AS i;
INSERT INTO extra SELECT i, i % 20, i FROM generate_series(1, 50) AS i;
CREATE SCHEMA plain;
CREATE TABLE plain.day AS TABLE day;
CREATE TABLE plain.season AS TABLE season;
CREATE TABLE plain.sale AS TABLE sale;
CREATE TABLE plain.ret AS TABLE ret;
CREATE TABLE plain.extra AS TABLE extra;
CREATE FUNCTION in_both(definition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE VIEW ' || definition;
	SET LOCAL search_path = plain, shop;
	EXECUTE 'CREATE VIEW ' || replace(definition, 'WITH (security_barrier)', '');
	SET LOCAL search_path = shop;
END $$;
ANALYZE;
SELECT shuttle.reference_table(t) FROM unnest('{day, season}'::regclass[]) AS t;
SET shuttle.tablets = 4;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{sale.id, ret.id}');
RESET client_min_messages;
SELECT in_both('moves AS SELECT id, day, price AS amount, 0::numeric AS loss FROM sale UNION ALL SELECT id, day, 0, loss FROM ret');
SELECT in_both('barred WITH (security_barrier) AS SELECT id, day, price AS amount FROM sale UNION ALL SELECT id, day, loss FROM ret');
-- statements with one key, too, are core's
SET shuttle.enable_router = off;
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		-- 19 calls subqueries otherwise, and counts constants with the rows
		line := regexp_replace(line, '"\*SELECT\* \d+"|unnamed_subquery(_\d+)?', 'branch', 'g');
		line := replace(line, 'count(0::numeric), ', '');
		line := regexp_replace(line, '(pg_shuttle_copies\.\w+)_\d+', '\1_OID', 'g');
		RETURN NEXT regexp_replace(line, '\mr\d+\M', 'r', 'g');
	END LOOP;
END $$;
-- which reference tables nodes join, and how the answer differs from one without copies
-- and from that of plain tables
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	copies text;
	ndifferent int[];
	nrows int;
BEGIN
	SELECT coalesce(string_agg(DISTINCT m[1], '+'), 'none') INTO copies FROM explain(query) AS line, regexp_matches(line, 'pg_shuttle_copies\.(\w+)_OID', 'g') AS m WHERE line ~ 'Relations: ';
	EXECUTE 'CREATE TEMP TABLE with_copies AS ' || query;
	SET LOCAL shuttle.enable_reference_copies = off;
	EXECUTE 'CREATE TEMP TABLE without AS ' || query;
	SET LOCAL shuttle.enable_reference_copies = on;
	SET LOCAL search_path = plain, shop;
	EXECUTE 'CREATE TEMP TABLE plain_tables AS ' || query;
	SELECT ARRAY[
		(SELECT count(*) FROM (TABLE with_copies EXCEPT ALL TABLE without) AS a),
		(SELECT count(*) FROM (TABLE without EXCEPT ALL TABLE with_copies) AS a),
		(SELECT count(*) FROM (TABLE with_copies EXCEPT ALL TABLE plain_tables) AS a),
		(SELECT count(*) FROM (TABLE plain_tables EXCEPT ALL TABLE with_copies) AS a)] INTO ndifferent;
	SELECT count(*) INTO nrows FROM with_copies;
	DROP TABLE with_copies, without, plain_tables;
	SET LOCAL search_path = shop;
	RETURN format('%s, %s rows, %s', copies, nrows, CASE WHEN ndifferent = '{0,0,0,0}' THEN 'same' ELSE ndifferent::text END);
END $$;
-- up to 18 core drops the other plans of the topmost join
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM explain('SELECT s.id, amount, name FROM moves s JOIN day d ON d.id = s.day WHERE d.year = 2001');
SELECT * FROM explain('SELECT d.name, count(*), sum(amount), sum(loss) AS lost FROM moves s, day d WHERE d.id = s.day AND d.year BETWEEN 2001 AND 2002 GROUP BY d.name');
SELECT q, compare(q) FROM unnest(ARRAY[
	'SELECT s.id, amount, name FROM moves s JOIN day d ON d.id = s.day WHERE d.year = 2001',
	'SELECT d.name, count(*), sum(amount), sum(loss) AS lost FROM moves s, day d WHERE d.id = s.day AND d.year BETWEEN 2001 AND 2002 GROUP BY d.name',
	-- duplicates; rows that match nothing; a key of NULLs
	'SELECT s.id, d.name FROM day d JOIN moves s ON d.id = s.day WHERE d.id = 5',
	'SELECT count(*) FROM moves s JOIN day d ON d.id = s.day WHERE d.id > 1000',
	'SELECT count(*) FROM moves s JOIN season d ON d.year = s.day',
	'SELECT count(*), count(d.year) AS years FROM moves s JOIN season d ON d.id = s.day AND (d.year IS NULL OR d.label IS NULL)',
	-- several tables, directly and by way of each other; USING and its merged columns; one table twice
	'SELECT label, count(*), sum(amount) FROM moves s JOIN day d ON d.id = s.day JOIN season e ON e.year = d.year GROUP BY label',
	'SELECT label, count(*) FROM moves s, (day d JOIN season e USING (year)) WHERE d.id = s.day GROUP BY label',
	'SELECT year, label, count(*) FROM (SELECT day AS id, amount FROM moves) s JOIN day d USING (id) JOIN season e USING (year) GROUP BY 1, 2',
	'SELECT j.id, j.year, j::text FROM ((SELECT day AS id, amount FROM moves) s JOIN day d USING (id)) AS j',
	'SELECT a.name, b.name AS other FROM moves s JOIN day a ON a.id = s.day JOIN day b ON b.id = a.id + 1 WHERE a.year = 2000',
	'SELECT s.*, label FROM moves s JOIN season e ON e.id = s.day',
	-- other conditions between them, besides the equality; expressions
	'SELECT s.id, d.name FROM moves s JOIN day d ON d.id = s.day AND d.year - 1990 > s.amount',
	'SELECT s.id, d.name FROM moves s JOIN day d ON d.id = s.day + 1 AND d.name || s.id <> ''d11''',
	'SELECT s.id, d.name FROM moves s JOIN day d ON d.id = s.day AND s.day = 7',
	-- subqueries over it, WITH, branches of other forms, joins and conditions in branches
	'SELECT name, max(a) FROM (SELECT day AS k, amount + 1 AS a FROM (SELECT * FROM moves WHERE id % 2 = 0) m) s JOIN day d ON d.id = s.k GROUP BY name',
	'WITH s AS (SELECT * FROM moves WHERE id > 3), g AS (SELECT d.year, sum(amount) AS n FROM s, day d WHERE d.id = s.day GROUP BY d.year) SELECT a.year, a.n, b.n AS next FROM g a JOIN g b ON a.year = b.year - 1',
	'WITH s AS MATERIALIZED (SELECT * FROM moves) SELECT count(*) FROM s JOIN day d ON d.id = s.day',
	'WITH s AS (SELECT * FROM moves) SELECT d.name, s.amount FROM s, day d WHERE d.id = s.day UNION ALL SELECT ''all'', sum(amount) FROM s',
	'SELECT d.name, s.n FROM (SELECT day, 1 AS n FROM sale UNION ALL (SELECT day, 2 FROM ret ORDER BY id LIMIT 9) UNION ALL SELECT day, count(*) FROM sale GROUP BY day UNION ALL SELECT * FROM (SELECT day, 3 FROM ret INTERSECT SELECT day, 3 FROM sale) i UNION ALL SELECT day, 4 FROM extra) s JOIN day d ON d.id = s.day',
	'SELECT d.name, s.n FROM (SELECT s.day, r.loss AS n FROM sale s LEFT JOIN ret r ON r.id = s.id WHERE s.item > 3 UNION ALL SELECT day, amount FROM moves WHERE amount > 5) s JOIN day d ON d.id = s.day',
	'SELECT d.name, s.n FROM ((SELECT day, 1 AS n FROM sale UNION ALL SELECT day, 2 FROM ret) UNION ALL SELECT day, 3 FROM sale WHERE item = 1) s JOIN day d ON d.id = s.day',
	-- types that differ, also in a UNION ALL of its own, which is not joined in branches
	'SELECT count(*) FROM (SELECT item AS n, day FROM sale UNION ALL SELECT kind, day FROM ret) s JOIN day d ON d.id = s.day',
	'SELECT d.name, s.n FROM ((SELECT day, item AS n FROM sale UNION ALL SELECT day, item FROM ret) UNION ALL SELECT day, kind FROM ret) s JOIN day d ON d.id = s.day',
	'SELECT d.name, s.n FROM (SELECT day, kind AS n FROM ret UNION ALL SELECT * FROM (SELECT day, item AS n FROM sale UNION ALL SELECT day, item FROM ret) o) s JOIN day d ON d.id = s.day',
	-- in subqueries, and with subqueries that name the tables
	'SELECT y, (SELECT count(*) FROM moves s JOIN day d ON d.id = s.day WHERE d.year = y) FROM generate_series(2000, 2004) y',
	'SELECT s.id, (SELECT max(e.label) FROM season e WHERE e.year = d.year) FROM moves s JOIN day d ON d.id = s.day',
	'SELECT y, n FROM generate_series(2000, 2004) y, LATERAL (SELECT count(*) AS n FROM (SELECT day FROM sale WHERE item < y - 1998 UNION ALL SELECT day FROM ret) s JOIN day d ON d.id = s.day WHERE d.year = y) g',
	'SELECT name, sum(amount), row_number() OVER (ORDER BY name) FROM moves s JOIN day d ON d.id = s.day GROUP BY name ORDER BY name LIMIT 3',
	'SELECT year, name, count(*), grouping(year) FROM moves s JOIN day d ON d.id = s.day GROUP BY ROLLUP (year, name)',
	-- of a subquery only in two steps
	'SELECT year, name, count(*), sum(amount) FROM (SELECT * FROM moves WHERE id > 3) s JOIN day d ON d.id = s.day GROUP BY ROLLUP (year, name)',
	'SELECT DISTINCT year FROM moves s JOIN day d ON d.id = s.day'
]) AS q;
-- these are not joined in branches: outer joins, other tables, no equality, whole rows,
-- subqueries of WHERE, security barriers, other set operations, grouping sets over a subquery
SELECT q, compare(q) FROM unnest(ARRAY[
	'SELECT s.id, d.name FROM moves s LEFT JOIN day d ON d.id = s.day AND d.year = 2001',
	'SELECT s.id, d.name FROM day d LEFT JOIN moves s ON d.id = s.day',
	'SELECT s.id, d.name FROM moves s FULL JOIN day d ON d.id = s.day',
	'SELECT s.id, e.label FROM moves s JOIN (day d LEFT JOIN season e ON e.year = d.year) ON d.id = s.day',
	'SELECT s.id, d.name FROM extra e LEFT JOIN (moves s JOIN day d ON d.id = s.day) ON s.id = e.id',
	'SELECT s.id, d.name FROM moves s JOIN day d ON d.id = s.day JOIN extra e ON e.id = s.id',
	'SELECT count(*) FROM moves s JOIN day d ON d.id > s.day + 35',
	'SELECT s::text FROM moves s JOIN season e ON e.id = s.day',
	'SELECT e::text FROM moves s JOIN season e ON e.id = s.day',
	'SELECT count(*) FROM moves s JOIN day d ON d.id = s.day WHERE s.id IN (SELECT id FROM extra)',
	'SELECT s.id, d.name FROM barred s JOIN day d ON d.id = s.day WHERE d.name::varchar <> ''d1''',
	'SELECT count(*) FROM (SELECT day FROM sale UNION SELECT day FROM ret) s JOIN day d ON d.id = s.day',
	'SELECT count(*) FROM (SELECT day FROM sale UNION ALL SELECT day FROM ret LIMIT 30000) s JOIN day d ON d.id = s.day',
	'SELECT count(*) FROM (SELECT day FROM extra UNION ALL SELECT day FROM extra) s JOIN day d ON d.id = s.day',
	'SELECT e.label, n FROM season e, LATERAL (SELECT id, 1 AS n FROM sale WHERE id = e.id UNION ALL SELECT id, 2 FROM ret) s WHERE s.id = e.id',
	'SELECT count(*) FROM moves s JOIN day d TABLESAMPLE SYSTEM (100) ON d.id = s.day',
	'SELECT year, array_agg(s.id ORDER BY s.id) FROM (SELECT * FROM moves WHERE id > 3) s JOIN day d ON d.id = s.day GROUP BY ROLLUP (year)'
]) AS q;
-- copies may not be read: locks, volatile functions, own writes of the statement, cursors
CREATE FUNCTION copies(query text) RETURNS bigint LANGUAGE sql AS
	$$ SELECT count(*) FROM explain(query) AS line WHERE line ~ 'pg_shuttle_copies' $$;
SELECT q, copies(q) FROM unnest(ARRAY[
	'SELECT s.id FROM moves s JOIN day d ON d.id = s.day FOR SHARE OF d',
	'SELECT s.id, random() FROM moves s JOIN day d ON d.id = s.day',
	'INSERT INTO extra (id) SELECT s.id FROM moves s JOIN day d ON d.id = s.day'
]) AS q;
SET shuttle.enable_reference_copies = off;
SELECT copies('SELECT s.id FROM moves s JOIN day d ON d.id = s.day');
RESET shuttle.enable_reference_copies;
BEGIN;
UPDATE day SET name = name || '!' WHERE year = 2001;
SELECT name, count(*) FROM moves s JOIN day d ON d.id = s.day WHERE d.year < 2003 AND d.id > 7 GROUP BY name ORDER BY name;
DECLARE c CURSOR FOR SELECT DISTINCT name FROM moves s JOIN day d ON d.id = s.day WHERE d.id = 12;
UPDATE day SET name = 'later' WHERE id = 12;
FETCH ALL FROM c;
ROLLBACK;
-- a plan that is kept, also when copies may not be read
SET plan_cache_mode = force_generic_plan;
PREPARE by_year(int, text) AS SELECT name, count(*), sum(amount) FROM moves s JOIN day d ON d.id = s.day WHERE d.year = $1 AND d.name < $2 GROUP BY name ORDER BY name;
SELECT copies('EXECUTE by_year(2001, ''e'')') > 0 AS on_nodes;
EXECUTE by_year(2001, 'd3');
EXECUTE by_year(2003, 'e');
EXECUTE by_year(NULL, 'e');
BEGIN ISOLATION LEVEL REPEATABLE READ;
EXECUTE by_year(2001, 'd3');
END;
RESET plan_cache_mode;
-- rights and policies
CREATE ROLE seller;
GRANT USAGE ON SCHEMA shop TO seller;
GRANT SELECT ON sale, ret TO seller;
GRANT SELECT (id, year) ON day TO seller;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE FUNCTION years(col text) RETURNS TABLE (year int, n bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT d.year, count(d.%I) FROM (SELECT day FROM sale UNION ALL SELECT day FROM ret) s JOIN day d ON d.id = s.day GROUP BY 1 ORDER BY 1', col);
END $$;
SET ROLE seller;
SELECT * FROM years('id');
SELECT copies('SELECT d.year FROM (SELECT day FROM sale UNION ALL SELECT day FROM ret) s JOIN day d ON d.id = s.day WHERE d.year = 2001') > 0 AS on_nodes;
SELECT * FROM years('name');
RESET ROLE;
CREATE POLICY part ON day TO seller USING (year <> 2002);
ALTER TABLE day ENABLE ROW LEVEL SECURITY;
SET ROLE seller;
SELECT * FROM years('id');
SELECT copies('SELECT d.year FROM (SELECT day FROM sale UNION ALL SELECT day FROM ret) s JOIN day d ON d.id = s.day WHERE d.year = 2001');
RESET ROLE;
REVOKE ALL ON ALL TABLES IN SCHEMA shop FROM seller;
REVOKE ALL ON SCHEMA shop FROM seller;
DROP OWNED BY seller;
DROP ROLE seller;
SET client_min_messages = warning;
SELECT shuttle.local_tables('{sale, ret, day, season}');
DROP SCHEMA shop, plain CASCADE;
