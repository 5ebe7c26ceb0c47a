-- INSERT ... ON CONFLICT with columns or a constraint does what it does on a local table.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
\set state '''SELECT * FROM item ORDER BY id, grp'''
CREATE TYPE public.mood AS ENUM ('sad', 'fine', 'glad');
CREATE TABLE node.item (id int PRIMARY KEY, grp int, code text UNIQUE, n int DEFAULT 7, tags int[], at timestamptz,
	feeling public.mood, double int GENERATED ALWAYS AS (n * 2) STORED, CHECK (n > -1000));
CREATE UNIQUE INDEX ON node.item (grp) WHERE grp > 100;
CREATE UNIQUE INDEX ON node.item (lower(code));
INSERT INTO node.item SELECT i, i, 'code ' || i, i, ARRAY[i, i + 1], '2020-01-01 00:00+00', 'fine' FROM generate_series(1, 20) i;
INSERT INTO node.item VALUES (21, 121, 'code 21', 21);
CREATE FOREIGN TABLE ours.item (id int, grp int, code text, n int DEFAULT 7, tags int[], at timestamptz,
	feeling public.mood, double int GENERATED ALWAYS AS (n * 2) STORED) SERVER our_node OPTIONS (schema_name 'node');

-- DO NOTHING
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, i FROM generate_series(15, 25) i ON CONFLICT (id) DO NOTHING');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, i FROM generate_series(15, 25) i ON CONFLICT (id) DO NOTHING RETURNING *');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 1) ON CONFLICT (id) DO NOTHING RETURNING id');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (31, 1), (31, 2), (31, 3) ON CONFLICT (id) DO NOTHING RETURNING id, n, double');
SELECT pair.same_here(:state, 'INSERT INTO item (id, code) VALUES (31, ''code 1'') ON CONFLICT (id) DO NOTHING');
SELECT pair.same_here(:state, 'INSERT INTO item (id, code) VALUES (31, ''CODE 1'') ON CONFLICT (lower(code)) DO NOTHING');
SELECT pair.same_here(:state, 'INSERT INTO item (id, grp) VALUES (31, 121), (32, 122) ON CONFLICT (grp) WHERE grp > 100 DO NOTHING');
SELECT pair.same_here(:state, 'INSERT INTO item (id, code) VALUES (31, ''CODE 1'') ON CONFLICT (code COLLATE "C") DO NOTHING');
SELECT pair.same_here(:state, 'INSERT INTO item (id, code) VALUES (31, ''code 1'') ON CONFLICT (code text_ops) DO NOTHING');

-- DO UPDATE
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, i * 10 FROM generate_series(15, 25) i ON CONFLICT (id) DO UPDATE SET n = excluded.n');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, i * 10 FROM generate_series(15, 25) i ON CONFLICT (id) DO UPDATE SET n = item.n + excluded.n RETURNING *');
SELECT pair.same_here(:state, 'INSERT INTO item AS i (id, n) SELECT j, j * 10 FROM generate_series(15, 25) j ON CONFLICT (id) DO UPDATE SET n = i.n + excluded.n, code = i.code || excluded.id, grp = NULL WHERE i.id % 2 = 0 RETURNING i.*, n + 1');
SELECT pair.same_here(:state, 'INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = DEFAULT, tags = excluded.tags || 5 RETURNING *');
SELECT pair.same_here(:state, 'INSERT INTO item (id, code) VALUES (1, ''x''), (31, ''y'') ON CONFLICT (id) DO UPDATE SET (n, code) = (excluded.id * 100, upper(excluded.code))');
SELECT pair.same_here(:state, 'INSERT INTO item (id, feeling) VALUES (1, ''sad''), (31, ''glad'') ON CONFLICT (id) DO UPDATE SET feeling = excluded.feeling');
SELECT pair.same_here(:state, 'INSERT INTO item (id, feeling) VALUES (1, ''sad'') ON CONFLICT (id) DO UPDATE SET feeling = ''glad'' WHERE item.feeling <> excluded.feeling');
SELECT pair.same_here(:state, 'INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET at = now(), code = ''it''''s "$1" '' || excluded.id WHERE item.at < now()');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5), (2, 6) ON CONFLICT (id) DO UPDATE SET n = CASE excluded.n WHEN 5 THEN 50 WHEN 6 THEN item.n * 1000 ELSE 0 END, code = coalesce(NULL, excluded.code, item.code || ''x'')');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET n = -5000');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET n = excluded.n / (item.n - 1)');
SELECT pair.same_here(:state, 'INSERT INTO item (id) SELECT id FROM item ON CONFLICT (id) DO UPDATE SET n = item.n + 1');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, i FROM generate_series(1, 5) i ON CONFLICT (id) DO UPDATE SET n = 0 WHERE false');
SELECT pair.same_here(:state, 'INSERT INTO item (id, code) VALUES (31, ''CODE 1'') ON CONFLICT (lower(code)) DO UPDATE SET n = item.id + excluded.id RETURNING *');
SELECT pair.same_here(:state, 'INSERT INTO item (id) VALUES (1) ON CONFLICT (n) DO NOTHING');
SELECT pair.same_here(:state, 'WITH new AS (INSERT INTO item (id, n) SELECT i, i FROM generate_series(18, 24) i ON CONFLICT (id) DO UPDATE SET n = -item.n RETURNING id, n), more AS (INSERT INTO item (id) VALUES (40), (5) ON CONFLICT (id) DO NOTHING RETURNING id) SELECT new.id, new.n, more.id FROM new FULL JOIN more USING (id) ORDER BY 1, 3');
SELECT pair.same_here(:state, 'WITH new AS (INSERT INTO item (id) VALUES (1), (50) ON CONFLICT (id) DO UPDATE SET n = 99) INSERT INTO item (id) VALUES (2), (51) ON CONFLICT (id) DO UPDATE SET n = 98 RETURNING id');

-- DEFAULT of a generated column is all that is set
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5), (31, 6) ON CONFLICT (id) DO UPDATE SET double = DEFAULT RETURNING id, n, double');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5), (2, 6) ON CONFLICT (id) DO UPDATE SET double = DEFAULT WHERE item.id = 2 RETURNING id');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET double = DEFAULT, n = excluded.n RETURNING double');

-- xmax tells rows that were inserted from those that were updated
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5), (31, 6), (2, 7) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING id, xmax = 0 AS inserted');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5), (31, 6), (2, 7) ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE item.id > 1 RETURNING xmax = 0 AS inserted');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING CASE xmax WHEN 0 THEN 1 ELSE 2 END');
SELECT pair.same_here(:state, 'WITH new AS (INSERT INTO item (id, n) SELECT i, i FROM generate_series(15, 25) i ON CONFLICT (id) DO UPDATE SET n = -1 RETURNING xmax, id) SELECT id, xmax = 0 FROM new');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (31, 5), (1, 5) ON CONFLICT (id) DO NOTHING RETURNING xmax');
SET shuttle.write_buffer_size = '1kB';
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, i FROM generate_series(1, 40) i ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING id, xmax = 0 AS inserted');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, i FROM generate_series(40, 1, -1) i ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING xmax = 0 AS inserted');
RESET shuttle.write_buffer_size;

-- backslashes, whatever the two servers make of them; since 19 only one thing
SELECT CASE WHEN current_setting('server_version_num')::int < 190000 THEN '-c standard_conforming_strings=off' ELSE '' END AS escapes \gset
SELECT pair.same_here(:state, $w$INSERT INTO item (id, code) VALUES (1, 'n') ON CONFLICT (id) DO UPDATE SET code = item.code || 'a\b''c\' || excluded.code WHERE item.code <> 'k\' RETURNING code$w$);
ALTER SERVER our_node OPTIONS (ADD options :'escapes');
SELECT pair.same_here(:state, $w$INSERT INTO item (id, code) VALUES (1, 'n') ON CONFLICT (id) DO UPDATE SET code = item.code || 'a\b''c\' || excluded.code WHERE item.code <> 'k\' RETURNING code$w$);
ALTER SERVER our_node OPTIONS (DROP options);
DO $$ BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		SET escape_string_warning = off;
		SET standard_conforming_strings = off;
	END IF;
END $$;
SELECT pair.same_here(:state, $w$INSERT INTO item (id, code) VALUES (1, 'n') ON CONFLICT (id) DO UPDATE SET code = item.code || 'a\\b''c\\' || excluded.code WHERE item.code <> 'k\\' RETURNING code$w$);
SET standard_conforming_strings = on;

-- the same row twice, in one request and in several
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 1), (1, 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (31, 1), (31, 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n');
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) VALUES (1, 1), (1, 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE false RETURNING id');
\set twice '''INSERT INTO item (id, n) SELECT i % 30, i FROM generate_series(1, 45) i ON CONFLICT (id) DO UPDATE SET n = item.n + excluded.n'''
\set once '''INSERT INTO item (id, n) SELECT i, i FROM generate_series(1, 45) i ON CONFLICT (id) DO UPDATE SET n = item.n + excluded.n WHERE item.id <> $$3$$ RETURNING *'''
\set again '''INSERT INTO item (id, n) SELECT i % 30, i FROM generate_series(1, 45) i ON CONFLICT (id) DO UPDATE SET n = item.n + excluded.n WHERE item.n + excluded.id < 0'''
SET shuttle.write_buffer_size = '1kB';
SELECT pair.same_here(:state, :twice), pair.same_here(:state, :once), pair.same_here(:state, :again);
SELECT pair.same_here(:state, :once, :once, :twice, :once);
ALTER SERVER our_node OPTIONS (ADD batch_size '2');
SELECT pair.same_here(:state, :twice), pair.same_here(:state, :once), pair.same_here(:state, :again);
SELECT pair.same_here(:state, :once, :once, :twice, :once);
ALTER SERVER our_node OPTIONS (DROP batch_size);
RESET shuttle.write_buffer_size;
SET shuttle.enable_write_buffer = off;
SELECT pair.same_here(:state, :twice), pair.same_here(:state, :once), pair.same_here(:state, :again);
SELECT pair.same_here(:state, :once, :once, :twice, :once);
RESET shuttle.enable_write_buffer;

-- counts in functions, parameters, plans that are kept
CREATE FUNCTION pair.upserts(by int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1 .. 8 LOOP
		INSERT INTO item (id, n) SELECT j, j FROM generate_series(15 + i, 25) j
		ON CONFLICT (id) DO UPDATE SET n = item.n + by + i WHERE item.id <> 20 + i;
		GET DIAGNOSTICS n = ROW_COUNT;
		RETURN NEXT n || ' ' || found;
	END LOOP;
	INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO NOTHING;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN NEXT n || ' ' || found;
	BEGIN
		INSERT INTO item (id) VALUES (1), (1) ON CONFLICT (id) DO UPDATE SET n = by;
	EXCEPTION WHEN cardinality_violation THEN
		RETURN NEXT SQLERRM;
	END;
	INSERT INTO item (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET n = by;
END $$;
SET plan_cache_mode = force_generic_plan;
SELECT pair.same_here(:state, 'SELECT pair.upserts(3)');
SET plan_cache_mode = force_custom_plan;
SELECT pair.same_here(:state, 'SELECT pair.upserts(NULL)');
RESET plan_cache_mode;

-- views, rules of core, permissions
CREATE VIEW node.plain AS SELECT id, n FROM node.item;
CREATE VIEW ours.plain AS SELECT id, n FROM ours.item;
SELECT pair.same_here(:state, 'INSERT INTO plain VALUES (1, 7), (30, 8) ON CONFLICT (id) DO UPDATE SET n = plain.n * 3 + excluded.n RETURNING *');
CREATE ROLE conflict_reader;
GRANT USAGE ON SCHEMA ours TO conflict_reader;
GRANT INSERT, SELECT ON ours.item TO conflict_reader;
SET ROLE conflict_reader;
INSERT INTO ours.item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1;
RESET ROLE;
DROP OWNED BY conflict_reader;
DROP ROLE conflict_reader;

-- other names there, and what EXPLAIN shows
CREATE FOREIGN TABLE ours.renamed (gone int, key int OPTIONS (column_name 'id'), "excluded" int OPTIONS (column_name 'n')) SERVER our_node OPTIONS (schema_name 'node', table_name 'item');
ALTER FOREIGN TABLE ours.renamed DROP COLUMN gone;
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO ours.renamed VALUES (1, 2) ON CONFLICT (key) DO UPDATE SET "excluded" = renamed."excluded" + excluded."excluded" WHERE renamed.key < 5 RETURNING key;
BEGIN;
INSERT INTO ours.renamed VALUES (1, 2), (44, 3) ON CONFLICT (key) DO UPDATE SET "excluded" = renamed."excluded" + excluded."excluded" WHERE renamed.key < 5 RETURNING *;
ROLLBACK;

-- triggers here
CREATE FUNCTION pair.more() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.n := NEW.n + 1000; RETURN NEW; END';
CREATE TRIGGER more BEFORE INSERT ON ours.item FOR EACH ROW EXECUTE FUNCTION pair.more();
CREATE TRIGGER more BEFORE INSERT ON node.item FOR EACH ROW WHEN (NEW.n < 1000) EXECUTE FUNCTION pair.more();
SELECT pair.same_here(:state, :once);
DROP TRIGGER more ON ours.item;
DROP TRIGGER more ON node.item;
CREATE FUNCTION pair.told() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE '% % %', TG_OP, TG_LEVEL, NEW.id; RETURN NULL; END$$;
CREATE TRIGGER told AFTER INSERT ON ours.item FOR EACH ROW EXECUTE FUNCTION pair.told();
BEGIN;
INSERT INTO ours.item (id) VALUES (1), (30), (31), (30) ON CONFLICT (id) DO NOTHING;
INSERT INTO ours.item (id) VALUES (1), (30) ON CONFLICT (id) DO UPDATE SET n = 1;
\echo :SQLSTATE
ROLLBACK;
DROP TRIGGER told ON ours.item;
CREATE TRIGGER told AFTER UPDATE ON ours.item FOR EACH STATEMENT EXECUTE FUNCTION pair.told();
INSERT INTO ours.item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1;
DROP TRIGGER told ON ours.item;

-- what nodes cannot compute, and what is refused
CREATE FUNCTION public.mine(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
SET search_path = ours, public;
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = (SELECT 1);
\echo :SQLSTATE
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = random();
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = mine(item.n);
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET code = item.at::text;
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET code = excluded::text;
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET tags[1] = 5;
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1 WHERE item.feeling = 'sad';
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1 WHERE item.ctid = '(0,1)';
INSERT INTO item (id) VALUES (1) ON CONFLICT (mine(id)) DO NOTHING;
INSERT INTO item (id) VALUES (1) ON CONFLICT ON CONSTRAINT item_pkey DO NOTHING;
RESET search_path;
SELECT pair.same_here(:state, 'INSERT INTO item (id, n) SELECT i, public.mine(i) FROM generate_series(20, 22) i ON CONFLICT (id) DO UPDATE SET n = public.mine(3)');

-- one request; and rows that are not there yet, by an anti-join
CREATE FUNCTION pair.requests(statement text, OUT reads int, OUT flushes int) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('search_path', 'ours', true);
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	reads := plan -> 0 -> 'Storage Read Requests';
	flushes := plan -> 0 -> 'Storage Flush Requests';
END $$;
SELECT * FROM pair.requests('INSERT INTO item (id) SELECT i FROM generate_series(10, 38) i ON CONFLICT (id) DO NOTHING');
SELECT * FROM pair.requests('INSERT INTO item (id) SELECT i FROM generate_series(30, 58) i ON CONFLICT (id) DO UPDATE SET n = excluded.n');
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
SELECT * FROM pair.requests('WITH new (id) AS (SELECT * FROM generate_series(50, 78)) INSERT INTO item (id) SELECT id FROM new WHERE NOT EXISTS (SELECT FROM item WHERE item.id = new.id)');
