-- Unique indexes without the distribution column, with what is rarer in them: generated columns, INCLUDE, operator classes, owners
-- without rights, parts of one statement, plans that are kept, many rows.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT format('ALTER USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (ADD password_required ''false'')', i) FROM generate_series(1, 3) AS i
\gexec
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE FUNCTION entries(index text) RETURNS TABLE (entry text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT e::text FROM %s AS e ORDER BY 1', (SELECT g.entries FROM shuttle.global_indexes AS g WHERE g.name = index));
END $$;
-- generated, included, operator classes, quoted names
CREATE TABLE "Odd" (customer int, a int, g int GENERATED ALWAYS AS (a % 10) STORED, t text, f float8, "U n" int);
SELECT shuttle.distribute_table('"Odd"', 'customer', 3);
ALTER TABLE "Odd" ADD CONSTRAINT "G""k" UNIQUE (g) INCLUDE (t);
CREATE UNIQUE INDEX odd_t ON "Odd" (t text_pattern_ops DESC NULLS FIRST);
CREATE UNIQUE INDEX odd_f ON "Odd" (f, ("U n" + 1)) INCLUDE (a);
INSERT INTO "Odd" VALUES (1, 1, DEFAULT, 'x', 0, 1), (2, 2, DEFAULT, 'y', NULL, 2);
INSERT INTO "Odd" VALUES (3, 11, DEFAULT, 'z', 3, 3);
INSERT INTO "Odd" VALUES (3, 3, DEFAULT, 'x', 3, 3);
INSERT INTO "Odd" VALUES (3, 3, DEFAULT, 'z', '-0', 1);
UPDATE "Odd" SET a = 7 WHERE customer = 2;
SELECT * FROM entries('G"k');
SELECT * FROM entries('odd_f');
INSERT INTO "Odd" VALUES (3, 2, DEFAULT, 'z', 3, 3);
INSERT INTO "Odd" VALUES (3, 17, DEFAULT, 'zz', 4, 3);
SELECT * FROM shuttle.check();
-- parts of one statement, in any order
CREATE TABLE item (id int PRIMARY KEY, customer int, code text UNIQUE, n int);
SELECT shuttle.distribute_table('item', 'customer', 4);
INSERT INTO item SELECT i, i, 'c' || i, 0 FROM generate_series(1, 10) AS i;
WITH gone AS (DELETE FROM item WHERE id = 1 RETURNING *) INSERT INTO item SELECT id, customer + 50, code, n FROM gone;
WITH gone AS (DELETE FROM item WHERE id = 2) INSERT INTO item VALUES (2, 60, 'c2', 0);
WITH a AS (UPDATE item SET code = 'free' WHERE id = 3), b AS (UPDATE item SET code = 'c3' WHERE id = 4) INSERT INTO item VALUES (44, 7, 'c4', 0);
MERGE INTO item AS t USING (VALUES (5, 5, 'c6'), (6, 6, 'c5'), (77, 7, 'new')) AS v (id, customer, code) ON t.customer = v.customer AND t.id = v.id
	WHEN MATCHED THEN UPDATE SET code = v.code WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.customer, v.code, 0);
SELECT id, customer, code FROM item ORDER BY id;
SELECT * FROM shuttle.check();
-- plans that are kept, blocks, functions
PREPARE put (int, int, text) AS INSERT INTO item VALUES ($1, $2, $3, 0);
PREPARE change (text, int) AS UPDATE item SET code = $1 WHERE id = $2;
PREPARE take (int) AS DELETE FROM item WHERE id = $1;
SELECT format('EXECUTE put (%s, %s, %L)', 100 + i, i % 5, 'k' || i % 7) FROM generate_series(1, 8) AS i
\gexec
SELECT format('EXECUTE change (%L, %s)', 'K' || i % 6, 100 + i) FROM generate_series(1, 7) AS i
\gexec
SELECT format('EXECUTE take (%s)', 100 + i) FROM generate_series(1, 7, 2) AS i
\gexec
CREATE FUNCTION fill(amount int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	failed int := 0;
BEGIN
	FOR i IN 1..amount LOOP
		BEGIN
			INSERT INTO item VALUES (200 + i, i, 'f' || i % 4, 0);
		EXCEPTION WHEN unique_violation THEN
			failed := failed + 1;
		END;
	END LOOP;
	UPDATE item SET code = code || '+' WHERE id > 200;
	DELETE FROM item WHERE id = 201;
	INSERT INTO item VALUES (300, 1, 'f1+', 0);
	RETURN failed;
END $$;
SELECT fill(9);
SELECT id, customer, code FROM item WHERE id >= 100 ORDER BY id;
SELECT * FROM shuttle.check();
-- many rows: entries are sent in parts
CREATE TABLE many (id int PRIMARY KEY, customer int, code text UNIQUE);
SELECT shuttle.distribute_table('many', 'customer', 4);
INSERT INTO many SELECT i, i % 100, repeat('x', 300) || i FROM generate_series(1, 8000) AS i;
TRUNCATE many;
COPY many FROM PROGRAM 'seq 1 8000 | sed "s/.*/&,&,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx&/"' (FORMAT csv);
COPY many FROM PROGRAM 'seq 1 8000 | sed "s/.*/&,&,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx&/"' (FORMAT csv);
UPDATE many SET code = code || '!', customer = customer + 1 WHERE id % 2 = 0;
DELETE FROM many WHERE id % 3 = 0;
SELECT count(*), count(DISTINCT code) FROM many;
SELECT * FROM shuttle.check();
-- an owner without rights on nodes and entries
CREATE ROLE shop_owner;
GRANT USAGE, CREATE ON SCHEMA shop TO shop_owner;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO shop_owner;
SET ROLE shop_owner;
SET shuttle.auto_distribute = 'customer';
CREATE TABLE own (id serial PRIMARY KEY, customer int, email text);
RESET shuttle.auto_distribute;
INSERT INTO own (customer, email) VALUES (1, 'a'), (2, 'b');
CREATE FUNCTION who(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF current_user <> 'shop_owner' THEN RAISE 'runs as %', current_user; END IF; RETURN lower($1); END $$;
ALTER TABLE own ADD UNIQUE (email);
INSERT INTO own (customer, email) VALUES (3, 'a');
UPDATE own SET email = 'c' WHERE id = 1;
INSERT INTO own (customer, email) VALUES (3, 'a');
DO $$ BEGIN EXECUTE (SELECT format('SELECT * FROM %s', entries) FROM shuttle.global_indexes WHERE name = 'own_email_key'); EXCEPTION WHEN insufficient_privilege THEN RAISE NOTICE '%', SQLERRM; END $$;
SELECT shuttle.local_table('own');
SELECT shuttle.distribute_table('own', 'customer', 2);
RESET ROLE;
SELECT * FROM shuttle.check();
-- entries are deleted by one request
SELECT format('PREPARE gone AS DELETE FROM %s AS e USING ROWS FROM (unnest($1::text[]), unnest($2::int[])) AS r (k1, row_key) WHERE e.k1 = r.k1 AND e.row_key = r.row_key', entries)
FROM shuttle.global_indexes WHERE name = 'many_code_key'
\gexec
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE gone ('{a}', '{1}');
DROP SCHEMA shop CASCADE;
DROP OWNED BY shop_owner;
DROP ROLE shop_owner;
