-- NOT NULL and checks that rows of before need not meet: nodes have them as the table has. NOT NULL has
-- NOT VALID since 18: servers of before run other statements here.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
-- the error, or nothing
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE statement;
	PERFORM set_config('search_path', 'shop', true);
	RETURN NULL;
EXCEPTION WHEN others THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE done (n serial, distributed text, plain text);
-- runs a statement on the distributed table and on its plain twin
CREATE PROCEDURE run(statement text) LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('server_version_num')::int < 180000 THEN
		statement := regexp_replace(statement, 'ADD CONSTRAINT (\w+) NOT NULL (\w+) NOT VALID', 'ADD CONSTRAINT \1 CHECK (\2 IS NOT NULL) NOT VALID');
	END IF;
	INSERT INTO done (distributed, plain) SELECT outcome(statement, 'shop'), outcome(statement, 'plain, shop');
END $$;
CREATE TABLE t (id int PRIMARY KEY, v int, w int);
CREATE TABLE plain.t (LIKE t INCLUDING ALL);
INSERT INTO t SELECT i, nullif(i, 3), i - 5 FROM generate_series(1, 9) AS i;
INSERT INTO plain.t TABLE t;
CREATE TABLE r (LIKE t INCLUDING ALL);
CREATE TABLE plain.r (LIKE t INCLUDING ALL);
INSERT INTO r TABLE t;
INSERT INTO plain.r TABLE t;
CALL run('ALTER TABLE t ADD CONSTRAINT t_v NOT NULL v NOT VALID');
SELECT shuttle.distribute_table('t', 'id', 3);
CALL run('ALTER TABLE t DROP CONSTRAINT t_v');
SELECT shuttle.reference_table('r');
SELECT shuttle.distribute_table('t', 'id', 3);
CALL run('ALTER TABLE t ADD CONSTRAINT t_v NOT NULL v NOT VALID');
CALL run('ALTER TABLE t ADD CONSTRAINT t_w CHECK (w > 0) NOT VALID');
CALL run('ALTER TABLE IF EXISTS r ADD CONSTRAINT r_v NOT NULL v NOT VALID');
CALL run('INSERT INTO r VALUES (10, NULL)');
CALL run('ALTER TABLE r VALIDATE CONSTRAINT r_v');
SELECT * FROM shuttle.check();
CALL run('INSERT INTO t VALUES (20, NULL, 1)');
CALL run('INSERT INTO t VALUES (20, 1, 0)');
CALL run('UPDATE t SET w = 1 WHERE id = 3');
CALL run('ALTER TABLE t VALIDATE CONSTRAINT t_v');
CALL run('ALTER TABLE t VALIDATE CONSTRAINT t_w');
CALL run('UPDATE t SET v = 3, w = 1 WHERE id = 3');
CALL run('UPDATE t SET w = 1 WHERE w < 1');
CALL run('ALTER TABLE t VALIDATE CONSTRAINT t_v');
CALL run('ALTER TABLE t VALIDATE CONSTRAINT t_w');
SELECT * FROM shuttle.check();
CALL run('INSERT INTO t VALUES (20, NULL, 1)');
CALL run('ALTER TABLE t RENAME CONSTRAINT t_v TO t_v2');
CALL run('ALTER TABLE t DROP CONSTRAINT t_v2');
CALL run('INSERT INTO t VALUES (20, NULL, 1)');
-- added to a distributed table, also with its column
CALL run('ALTER TABLE t ADD CONSTRAINT t_v NOT NULL v NOT VALID');
CALL run('ALTER TABLE t ADD COLUMN x int, ADD CONSTRAINT t_x NOT NULL x NOT VALID');
CALL run('INSERT INTO t VALUES (21, NULL, 1, 1)');
CALL run('INSERT INTO t VALUES (21, 1, 1, NULL)');
CALL run('INSERT INTO t VALUES (21, 1, 1, 1)');
SELECT * FROM shuttle.check();
SET client_min_messages = warning;
CALL run('ALTER TABLE t ALTER v DROP NOT NULL, DROP CONSTRAINT IF EXISTS t_v');
RESET client_min_messages;
CALL run('INSERT INTO t VALUES (22, NULL, 1, 1)');
SELECT * FROM shuttle.check();
TABLE t EXCEPT ALL TABLE plain.t;
TABLE plain.t EXCEPT ALL TABLE t;
SELECT count(*), count(plain) AS errors, count(*) FILTER (WHERE distributed IS DISTINCT FROM plain) AS differing FROM done;
SELECT n, distributed, plain FROM done WHERE distributed IS DISTINCT FROM plain ORDER BY n;
CALL run('UPDATE t SET x = 1, v = 1 WHERE id < 10');
CALL run('DELETE FROM t WHERE v IS NULL OR x IS NULL');
SELECT shuttle.local_table('t');
TABLE t EXCEPT ALL TABLE plain.t;
DROP SCHEMA shop, plain CASCADE;
