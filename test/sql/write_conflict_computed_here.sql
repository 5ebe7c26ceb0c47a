-- ON CONFLICT DO UPDATE whose values nodes cannot compute: the rows that conflict are locked and read, and updated
-- with values of this server. Subqueries see the state before the statement.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE SCHEMA plain;
CREATE TYPE shop.pair AS (a int, b text);
CREATE FUNCTION shop.own(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN upper($1); END';
CREATE TABLE shop.item (id int PRIMARY KEY, gone int, name text, v int, at timestamptz DEFAULT '2026-01-01 UTC', n int GENERATED ALWAYS AS (v + 1) STORED, list int[]);
ALTER TABLE shop.item DROP COLUMN gone;
CREATE FUNCTION shop.looks() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM item';
CREATE TABLE shop.other (id int PRIMARY KEY, v int);
CREATE TABLE plain.item (LIKE shop.item INCLUDING ALL);
CREATE TABLE plain.other (LIKE shop.other INCLUDING ALL);
INSERT INTO plain.item (id, name, v, list) SELECT i, 'name ' || i, i, ARRAY[i, 2 * i] FROM generate_series(1, 40) AS i;
INSERT INTO plain.other SELECT i, i * 10 FROM generate_series(1, 60) AS i;
SELECT shuttle.distribute_tables('{item.id, other.id}', tablets => 4);
INSERT INTO shop.item (id, name, v, list) SELECT id, name, v, list FROM plain.item;
INSERT INTO shop.other TABLE plain.other;
ANALYZE item, other;

-- What a statement gives on one side: its rows, and the table then.
CREATE FUNCTION shop.outcome(side text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	told text[] := '{}';
	rows text[];
BEGIN
	PERFORM set_config('search_path', side || ', shop', true);
	BEGIN
		FOR line IN EXECUTE statement || ' RETURNING *' LOOP
			told := told || line::text;
		END LOOP;
		rows := (SELECT array_agg(item::text ORDER BY id) FROM item);
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION
		WHEN SQLSTATE 'ZZ000' THEN
			RETURN array_to_string((SELECT array_agg(t ORDER BY t) FROM unnest(told) AS t), ' ') || ' | ' || md5(array_to_string(rows, ' '));
		WHEN OTHERS THEN
			RETURN SQLSTATE || ' ' || SQLERRM;
	END;
END $$;
CREATE TABLE statements (n serial, source text, action text);
INSERT INTO statements (source, action) SELECT source, action FROM unnest(ARRAY[
	'INSERT INTO item (id, name, v) VALUES (1, ''a'', 100)',
	'INSERT INTO item (id, name, v) VALUES (1, ''a'', 100), (2, ''b'', 200), (50, ''c'', 300)',
	'INSERT INTO item (v, id) SELECT i, i FROM generate_series(39, 43) AS i',
	'INSERT INTO item (id, name) SELECT 3, NULL UNION ALL SELECT 60, ''x'' UNION ALL SELECT 61, ''y''',
	'INSERT INTO item (id, v) SELECT i, 1 FROM generate_series(1, 9) AS i ORDER BY i DESC LIMIT 3',
	'INSERT INTO item (id, v) SELECT o.id, o.v FROM other AS o WHERE o.id BETWEEN 38 AND 45',
	'INSERT INTO item (id, v) SELECT i.id + 20, o.v FROM item AS i JOIN other AS o ON o.v = i.v * 10 WHERE i.id > 15',
	'INSERT INTO item (id, v) SELECT id % 45 + 1, count(*) FROM other GROUP BY 1',
	'WITH w AS (SELECT id FROM other WHERE v < 50) INSERT INTO item (id) SELECT id FROM w']) WITH ORDINALITY AS s (source, i),
	unnest(ARRAY[
	'name = concat(item.name, EXCLUDED.name)',
	'name = format(''%s'', item), v = EXCLUDED.n',
	'name = own(item.name), list[2] = 7',
	'name = item.at::text, at = DEFAULT, n = DEFAULT',
	'v = (SELECT max(id) FROM item)',
	'v = (SELECT count(*) FROM item) + item.v, name = item.name || (SELECT min(v) FROM other)',
	'list = ARRAY(SELECT id FROM other WHERE id < 5 ORDER BY id) || EXCLUDED.v',
	'v = 7 WHERE EXISTS (SELECT FROM item WHERE id = 50) OR item.v < (SELECT avg(v) FROM other)',
	'v = NULL WHERE NOT EXISTS (SELECT FROM item WHERE id = 41) AND concat(item.name) <> ''''',
	'v = (SELECT o.v FROM other AS o WHERE o.id = 60)',
	'v = looks() + EXCLUDED.v',
	'name = own(item.name), v = (SELECT looks())',
	'name = concat(item.name, looks(), EXCLUDED.v + looks() * 2)',
	'v = CASE WHEN EXISTS (SELECT) THEN item.v ELSE 0 END, name = own(item.name) WHERE item.v > 0 AND concat(item.v) <> looks()::text',
	'v = (SELECT o.v FROM other AS o WHERE o.id = 99)',
	'v = (SELECT o.v FROM other AS o)',
	'(v, name) = ROW (EXCLUDED.v, concat(item.v))',
	'v = (SELECT o.v FROM other AS o WHERE o.id = item.id)',
	'(v, name) = (SELECT o.v, ''x'' || o.id FROM other AS o WHERE o.id = EXCLUDED.id)',
	'(v, name) = (SELECT max(v), min(name) FROM item)',
	'(name, v) = (SELECT o.id, item.v FROM other AS o WHERE o.v = item.v * 10), list = ARRAY[EXCLUDED.id]',
	'v = (SELECT count(*) FROM item AS i WHERE i.v <= item.v)',
	'v = (SELECT sum(i.v) FROM item AS i JOIN other AS o ON o.id = i.id WHERE i.id >= EXCLUDED.id)',
	'v = 5 WHERE item.id IN (SELECT id FROM other WHERE v > 20) AND item.v NOT IN (SELECT id + 1 FROM item WHERE id > 1)',
	'v = 6 WHERE EXISTS (SELECT FROM item AS i WHERE i.id = EXCLUDED.id + 11)',
	'list = ARRAY(SELECT i.id FROM item AS i WHERE i.v < item.v ORDER BY i.id DESC LIMIT 3)',
	'v = CASE WHEN item.v > 2 THEN (SELECT o.v FROM other AS o WHERE o.id = item.v) ELSE 0 END',
	'v = (SELECT o.v FROM other AS o WHERE o.id <= item.id)',
	'v = (WITH c AS (SELECT i.id FROM item AS i WHERE i.id = EXCLUDED.id - 1) SELECT max(id) FROM c)',
	'v = (SELECT max(a.v) FROM other AS o, LATERAL (SELECT i.v FROM item AS i WHERE i.id = o.id AND o.id > item.id) AS a)']) WITH ORDINALITY AS a (action, k) ORDER BY i, k;
GRANT ALL ON statements TO PUBLIC;
CREATE VIEW different AS SELECT * FROM (SELECT n, source, action, outcome('shop', s) AS here, outcome('plain', s) AS there FROM statements, format('%s ON CONFLICT (id) DO UPDATE SET %s', source, action) AS s OFFSET 0) AS o WHERE here <> there;
SELECT count(*), count(DISTINCT outcome('plain', format('%s ON CONFLICT (id) DO UPDATE SET %s', source, action))) > 80 AS differ FROM statements;
SELECT n, source, action, left(here, 100) AS here, left(there, 100) AS there FROM different ORDER BY n;
SET shuttle.enable_router = off;
SELECT n, source, action, left(here, 100) AS here, left(there, 100) AS there FROM different ORDER BY n;
RESET shuttle.enable_router;
SET shuttle.enable_write_buffer = off;
SET shuttle.debug_force_batched_join = on;
SELECT n, source, action, left(here, 100) AS here, left(there, 100) AS there FROM different ORDER BY n;
RESET shuttle.enable_write_buffer;
RESET shuttle.debug_force_batched_join;

-- users' STABLE functions of a row: nothing may have been written before
CREATE FUNCTION shop.below(int) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM item WHERE id < $1';
CREATE FUNCTION shop.writes(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO item (id) VALUES ($1 + 100); RETURN $1; END';
CREATE FUNCTION shop.stamps() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.at := ''2026-02-02 UTC''::timestamptz; RETURN NEW; END';
CREATE FUNCTION shop.notes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO other VALUES (NEW.id + 200); RETURN NEW; END';
CREATE FUNCTION shop.step(int, int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN writes($2); END';
CREATE AGGREGATE shop.writes_last(int) (sfunc = step, stype = int);
CREATE DOMAIN shop.written AS int CHECK (writes(VALUE) > 0);
CREATE VIEW single AS SELECT n, source, action, left(outcome('shop', s), 60) AS here, outcome('shop', s) IS NOT DISTINCT FROM outcome('plain', s) AS same
	FROM unnest('{"(30, 300)","(31, $$31$$)","(300, 0)","(writes(30), 7)","((SELECT writes_last(30)), 7)","(30::written, 7)","(generate_series(30, 31), 7)"}'::text[]) WITH ORDINALITY AS r (source, n), unnest('{v = below(item.id),v = below(EXCLUDED.v) + looks(),
	name = CASE WHEN below(item.id) > 10 THEN own(item.name) END,v = 1 WHERE below(item.id) = 29,v = (SELECT max(below(o.id)) FROM other AS o WHERE o.id > item.id)}'::text[]) AS action,
	format('INSERT INTO item (id, v) VALUES %s ON CONFLICT (id) DO UPDATE SET %s', source, action) AS s;
SELECT source, action, here, same FROM single ORDER BY n, action;
INSERT INTO item (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET v = below(item.id);
INSERT INTO item (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET name = concat(item.v, CASE WHEN item.v = 0 THEN looks() END);
WITH w AS (INSERT INTO item (id) VALUES (301)) INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET v = below(item.id);
DROP DOMAIN written;
SELECT format('ALTER TABLE %I.item ADD CONSTRAINT past CHECK (at < now())', s) FROM unnest('{plain,shop}'::text[]) AS s \gexec
SELECT source, action, here, same FROM single WHERE n = 1 ORDER BY action;
SELECT format('CREATE TRIGGER stamps BEFORE INSERT OR UPDATE ON %I.item FOR EACH ROW EXECUTE FUNCTION stamps()', s) FROM unnest('{plain,shop}'::text[]) AS s \gexec
SELECT source, action, here, same FROM single WHERE n = 1 ORDER BY action;
SELECT format('CREATE TRIGGER notes BEFORE INSERT ON %I.item FOR EACH ROW EXECUTE FUNCTION notes()', s) FROM unnest('{plain,shop}'::text[]) AS s \gexec
SELECT DISTINCT here FROM single WHERE n = 1;
SELECT format('ALTER TABLE %I.item DROP CONSTRAINT past', s) FROM unnest('{plain,shop}'::text[]) AS s \gexec
SELECT format('DROP TRIGGER %I ON %I.item', t, s) FROM unnest('{plain,shop}'::text[]) AS s, unnest('{stamps,notes}'::text[]) AS t \gexec

-- parameters, kept plans, WITH, functions
PREPARE p AS INSERT INTO item (id, v) VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET v = (SELECT max(id) + $2 FROM item), name = concat(item.name, $2) RETURNING id, name, v, n;
EXECUTE p (1, 10);
SET plan_cache_mode = force_generic_plan;
EXECUTE p (2, 20);
EXECUTE p (3, 30);
RESET plan_cache_mode;
PREPARE q AS INSERT INTO item (id, v) VALUES ($1, 1), ($1 + 100, $2) ON CONFLICT (id) DO UPDATE SET (v, name) = (SELECT max(o.v) + $2, concat($2) FROM other AS o WHERE o.id < item.id) RETURNING id, name, v, n;
EXECUTE q (4, 10);
SET plan_cache_mode = force_generic_plan;
EXECUTE q (5, 20);
EXECUTE q (6, 30);
RESET plan_cache_mode;
DELETE FROM item WHERE id > 100;

-- values of this server that are volatile, what other parts of the statement write, what a trigger of the table tells
CREATE SEQUENCE numbers;
INSERT INTO item (id) VALUES (7), (8), (70) ON CONFLICT (id) DO UPDATE SET v = (SELECT nextval('numbers') * item.id) RETURNING id, v;
INSERT INTO item (id) VALUES (7), (8), (71) ON CONFLICT (id) DO UPDATE SET v = (SELECT nextval('numbers')) RETURNING id, v;
INSERT INTO item (id) VALUES (72) ON CONFLICT (id) DO UPDATE SET v = (SELECT nextval('numbers'));
SELECT currval('numbers');
WITH w AS (INSERT INTO other VALUES (100, 1000) RETURNING id) INSERT INTO item (id) VALUES (1), (2), (73) ON CONFLICT (id) DO UPDATE SET v = (SELECT max(o.v) FROM other AS o WHERE o.id > item.id) RETURNING id, v;
WITH w AS (UPDATE other SET v = 1 RETURNING id) INSERT INTO item (id) SELECT min(id) FROM w ON CONFLICT (id) DO UPDATE SET v = (SELECT o.v FROM other AS o WHERE o.id = EXCLUDED.id) RETURNING id, v;
CREATE FUNCTION tells() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % -> %', TG_OP, OLD.v, NEW.v; RETURN NEW; END $$;
CREATE TRIGGER tells AFTER UPDATE ON item FOR EACH ROW EXECUTE FUNCTION tells();
INSERT INTO item (id) VALUES (3), (4) ON CONFLICT (id) DO UPDATE SET v = (SELECT count(*) FROM item AS i WHERE i.id < item.id) RETURNING id, v;
DROP TRIGGER tells ON item;
WITH w AS (SELECT 5 AS x), i AS (INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET v = (SELECT sum(x) FROM w), name = concat(item.id) RETURNING *) SELECT id, v, n, name FROM i;
DO $$ DECLARE s text := 'said'; BEGIN INSERT INTO item (id) SELECT i FROM generate_series(1, 3) AS i ON CONFLICT (id) DO UPDATE SET name = concat(s, item.id), v = (SELECT length(s)); END $$;
SELECT id, name, v FROM item WHERE id < 5 ORDER BY id;

-- a row that would be updated twice, and what is refused
INSERT INTO item (id) VALUES (1), (1) ON CONFLICT (id) DO UPDATE SET name = concat(item.name, 'x');
-- stored queries
CREATE FUNCTION stored(a int) RETURNS bigint BEGIN ATOMIC
	INSERT INTO item (id) VALUES (a) ON CONFLICT (id) DO UPDATE SET name = concat(item.name, 'x'); SELECT count(*) FROM item; END;
SELECT stored(3), stored(3);
BEGIN;
UPDATE item SET v = 1 WHERE id = 3;
SELECT stored(3);
COMMIT;
SELECT id, name FROM item WHERE id = 3;
\set VERBOSITY default
INSERT INTO item (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET v = (SELECT looks() + item.id);
INSERT INTO item (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET name = concat(item.tableoid);
\set VERBOSITY terse
DROP SCHEMA plain, shop CASCADE;
