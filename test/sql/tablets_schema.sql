-- Tablets are in a schema of their own here, and in that of their table on nodes: names, rights, and those of older dumps.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE FUNCTION public.names(relation regclass) RETURNS TABLE (here text, options text[], there text) LANGUAGE sql AS $$
	SELECT tablet::text, ftoptions, (SELECT string_agg(r->>'name', ', ') FROM shuttle.run_on_nodes(format(
		'SELECT i.inhrelid::regclass::text AS name FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = inhrelid WHERE inhparent = to_regclass(%L) AND lower(pg_get_expr(relpartbound, c.oid)) = lower(%L)',
		relation, bounds), ARRAY[node]), json_array_elements(result) AS r)
	FROM shuttle.tablets AS t JOIN pg_foreign_table ON ftrelid = tablet WHERE t.relation = $1 ORDER BY bounds $$;
CREATE TABLE orders (id int PRIMARY KEY, v int);
INSERT INTO orders SELECT i, i FROM generate_series(1, 20) AS i;
SELECT shuttle.distribute_table('orders', 'id', tablets => 2);
SET search_path = pg_catalog;
SELECT * FROM public.names('shop.orders');
-- an ordinary table may have a tablet's name
CREATE TABLE shop.orders_t0 (id int);
INSERT INTO shop.orders_t0 VALUES (-1);
SELECT * FROM shop.orders WHERE id = 7;
SELECT count(*), min(id) FROM shop.orders;
INSERT INTO shop.orders VALUES (7, 7) ON CONFLICT (id) DO UPDATE SET v = orders.v + 100 RETURNING *;
DROP TABLE shop.orders_t0;
-- another one of that name, at the same time and later
CREATE SCHEMA other;
CREATE SCHEMA third;
CREATE TABLE other.twin (id int PRIMARY KEY, CHECK (id < 50));
CREATE TABLE third.twin (id int PRIMARY KEY, CHECK (id < 50));
SELECT shuttle.distribute_tables('{other.twin.id, third.twin.id}', tablets => 2);
INSERT INTO other.twin SELECT generate_series(1, 4);
INSERT INTO third.twin SELECT generate_series(5, 8);
SELECT * FROM public.names('other.twin');
SELECT * FROM public.names('third.twin');
INSERT INTO third.twin VALUES (5);
INSERT INTO third.twin VALUES (50);
SELECT id FROM third.twin WHERE id IN (2, 6);
ALTER TABLE third.twin RENAME TO single;
SELECT * FROM public.names('third.single');
-- schemas are renamed, also without nodes, as for a query node that was restored
CREATE SCHEMA made;
CREATE TABLE made.one (id int PRIMARY KEY);
SELECT shuttle.distribute_table('made.one', 'id', tablets => 1);
INSERT INTO made.one VALUES (1);
ALTER SCHEMA made RENAME TO "Re-named";
SELECT * FROM public.names('"Re-named".one');
SELECT ok FROM shuttle.run_on_nodes('ALTER SCHEMA "Re-named" RENAME TO made', '{n1,n2}');
SET shuttle.enable_ddl = off;
ALTER SCHEMA "Re-named" RENAME TO made;
RESET shuttle.enable_ddl;
SELECT * FROM made.one;
SELECT * FROM public.names('made.one');
SELECT * FROM shuttle.check();
-- rights: to read a table none on the schema is needed; an owner may name tablets, but make none
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE ROLE tablets_owner;
CREATE ROLE tablets_reader;
CREATE ROLE tablets_heir;
GRANT tablets_heir TO tablets_owner;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO tablets_owner, tablets_heir;
GRANT ALL ON SCHEMA other TO tablets_owner, tablets_heir;
GRANT USAGE ON SCHEMA other TO tablets_reader;
SELECT has_schema_privilege('tablets_owner', 'shuttle_tablets', 'USAGE') AS usage, has_schema_privilege('tablets_owner', 'shuttle_tablets', 'CREATE') AS make;
SET ROLE tablets_owner;
CREATE TABLE other.mine (id int PRIMARY KEY, v int);
GRANT SELECT ON other.mine TO tablets_reader;
INSERT INTO other.mine SELECT i, i FROM generate_series(1, 8) AS i;
SELECT shuttle.distribute_table('other.mine', 'id', tablets => 2);
SELECT count(*) > 0 AS own FROM shuttle_tablets.mine_t0;
RESET ROLE;
REVOKE USAGE ON SCHEMA shuttle_tablets FROM PUBLIC;
SET ROLE tablets_reader;
SELECT count(*) FROM other.mine;
SELECT v FROM other.mine WHERE id = 3;
RESET ROLE;
GRANT USAGE ON SCHEMA shuttle_tablets TO PUBLIC;
SET ROLE tablets_reader;
SELECT count(*) FROM shuttle_tablets.mine_t0;
SET ROLE tablets_owner;
ALTER TABLE other.mine ALTER COLUMN v TYPE bigint;
ALTER TABLE other.mine RENAME TO ours;
ALTER TABLE other.ours OWNER TO tablets_heir;
RESET ROLE;
SELECT relname, pg_get_userbyid(relowner) FROM shuttle.tablets JOIN pg_class ON oid = tablet WHERE relation = 'other.ours'::regclass ORDER BY 1;
SET ROLE tablets_heir;
SELECT shuttle.local_table('other.ours');
SELECT count(*), sum(v) FROM other.ours;
RESET ROLE;
-- which tablet is meant
CALL shuttle.move_tablet('nothing_t0', 'n3');
CALL shuttle.move_tablet('shop.orders', 'n3');
CALL shuttle.move_tablet('shop.orders_t9', 'n3');
-- tablets of an older dump
SET shuttle.enable_ddl = off;
ALTER FOREIGN TABLE shuttle_tablets.orders_t0 SET SCHEMA shop;
ALTER FOREIGN TABLE shuttle_tablets.orders_t1 SET SCHEMA shop;
ALTER FOREIGN TABLE shop.orders_t0 OPTIONS (DROP schema_name, DROP table_name);
ALTER FOREIGN TABLE shop.orders_t1 OPTIONS (DROP schema_name, DROP table_name);
RESET shuttle.enable_ddl;
SELECT * FROM public.names('shop.orders');
SELECT * FROM shop.orders WHERE id = 8;
INSERT INTO shop.orders VALUES (8);
UPDATE shop.orders SET v = 0 WHERE id = 8 RETURNING *;
ALTER TABLE shop.orders RENAME TO lines;
SELECT * FROM public.names('shop.lines');
ALTER TABLE shop.lines ALTER COLUMN v TYPE text;
ALTER SCHEMA shop RENAME TO shopping;
SELECT * FROM public.names('shopping.lines');
SELECT count(*) FROM shopping.lines WHERE v <> '0';
SELECT * FROM shuttle.check();
SELECT shuttle.local_table('shopping.lines');
SELECT shuttle.distribute_table('shopping.lines', 'id', tablets => 2);
SELECT * FROM public.names('shopping.lines');
SET client_min_messages = warning;
DROP SCHEMA shopping, other, third, made CASCADE;
SELECT count(*) FROM pg_class WHERE relnamespace = 'shuttle_tablets'::regnamespace;
DROP FUNCTION public.names;
DROP OWNED BY tablets_owner, tablets_reader, tablets_heir;
DROP ROLE tablets_owner, tablets_reader, tablets_heir;
DROP SCHEMA shuttle_tablets CASCADE;
