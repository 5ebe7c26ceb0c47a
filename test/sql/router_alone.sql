-- Tables that one node has whole need no key: statements on them go there as a whole. If tablets
-- come to other nodes, that ends, also for plans that are kept.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE town (id int PRIMARY KEY, name text);
CREATE TABLE house (id int PRIMARY KEY, town int, kind int, size int);
CREATE TABLE spread (id int PRIMARY KEY, town int);
INSERT INTO kind VALUES (1, 'one'), (2, 'two');
INSERT INTO town SELECT i, 't' || i FROM generate_series(1, 20) AS i;
INSERT INTO house SELECT i, i % 20 + 1, i % 3, i % 7 FROM generate_series(1, 100) AS i;
INSERT INTO spread SELECT i, i % 20 + 1 FROM generate_series(1, 50) AS i;
CREATE SCHEMA plain;
CREATE TABLE plain.kind (LIKE kind INCLUDING ALL);
CREATE TABLE plain.town (LIKE town INCLUDING ALL);
CREATE TABLE plain.house (LIKE house INCLUDING ALL);
CREATE TABLE plain.spread (LIKE spread INCLUDING ALL);
INSERT INTO plain.kind TABLE kind;
INSERT INTO plain.town TABLE town;
INSERT INTO plain.house TABLE house;
INSERT INTO plain.spread TABLE spread;
SET client_min_messages = warning;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_table('town', 'id', tablets => 2, nodes => '{n1}');
SELECT shuttle.distribute_table('house', 'id', tablets => 1, nodes => '{n1}');
SELECT shuttle.distribute_table('spread', 'id', tablets => 4);
RESET client_min_messages;

\i :test/include/routed.sql
-- what a statement returns and leaves, with the router, without it and on plain tables; all of it
-- is rolled back
CREATE FUNCTION run(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text[] := '{}';
	n bigint;
BEGIN
	IF query ~ '^(SELECT|WITH)|RETURNING' THEN
		FOR line IN EXECUTE query LOOP
			found := found || coalesce(line, '-');
		END LOOP;
	ELSE
		EXECUTE query;
		GET DIAGNOSTICS n = ROW_COUNT;
		found := found || n::text;
	END IF;
	found := array(SELECT unnest(found) ORDER BY 1);
	SELECT found || format('town %s, house %s', (SELECT md5(array_agg(t::text ORDER BY id)::text) FROM town t),
		(SELECT md5(array_agg(h::text ORDER BY id)::text) FROM house h)) INTO found;
	RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION
	WHEN SQLSTATE 'ZZ000' THEN RETURN found;
	WHEN OTHERS THEN RETURN ARRAY[SQLSTATE];
END $$;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	routed bool := is_routed(query);
	a text[] := run(query);
	b text[];
	c text[];
BEGIN
	SET LOCAL shuttle.enable_router = off;
	b := run(query);
	SET LOCAL search_path = plain, shop;
	c := run(query);
	SET LOCAL search_path = shop;
	SET LOCAL shuttle.enable_router = on;
	RETURN format('%s, %s, %s', CASE WHEN routed THEN 'routed' ELSE 'by core' END, cardinality(a) - 1,
		CASE WHEN a = b AND a = c THEN 'same' ELSE format('DIFFERENT: %s %s %s', a, b, c) END);
END $$;
SELECT q AS query, compare(q) FROM unnest(ARRAY[
	'SELECT id FROM town',
	'SELECT t.name || count(*) FROM town t JOIN house h ON h.town = t.id WHERE h.size > 2 GROUP BY t.name',
	'SELECT t.id FROM town t LEFT JOIN house h ON h.town = t.id + 10 WHERE h.id IS NULL',
	'SELECT sum(size) FROM house WHERE town IN (SELECT id FROM town WHERE name LIKE ''t1%'')',
	'SELECT k.name || sum(size) FROM house h JOIN kind k ON k.id = h.kind GROUP BY k.name',
	'SELECT t.name FROM town t JOIN house h ON h.town = t.id WHERE t.id = 3 AND h.id = 42',
	'UPDATE house SET size = size + 1 WHERE town < 10',
	'UPDATE house h SET size = t.id FROM town t WHERE t.id = h.town AND t.name > ''t15'' RETURNING h.id',
	'UPDATE house SET id = id + 1000 WHERE id < 5',
	'DELETE FROM town t WHERE NOT EXISTS (SELECT 1 FROM house h WHERE h.town = t.id AND h.size = 5) RETURNING id',
	'WITH d AS (DELETE FROM house WHERE size = 3 RETURNING town) SELECT count(*) || '' '' || sum(town) FROM d',
	'INSERT INTO town VALUES (100, ''new'')',
	'SELECT s.id FROM spread s JOIN town t ON t.id = s.town WHERE t.id < 4',
	'SELECT s.id FROM spread s JOIN town t ON t.id = s.town WHERE s.id = 4',
	'SELECT count(*) FROM spread']) AS q;
EXPLAIN (COSTS OFF, VERBOSE) SELECT count(*) FROM town t JOIN house h ON h.town = t.id;

-- a kept plan beside a move
SET plan_cache_mode = force_generic_plan;
PREPARE kept(int) AS SELECT count(*), sum(id) FROM town WHERE id > $1;
EXPLAIN (COSTS OFF) EXECUTE kept(5);
EXECUTE kept(5);
SELECT shuttle.local_table('town');
EXECUTE kept(5);
SELECT shuttle.distribute_table('town', 'id', tablets => 3);
EXPLAIN (COSTS OFF) EXECUTE kept(5);
EXECUTE kept(5);
DEALLOCATE kept;

-- all tablets are gone, behind our back
SET client_min_messages = error;
SET shuttle.enable_ddl = off;
DO $$ DECLARE tablet regclass; BEGIN
	FOR tablet IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'town'::regclass LOOP
		EXECUTE 'DROP FOREIGN TABLE ' || tablet;
	END LOOP;
END $$;
SELECT * FROM town WHERE id = 1;
SELECT count(*) FROM town;
DROP SCHEMA shop CASCADE;
