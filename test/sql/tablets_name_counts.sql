-- A name of a tablet never comes back on a node with other contents.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE PROCEDURE public.show(name text) LANGUAGE plpgsql AS $$
DECLARE
	here text;
	there text;
BEGIN
	SELECT string_agg(relname, ', ' ORDER BY relname) INTO here FROM shuttle.tablets JOIN pg_class ON oid = tablet WHERE relation = name::regclass;
	SELECT string_agg(t, ', ' ORDER BY t) INTO there FROM shuttle.run_on_nodes(format(
		'SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = to_regclass(%L)'
		' AND relname !~ ''trap''', 'shop.' || name), '{n1, n2}') AS n, json_array_elements(result) AS r, LATERAL (SELECT r->>'relname') AS x (t);
	RAISE NOTICE 'here: %', here;
	IF here IS DISTINCT FROM there THEN
		RAISE NOTICE 'on nodes: %', there;
	END IF;
END$$;

CREATE TABLE orders (id int PRIMARY KEY, v int);
INSERT INTO orders SELECT i, i FROM generate_series(1, 100) AS i;
SELECT shuttle.distribute_table('orders', 'id', tablets => 2);
CALL public.show('orders');

-- distributed anew, in one transaction too
BEGIN;
SELECT shuttle.local_table('orders');
SELECT shuttle.distribute_table('orders', 'id', tablets => 3);
COMMIT;
CALL public.show('orders');
SELECT count(*), sum(v) FROM orders;

-- rolled back: nobody saw the names
BEGIN;
SELECT shuttle.local_table('orders');
SELECT shuttle.distribute_table('orders', 'id', tablets => 3);
ROLLBACK;
CALL public.show('orders');

-- made anew
DROP TABLE orders;
CREATE TABLE orders (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('orders', 'id', tablets => 2);
CALL public.show('orders');
INSERT INTO orders SELECT i, i FROM generate_series(1, 100) AS i;

-- rewritten; a default or NOT NULL rewrites nothing
ALTER TABLE orders ADD COLUMN d int DEFAULT 3, ALTER COLUMN v SET NOT NULL;
CALL public.show('orders');
PREPARE by_key AS SELECT v, d FROM orders WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_key(7);
ALTER TABLE orders ALTER COLUMN v TYPE bigint;
CALL public.show('orders');
EXECUTE by_key(7);
ALTER TABLE orders ALTER COLUMN v TYPE int USING (v + 1)::int;
CALL public.show('orders');
EXECUTE by_key(7);
ALTER TABLE orders ADD COLUMN twice int GENERATED ALWAYS AS (v * 2) STORED;
CALL public.show('orders');
EXPLAIN (VERBOSE, COSTS off) EXECUTE by_key(7);
EXECUTE by_key(8);
RESET plan_cache_mode;

-- renamed, also to a name that another table had
CREATE TABLE old_orders (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('old_orders', 'id', tablets => 2);
ALTER TABLE old_orders RENAME TO older_orders;
CALL public.show('older_orders');
ALTER TABLE orders RENAME TO old_orders;
CALL public.show('old_orders');
ALTER TABLE old_orders RENAME TO orders;
CALL public.show('orders');
SELECT count(*), sum(v) FROM orders;

-- in two schemas, which may be renamed
CREATE SCHEMA other;
CREATE TABLE other.orders (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('other.orders', 'id', tablets => 2);
SELECT tablet FROM shuttle.tablets WHERE relation = 'other.orders'::regclass ORDER BY 1;
DROP SCHEMA other CASCADE;

-- names that are too long; with a name in quotes
CREATE TABLE "A table with a name that is as long as names of tables can be.." (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('"A table with a name that is as long as names of tables can be.."', 'id', tablets => 2);
INSERT INTO "A table with a name that is as long as names of tables can be.." VALUES (1, 1), (2, 2);
ALTER TABLE "A table with a name that is as long as names of tables can be.." ALTER COLUMN v TYPE bigint;
SELECT tablet FROM shuttle.tablets WHERE tablet::text ~ 'A table' ORDER BY 1;
SELECT v FROM "A table with a name that is as long as names of tables can be.." WHERE id = 2;
-- errors have the names of the table and its index
INSERT INTO "A table with a name that is as long as names of tables can be.." VALUES (2, 2);
INSERT INTO orders VALUES (5, 5);
SELECT * FROM shuttle.check();

-- another relation may have such a name
CREATE TABLE orders_t0_7 (i int);
ALTER TABLE orders RENAME TO lines;
DO $$BEGIN EXECUTE format('CREATE TABLE %I (i int)', (SELECT format('orders_t0_%s', count) FROM shuttle.tablet_names WHERE name = 'orders')); END$$;
ALTER TABLE lines RENAME TO orders;
DROP TABLE orders_t0_7;
CALL public.show('orders');
-- tables of two schemas that have one name
CREATE SCHEMA other;
CREATE TABLE other.twin (id int PRIMARY KEY);
CREATE TABLE twin (id int PRIMARY KEY);
INSERT INTO twin SELECT generate_series(1, 9);
INSERT INTO other.twin SELECT generate_series(1, 8);
SELECT shuttle.distribute_tables('{twin.id, other.twin.id}', tablets => 2);
SELECT (SELECT count(*) FROM twin), (SELECT count(*) FROM other.twin);
SELECT relation, tablet FROM shuttle.tablets WHERE relation::text ~ 'twin' ORDER BY 1, 2;
SET client_min_messages = warning;
DROP SCHEMA shop, other CASCADE;
DROP PROCEDURE public.show;
