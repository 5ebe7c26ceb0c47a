-- ON CONFLICT that a global unique index decides has the outcome that it has for a plain table (a row
-- that goes meanwhile: test/specs/indexes_upserts.spec).
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (gone int, customer int NOT NULL, id int PRIMARY KEY, email varchar(50) UNIQUE, a int DEFAULT 5, b numeric, deleted date, note text,
	CONSTRAINT pair UNIQUE (a, b), CHECK (a > -100));
ALTER TABLE person DROP COLUMN gone;
CREATE UNIQUE INDEX person_lower ON person (lower(note)) WHERE deleted IS NULL;
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
ALTER INDEX plain.person_a_b_key RENAME TO pair;
ALTER INDEX plain.person_lower_idx RENAME TO person_lower;
INSERT INTO person SELECT i % 5, i, 'p' || i, i, i / 10.0, CASE WHEN i % 4 = 0 THEN '2026-01-01'::date END, 'Note ' || i FROM generate_series(1, 20) AS i;
INSERT INTO plain.person SELECT * FROM person;
SELECT shuttle.distribute_table('person', 'customer', 4);
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('INSERT INTO person (customer, id, email) VALUES (1, 1, ''x'') ON CONFLICT DO NOTHING'),
('INSERT INTO person (customer, id, email) VALUES (9, 1, ''x'') ON CONFLICT (id) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, ''x'') ON CONFLICT (id) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, ''p3'') ON CONFLICT (id) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, ''p3'') ON CONFLICT (email) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''p3'') ON CONFLICT (email) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''p4'') ON CONFLICT (email) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''new'') ON CONFLICT (email) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, NULL) ON CONFLICT (email) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, NULL) ON CONFLICT (email) DO NOTHING RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (1, 101, ''a''), (2, 102, ''a''), (3, 103, ''p4''), (4, 104, ''b'') ON CONFLICT DO NOTHING RETURNING id'),
('INSERT INTO person (customer, id, email) VALUES (1, 101, ''a''), (2, 1, ''b''), (3, 103, ''b'') ON CONFLICT DO NOTHING RETURNING id'),
('INSERT INTO person (customer, id, email) VALUES (1, 101, ''a''), (2, 102, ''a'') ON CONFLICT (email) DO NOTHING RETURNING id'),
('INSERT INTO person (customer, id, a, b) VALUES (1, 101, 3, 0.30) ON CONFLICT ON CONSTRAINT pair DO NOTHING RETURNING id'),
('INSERT INTO person (customer, id, a, b) VALUES (1, 101, 3, 0.30) ON CONFLICT (b, a) DO UPDATE SET note = ''pair'' RETURNING id, note'),
('INSERT INTO person (customer, id, note) VALUES (1, 101, ''NOTE 3'') ON CONFLICT (lower(note)) WHERE deleted IS NULL DO UPDATE SET a = 33 RETURNING id, a'),
('INSERT INTO person (customer, id, note) VALUES (1, 101, ''NOTE 4'') ON CONFLICT (lower(note)) WHERE deleted IS NULL DO UPDATE SET a = 33 RETURNING id, a'),
('INSERT INTO person (customer, id, note) VALUES (1, 101, ''NOTE 3'') ON CONFLICT (lower(note)) DO NOTHING'),
('INSERT INTO person (customer, id, note, deleted) VALUES (1, 101, ''NOTE 3'', ''2026-02-02'') ON CONFLICT (lower(note)) WHERE deleted IS NULL DO UPDATE SET a = 33 RETURNING id, a'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, ''p3'') ON CONFLICT (email) DO UPDATE SET note = ''new'' RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, ''p3'') ON CONFLICT (email) DO UPDATE SET note = excluded.email || excluded.id || person.id, a = excluded.a RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, ''p3'') ON CONFLICT (email) DO UPDATE SET note = ''new'' WHERE person.a > 3 RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 100, ''p3'') ON CONFLICT (email) DO UPDATE SET note = ''new'' WHERE excluded.id = 100 RETURNING *'),
('INSERT INTO person AS p (customer, id, email, a) VALUES (9, 100, ''p3'', 7) ON CONFLICT (email) DO UPDATE SET a = p.a + excluded.a, b = DEFAULT RETURNING p.a, b, upper(email)'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''new'') ON CONFLICT (id) DO UPDATE SET email = excluded.email RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''p4'') ON CONFLICT (id) DO UPDATE SET email = excluded.email RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''p4'') ON CONFLICT (id) DO UPDATE SET a = 77 RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''new'') ON CONFLICT (id) DO UPDATE SET customer = excluded.customer RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''new'') ON CONFLICT (id) DO UPDATE SET id = 300 RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (9, 3, ''new'') ON CONFLICT (id) DO UPDATE SET (a, note) = (8, ''row'') RETURNING *'),
('INSERT INTO person (customer, id, email) VALUES (1, 1, ''n1''), (2, 101, ''n2''), (3, 2, ''n3'') ON CONFLICT (id) DO UPDATE SET email = excluded.email RETURNING id, email'),
('INSERT INTO person (customer, id, email) VALUES (1, 1, ''n1''), (2, 1, ''n2'') ON CONFLICT (id) DO UPDATE SET email = excluded.email'),
('INSERT INTO person (customer, id, email) VALUES (1, 101, ''n1''), (2, 101, ''n2'') ON CONFLICT (id) DO UPDATE SET email = excluded.email'),
('INSERT INTO person (customer, id, email) VALUES (1, 1, ''n1''), (2, 1, ''n2'') ON CONFLICT (id) DO UPDATE SET email = excluded.email WHERE excluded.email = ''n2'' RETURNING email'),
('INSERT INTO person (customer, id, email) SELECT customer + 1, id + 10, email || ''!'' FROM person WHERE id <= 15 ON CONFLICT (id) DO UPDATE SET note = ''again'' RETURNING id'),
('INSERT INTO person (customer, id, email) SELECT customer + 1, id + 10, email FROM person ON CONFLICT DO NOTHING RETURNING id'),
('INSERT INTO person (customer, id, email, a) VALUES (1, 100, ''x'', -1000) ON CONFLICT (id) DO NOTHING'),
('INSERT INTO person (customer, id, email) VALUES (NULL, 100, ''x'') ON CONFLICT (id) DO NOTHING'),
('INSERT INTO person (customer, id, email) VALUES (1, 3, ''x'') ON CONFLICT (id) DO UPDATE SET a = -1000'),
('INSERT INTO person (customer, id, email) VALUES (1, 3, ''x'') ON CONFLICT (b) DO NOTHING'),
('WITH s AS (SELECT 1 AS c, 3 AS i UNION ALL SELECT 2, 200) INSERT INTO person (customer, id) SELECT c, i FROM s ON CONFLICT (id) DO UPDATE SET note = ''with'' RETURNING id, note');
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	result text := '';
	nrows int;
	before text := current_setting('search_path');
	message text; name text;
BEGIN
	PERFORM set_config('search_path', path, true);
	IF statement LIKE '%RETURNING%' THEN
		EXECUTE statement INTO line;
	ELSE
		EXECUTE statement;
	END IF;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	SELECT nrows || ' ' || COALESCE(line::text, '') || md5(string_agg(person::text, ';' ORDER BY id, customer)) INTO result FROM person;
	PERFORM set_config('search_path', before, true);
	RAISE division_by_zero USING MESSAGE = result;
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
WHEN others THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, name = CONSTRAINT_NAME;
	RETURN format('%s %s %s', SQLSTATE, message, name);
END $$;
SELECT n, statement, here, there FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there
WHERE here <> there ORDER BY n;
SELECT outcome(statement, 'shop') ~ '^\d\d\w\d\d ' AS fails, count(*) FROM statements GROUP BY 1 ORDER BY 1;
-- the same for good, one after the other
CREATE PROCEDURE run_all(path text) LANGUAGE plpgsql AS $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT * FROM statements WHERE statement NOT LIKE '%id = 300%' ORDER BY n LOOP
		BEGIN
			PERFORM set_config('search_path', path, true);
			EXECUTE s.statement;
		EXCEPTION WHEN others THEN
			NULL;
		END;
		COMMIT;
	END LOOP;
END $$;
CALL shop.run_all('shop');
SET search_path = shop;
CALL shop.run_all('plain, public, shop');
SET search_path = shop;
SELECT count(*) AS rows, (SELECT count(*) FROM (TABLE person EXCEPT ALL TABLE plain.person) AS d) AS different,
	(SELECT count(*) FROM (TABLE plain.person EXCEPT ALL TABLE person) AS d) AS missing FROM person;
SELECT * FROM shuttle.check();
-- rows that are returned, and the number that is told
INSERT INTO person (customer, id, email) VALUES (1, 1, 'q1'), (2, 401, 'q2'), (3, 402, 'q2') ON CONFLICT DO NOTHING RETURNING id, email;
INSERT INTO person (customer, id, email) VALUES (1, 1, 'q1'), (2, 403, 'q3') ON CONFLICT (id) DO UPDATE SET note = 'told' RETURNING id, note;
INSERT INTO person (customer, id, email) VALUES (1, 1, 'q1'), (2, 404, 'q4') ON CONFLICT (id) DO UPDATE SET note = 'told again';
EXPLAIN (COSTS OFF) INSERT INTO person (customer, id, email) VALUES (1, 1, 'q1'), (2, 404, 'q4') ON CONFLICT (id) DO UPDATE SET note = 'told again';
EXPLAIN (COSTS OFF) INSERT INTO person (customer, id, email) VALUES (1, 1, 'q1') ON CONFLICT DO NOTHING;
-- prepared statements, functions, savepoints
PREPARE put(int, int, text) AS INSERT INTO person (customer, id, email) VALUES ($1, $2, $3) ON CONFLICT (email) DO UPDATE SET a = 1000 + $2 RETURNING id, a;
SET plan_cache_mode = force_generic_plan;
EXECUTE put(1, 501, 'e1');
EXECUTE put(2, 502, 'e1');
EXECUTE put(2, 503, 'e2');
RESET plan_cache_mode;
CREATE FUNCTION put_one(c int, i int, e text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	INSERT INTO shop.person (customer, id, email) VALUES (c, i, e) ON CONFLICT (email) DO UPDATE SET a = person.a + 1, b = i RETURNING person.id || ' ' || a INTO result;
	RETURN result;
END $$;
SELECT put_one(1, 601, 'f1'), put_one(2, 602, 'f1'), put_one(3, 603, 'f2');
BEGIN;
INSERT INTO person (customer, id, email) VALUES (1, 701, 'g1') ON CONFLICT DO NOTHING;
SAVEPOINT a;
INSERT INTO person (customer, id, email) VALUES (2, 702, 'g1') ON CONFLICT (email) DO UPDATE SET b = 702;
INSERT INTO person (customer, id, email) VALUES (2, 703, 'g3') ON CONFLICT DO NOTHING;
ROLLBACK TO a;
INSERT INTO person (customer, id, email) VALUES (2, 704, 'g3') ON CONFLICT DO NOTHING;
COMMIT;
SELECT id, email, b FROM person WHERE id > 700 ORDER BY id;
SELECT * FROM shuttle.check();
-- what is not possible
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO person (customer, id, email) VALUES (1, 1, 'x') ON CONFLICT DO NOTHING;
ROLLBACK;
WITH w AS (INSERT INTO person (customer, id, email) VALUES (1, 1, 'x') ON CONFLICT (id) DO NOTHING RETURNING *) TABLE w;
INSERT INTO person (customer, id, email) VALUES (1, 1, 'x') ON CONFLICT (id) DO UPDATE SET a = (SELECT 1);
INSERT INTO person (customer, id, email) VALUES (1, 1, 'x'), (1, 2, 'y') ON CONFLICT (id) DO UPDATE SET id = excluded.id + 1000 RETURNING id;
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
CREATE TRIGGER change BEFORE INSERT ON person FOR EACH ROW EXECUTE FUNCTION change();
INSERT INTO person (customer, id, email) VALUES (1, 1, 'x') ON CONFLICT (id) DO NOTHING;
DROP TABLE person, plain.person;
