-- Errors of nodes have the names that the user gave, not those of tablets.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE TABLE customer (id int PRIMARY KEY, mail text, CHECK (id < 100), CONSTRAINT one_mail UNIQUE (id, mail));
CREATE TABLE "Order" (customer_id int REFERENCES customer, no int, note text, CONSTRAINT "Two ""Words""" PRIMARY KEY (customer_id, no));
CREATE UNIQUE INDEX a_name_that_is_as_long_as_a_name_can_be_so_that_nothing_more_fits ON "Order" (customer_id, note);
INSERT INTO customer SELECT i, 'm' FROM generate_series(1, 20) AS i;
SELECT shuttle.distribute_tables(ARRAY['customer.id', '"Order".customer_id'], tablets => 3);
INSERT INTO "Order" SELECT i, 1, 'n' FROM generate_series(1, 20) AS i;
CREATE FUNCTION names_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	name text;
	relation text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN integrity_constraint_violation THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, name = CONSTRAINT_NAME, relation = TABLE_NAME;
	RETURN format('%s [%s of %s]', message, name, relation);
END$$;
SELECT names_of('INSERT INTO customer VALUES (1)');
SELECT names_of('INSERT INTO customer VALUES (100)');
SELECT names_of('INSERT INTO "Order" VALUES (1, 1)');
SELECT names_of('INSERT INTO "Order" VALUES (2, 2, ''n'')');
SELECT names_of('INSERT INTO "Order" VALUES (50, 1)');
SELECT names_of('UPDATE "Order" SET no = 1, note = ''n'' WHERE customer_id = 3 OR customer_id = 4') AS nothing_changed;
-- an INSERT that COMMIT is sent behind
INSERT INTO customer VALUES (2);

-- later constraints, and other names
ALTER TABLE customer ADD COLUMN n int;
ALTER TABLE customer ADD CONSTRAINT "one n" UNIQUE (n, id);
UPDATE customer SET n = id;
SET client_min_messages = warning; -- nodes tell it in any order
ALTER TABLE customer DROP CONSTRAINT customer_pkey CASCADE;
RESET client_min_messages;
SELECT names_of('INSERT INTO customer VALUES (1, ''x'', 1)');
ALTER TABLE customer RENAME CONSTRAINT "one n" TO another;
SELECT names_of('INSERT INTO customer VALUES (1, ''x'', 1)');
ALTER TABLE customer RENAME TO client;
SELECT names_of('INSERT INTO client VALUES (1, ''x'', 1)');
ALTER INDEX one_mail RENAME TO renamed;
SELECT names_of('INSERT INTO client VALUES (1, ''m'', 2)');
CREATE UNIQUE INDEX third ON client (id, (n % 10));
SELECT names_of('INSERT INTO client VALUES (1, ''x'', 11)');
SELECT server, result FROM shuttle.run_on_nodes($$SELECT relname FROM pg_class WHERE relkind = 'i' AND relnamespace = 'shop'::regnamespace ORDER BY 1$$, '{n1,n2}');
SELECT * FROM shuttle.check();

-- a name that is in use on a node
SELECT ok FROM shuttle.run_on_nodes('CREATE TABLE shop.third_one_t1 ()', '{n1,n2}');
CREATE UNIQUE INDEX third_one ON client (id, n);
SELECT count(*) FROM pg_class WHERE relname = 'third_one';

-- names that share all that tablets' names have room for
CREATE TABLE a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_a (id int PRIMARY KEY);
CREATE TABLE a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_b (id int PRIMARY KEY);
INSERT INTO a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_a SELECT generate_series(1, 10);
SELECT shuttle.distribute_table('a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_a', 'id', tablets => 2);
SELECT shuttle.distribute_table('a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_b', 'id', tablets => 2);
INSERT INTO a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_b TABLE a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_a;
SELECT names_of('INSERT INTO a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_b VALUES (1)');
SELECT tablet FROM shuttle.tablets WHERE tablet::text LIKE '%a_table%' ORDER BY tablet::text;
ALTER TABLE a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_b RENAME TO short;
SELECT names_of('INSERT INTO short VALUES (1)');
ALTER TABLE short RENAME TO a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_c;
SELECT count(*) FROM a_table_whose_name_is_as_long_as_a_name_may_be_and_not_longer_c;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
