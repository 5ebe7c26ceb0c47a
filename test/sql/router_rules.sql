-- A rule with several actions is one statement: if one fails, none has happened.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE account (id int PRIMARY KEY, v int CONSTRAINT small CHECK (v < 100));
INSERT INTO account SELECT i, 50 FROM generate_series(1, 8) AS i;
SET client_min_messages = warning;
SELECT shuttle.distribute_table('account', 'id', tablets => 4);
RESET client_min_messages;
CREATE VIEW transfer AS SELECT 0 AS a, 0 AS b, 0 AS n;
CREATE RULE move AS ON INSERT TO transfer DO INSTEAD (
	UPDATE account SET v = v - NEW.n WHERE id = NEW.a;
	UPDATE account SET v = v + NEW.n WHERE id = NEW.b);
CREATE VIEW calls AS SELECT 0 AS a, 0 AS b, 0 AS n;
CREATE FUNCTION add(account_id int, n int) RETURNS int LANGUAGE sql AS
	'UPDATE account SET v = v + n WHERE id = account_id RETURNING v';
SET client_min_messages = warning;
SELECT shuttle.distribute_function('add(int, int)', 'account_id', 'account');
RESET client_min_messages;
CREATE RULE move AS ON INSERT TO calls DO INSTEAD (
	SELECT add(NEW.a, -NEW.n);
	SELECT add(NEW.b, NEW.n));

INSERT INTO transfer VALUES (1, 2, 10);
SELECT id, v FROM account WHERE v <> 50 ORDER BY id;
\set VERBOSITY terse
\set SHOW_CONTEXT never
INSERT INTO transfer VALUES (1, 2, 60);
INSERT INTO transfer VALUES (3, 3, 1000), (4, 4, 1000);
PREPARE move AS INSERT INTO transfer VALUES ($1, $2, $3);
EXECUTE move(1, 2, 60);
EXECUTE move(3, 4, 60);
INSERT INTO calls VALUES (5, 6, 60);
SELECT id, v FROM account WHERE v <> 50 ORDER BY id;
INSERT INTO calls VALUES (5, 6, 20);
EXECUTE move(7, 8, 20);
SELECT id, v FROM account WHERE v <> 50 ORDER BY id;
