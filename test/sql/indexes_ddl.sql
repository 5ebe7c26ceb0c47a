-- DDL of unique indexes and keys without the distribution column: their entries follow.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE VIEW kept AS SELECT g.name, g.relation, to_regclass(g.entries::text) IS NOT NULL AS here, i.indisunique, i.indisvalid
FROM shuttle.global_indexes AS g LEFT JOIN pg_index AS i ON i.indexrelid = g.index_oid ORDER BY g.relation::text, g.name;
CREATE FUNCTION entries(index text) RETURNS TABLE (entry text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT e::text FROM %s AS e ORDER BY 1', (SELECT g.entries FROM shuttle.global_indexes AS g WHERE g.name = index));
END $$;
CREATE FUNCTION failure(statement text, OUT message text, OUT detail text, OUT "constraint" text, OUT "table" text, OUT "schema" text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN unique_violation THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, "constraint" = CONSTRAINT_NAME, "table" = TABLE_NAME, "schema" = SCHEMA_NAME;
END $$;
SELECT format('ALTER USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (ADD password_required ''false'')', i) FROM generate_series(1, 3) AS i
\gexec
-- a new table
SET shuttle.auto_distribute = 'customer';
CREATE TABLE account (id int PRIMARY KEY, customer int NOT NULL, email text UNIQUE);
CREATE TABLE bill (id int, customer int NOT NULL, PRIMARY KEY (customer, id));
RESET shuttle.auto_distribute;
SELECT relation, kind FROM shuttle.tables WHERE relation::text NOT LIKE 'shuttle_indexes%' ORDER BY 1;
SELECT * FROM kept;
INSERT INTO account VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c');
INSERT INTO account VALUES (1, 3, 'd');
-- keys and indexes over rows that exist
INSERT INTO bill VALUES (1, 1), (2, 1), (3, 2);
ALTER TABLE bill ADD COLUMN number int, ADD COLUMN label text DEFAULT 'x';
UPDATE bill SET number = id * 10;
ALTER TABLE bill ADD UNIQUE (number);
SELECT * FROM entries('bill_number_key');
SELECT * FROM failure('ALTER TABLE bill ADD CONSTRAINT labels UNIQUE (label)');
SELECT * FROM kept;
CREATE UNIQUE INDEX ON bill (lower(label)) WHERE id > 2;
CREATE UNIQUE INDEX IF NOT EXISTS bill_lower_idx ON bill (lower(label));
SELECT * FROM entries('bill_lower_idx');
SELECT pg_get_indexdef('bill_lower_idx'::regclass);
INSERT INTO bill VALUES (1, 3, 20, 'y');
INSERT INTO bill VALUES (3, 3, 30, 'q');
INSERT INTO bill VALUES (3, 3, 31, 'X');
ALTER TABLE bill ADD PRIMARY KEY (number);
ALTER TABLE bill DROP CONSTRAINT bill_pkey, ADD PRIMARY KEY (number);
SELECT * FROM kept;
\set VERBOSITY sqlstate
INSERT INTO bill VALUES (9, 9, 10, 'z');
\set VERBOSITY terse
INSERT INTO bill VALUES (9, 9, NULL, 'z');
-- names and types
ALTER INDEX bill_lower_idx RENAME TO by_label;
ALTER TABLE bill RENAME CONSTRAINT bill_number_key TO by_number;
ALTER TABLE bill RENAME COLUMN number TO nr;
ALTER TABLE bill RENAME TO invoice;
\set VERBOSITY sqlstate
INSERT INTO invoice VALUES (9, 9, 10, 'z');
\set VERBOSITY terse
INSERT INTO invoice VALUES (9, 9, 11, 'x');
ALTER TABLE invoice ALTER COLUMN nr TYPE text USING (nr + 1)::text;
SELECT * FROM kept;
SELECT * FROM entries('by_number');
\set VERBOSITY sqlstate
INSERT INTO invoice VALUES (9, 9, '11', 'z');
\set VERBOSITY terse
ALTER TABLE invoice DROP CONSTRAINT by_number, ADD CONSTRAINT by_number UNIQUE (label, nr);
SELECT * FROM entries('by_number');
-- in one transaction, and back
BEGIN;
CREATE UNIQUE INDEX rolled_back ON invoice (id, label);
INSERT INTO invoice VALUES (1, 7, '71', 'x');
ROLLBACK;
BEGIN;
SAVEPOINT s;
ALTER TABLE invoice DROP CONSTRAINT by_number;
ROLLBACK TO s;
INSERT INTO invoice VALUES (1, 7, '71', 'x');
COMMIT;
SELECT * FROM kept;
SELECT * FROM entries('by_number');
-- what nodes have
SELECT * FROM shuttle.check();
SELECT server, r ->> 'indexdef' AS definition FROM shuttle.run_on_nodes('SELECT pg_get_indexdef(indexrelid) AS indexdef FROM pg_index WHERE indrelid = ''shop.invoice''::regclass ORDER BY 1', '{n1}') AS n, jsonb_array_elements(n.result::jsonb) AS r;
-- what is refused
CREATE UNIQUE INDEX CONCURRENTLY ON invoice (id, nr);
ALTER TABLE invoice ADD COLUMN one int UNIQUE DEFAULT 1;
ALTER TABLE invoice ADD COLUMN one serial UNIQUE;
SELECT count(*) FROM entries('invoice_one_key');
ALTER TABLE invoice DROP COLUMN one;
ALTER TABLE invoice ADD COLUMN many int[];
CREATE UNIQUE INDEX ON invoice (many);
CREATE TYPE mood AS ENUM ('sad', 'glad');
ALTER TABLE invoice ADD COLUMN feeling mood;
CREATE UNIQUE INDEX ON invoice (feeling);
CREATE UNIQUE INDEX feelings ON invoice (feeling, nr);
DROP INDEX feelings;
DO $$
DECLARE
	entries regclass;
BEGIN
	SELECT g.entries INTO entries FROM shuttle.global_indexes AS g WHERE g.name = 'by_label';
	EXECUTE format('DROP TABLE %s', entries);
EXCEPTION WHEN dependent_objects_still_exist THEN
	RAISE NOTICE '%', replace(SQLERRM, split_part(entries::text, '.', 2), 'entries');
END $$;
CREATE TABLE line (bill int, customer int, id int);
SELECT shuttle.distribute_table('line', 'customer');
-- a column of an index, and the table
ALTER TABLE invoice DROP COLUMN label;
SELECT * FROM kept;
SELECT shuttle.local_table('account');
SELECT * FROM kept;
INSERT INTO account VALUES (1, 3, 'd');
INSERT INTO account VALUES (4, 3, 'a');
SELECT indexrelid::regclass, indisunique, indisvalid FROM pg_index WHERE indrelid = 'account'::regclass ORDER BY 1;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'account'::regclass;
SELECT shuttle.distribute_table('account', 'customer', 3);
SELECT * FROM entries('account_email_key');
TRUNCATE account;
SELECT * FROM entries('account_email_key');
-- keys of columns that the same statement adds
CREATE TABLE wide (a int, b int);
SELECT shuttle.distribute_table('wide', 'a', 3);
INSERT INTO wide VALUES (1, 1);
SELECT * FROM failure('ALTER TABLE wide ADD COLUMN c int PRIMARY KEY');
ALTER TABLE wide ADD COLUMN c int DEFAULT 3 PRIMARY KEY;
ALTER TABLE wide DROP CONSTRAINT wide_pkey, ADD COLUMN d int DEFAULT 4, ADD COLUMN IF NOT EXISTS b int, ADD PRIMARY KEY (d, b), ADD COLUMN e int UNIQUE;
SELECT * FROM failure('INSERT INTO wide VALUES (2, 1, 5)');
SELECT * FROM failure('INSERT INTO wide VALUES (2, 1, 5, NULL)');
INSERT INTO wide VALUES (2, 1, 5, 5, 5);
SELECT * FROM wide ORDER BY a;
SELECT attname, attnotnull FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attnum > 0 ORDER BY attnum;
SELECT * FROM shuttle.check();
-- another role
CREATE ROLE shop_clerk;
GRANT USAGE ON SCHEMA shop TO shop_clerk;
GRANT INSERT ON account TO shop_clerk;
INSERT INTO account VALUES (1, 1, 'a');
SET ROLE shop_clerk;
SELECT * FROM failure('INSERT INTO account VALUES (2, 2, ''a'')');
RESET ROLE;
SELECT * FROM failure('INSERT INTO account VALUES (2, 2, ''a'')');
SELECT has_schema_privilege('shop_clerk', 'shuttle_indexes', 'USAGE') AS usage;
DROP SCHEMA shop CASCADE;
SELECT count(*) FROM shuttle.global_indexes;
DROP ROLE shop_clerk;
