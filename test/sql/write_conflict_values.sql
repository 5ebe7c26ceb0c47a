-- ON CONFLICT DO UPDATE with values that are computed here for each row of the INSERT.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
\set state '''SELECT * FROM item ORDER BY id'''
CREATE TYPE public.mood AS ENUM ('sad', 'fine', 'glad');
CREATE FUNCTION public.clean(text) RETURNS text IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN lower(btrim($1)); END';
CREATE FUNCTION public.sum2(a int, b int DEFAULT 1000) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a + b';
CREATE FUNCTION public.nth(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION public.fails(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 10 / ($1 - 3); END';
CREATE TABLE node.item (id int PRIMARY KEY, name text, n int, amount numeric(12, 2), code char(5), tags int[], at timestamptz,
	day date, feeling public.mood, doc jsonb, note text);
INSERT INTO node.item SELECT i, 'name ' || i, i, i * 1.5, 'c' || i, ARRAY[i, i + 1], '2020-01-01 00:00+00', '2020-02-03', 'fine',
	jsonb_build_object('old', i), 'note' FROM generate_series(1, 20) i;
SELECT pair.tables('item');

-- functions of EXCLUDED that nodes are not asked for
SELECT pair.same_here(:state, $$INSERT INTO item (id, name, n) VALUES (1, 'a "b" \', 7), (2, NULL, 8), (31, 'c', NULL)
	ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('name', EXCLUDED.name, 'n', EXCLUDED.n) RETURNING id, doc$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, at, day, amount) SELECT i, '2024-02-28 23:30:00.5+00', '2024-02-28', i / 7.0 FROM generate_series(15, 25) i
	ON CONFLICT (id) DO UPDATE SET doc = item.doc || to_jsonb(EXCLUDED.at), name = concat(EXCLUDED.day, '/', EXCLUDED.amount, EXCLUDED.at), note = format('%s: %L', EXCLUDED.id, 1) || item.note$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, name) VALUES (1, ' Ab '), (31, ' C ') ON CONFLICT (id) DO UPDATE SET name = public.clean(EXCLUDED.name) || item.name, n = public.sum2(EXCLUDED.id) + item.n RETURNING *$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, n) SELECT i, i FROM generate_series(1, 40) i
	ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('n', EXCLUDED.n), n = -item.n WHERE format('%s', EXCLUDED.n) LIKE '1%' AND item.n < 15$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, n) SELECT i, i FROM generate_series(1, 40) i
	ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('n', EXCLUDED.n) WHERE item.n > concat(EXCLUDED.n, 0)::int RETURNING id$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, at) VALUES (1, '2021-01-01 00:00+00'), (2, NULL) ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.at::text, day = EXCLUDED.at::date, feeling = lower('GLAD')::public.mood WHERE EXCLUDED.at IS NULL OR date_trunc('day', EXCLUDED.at) > item.at$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, name, feeling) VALUES (1, 'GLAD', 'sad'), (2, 'Sad', NULL) ON CONFLICT (id) DO UPDATE SET feeling = lower(EXCLUDED.name)::public.mood, name = item.name || concat(EXCLUDED.feeling)$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, name, feeling) VALUES (1, 'GLAD', 'sad'), (2, 'Sad', NULL) ON CONFLICT (id) DO UPDATE SET feeling = lower(EXCLUDED.name)::public.mood, name = coalesce(EXCLUDED.feeling::text, 'x') || item.name$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, code, tags) VALUES (1, 'ab', '{1, NULL, 3}'), (2, NULL, NULL), (31, 'x', '{}') ON CONFLICT (id) DO UPDATE SET name = concat('<', EXCLUDED.code, '>', array_to_string(EXCLUDED.tags, ',', '-')), tags = item.tags || EXCLUDED.tags$$);
SELECT pair.same_here(:state, $$INSERT INTO item VALUES (1, 'all', 5, 1.2, 'x', '{4}', '2021-01-01 00:00+00', '2021-01-01', 'sad', '{"a": 1.50}', 'n') ON CONFLICT (id) DO UPDATE SET doc = to_jsonb(EXCLUDED) - 'doc', note = EXCLUDED::text$$);

-- an expression is computed as a whole: what it protects is not computed
SELECT pair.same_here(:state, $$INSERT INTO item (id, n) VALUES (1, 3), (2, 4) ON CONFLICT (id) DO UPDATE SET n = CASE WHEN EXCLUDED.n <> 3 THEN public.fails(EXCLUDED.n) ELSE 0 END$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, n) VALUES (1, 3), (2, 4) ON CONFLICT (id) DO UPDATE SET n = CASE EXCLUDED.n WHEN 3 THEN item.n WHEN public.sum2(4, 0) THEN 1 ELSE 2 END, name = CASE concat(EXCLUDED.n) WHEN '3' THEN item.name ELSE 'x' END$$);
SELECT pair.same_here(:state, $$INSERT INTO item (id, n) VALUES (1, 3) ON CONFLICT (id) DO UPDATE SET n = public.fails(EXCLUDED.n)$$);

-- but for rows that do not conflict, too
SELECT pair.same_here(:state, $$INSERT INTO item (id, n) VALUES (31, 3) ON CONFLICT (id) DO UPDATE SET n = public.fails(EXCLUDED.n)$$);

-- the same row twice; rows before a row that fails; counts; CTEs; a buffer or none
\set upsert '''INSERT INTO item (id, name, n) SELECT i %% 30, concat(i), i FROM generate_series(1, %s) i ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object($$n$$, EXCLUDED.n), n = item.n + EXCLUDED.n'''
SELECT pair.same_here(:state, format(:upsert, 45)), pair.same_here(:state, format(:upsert, 29), format(:upsert, 20), format(:upsert, 31), format(:upsert, 29));
SELECT pair.same_here(:state, format(:upsert, 29) || ' WHERE false', format(:upsert, 45) || ' WHERE item.n > 5 RETURNING id, doc, xmax = 0');
SELECT pair.same_here(:state, format(:upsert, 29) || ' RETURNING id, doc, xmax = 0');
SET shuttle.enable_write_buffer = off;
SELECT pair.same_here(:state, format(:upsert, 45)), pair.same_here(:state, format(:upsert, 29), format(:upsert, 20));
RESET shuttle.enable_write_buffer;
ALTER SERVER our_node OPTIONS (ADD batch_size '3');
SELECT pair.same_here(:state, format(:upsert, 45)), pair.same_here(:state, format(:upsert, 29), format(:upsert, 20));
ALTER SERVER our_node OPTIONS (DROP batch_size);
SELECT pair.same_here(:state, 'WITH new AS (' || format(:upsert, 25) || $$ RETURNING id, doc) INSERT INTO item (id, name) SELECT id + 100, doc ->> 'n' FROM new WHERE id > 20
	ON CONFLICT (id) DO UPDATE SET name = concat(EXCLUDED.name) RETURNING id, name$$);

-- the error of a row that is written twice, met by the statement of a function
CREATE FUNCTION pair.wrote(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO item (id) VALUES (i); RETURN i; END';
CREATE FUNCTION pair.counted(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i * count(*) FROM item; END';
SELECT pair.same_here(:state, format($$INSERT INTO item (id, n) VALUES (%1$s, 1), (%1$s, 2), (3, pair.%2$s(103)) ON CONFLICT (id) DO UPDATE SET name = format('%%s', EXCLUDED.n)$$, id, name))
FROM unnest('{1, 31}'::int[]) AS id, unnest('{wrote, counted}'::text[]) AS name;

-- parameters, plans that are kept, and a function that is replaced meanwhile
CREATE FUNCTION pair.upserts(label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1 .. 8 LOOP
		INSERT INTO item (id, n) SELECT j, j FROM generate_series(15 + i, 25) j
		ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object(label, EXCLUDED.n, 'i', i), n = public.sum2(EXCLUDED.n, item.n) WHERE item.id <> 20 + i;
		GET DIAGNOSTICS n = ROW_COUNT;
		RETURN NEXT n || ' ' || found;
	END LOOP;
	EXECUTE 'CREATE OR REPLACE FUNCTION public.sum2(a int, b int DEFAULT 1000) RETURNS int IMMUTABLE LANGUAGE sql AS ''SELECT a - b''';
	FOR i IN 1 .. 2 LOOP
		INSERT INTO item (id, n) VALUES (1, 2), (31, i) ON CONFLICT (id) DO UPDATE SET n = public.sum2(EXCLUDED.n) + length(label), name = concat(label, EXCLUDED.n);
		GET DIAGNOSTICS n = ROW_COUNT;
		RETURN NEXT n || ' ' || found;
	END LOOP;
END $$;
SET plan_cache_mode = force_generic_plan;
SELECT pair.same_here(:state, 'SELECT pair.upserts(''x'')');
SET plan_cache_mode = force_custom_plan;
SELECT pair.same_here(:state, 'SELECT pair.upserts(''"y"'')');
SET plan_cache_mode = force_generic_plan;
SET search_path = ours;
CREATE FUNCTION public.nested(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT public.sum2($1, 5)';
PREPARE upsert (int, text) AS INSERT INTO item (id, n, name) VALUES ($1, $1, $2) ON CONFLICT (id) DO UPDATE SET n = public.nested(EXCLUDED.n), doc = jsonb_build_object($2, EXCLUDED.name, 'n', EXCLUDED.n) RETURNING n, doc;
BEGIN;
EXECUTE upsert (1, 'a');
EXECUTE upsert (2, 'b');
CREATE OR REPLACE FUNCTION public.sum2(a int, b int DEFAULT 1000) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a * b';
EXECUTE upsert (3, 'c');
ROLLBACK;
RESET plan_cache_mode;
RESET search_path;

-- views, with other names and without a column that was dropped
CREATE VIEW node.short AS SELECT n AS number, id AS key, doc FROM node.item;
CREATE VIEW ours.short AS SELECT n AS number, id AS key, doc FROM ours.item;
SELECT pair.same_here('SELECT * FROM item ORDER BY id', $$INSERT INTO short VALUES (5, 1, '{}'), (6, 31, NULL) ON CONFLICT (key) DO UPDATE SET doc = to_jsonb(EXCLUDED), number = length(concat(EXCLUDED.number, EXCLUDED.key)) + short.number RETURNING *$$);
CREATE TABLE node.less (gone int, id int PRIMARY KEY, name varchar(7), t text);
ALTER TABLE node.less DROP COLUMN gone;
INSERT INTO node.less VALUES (1, 'one'), (2, 'two');
SELECT pair.tables('less');
ALTER FOREIGN TABLE ours.less ADD COLUMN later int;
ALTER FOREIGN TABLE ours.less DROP COLUMN later;
SELECT pair.same_here('SELECT * FROM less ORDER BY id', $$INSERT INTO less VALUES (1, 'x'), (3, 'y') ON CONFLICT (id) DO UPDATE SET t = to_jsonb(EXCLUDED)::text || less.name, name = public.clean(EXCLUDED.name) RETURNING *$$);
SELECT pair.same_here('SELECT * FROM less ORDER BY id', $$INSERT INTO less VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = concat(EXCLUDED.name, ' is too long')$$);
SELECT pair.same_here('SELECT * FROM less ORDER BY id', $$INSERT INTO less VALUES (1, NULL), (2, 'B') ON CONFLICT (id) DO UPDATE SET t = repeat(public.clean(EXCLUDED.name), 100000) WHERE concat(EXCLUDED.name) = ''$$);
SELECT pair.same_here('SELECT * FROM less ORDER BY id', 'WITH new AS (INSERT INTO less VALUES (1, ''p''), (7, ''q'') ON CONFLICT (id) DO UPDATE SET name = concat(EXCLUDED.name, EXCLUDED.id) RETURNING *), old AS (DELETE FROM less WHERE id = 2) SELECT * FROM new ORDER BY id');

-- partitions whose columns are numbered otherwise, and local triggers
CREATE TABLE node.part (id int, grp int, n int, doc jsonb, PRIMARY KEY (grp, id)) PARTITION BY LIST (grp);
CREATE TABLE node.part_1 PARTITION OF node.part FOR VALUES IN (0, 1);
CREATE TABLE node.part_2 PARTITION OF node.part FOR VALUES IN (2, 3);
CREATE TABLE ours.part (gone int, id int, grp int, n int, doc jsonb) PARTITION BY LIST (grp);
ALTER TABLE ours.part DROP COLUMN gone;
CREATE FOREIGN TABLE ours.part_1 (doc jsonb, n int, grp int, id int) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.part_2 (id int, key int OPTIONS (column_name 'x'), grp int, n int, doc jsonb) SERVER our_node OPTIONS (schema_name 'node');
ALTER FOREIGN TABLE ours.part_2 DROP COLUMN key;
ALTER TABLE ours.part ATTACH PARTITION ours.part_1 FOR VALUES IN (0, 1);
ALTER TABLE ours.part ATTACH PARTITION ours.part_2 FOR VALUES IN (2, 3);
\set parts '''SELECT id, grp, n, doc FROM part ORDER BY id, grp'''
\set insert '''INSERT INTO part (id, grp, n) SELECT i, i % 4, i * 10 FROM generate_series(1, 12) i ON CONFLICT (grp, id) DO UPDATE SET doc = jsonb_build_array(EXCLUDED.n, EXCLUDED.grp, EXCLUDED.id), n = part.n + 1 RETURNING id, grp, n, doc'''
SELECT pair.same_here(:parts, :insert, :insert, :insert);
CREATE FUNCTION pair.more() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.n := NEW.n + 1000; RETURN NEW; END';
CREATE TRIGGER more BEFORE INSERT ON ours.item FOR EACH ROW EXECUTE FUNCTION pair.more();
CREATE TRIGGER more BEFORE INSERT ON node.item FOR EACH ROW WHEN (NEW.n < 1000) EXECUTE FUNCTION pair.more();
SELECT pair.same_here(:state, format(:upsert, 29));
DROP TRIGGER more ON ours.item;

-- EXCLUDED is not what was sent: refused if a row is updated, and nothing is written
SET search_path = ours;
SELECT pair.same_here(:state, $$INSERT INTO item (id, n) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('id', EXCLUDED.id)$$);
INSERT INTO item (id, n) VALUES (41, 2), (1, 2) ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('n', EXCLUDED.n);
\echo :SQLSTATE
SELECT count(*) FROM item WHERE id = 41 OR n = 1002;
-- the same, met by the statement of a function
INSERT INTO item (id, n) VALUES (1, 2), (42, pair.wrote(103)) ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('n', EXCLUDED.n);
\echo :SQLSTATE
INSERT INTO item (id, n) VALUES (1, 2), (42, pair.counted(103)) ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('n', EXCLUDED.n);
\echo :SQLSTATE
SELECT count(*) FROM item WHERE id IN (42, 103) OR n = 1002;
DROP TRIGGER more ON node.item;
ALTER FOREIGN TABLE item OPTIONS (ADD shuttle_remote_default 'on');
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('note', EXCLUDED.note);
CREATE FOREIGN TABLE wide (id int, amount numeric, doc jsonb) SERVER our_node OPTIONS (schema_name 'node', table_name 'item');
INSERT INTO wide VALUES (1, 1.25) ON CONFLICT (id) DO UPDATE SET doc = to_jsonb(EXCLUDED.amount) RETURNING doc;
INSERT INTO wide VALUES (1, 1.255) ON CONFLICT (id) DO UPDATE SET doc = to_jsonb(EXCLUDED.amount);
ALTER FOREIGN TABLE item OPTIONS (DROP shuttle_remote_default);

-- what is computed here, and what is refused, by the function's name
CREATE FOREIGN TABLE generated (id int, n int, name int GENERATED ALWAYS AS (n + 1) STORED) SERVER our_node OPTIONS (schema_name 'node', table_name 'item');
INSERT INTO generated (id, n) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET n = length(concat(EXCLUDED.name));
CREATE SEQUENCE counter;
CREATE FUNCTION wild(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = nextval('counter') + EXCLUDED.id;
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET name = wild(EXCLUDED.name);
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = public.nth(EXCLUDED.id);
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET name = concat(item.name, EXCLUDED.name);
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET doc = to_jsonb(item.n);
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET name = public.clean(item.name || EXCLUDED.name);

-- what EXPLAIN shows
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO item (id, n, note) VALUES (1, 2, 'x') ON CONFLICT (id) DO UPDATE SET doc = item.doc || jsonb_build_object('n', EXCLUDED.n, 'at', EXCLUDED.id) WHERE item.n > 5;
