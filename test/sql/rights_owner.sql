-- A role that is no superuser distributes its tables over nodes that a superuser has added.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SET client_min_messages = warning;
DROP ROLE IF EXISTS tablets_owner, tablets_other;
RESET client_min_messages;
CREATE ROLE tablets_owner;
CREATE ROLE tablets_other;
GRANT ALL ON SCHEMA shop TO tablets_owner, tablets_other;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO tablets_owner, tablets_other;
SET ROLE tablets_owner;
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int, customer_id int REFERENCES customer, kind_id int REFERENCES kind, PRIMARY KEY (customer_id, id));
INSERT INTO kind VALUES (1, 'one'), (2, 'two');
INSERT INTO customer SELECT i, 'c' || i FROM generate_series(1, 10) AS i;
INSERT INTO orders SELECT i, 1 + i % 10, 1 + i % 2 FROM generate_series(1, 50) AS i;
SELECT * FROM shuttle.advise() ORDER BY relation::text;
-- nodes that let everybody in are not for everybody
\set VERBOSITY sqlstate
SELECT shuttle.reference_table('kind');
\set VERBOSITY terse
DO $$DECLARE hint text; BEGIN
	PERFORM shuttle.reference_table('kind');
EXCEPTION WHEN prohibited_sql_statement_attempted THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RAISE NOTICE '%: %', SQLSTATE, hint;
END$$;
RESET ROLE;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
SET ROLE tablets_owner;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', tablets => 2);
SELECT count(*), sum(kind_id) FROM orders JOIN customer ON customer.id = customer_id JOIN kind ON kind.id = kind_id;
INSERT INTO orders VALUES (51, 1, 1);
INSERT INTO orders VALUES (52, 11, 1);
INSERT INTO kind VALUES (3, 'three');
UPDATE kind SET name = upper(name);
ALTER TABLE orders ADD COLUMN note text DEFAULT 'x';
CREATE INDEX ON orders (note);
SELECT relname, relkind, pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace IN ('shop'::regnamespace, 'shuttle_tablets'::regnamespace) AND relkind NOT IN ('i', 'I') ORDER BY 1;
SELECT tables.kind, relation FROM shuttle.tables ORDER BY 2;
SELECT * FROM shuttle.check();
SELECT * FROM shuttle.add_node('n4', 'localhost');
SELECT * FROM shuttle.remove_node('n1');
RESET ROLE;
SELECT * FROM shuttle.check();

-- functions of an index run here as the owner, whoever makes it
CREATE FUNCTION who(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_database() !~ '^tablets_n' AND current_user <> 'tablets_owner' THEN
		RAISE 'runs as %', current_user;
	END IF;
	RETURN $1;
END $$;
GRANT EXECUTE ON FUNCTION who TO tablets_owner;
CREATE INDEX owned ON orders (kind_id) WHERE customer_id > who(3);
CREATE INDEX CONCURRENTLY owned_too ON orders (kind_id) WHERE customer_id > who(4);
DROP INDEX owned, owned_too;

-- others may not, whatever rights on rows they have
SET ROLE tablets_owner;
CREATE TABLE own (id int PRIMARY KEY);
GRANT ALL ON own, orders, kind TO tablets_other;
SET ROLE tablets_other;
\set VERBOSITY sqlstate
SELECT shuttle.distribute_table('own', 'id');
SELECT shuttle.distribute_tables('{own.id}');
SELECT shuttle.reference_table('own');
SELECT shuttle.local_table('orders');
SELECT shuttle.local_table('kind');
\set VERBOSITY terse
SELECT relation, kind, because FROM shuttle.advise();
SELECT count(*) FROM orders;
DELETE FROM orders WHERE customer_id = 1 RETURNING id;
SET ROLE tablets_owner;
SELECT shuttle.local_tables('{orders, customer}');
SELECT shuttle.local_table('kind');
SELECT count(*) FROM orders;
SELECT conname FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'f' ORDER BY 1;
RESET ROLE;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace$$, '{n1,n2}');
DROP SCHEMA shop CASCADE;
DROP OWNED BY tablets_owner, tablets_other;
DROP ROLE tablets_owner, tablets_other;
