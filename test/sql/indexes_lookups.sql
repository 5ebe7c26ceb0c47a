-- Rows are found by a global unique index: the same rows as in a plain table, whatever asks for them, and only two
-- nodes are asked, if that is cheaper than asking all of them.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (gone int, customer int NOT NULL, id int PRIMARY KEY, email varchar(50) UNIQUE, a int, b numeric, deleted date, note text,
	CONSTRAINT pair UNIQUE (a, b));
ALTER TABLE person DROP COLUMN gone;
CREATE UNIQUE INDEX person_lower ON person (lower(note)) WHERE deleted IS NULL;
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
INSERT INTO person SELECT i % 5, i, 'p' || i, i, i / 10.0, CASE WHEN i % 4 = 0 THEN '2026-01-01'::date END, 'Note ' || i FROM generate_series(1, 40) AS i;
INSERT INTO person VALUES (3, 41), (4, 42);
INSERT INTO plain.person SELECT * FROM person;
CREATE TABLE orders (id int PRIMARY KEY, email text, person int);
CREATE TABLE plain.orders (LIKE orders INCLUDING ALL);
INSERT INTO orders SELECT i, 'p' || i * 3, i FROM generate_series(1, 15) AS i;
INSERT INTO plain.orders TABLE orders;
CREATE TABLE nicks (customer int NOT NULL, id int, nick text, name text COLLATE "C" UNIQUE, PRIMARY KEY (customer, id));
CREATE UNIQUE INDEX nick ON nicks (COALESCE(nick, 'none'));
CREATE TABLE plain.nicks (LIKE nicks INCLUDING ALL);
INSERT INTO nicks SELECT i % 5, i, 'p' || i, 'p' || i FROM generate_series(1, 10) AS i;
INSERT INTO plain.nicks TABLE nicks;
SELECT shuttle.distribute_table('person', 'customer', 8), shuttle.distribute_table('nicks', 'customer', 8);
ANALYZE person, nicks;
-- which plan is taken depends on the price of a round trip
CREATE FUNCTION uses_index(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || statement LOOP
		found := concat_ws(' ', NULLIF(found, ''), substring(line FROM '> +Foreign Scan on shuttle_tablets\.(\w+)_entries'));
	END LOOP;
	RETURN NULLIF(found, '');
END $$;
CREATE FUNCTION explain(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		RETURN NEXT regexp_replace(line, 'InitPlan .*', 'InitPlan');
	END LOOP;
END $$;
\i :test/include/set_options.sql
CALL set_options('ALTER SERVER n%s OPTIONS (ADD shuttle_round_trip_cost ''1000'')');
SELECT uses_index('SELECT * FROM person WHERE email = ''p7''') AS dear_trip;
CALL set_options('ALTER SERVER n%s OPTIONS (SET shuttle_round_trip_cost ''0'')');
SELECT uses_index('SELECT * FROM person WHERE email = ''p7''') AS cheap_trip;
SELECT explain('SELECT * FROM person WHERE email = ''p7''');
SELECT explain('UPDATE person SET b = 0 WHERE email = ''p7''');
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('SELECT * FROM person WHERE email = ''p7'''),
('SELECT * FROM person WHERE email = ''p7''::text'),
('SELECT * FROM person WHERE ''p8'' = email'),
('SELECT * FROM person WHERE email = ''p7'' AND a > 3'),
('SELECT * FROM person WHERE email = ''p7'' AND a < 3'),
('SELECT * FROM person WHERE email = ''none'''),
('SELECT * FROM person WHERE email = NULL'),
('SELECT * FROM person WHERE email IS NULL'),
('SELECT * FROM person WHERE email = ''p7'' COLLATE "C"'),
('SELECT * FROM person WHERE email = ''p7'' OR a = 4'),
('SELECT * FROM person WHERE NOT (email = ''p7'')'),
('SELECT * FROM person WHERE id = 7'),
('SELECT * FROM person WHERE id = 7::bigint'),
('SELECT * FROM person WHERE id = 7000000000'),
('SELECT * FROM person WHERE id = 7.0'),
('SELECT * FROM person WHERE id = 3 + 4'),
('SELECT * FROM person WHERE id = 7 AND customer = 2'),
('SELECT * FROM person WHERE id = 7 AND customer = 3'),
('SELECT * FROM person WHERE a = 7 AND b = 0.70'),
('SELECT * FROM person WHERE a = 7 AND b = 0.8'),
('SELECT * FROM person WHERE a = 7'),
('SELECT * FROM person WHERE lower(note) = ''note 7'' AND deleted IS NULL'),
('SELECT * FROM person WHERE lower(note) = lower(''NOTE 7'') AND deleted IS NULL AND a > 0'),
('SELECT * FROM person WHERE lower(note) = ''note 8'' AND deleted IS NULL'),
('SELECT * FROM person WHERE lower(note) = ''note 8'''),
('SELECT * FROM person WHERE lower(note) = ''note 8'' AND deleted IS NOT NULL'),
('SELECT count(*), max(a) FROM person WHERE email = ''p9'''),
('SELECT email FROM person WHERE id = 9 FOR UPDATE'),
('SELECT (SELECT a FROM person WHERE email = ''p9'') AS a'),
('SELECT o.id FROM orders AS o WHERE EXISTS (SELECT FROM person AS p WHERE p.email = ''p9'' AND p.a = o.id * 3)'),
('SELECT o.id, p.* FROM orders AS o LEFT JOIN person AS p ON p.id = 9 AND p.email = o.email'),
('SELECT o.id, p.* FROM orders AS o LEFT JOIN person AS p ON p.email = o.email WHERE p.id = 9'),
('SELECT o.id, p.* FROM orders AS o FULL JOIN person AS p ON p.email = o.email AND p.id = 9'),
('SELECT o.id, p.id FROM orders AS o JOIN person AS p ON p.email = o.email WHERE o.id < 5'),
('SELECT o.id, p.* FROM person AS p RIGHT JOIN orders AS o ON p.id = 9 AND p.email = o.email'),
('SELECT o.id, p.* FROM orders AS o RIGHT JOIN person AS p ON p.id = 9 AND p.email = o.email'),
('SELECT o.id, x.id FROM (orders AS o LEFT JOIN person AS p ON p.email = o.email) LEFT JOIN orders AS x ON x.id = o.id AND p.id = 9'),
('SELECT o.id, x.id FROM (orders AS o LEFT JOIN person AS p ON p.email = o.email) JOIN orders AS x ON x.id = o.id AND p.id = 9'),
('SELECT o.id, x.id FROM orders AS x LEFT JOIN (orders AS o LEFT JOIN person AS p ON p.email = o.email) ON x.id = o.id AND p.id = 9'),
('SELECT o.id, x.id FROM orders AS x RIGHT JOIN (orders AS o LEFT JOIN person AS p ON p.email = o.email) ON x.id = o.id AND p.id = 9'),
('SELECT o.id, x.id FROM orders AS x FULL JOIN (orders AS o LEFT JOIN person AS p ON p.email = o.email) ON x.id = o.id AND p.id = 9'),
('SELECT o.id, x.id FROM (orders AS o FULL JOIN person AS p ON p.email = o.email) JOIN orders AS x ON x.id = o.id AND p.id = 9'),
('SELECT * FROM nicks WHERE COALESCE(nick, ''none'') = ''p3'''),
('SELECT o.id, p.id FROM orders AS o JOIN nicks AS p ON p.id = o.person WHERE COALESCE(p.nick, ''none'') = ''p3'''),
('SELECT o.id, p.id FROM orders AS o LEFT JOIN nicks AS p ON p.id = o.person WHERE COALESCE(p.nick, ''none'') = ''none'''),
('SELECT o.id, p.id FROM nicks AS p RIGHT JOIN orders AS o ON p.id = o.person WHERE COALESCE(p.nick, ''none'') = ''none'''),
('SELECT o.id, p.id FROM orders AS o FULL JOIN nicks AS p ON p.id = o.person WHERE COALESCE(p.nick, ''none'') = ''none'''),
('SELECT o.id, x.id FROM (orders AS o LEFT JOIN nicks AS p ON p.id = o.person) JOIN orders AS x ON x.id = o.id AND COALESCE(p.nick, ''none'') = ''none'''),
('SELECT o.id, p.id FROM orders AS o LEFT JOIN nicks AS p ON p.id = o.person AND COALESCE(p.nick, ''none'') = ''p3'''),
('SELECT p.id, q.id FROM person AS p JOIN person AS q ON q.a = p.a + 1 WHERE p.email = ''p9'' AND q.email = ''p10'''),
('SELECT * FROM (SELECT * FROM person OFFSET 0) AS p WHERE id = 9'),
('WITH p AS MATERIALIZED (SELECT * FROM person WHERE id = 9) SELECT * FROM p'),
('SELECT * FROM person WHERE id = 9 UNION ALL SELECT * FROM person WHERE email = ''p10'''),
('UPDATE person SET a = 100 WHERE email = ''p7'' RETURNING id, a'),
('UPDATE person SET email = ''new'' WHERE email = ''p7'' RETURNING id, email'),
('UPDATE person SET email = ''new'' WHERE email = ''none'' RETURNING id, email'),
('UPDATE person SET customer = 4 WHERE id = 7 RETURNING *'),
('UPDATE person SET a = o.id FROM orders AS o WHERE o.id = 3 AND person.email = ''p9'' RETURNING person.*'),
('DELETE FROM person WHERE email = ''p7'' RETURNING id'),
('DELETE FROM person WHERE id = 7 RETURNING email'),
('INSERT INTO person SELECT customer, 100, ''new'' FROM person WHERE email = ''p7'' RETURNING *'),
('WITH w AS (DELETE FROM person WHERE id = 7 RETURNING *) SELECT * FROM person WHERE email = ''p7'''),
('WITH w AS (UPDATE person SET email = ''new'' WHERE id = 7 RETURNING *) SELECT w.email, p.email FROM w, person AS p WHERE p.email = ''p7''');
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	result text := '';
	before text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', path, true);
	IF statement LIKE 'SELECT%' OR statement LIKE 'WITH p%' THEN
		FOR line IN EXECUTE statement LOOP
			result := result || E'\n' || line::text;
		END LOOP;
	ELSE
		EXECUTE statement INTO line;
		result := E'\n' || COALESCE(line::text, '');
	END IF;
	SELECT result || E'\n' || md5(string_agg(person::text, ';' ORDER BY id)) INTO result FROM person;
	PERFORM set_config('search_path', before, true);
	RAISE division_by_zero USING MESSAGE = (SELECT string_agg(l, ';' ORDER BY l) FROM regexp_split_to_table(result, E'\n') AS l);
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
END $$;
SELECT n, statement, uses_index(statement) FROM statements ORDER BY n;
SELECT n, here, there FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there
WHERE here <> there ORDER BY n;
SET enable_partition_pruning = off;
SELECT count(*) AS uses FROM statements WHERE uses_index(statement) IS NOT NULL;
RESET enable_partition_pruning;
-- only two nodes are asked
CREATE FUNCTION requests(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	RETURN (SELECT sum(n[1]::bigint) FROM regexp_matches(plan->0->>'Plan', '"Storage Read Requests": (\d+)', 'g') AS n);
END $$;
SELECT requests('SELECT id FROM person WHERE email = ''p7'''), requests('SELECT id FROM person WHERE a = 7') AS without_index;
-- prepared statements
PREPARE by_email(text) AS SELECT id, a FROM person WHERE email = $1;
PREPARE by_note(text) AS SELECT id, a FROM person WHERE lower(note) = lower($1) AND deleted IS NULL;
SET plan_cache_mode = force_generic_plan;
SELECT explain('EXECUTE by_email(''p7'')');
EXECUTE by_email('p7');
EXECUTE by_email('p8');
EXECUTE by_email(NULL);
EXECUTE by_note('NOTE 9');
PREPARE by_name(text) AS SELECT id FROM nicks WHERE name = lower($1) COLLATE "C";
SELECT uses_index('EXECUTE by_name(''P7'')');
EXECUTE by_name('P7');
-- a plan is made again where entries may lack rows: a trigger sees what its statement has written
CREATE TABLE seen (id int, found int, row int);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	other record;
BEGIN
	FOR other IN SELECT p.id, p.a FROM shop.person AS p WHERE p.email = 'x' || (new.id % 2) LOOP
		INSERT INTO seen VALUES (new.id, other.id, other.a);
	END LOOP;
	EXECUTE format('EXECUTE by_email(%L)', 'x' || (new.id % 2)) INTO other;
	INSERT INTO seen VALUES (-new.id, other.id, other.a);
	RETURN NULL;
END $$;
CREATE TRIGGER look AFTER INSERT OR UPDATE ON person FOR EACH ROW EXECUTE FUNCTION look();
BEGIN;
INSERT INTO person (customer, id, email, a) VALUES (1, 200, 'x0', 200), (2, 201, 'x1', 201);
EXECUTE by_email('x1');
TABLE seen ORDER BY id;
DELETE FROM seen;
UPDATE person SET a = id + 1, email = 'x' || id WHERE id IN (200, 201);
UPDATE person SET email = 'x' || (id + 1) % 2 WHERE id IN (200, 201);
TABLE seen ORDER BY id;
EXECUTE by_email('x1');
ROLLBACK;
EXECUTE by_email('x1');
DROP TRIGGER look ON person;
-- what a transaction has written is found, also halfway back
BEGIN;
UPDATE person SET email = 'moved' WHERE id = 7;
EXECUTE by_email('moved');
SAVEPOINT a;
UPDATE person SET customer = 4 WHERE email = 'moved';
INSERT INTO person (customer, id, email) VALUES (1, 300, 'p7');
SELECT customer, id, email FROM person WHERE email IN ('p7', 'moved') ORDER BY id;
EXECUTE by_email('p7');
SELECT customer FROM person WHERE email = 'moved';
ROLLBACK TO a;
EXECUTE by_email('p7');
SELECT customer FROM person WHERE email = 'moved';
ROLLBACK;
-- one snapshot for a transaction, but not on several nodes
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT explain('EXECUTE by_email(''p7'')');
EXECUTE by_email('p7');
COMMIT;
-- functions and cursors
CREATE FUNCTION find(text) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT id FROM shop.person WHERE email = $1); END $$;
SELECT find('p7'), find('p8'), find('none');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM person WHERE email = 'p7';
FETCH c;
FETCH c;
FETCH PRIOR FROM c;
COMMIT;
-- a cursor and a loop find what has moved since they began, and so does a statement that moves it by a function
CREATE FUNCTION move(int DEFAULT 7, int DEFAULT 0) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE person SET customer = 4 WHERE id = 7; RETURN $1; END $$;
CREATE FUNCTION settled(int) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN $1; END $$;
CREATE AGGREGATE moving(int) (sfunc = move, stype = int, initcond = 1);
CREATE FUNCTION in_loops(out text) LANGUAGE plpgsql AS $$
DECLARE
	known CURSOR FOR SELECT id FROM person WHERE email = 'p7';
	opened refcursor;
	line record;
BEGIN
	OPEN known;
	OPEN opened FOR EXECUTE 'SELECT id FROM person WHERE email = $1' USING 'p8';
	UPDATE person SET customer = 4 WHERE id IN (7, 8);
	FETCH known INTO line;
	$1 := 'cursor ' || COALESCE(line.id, 0);
	FETCH opened INTO line;
	$1 := $1 || ' opened ' || COALESCE(line.id, 0) || ' loop';
	FOR line IN SELECT g AS id FROM generate_series(101, 160) AS g UNION ALL SELECT id FROM person WHERE email = 'p11' LOOP
		UPDATE person SET customer = 4 WHERE id = 11 AND line.id = 101;
		$1 := $1 || CASE WHEN line.id < 100 THEN ' ' || line.id ELSE '' END;
	END LOOP;
END $$;
CREATE TABLE moved (n serial PRIMARY KEY, statement text);
INSERT INTO moved (statement) VALUES
('SELECT move(), (SELECT id FROM person WHERE email = ''p7'') AS id'),
('SELECT move(g), p.id FROM generate_series(1, 2) AS g LEFT JOIN person AS p ON p.email = ''p7'' AND p.id > g'),
('SELECT m.id, p.id FROM (SELECT move() AS id OFFSET 0) AS m, person AS p WHERE p.email = ''p7'''),
('SELECT moving(g), (SELECT id FROM person WHERE email = ''p7'') AS id FROM generate_series(1, 2) AS g'),
('SELECT in_loops()');
SELECT n, uses_index(statement), here = there AS equal, regexp_replace(here, ';[0-9a-f]{32}', '') AS here
FROM moved, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there ORDER BY n;
SELECT uses_index('DECLARE c CURSOR FOR SELECT id FROM person WHERE email = ''p7'''),
	uses_index('SELECT settled(a), random(), nextval(''moved_n_seq'') FROM person WHERE email = ''p7''') AS calls;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM person WHERE email = 'p7';
UPDATE person SET customer = 4 WHERE id = 7;
FETCH c;
ROLLBACK;
-- triggers see rows that a foreign key's cascade has changed
CREATE TABLE account (id int PRIMARY KEY, code text UNIQUE);
CREATE TABLE member (grp int NOT NULL, id int PRIMARY KEY, code text UNIQUE REFERENCES account (code) ON UPDATE CASCADE ON DELETE SET NULL, note text);
CREATE TABLE plain.account (LIKE account INCLUDING ALL);
CREATE TABLE plain.member (LIKE member INCLUDING ALL, FOREIGN KEY (code) REFERENCES plain.account (code) ON UPDATE CASCADE ON DELETE SET NULL);
INSERT INTO account SELECT i, 'p' || i FROM generate_series(1, 20) AS i;
INSERT INTO member SELECT i % 5, i, 'p' || i FROM generate_series(1, 20) AS i;
INSERT INTO plain.account TABLE account;
INSERT INTO plain.member TABLE member;
SELECT shuttle.distribute_table('account', 'id', 8), shuttle.distribute_table('member', 'grp', 8);
CREATE TABLE found (path text, code text, id int);
CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE member SET note = 'followed' WHERE code = 'new7';
	INSERT INTO shop.found SELECT current_setting('search_path'), 'new8', (SELECT id FROM member WHERE code = 'new8');
	RETURN NULL;
END $$;
CREATE TRIGGER zz_follow AFTER UPDATE ON account EXECUTE FUNCTION follow();
CREATE TRIGGER zz_follow AFTER UPDATE ON plain.account EXECUTE FUNCTION follow();
SELECT uses_index('SELECT id FROM member WHERE code = ''p7''');
UPDATE account SET code = 'new' || id WHERE id IN (7, 8);
SET search_path = plain;
UPDATE account SET code = 'new' || id WHERE id IN (7, 8);
SET search_path = shop;
SELECT code, string_agg(path || ' ' || COALESCE(id, 0), ', ' ORDER BY path) AS found FROM found GROUP BY code ORDER BY code;
SELECT * FROM member WHERE note IS NOT NULL ORDER BY id;
SELECT * FROM plain.member WHERE note IS NOT NULL ORDER BY id;
SELECT uses_index('SELECT id FROM member WHERE code = ''p7''') AS since;
DROP TABLE plain.member, plain.account, member, account;
-- an entry whose row is gone finds nothing, and so does one that leads elsewhere
DO $$ BEGIN EXECUTE (SELECT format('INSERT INTO %s VALUES (''stray'', 1)', entries) FROM shuttle.global_indexes WHERE name = 'person_email_key'); END $$;
EXECUTE by_email('stray');
DO $$ BEGIN EXECUTE (SELECT format('DELETE FROM %s WHERE k1 = ''stray''', entries) FROM shuttle.global_indexes WHERE name = 'person_email_key'); END $$;
CALL set_options('ALTER USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (ADD password_required ''false'')');
-- who may not read the table reads nothing by its index, and who may needs no right on entries
CREATE ROLE lookups_reader;
GRANT USAGE ON SCHEMA shop TO lookups_reader;
SET ROLE lookups_reader;
SELECT id FROM shop.person WHERE email = 'p7';
RESET ROLE;
GRANT SELECT (id, email) ON person TO lookups_reader;
SET ROLE lookups_reader;
SELECT id FROM shop.person WHERE email = 'p7';
SELECT id, a FROM shop.person WHERE email = 'p7';
RESET ROLE;
CREATE VIEW names AS SELECT id, email FROM person WHERE a < 10;
GRANT SELECT ON names TO lookups_reader;
REVOKE ALL ON person FROM lookups_reader;
SET ROLE lookups_reader;
SELECT * FROM shop.names WHERE email = 'p7';
SELECT * FROM shop.names WHERE email = 'p17';
RESET ROLE;
GRANT SELECT ON person TO lookups_reader;
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON person FOR SELECT TO lookups_reader USING (a < 10);
SET ROLE lookups_reader;
SELECT id FROM shop.person WHERE email = 'p7';
SELECT id FROM shop.person WHERE email = 'p17';
SELECT id, email FROM shop.person WHERE id = 17;
RESET ROLE;
SELECT uses_index('SELECT * FROM person WHERE email = ''p7''') AS for_the_owner;
SET ROLE lookups_reader;
EXPLAIN (COSTS OFF) SELECT id FROM shop.person WHERE email = 'p17';
RESET ROLE;
DROP POLICY few ON person;
ALTER TABLE person DISABLE ROW LEVEL SECURITY;
-- a plan is made again when the index is dropped
EXECUTE by_email('p8');
DROP VIEW names;
ALTER TABLE person DROP CONSTRAINT person_email_key;
EXECUTE by_email('p8');
DROP OWNED BY lookups_reader;
DROP ROLE lookups_reader;
SELECT * FROM shuttle.check();
DROP TABLE person, orders, nicks, plain.person, plain.orders, plain.nicks;
