-- Distributed tables are joined with the copies of reference tables on their
-- nodes; answers are those of the tables here.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE area (id int PRIMARY KEY, label text);
CREATE TABLE kind (gone int, id int PRIMARY KEY, name text COLLATE "C", area int);
ALTER TABLE kind DROP COLUMN gone;
CREATE TABLE customer (id int PRIMARY KEY, kind int, name text);
CREATE TABLE orders (customer int, id int, kind int, price numeric, PRIMARY KEY (customer, id));
INSERT INTO area VALUES (1, 'east'), (2, 'west');
INSERT INTO kind VALUES (1, 'one', 1), (2, 'two', 1), (3, 'three', 2), (4, 'four', NULL), (9, 'nine', 2);
INSERT INTO customer SELECT i, nullif(i % 7, 0), 'c' || i FROM generate_series(1, 300) AS i;
INSERT INTO orders SELECT i % 300, i, i % 6, i / 10.0 FROM generate_series(1, 2000) AS i;
CREATE SCHEMA plain;
CREATE TABLE plain.area AS TABLE area;
CREATE TABLE plain.kind AS TABLE kind;
CREATE TABLE plain.customer AS TABLE customer;
CREATE TABLE plain.orders AS TABLE orders;
ANALYZE;
SELECT shuttle.reference_table(t) FROM unnest('{area, kind}'::regclass[]) AS t;
SET shuttle.tablets = 4;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{customer.id, orders.customer}');
RESET client_min_messages;
-- statements with one key, too, are core's
SET shuttle.enable_router = off;
-- up to 18 core drops the other plans of the topmost join
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;

-- names of copies' tables have OIDs; versions of the server turn conditions round
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		line := regexp_replace(line, '(pg_shuttle_copies\.\w+)_\d+', '\1_OID', 'g');
		line := regexp_replace(line, '\mr\d+\M', 'r', 'g');
		RETURN NEXT regexp_replace(line, '\((r\.kind) = (r\.id)\)', '(\2 = \1)', 'g');
	END LOOP;
END $$;
-- how many scans read copies, and how the answer differs from one without copies
-- and from that of plain tables
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ncopies int;
	ndifferent int[];
BEGIN
	SELECT count(*) INTO ncopies FROM explain(query) AS line WHERE line ~ 'Relations: .*pg_shuttle_copies';
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
	DROP TABLE with_copies, without, plain_tables;
	SET LOCAL search_path = shop;
	RETURN CASE WHEN ncopies > 0 THEN 'on nodes, ' ELSE 'here, ' END ||
		CASE WHEN ndifferent = '{0,0,0,0}' THEN 'same' ELSE ndifferent::text END;
END $$;

SELECT * FROM explain('SELECT c.id, k.name FROM customer c JOIN kind k ON k.id = c.kind');
SELECT * FROM explain('SELECT k.name, count(*), sum(price) FROM orders o JOIN kind k ON k.id = o.kind GROUP BY k.name');
SELECT * FROM explain('SELECT c.name, k.name, a.label FROM customer c LEFT JOIN kind k ON k.id = c.kind LEFT JOIN area a ON a.id = k.area WHERE c.id = 7');
SELECT q, compare(q) FROM unnest(ARRAY[
	'SELECT c.id, k.name FROM customer c JOIN kind k ON k.id = c.kind',
	'SELECT c.id, k.name FROM customer c LEFT JOIN kind k ON k.id = c.kind AND k.name <> ''two''',
	'SELECT c.id, k.name FROM kind k RIGHT JOIN customer c ON k.id = c.kind',
	'SELECT c.id, k.name FROM kind k LEFT JOIN customer c ON k.id = c.kind',
	'SELECT c.id, k.name FROM kind k FULL JOIN customer c ON k.id = c.kind',
	'SELECT c.id FROM customer c WHERE c.kind NOT IN (SELECT id FROM kind)',
	'SELECT c.id FROM customer c WHERE NOT EXISTS (SELECT FROM kind k WHERE k.id = c.kind)',
	'SELECT k.name FROM kind k WHERE EXISTS (SELECT FROM customer c WHERE k.id = c.kind)',
	'SELECT k.name, count(*), sum(o.price) FROM orders o JOIN kind k ON k.id = o.kind GROUP BY k.name',
	'SELECT a.label, count(*) FROM orders o JOIN kind k ON k.id = o.kind JOIN area a ON a.id = k.area GROUP BY a.label',
	'SELECT c.name, k.name AS kind, o.id FROM customer c JOIN orders o ON o.customer = c.id JOIN kind k ON k.id = o.kind',
	'SELECT c.name, a.name AS kind, b.name AS other FROM customer c JOIN kind a ON a.id = c.kind JOIN orders o ON o.customer = c.id JOIN kind b ON b.id = o.kind WHERE c.id < 50',
	'SELECT c.name, k.name AS kind, (SELECT max(name) FROM kind) FROM customer c JOIN kind k ON k.id = c.kind WHERE c.id = 5',
	'WITH s AS (SELECT c.id, k.name FROM customer c JOIN kind k ON k.id = c.kind) SELECT name, count(*) FROM s GROUP BY name UNION ALL SELECT name, 0 FROM kind',
	'SELECT k.name, row_number() OVER (ORDER BY c.id) FROM customer c JOIN kind k ON k.id = c.kind ORDER BY c.id LIMIT 5',
	'SELECT DISTINCT k.name FROM customer c, kind k WHERE k.id = c.kind AND k.name LIKE ''t%'''
]) AS q;

-- postgres_fdw ships semi joins from 17 on
SELECT right(compare('SELECT c.id FROM customer c WHERE EXISTS (SELECT FROM kind k WHERE k.id = c.kind AND k.area = 1)'), 4) AS semi;
-- own writes are on the nodes when their statement is done; undone ones are not
BEGIN;
UPDATE kind SET name = name || '!' WHERE id < 3;
SELECT q, compare(q) LIKE 'on nodes, {0,0,%' FROM (SELECT 'SELECT c.id, k.name FROM customer c JOIN kind k ON k.id = c.kind' AS q) AS q;
SAVEPOINT s;
DELETE FROM kind WHERE id = 1;
SELECT k.name, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY k.name ORDER BY 1;
ROLLBACK TO s;
SELECT k.name, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY k.name ORDER BY 1;
ROLLBACK;
-- a part of WITH is not seen; nor are changes by functions of the statement
WITH w AS (UPDATE kind SET name = 'gone' RETURNING id) SELECT k.name, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY k.name ORDER BY 1;
UPDATE kind SET name = p.name FROM plain.kind p WHERE p.id = kind.id;
CREATE FUNCTION rename(text) RETURNS text LANGUAGE sql VOLATILE AS $$ UPDATE kind SET name = $1 WHERE id = 1 RETURNING name $$;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
SELECT * FROM explain('SELECT k.name, rename(''x'') FROM customer c JOIN kind k ON k.id = c.kind WHERE c.id = 1');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;

-- triggers see what the statement has changed so far, also by kept plans
CREATE TABLE seen (what text, name text);
CREATE FUNCTION look() RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	SELECT string_agg(DISTINCT k.name, ',' ORDER BY k.name) INTO found FROM customer c JOIN kind k ON k.id = c.kind;
	RETURN found;
END $$;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen VALUES (TG_NAME, look());
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
SET plan_cache_mode = force_generic_plan;
SELECT look();
CREATE TRIGGER a_before BEFORE UPDATE OR DELETE ON kind FOR EACH ROW WHEN (OLD.id < 3) EXECUTE FUNCTION note();
CREATE TRIGGER a_after AFTER UPDATE ON kind FOR EACH ROW WHEN (NEW.id < 3) EXECUTE FUNCTION note();
CREATE TRIGGER a_truncate AFTER TRUNCATE ON kind FOR EACH STATEMENT EXECUTE FUNCTION note();
BEGIN;
UPDATE kind SET name = upper(name);
DELETE FROM kind WHERE id < 3;
TRUNCATE kind;
TABLE seen;
SELECT look();
ROLLBACK;
BEGIN;
COPY kind FROM stdin;
6	six	1
\.
UPDATE kind SET name = look() WHERE id IN (1, 2);
SELECT id, name FROM kind ORDER BY id;
SELECT look();
ROLLBACK;
-- a cascade's changes wait for the end of the statement that caused it
ALTER TABLE kind ADD FOREIGN KEY (area) REFERENCES area ON DELETE CASCADE;
CREATE TRIGGER b_after AFTER DELETE ON area FOR EACH ROW EXECUTE FUNCTION note();
BEGIN;
DELETE FROM area WHERE id = 1;
TABLE seen;
SELECT look();
ROLLBACK;
ALTER TABLE kind DROP CONSTRAINT kind_area_fkey;
DROP TRIGGER a_before ON kind;
DROP TRIGGER a_after ON kind;
DROP TRIGGER b_after ON area;
DROP TRIGGER a_truncate ON kind;
-- loops that write what they read
DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT c.id, k.name FROM customer c JOIN kind k ON k.id = c.kind WHERE c.id IN (1, 2, 8, 9) ORDER BY c.id LOOP
		UPDATE kind SET name = 'loop';
		INSERT INTO seen VALUES ('loop', r.name);
	END LOOP;
END $$;
TABLE seen;
UPDATE kind SET name = p.name FROM plain.kind p WHERE p.id = kind.id;
TRUNCATE seen;
SELECT look();

-- one snapshot for the transaction, also for kept plans
PREPARE names AS SELECT k.name, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY k.name ORDER BY k.name;
SELECT count(*) FROM explain('EXECUTE names') AS line WHERE line ~ 'pg_shuttle_copies';
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM explain('EXECUTE names') AS line WHERE line ~ 'pg_shuttle_copies';
EXECUTE names;
END;
SELECT count(*) FROM explain('EXECUTE names') AS line WHERE line ~ 'pg_shuttle_copies';
-- policies, security barriers
CREATE ROLE seller;
GRANT USAGE ON SCHEMA shop TO seller;
GRANT SELECT ON customer, kind TO seller;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
SET ROLE seller;
SELECT k.name, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY k.name ORDER BY 1;
SELECT count(*) FROM explain('SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind WHERE k.name = ''one''') AS line WHERE line ~ 'pg_shuttle_copies';
SELECT a.label FROM customer c JOIN kind k ON k.id = c.kind JOIN area a ON a.id = k.area;
RESET ROLE;
CREATE POLICY part ON kind TO seller USING (id <> 2);
ALTER TABLE kind ENABLE ROW LEVEL SECURITY;
SET ROLE seller;
SELECT k.name, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY k.name ORDER BY 1;
SELECT count(*) FROM explain('SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind') AS line WHERE line ~ 'pg_shuttle_copies';
RESET ROLE;
ALTER TABLE kind DISABLE ROW LEVEL SECURITY;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM kind WHERE id <> 2;
SELECT q, compare(q) FROM unnest(ARRAY['SELECT c.id, b.name FROM customer c JOIN barrier b ON b.id = c.kind WHERE b.name::varchar <> ''one''']) AS q;

DROP VIEW barrier;
DROP POLICY part ON kind;
-- what copies do not have
SELECT q, (SELECT count(*) FROM explain(q) AS line WHERE line ~ 'pg_shuttle_copies') FROM unnest(ARRAY[
	'SELECT c.id, k.ctid FROM customer c JOIN kind k ON k.id = c.kind',
	'SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind WHERE k.xmin::text <> ''0''',
	'SELECT c.id, k.tableoid::regclass FROM customer c JOIN kind k ON k.id = c.kind',
	'SELECT c.id, k FROM customer c JOIN kind k ON k.id = c.kind',
	'SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind WHERE k::text <> ''''',
	'SELECT c.id FROM customer c LEFT JOIN kind k ON k.id = c.kind WHERE (k IS NULL) = (c.id > 5)',
	'SELECT c.id FROM customer c JOIN kind k TABLESAMPLE SYSTEM (100) ON k.id = c.kind',
	'SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind FOR SHARE OF k',
	'SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind FOR UPDATE OF c',
	'SELECT * FROM (SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind) AS s, (SELECT id FROM kind FOR UPDATE) AS k',
	'SELECT c.id, random() FROM customer c JOIN kind k ON k.id = c.kind',
	'INSERT INTO seen SELECT k.name FROM customer c JOIN kind k ON k.id = c.kind'
]) AS q;
SELECT k.tableoid::regclass, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY 1;
SET shuttle.enable_reference_copies = off;
SELECT count(*) FROM explain('SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind') AS line WHERE line ~ 'pg_shuttle_copies';
RESET shuttle.enable_reference_copies;

-- DDL, new nodes, kept plans
CREATE FUNCTION copies() RETURNS TABLE (name text, columns text, options text) LANGUAGE sql AS $$
	SELECT regexp_replace(relname, '\d+', 'OID'), (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
		srvname || ' ' || ftoptions::text
	FROM pg_class AS c JOIN pg_foreign_table ON ftrelid = c.oid JOIN pg_foreign_server AS s ON s.oid = ftserver
	WHERE relnamespace = 'pg_shuttle_copies'::regnamespace ORDER BY relname $$;
SELECT * FROM copies();
BEGIN;
ALTER TABLE kind ADD COLUMN weight numeric(4, 1) DEFAULT 5, ALTER COLUMN name TYPE varchar(20);
ALTER TABLE kind RENAME COLUMN area TO region;
ALTER TABLE kind RENAME TO species;
SELECT * FROM copies();
SELECT count(*) FROM explain('SELECT c.id, k.weight, k.region FROM customer c JOIN species k ON k.id = c.kind') AS line WHERE line ~ 'Relations: .*pg_shuttle_copies';
SELECT DISTINCT k.weight FROM customer c JOIN species k ON k.id = c.kind;
ALTER TABLE species DROP COLUMN region;
SELECT * FROM copies();
ROLLBACK;
-- without us: the copies are not read
SET shuttle.enable_ddl = off;
BEGIN;
ALTER TABLE kind ADD COLUMN weight int;
SELECT count(*) FROM explain('SELECT c.id FROM customer c JOIN kind k ON k.id = c.kind') AS line WHERE line ~ 'pg_shuttle_copies';
ROLLBACK;
RESET shuttle.enable_ddl;
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
SELECT * FROM copies();
SELECT count(*) FROM explain('EXECUTE names') AS line WHERE line ~ 'pg_shuttle_copies';
SELECT shuttle.remove_node('n3');
SELECT * FROM copies();
DROP TABLE area;
SELECT * FROM copies();
SELECT shuttle.local_table('kind');
SELECT * FROM copies();
SELECT count(*) FROM explain('EXECUTE names') AS line WHERE line ~ 'pg_shuttle_copies';
SELECT count(*) FROM (SELECT k.name, count(*) FROM customer c JOIN kind k ON k.id = c.kind GROUP BY k.name EXCEPT SELECT k.name, count(*) FROM plain.customer c JOIN plain.kind k ON k.id = c.kind GROUP BY k.name) AS d;
SELECT shuttle.reference_table('kind');
SELECT count(*) FROM explain('EXECUTE names') AS line WHERE line ~ 'pg_shuttle_copies';
-- a server that is gone takes the foreign table with it; check() makes it anew
SET client_min_messages = warning;
SELECT shuttle.local_tables('{customer, orders}');
DROP SERVER n1 CASCADE;
SELECT count(*) FROM copies();
SELECT count(*) FROM shuttle.check(repair => true);
SELECT * FROM copies();
REVOKE ALL ON ALL TABLES IN SCHEMA shop FROM seller;
REVOKE ALL ON SCHEMA shop FROM seller;
DROP OWNED BY seller;
DROP ROLE seller;
SELECT shuttle.local_table('kind');
DROP SCHEMA shop, plain CASCADE;
