-- Unique indexes without the distribution column: statements within others, in functions that these call, in COPY and
-- behind savepoints.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE t (id int PRIMARY KEY, customer int, email text UNIQUE);
SELECT shuttle.distribute_table('t', 'customer', 4);
-- a block of a function is rolled back, the rows before it are not
CREATE FUNCTION halfway(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	BEGIN
		SELECT count(*) INTO n FROM pg_class;
		n := 1 / (i % 2);
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	RETURN 'x' || i;
END $$;
INSERT INTO t SELECT i, i, halfway(i) FROM generate_series(1, 10) AS i;
SELECT * FROM shuttle.check();
INSERT INTO t VALUES (1, 99, 'new');
INSERT INTO t VALUES (99, 99, 'x1');
UPDATE t SET email = halfway(id) || '!' WHERE id > 5;
SELECT * FROM shuttle.check();
INSERT INTO t VALUES (99, 99, 'x6!');
-- a function changes rows that the statement around it has written
CREATE FUNCTION take(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i % 3 = 0 THEN
		DELETE FROM t WHERE id = 1000 + i - 1;
	ELSE
		UPDATE t SET email = email || '?' WHERE id = 1000 + i - 1;
	END IF;
	RETURN i;
END $$;
INSERT INTO t SELECT 1000 + i, take(i), 'y' || i FROM generate_series(1, 6) AS i;
SELECT * FROM t WHERE id > 900 ORDER BY id;
SELECT * FROM shuttle.check();
UPDATE t SET email = 'z' || take(id - 1000) WHERE id > 1000;
SELECT * FROM shuttle.check();
-- a function inserts in a block beside the rows of the statement around it
CREATE FUNCTION add(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO t VALUES (2000 + i, i, 'add' || i);
	EXCEPTION WHEN unique_violation THEN
		NULL;
	END;
	RETURN i;
END $$;
INSERT INTO t SELECT 3000 + add(i), i, 'w' || i FROM generate_series(1, 3) AS i;
SELECT * FROM shuttle.check();
-- COPY beside a trigger of the user's, and without the write buffer
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM pg_class; RETURN NULL; END';
CREATE TRIGGER later AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing();
COPY t FROM stdin;
4001	1	c1
4002	2	c2
\.
BEGIN;
COPY t FROM stdin;
4003	1	c3
4004	2	c4
\.
SAVEPOINT s;
SELECT 1;
ROLLBACK TO s;
COMMIT;
SELECT * FROM shuttle.check();
INSERT INTO t VALUES (4005, 5, 'c3');
DROP TRIGGER later ON t;
SET shuttle.enable_write_buffer = off;
COPY t FROM stdin;
4006	1	c6
4007	2	c7
\.
COPY t FROM stdin;
4008	1	c8
4009	2	c7
\.
RESET shuttle.enable_write_buffer;
SELECT * FROM shuttle.check();
-- a COPY that fails leaves nothing behind
BEGIN;
SAVEPOINT s;
COPY t FROM stdin;
4010	1	c10
4011	x	c11
\.
ROLLBACK TO s;
WITH a AS (UPDATE t SET email = 'c7' WHERE id = 4006) UPDATE t SET email = repeat('long', 2000) || id WHERE id <> 4006;
UPDATE t SET email = 'l' || id;
DELETE FROM t WHERE id < 10;
COMMIT;
SELECT * FROM shuttle.check();
-- COPY in a function that an INSERT calls
CREATE FUNCTION load(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY t FROM PROGRAM ''printf "%s,%s,load%s\n"'' (FORMAT csv)', 5000 + i, i, i);
	RETURN i;
END $$;
INSERT INTO t SELECT 6000 + load(i), i, 'v' || i FROM generate_series(1, 3) AS i;
SELECT id, email FROM t WHERE id >= 5000 ORDER BY id;
SELECT * FROM shuttle.check();
INSERT INTO t VALUES (7000, 1, 'load2');
-- what computes values has changed: a row leaves other rows' entries alone
CREATE TABLE f (id int, customer int, v text);
CREATE FUNCTION compute(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT lower($1)';
SELECT shuttle.distribute_table('f', 'customer', 2);
CREATE UNIQUE INDEX f_computed ON f (compute(v));
INSERT INTO f VALUES (1, 1, 'a'), (2, 2, 'ab');
CREATE OR REPLACE FUNCTION compute(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT lower($1) || ''b''';
DELETE FROM f WHERE id = 1;
DO $$
DECLARE
	n int;
BEGIN
	EXECUTE (SELECT format('SELECT count(*) FROM %s WHERE k1 = ''ab''', entries) FROM shuttle.global_indexes WHERE name = 'f_computed') INTO n;
	RAISE NOTICE '% entry', n;
END $$;
-- triggers that have the names of ours
CREATE TABLE g (id int, customer int);
CREATE TRIGGER "00_shuttle_index" AFTER INSERT ON g FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT shuttle.distribute_table('g', 'customer', 2);
ALTER TRIGGER "00_shuttle_index" ON g RENAME TO other;
SELECT shuttle.distribute_table('g', 'customer', 2);
ALTER TRIGGER other ON g RENAME TO "00_shuttle_index";
CREATE TRIGGER "00_shuttle_index_end" AFTER INSERT ON g FOR EACH STATEMENT EXECUTE FUNCTION nothing();
CREATE TRIGGER "00_shuttle_index" AFTER UPDATE ON g FOR EACH ROW EXECUTE FUNCTION shuttle.index_row();
CREATE OR REPLACE TRIGGER "00_shuttle_index" AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION shuttle.index_row();
ALTER TABLE g ADD UNIQUE (id);
SELECT tgname, tgtype FROM pg_trigger WHERE tgrelid = 'g'::regclass ORDER BY 1;
INSERT INTO g VALUES (1, 1);
INSERT INTO g VALUES (1, 2);
SELECT relation FROM shuttle.check() WHERE relation::regclass <> 'f'::regclass;
-- groups by a key that nodes do not have, in subqueries of expressions
INSERT INTO t VALUES (1, 8001, 'g');
ALTER TABLE t ADD COLUMN j json;
SELECT (SELECT max(e) FROM (SELECT t.email AS e, count(*) FROM t WHERE customer = 8001 GROUP BY id) AS s);
SELECT 1 WHERE EXISTS (SELECT email, count(*) FROM t WHERE customer = 8001 GROUP BY id HAVING email > 'a');
SELECT id, (SELECT t.email || n FROM generate_series(1, 1) AS n) AS email, count(*) FROM t WHERE customer = 8001 GROUP BY id;
SELECT id, (SELECT t.customer FROM t AS o WHERE o.customer = t.customer LIMIT 1) AS c FROM t WHERE customer = 8001 GROUP BY id;
SELECT id, j FROM t WHERE customer = 8001 GROUP BY id;
-- a row that a statement changes twice: entries between are nobody's
CREATE TABLE place (id int PRIMARY KEY, k int);
CREATE TABLE way (a int CONSTRAINT way_a REFERENCES place ON UPDATE CASCADE, b int CONSTRAINT way_b REFERENCES place ON UPDATE CASCADE, k int, UNIQUE (a, b));
CREATE TABLE step (id int PRIMARY KEY, up int CONSTRAINT step_up REFERENCES step ON UPDATE SET NULL ON DELETE CASCADE);
SELECT shuttle.distribute_table('place', 'k', 2), shuttle.distribute_table('way', 'k', 2), shuttle.distribute_table('step', 'up', 2);
INSERT INTO place SELECT i, i FROM generate_series(1, 4) AS i;
INSERT INTO way VALUES (1, 1, 1), (1, 2, 2), (2, 2, 3), (3, 4, 4);
INSERT INTO step VALUES (1, 1), (2, 1), (7, 7);
UPDATE place SET id = id + 10 WHERE id < 3;
UPDATE step SET id = id + 10 WHERE id IN (1, 7);
SELECT * FROM way ORDER BY k;
SELECT * FROM step ORDER BY id;
SELECT * FROM shuttle.check() WHERE relation <> 'f'::regclass;
INSERT INTO place VALUES (1, 1);
INSERT INTO way VALUES (11, 1, 5);
INSERT INTO way VALUES (11, 11, 5);
-- one that takes another one's place
WITH gone AS (DELETE FROM way WHERE a = 3 RETURNING *) UPDATE way SET a = 3, b = 4, k = 4 WHERE a = 11 AND b = 12;
SELECT * FROM way ORDER BY k;
SELECT * FROM shuttle.check() WHERE relation <> 'f'::regclass;
DROP TABLE way, place, step;
DROP SCHEMA shop CASCADE;
