-- Subqueries of ON CONFLICT DO UPDATE that depend on rows: over tables that the statement writes, what WITH writes, reference
-- tables, partitioned tables with other columns, of each kind and place; beside ordinary tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE SCHEMA plain;
CREATE PROCEDURE public.make_tables(side text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', side, true);
	CREATE TABLE item (id int PRIMARY KEY, v int, name text);
	CREATE TABLE other (id int PRIMARY KEY, v int);
	CREATE TABLE ref (id int PRIMARY KEY, v int);
	CREATE TABLE parent (id int, k int, v int, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
	CREATE TABLE parent1 PARTITION OF parent FOR VALUES IN (1);
	CREATE TABLE parent2 (gone int, v int, k int NOT NULL, id int NOT NULL);
	ALTER TABLE parent2 DROP gone;
	ALTER TABLE parent ATTACH PARTITION parent2 FOR VALUES IN (2);
END $$;
CALL public.make_tables('shop');
CALL public.make_tables('plain');
SELECT shuttle.distribute_tables('{item.id, other.id, parent.id}', tablets => 4);
SELECT shuttle.reference_table('ref');
CREATE PROCEDURE public.fill(side text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', side, true);
	INSERT INTO item SELECT i, i, 'n' FROM generate_series(1, 12) AS i;
	INSERT INTO other SELECT i, i * 10 FROM generate_series(1, 14) AS i;
	INSERT INTO ref TABLE other;
	INSERT INTO parent SELECT i, i % 2 + 1, i FROM generate_series(1, 10) AS i;
END $$;
CALL public.fill('shop');
CALL public.fill('plain');

\set ECHO none
\set QUIET on
\i :test/include/definitions.sql
\set QUIET off
\set ECHO all
\i :test/include/compared.sql
CREATE FUNCTION run_once(query text) RETURNS text[] LANGUAGE sql AS 'SELECT answer(query) || public.rows_of(current_schema())';
CREATE TABLE public.statements (n serial, statement text);
INSERT INTO public.statements (statement) VALUES
	('WITH w AS (INSERT INTO other VALUES (100, 5), (101, 6) RETURNING id) INSERT INTO item (id) VALUES (1), (2), (50) ON CONFLICT (id) DO UPDATE SET v = (SELECT sum(id) FROM w)'),
	('WITH w AS (DELETE FROM other WHERE id < 4 RETURNING id) INSERT INTO item (id) VALUES (1), (2), (50) ON CONFLICT (id) DO UPDATE SET v = (SELECT count(*) FROM w WHERE w.id <= item.id)'),
	('WITH w AS (DELETE FROM other WHERE id < 4 RETURNING id) INSERT INTO item (id) VALUES (1), (2), (50) ON CONFLICT (id) DO UPDATE SET v = (SELECT count(*) FROM other WHERE other.id <= item.id)'),
	('WITH w AS (UPDATE item SET v = 77 WHERE id > 5 RETURNING id) INSERT INTO item (id) VALUES (1), (2), (50) ON CONFLICT (id) DO UPDATE SET v = (SELECT count(*) FROM item AS i WHERE i.v = 77 OR i.id < item.id)'),
	('INSERT INTO item (id) VALUES (1), (2), (50) ON CONFLICT (id) DO UPDATE SET v = (SELECT r.v FROM ref AS r WHERE r.id = item.id)'),
	('WITH w AS (INSERT INTO ref VALUES (60, 60) RETURNING id) INSERT INTO item (id) VALUES (1), (2), (50) ON CONFLICT (id) DO UPDATE SET v = (SELECT max(r.v) FROM ref AS r WHERE r.id > item.id)'),
	('INSERT INTO ref (id) VALUES (1), (2), (50) ON CONFLICT (id) DO UPDATE SET v = (SELECT o.v FROM other AS o WHERE o.id = ref.id)'),
	('INSERT INTO parent (id, k) VALUES (1, 1), (2, 2), (50, 1), (4, 1) ON CONFLICT (id, k) DO UPDATE SET v = (SELECT count(*) FROM parent AS p WHERE p.id < parent.id) * 10 + EXCLUDED.k'),
	('INSERT INTO parent (id, k) VALUES (1, 2), (2, 1), (50, 1), (4, 1) ON CONFLICT (id, k) DO UPDATE SET v = (SELECT o.v FROM other AS o WHERE o.id = parent.id AND parent.k IN (SELECT k FROM parent)) WHERE parent.v IN (SELECT id FROM item)'),
	('INSERT INTO parent2 (id, k) VALUES (1, 2), (51, 2) ON CONFLICT (id, k) DO UPDATE SET v = (SELECT o.v FROM other AS o WHERE o.id = parent2.id)'),
	('INSERT INTO item AS t (id) SELECT id FROM item ON CONFLICT (id) DO UPDATE SET v = (SELECT sum(i.v) FROM item AS i WHERE i.id BETWEEN t.id - 1 AND t.id + 1)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = (SELECT count(*) FROM item AS i WHERE i.id > t.id), name = (SELECT string_agg(i.id::text, '','' ORDER BY i.id) FROM item AS i WHERE i.id % 3 = t.id % 3)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = (SELECT x FROM (SELECT t.v + EXCLUDED.id AS x) AS s)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET (v, name) = (SELECT max(i.v), max(o.v)::text FROM item AS i LEFT JOIN other AS o ON o.id = i.id AND o.id < t.id)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = 1 WHERE (t.id, t.v) IN (SELECT id, v FROM other) OR t.id = ANY (SELECT id FROM other WHERE id < 8) OR t.id > ALL (SELECT o.id FROM other AS o WHERE o.id < t.v)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = 1 WHERE (t.id, t.v) = (SELECT id, v / 10 FROM other WHERE id = 6)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = (SELECT i.v FROM item AS i WHERE i.id = t.id FOR UPDATE)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = (SELECT generate_series(1, 2) LIMIT 1 OFFSET t.id % 2)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = (SELECT row_number() OVER (ORDER BY o.v) FROM other AS o WHERE o.id >= t.id ORDER BY o.id DESC LIMIT 1)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = (WITH RECURSIVE r AS (SELECT t.id AS x UNION ALL SELECT o.id - 1 FROM r JOIN other AS o ON o.id = r.x WHERE r.x > 10) SELECT count(*) FROM r)'),
	('INSERT INTO item AS t (id) SELECT id FROM generate_series(5, 15) AS id ON CONFLICT (id) DO UPDATE SET v = (SELECT sum(v) FROM (SELECT v FROM item WHERE id = t.id UNION ALL SELECT v FROM other WHERE id = EXCLUDED.id) AS u)');
SELECT n, compare(statement) FROM public.statements WHERE compare(statement) NOT LIKE '%same' ORDER BY n;
SET search_path = plain, shop;
SELECT count(*), count(DISTINCT run(statement)) > 18 AS differ FROM public.statements;
SET search_path = shop;
SELECT count(*) AS drifts FROM shuttle.check();
DROP TABLE public.statements;
DROP SCHEMA plain, shop CASCADE;
DROP PROCEDURE public.make_tables, public.fill;
