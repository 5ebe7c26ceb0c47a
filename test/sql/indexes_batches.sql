-- ON CONFLICT of many rows that a global unique index decides: rows are written together, with the outcome that they have
-- for a plain table, whichever of them are in conflict.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (customer int NOT NULL, id int PRIMARY KEY, email text UNIQUE, a int DEFAULT 5, note text, day date,
	CONSTRAINT pair UNIQUE (a, note), CHECK (a > -100));
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
ALTER INDEX plain.person_a_note_key RENAME TO pair;
INSERT INTO person SELECT i % 7, i, 'e' || i, i, 'n' || i FROM generate_series(1, 400) AS i;
INSERT INTO plain.person SELECT * FROM person;
SELECT shuttle.distribute_table('person', 'customer', 4);
ANALYZE person;
-- s is a number for the statement; g that of its row. One kind is left out: rows that are updated together can swap values,
-- as in any UPDATE (indexes_unique).
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement)
SELECT replace(replace(format('INSERT INTO person (customer, id, email, a, note) SELECT g %% 7, %s, %s, %s, %s FROM generate_series(1, %s) AS g ', id, email, a, note, nrows) || clause, ':s', s::text), ':g', 'g')
FROM (VALUES ('(:g * 7919 + :s) % 900', '''x'' || :s || ''-'' || :g'), ('(:g * 7919 + :s) % 900', '''e'' || (:g * 7919 + :s) % 900'), ('2000 + 100 * :s + :g', '''e'' || (:g * 31 + :s) % 900'),
	('2000 + 100 * :s + :g', '''y'' || :s || ''-'' || :g'), ('2000 + 100 * :s + :g % 50', '''z'' || :s || ''-'' || :g % 50'), ('300 + :g', 'NULLIF(''w'' || (:g + :s) % 20, ''w7'')')) AS k (id, email),
	(VALUES ('NULL', '''m'''), (':g + 10000 * :s', '''m'' || :g')) AS v (a, note),
	(VALUES (2), (60)) AS r (nrows),
	LATERAL (VALUES ('ON CONFLICT DO NOTHING'), ('ON CONFLICT (id) DO NOTHING RETURNING id, email'), ('ON CONFLICT (email) DO NOTHING'),
	('ON CONFLICT (id) DO UPDATE SET day = ''2026-01-01'', note = person.note || :s'), ('ON CONFLICT (email) DO UPDATE SET a = excluded.id + 100000 * :s'),
	('ON CONFLICT (id) DO UPDATE SET email = excluded.email || ''!'' WHERE person.id % 3 = 0'), ('ON CONFLICT (id) DO UPDATE SET email = excluded.email, a = excluded.a RETURNING id, email, a')) AS c (clause),
	LATERAL (SELECT (abs(hashtext(id || email || a || nrows || clause)) % 50) AS s) AS n
WHERE NOT (email LIKE '%w7%' AND clause LIKE '%email ||%');
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	rows text := '';
	nrows int;
	before text := current_setting('search_path');
	name text;
BEGIN
	PERFORM set_config('search_path', path, true);
	IF statement LIKE '%RETURNING%' THEN
		FOR line IN EXECUTE statement LOOP
			rows := rows || line::text;
		END LOOP;
	ELSE
		EXECUTE statement;
	END IF;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	PERFORM set_config('search_path', before, true);
	RETURN nrows || ' ' || md5(rows);
EXCEPTION WHEN others THEN
	-- of two constraints either can be the one that refuses a row
	GET STACKED DIAGNOSTICS name = CONSTRAINT_NAME;
	RETURN CASE SQLSTATE WHEN '23505' THEN SQLSTATE ELSE format('%s %s %s', SQLSTATE, SQLERRM, name) END;
END $$;
-- each one after the others, with its outcome in both
CREATE TABLE outcomes (n int, here text, there text);
DO $$
DECLARE
	s record;
	one text;
	other text;
BEGIN
	FOR s IN SELECT * FROM statements ORDER BY n LOOP
		one := outcome(s.statement, 'shop');
		other := outcome(s.statement, 'plain, public, shop');
		INSERT INTO outcomes VALUES (s.n, one, other);
	END LOOP;
END $$;
SELECT n, statement, here, there FROM outcomes JOIN statements USING (n) WHERE here <> there ORDER BY n;
SELECT count(*), count(*) FILTER (WHERE here LIKE '23505%') AS violations, count(*) FILTER (WHERE here LIKE '21000%') AS twice FROM outcomes;
SELECT (SELECT count(*) FROM (TABLE person EXCEPT ALL TABLE plain.person) AS d) AS different,
	(SELECT count(*) FROM (TABLE plain.person EXCEPT ALL TABLE person) AS d) AS missing;
SELECT * FROM shuttle.check();
-- more rows than are looked at together
INSERT INTO person (customer, id, email) SELECT g, 10000 + g, 'many' || g FROM generate_series(1, 2500) AS g ON CONFLICT (id) DO UPDATE SET note = 'again';
INSERT INTO person (customer, id, email) SELECT g, 10000 + g, 'more' || g FROM generate_series(2401, 4000) AS g ON CONFLICT (id) DO UPDATE SET note = 'again' || excluded.id;
SELECT count(*), count(note) FROM person WHERE id > 10000;
SELECT * FROM shuttle.check();
DROP SCHEMA shop, plain CASCADE;
