-- Each role does each thing to each relation, beside the same over plain tables: what it may do,
-- how many rows it gets or writes, and what the tables have then is the same.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET search_path = shop, public;
SET client_min_messages = warning;
DROP ROLE IF EXISTS matrix_stranger, matrix_columns, matrix_granted, matrix_member, matrix_owner, matrix_remote;
CREATE ROLE matrix_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO matrix_remote;
SELECT format('ALTER USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (SET user ''matrix_remote'', ADD password_required ''false'')', i) FROM generate_series(1, 2) AS i \gexec
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE ROLE matrix_owner;
CREATE ROLE matrix_stranger;	-- no right
CREATE ROLE matrix_columns;		-- on columns id and v
CREATE ROLE matrix_granted;		-- all that can be granted
CREATE ROLE matrix_member IN ROLE matrix_owner;
-- COPY in a function reads and writes files
GRANT pg_read_server_files, pg_write_server_files TO matrix_owner, matrix_stranger, matrix_columns, matrix_granted, matrix_member;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO matrix_owner, matrix_stranger, matrix_columns, matrix_granted;
CREATE SCHEMA plain;
GRANT ALL ON SCHEMA shop, plain TO matrix_owner, matrix_stranger, matrix_columns, matrix_granted;
DO $$
BEGIN
	EXECUTE format('COPY (VALUES (90, 9), (91, 9)) TO %L', current_setting('data_directory') || '/matrix.two');
	EXECUTE format('COPY (VALUES (92, 9, ''x'', 4)) TO %L', current_setting('data_directory') || '/matrix.all');
END $$;

-- t: a table; p, f: with row security, forced; r: a small table, copied to all nodes
CREATE PROCEDURE make_tables(side text) LANGUAGE plpgsql AS $$
DECLARE
	name text;
BEGIN
	PERFORM set_config('search_path', side, true), set_config('role', 'matrix_owner', true);
	FOREACH name IN ARRAY '{t,p,f,r}'::text[] LOOP
		EXECUTE format('CREATE TABLE %s (id int PRIMARY KEY, v int, secret text, owner int DEFAULT 1)', name);
		EXECUTE format('INSERT INTO %s SELECT i, i, ''secret'' || i, i %% 2 FROM generate_series(1, 20) AS i', name);
	END LOOP;
	IF side = 'plain' THEN	-- partitions beside tablets
		CREATE TABLE parted (LIKE t INCLUDING ALL) PARTITION BY HASH (id);
		CREATE TABLE t_t0 (LIKE t);
		CREATE TABLE t_t1 (LIKE t);
		ALTER TABLE parted ATTACH PARTITION t_t0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
		ALTER TABLE parted ATTACH PARTITION t_t1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
		INSERT INTO parted SELECT * FROM t;
	END IF;
	ALTER TABLE p ENABLE ROW LEVEL SECURITY;
	ALTER TABLE f ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
	FOREACH name IN ARRAY '{p,f}'::text[] LOOP
		EXECUTE format('CREATE POLICY seen ON %s FOR SELECT USING (owner = 1)', name);
		EXECUTE format('CREATE POLICY written ON %s USING (owner = 1 AND v < 15) WITH CHECK (v < 50)', name);
	END LOOP;
	FOREACH name IN ARRAY CASE side WHEN 'shop' THEN '{t,p,f,r}' ELSE '{}'::text[] END LOOP
		PERFORM CASE name WHEN 'r' THEN shuttle.reference_table(name) ELSE shuttle.distribute_table(name, 'id', 2) END;
	END LOOP;
	CREATE VIEW vo AS SELECT * FROM t;
	CREATE VIEW vi WITH (security_invoker) AS SELECT * FROM p;
	CREATE VIEW vb WITH (security_barrier) AS SELECT * FROM p WHERE owner = 1;
	CREATE VIEW vf WITH (security_invoker, security_barrier) AS SELECT * FROM f WHERE v < 18;
	FOREACH name IN ARRAY '{t,p,f,r,vo,vi,vb,vf}'::text[] LOOP
		EXECUTE format('GRANT ALL ON %1$s TO matrix_granted; GRANT SELECT (id, v), INSERT (id, v), UPDATE (v) ON %1$s TO matrix_columns', name);
	END LOOP;
	PERFORM set_config('role', 'none', true);
END $$;
CALL make_tables('shop');
CALL make_tables('plain');
ANALYZE;
SELECT relation, kind FROM shuttle.tables ORDER BY 1;

-- REL is the relation, FILE the files' beginning.
CREATE TABLE public.acts (n int GENERATED ALWAYS AS IDENTITY, act text);
INSERT INTO acts (act) VALUES
	('SELECT * FROM REL'),
	('SELECT id, v FROM REL'),
	('SELECT secret FROM REL WHERE id = 4'),
	('SELECT id FROM REL WHERE secret = ''secret3'''),
	('SELECT id FROM REL WHERE id = 3'),
	('SELECT count(*) FROM REL'),
	('SELECT FROM REL'),
	('SELECT tableoid FROM REL WHERE id = 3'),
	('SELECT REL FROM REL WHERE id IN (3, 4)'),
	('SELECT sum(v) FROM REL GROUP BY owner'),
	('SELECT a.id FROM REL a JOIN REL b ON b.id = a.v'),
	('SELECT id, (SELECT secret FROM REL b WHERE b.id = a.id) FROM REL a'),
	('SELECT id FROM REL WHERE id < 5 FOR UPDATE'),
	('SELECT id FROM REL WHERE id = 3 FOR KEY SHARE'),
	('TABLE REL'),
	('WITH w AS (UPDATE REL SET v = 2 WHERE id = 3 RETURNING id) SELECT * FROM w'),
	('INSERT INTO REL (id, v) VALUES (50, 5)'),
	('INSERT INTO REL (id, v) VALUES (50, 5), (51, 6) RETURNING id'),
	('INSERT INTO REL (id, v) VALUES (50, 60)'),
	('INSERT INTO REL VALUES (50, 5, ''x'', 1)'),
	('INSERT INTO REL (id, v, owner) VALUES (50, 5, 0) RETURNING id'),
	('INSERT INTO REL (id, v) SELECT id + 60, v FROM REL WHERE id < 5'),
	('INSERT INTO REL (id, v) VALUES (3, 5) ON CONFLICT DO NOTHING'),
	('INSERT INTO REL (id, v) VALUES (3, 5) ON CONFLICT (id) DO UPDATE SET v = excluded.v'),
	('INSERT INTO REL (id, v) VALUES (4, 5) ON CONFLICT (id) DO UPDATE SET v = excluded.v'),
	('INSERT INTO REL (id, v) VALUES (3, 5) ON CONFLICT (id) DO UPDATE SET secret = ''x'' RETURNING id'),
	('INSERT INTO REL (id, v) VALUES (3, 5) ON CONFLICT (id) DO UPDATE SET v = 5 WHERE REL.secret = ''secret3'''),
	('UPDATE REL SET v = 4'),
	('UPDATE REL SET v = 4 WHERE id = 3'),
	('UPDATE REL SET v = 4 WHERE id = 17'),
	('UPDATE REL SET v = 60 WHERE id = 3'),
	('UPDATE REL SET v = v + 1 WHERE id = 3 RETURNING id'),
	('UPDATE REL SET secret = ''x'' WHERE id = 3'),
	('UPDATE REL SET v = 4 WHERE secret = ''secret4'''),
	('UPDATE REL SET v = 4 RETURNING *'),
	('UPDATE REL SET owner = 0 WHERE id = 3'),
	('UPDATE REL SET v = b.v FROM REL b WHERE b.id = REL.id + 1'),
	('DELETE FROM REL'),
	('DELETE FROM REL WHERE id = 3'),
	('DELETE FROM REL WHERE id IN (3, 4) RETURNING *'),
	('DELETE FROM REL USING REL b WHERE b.id = REL.v'),
	('MERGE INTO REL USING (VALUES (3), (4)) s (i) ON i = id WHEN MATCHED THEN UPDATE SET v = 4'),
	('MERGE INTO REL USING (VALUES (3), (50)) s (i) ON i = id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v) VALUES (i, 5)'),
	('MERGE INTO REL USING (VALUES (50)) s (i) ON i = id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (i, 60)'),
	('MERGE INTO REL USING (VALUES (3)) s (i) ON i = id AND secret <> ''x'' WHEN MATCHED AND v < 99 THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING'),
	('COPY REL TO ''/dev/null'''),
	('COPY REL (id, v) TO ''/dev/null'''),
	('COPY (SELECT id FROM REL) TO ''/dev/null'''),
	('COPY (DELETE FROM REL WHERE id = 3 RETURNING id) TO ''/dev/null'''),
	('COPY REL (id, v) FROM ''FILE.two'''),
	('COPY REL FROM ''FILE.all'''),
	('LOCK TABLE REL IN ACCESS SHARE MODE'),
	('LOCK TABLE REL IN ROW EXCLUSIVE MODE'),
	('LOCK TABLE REL IN ACCESS EXCLUSIVE MODE'),
	('LOCK TABLE ONLY REL'),
	('TRUNCATE REL'),
	('DO $a$BEGIN EXECUTE ''EXPLAIN SELECT secret FROM REL''; END$a$'),
	('DO $a$BEGIN EXECUTE ''EXPLAIN (ANALYZE) DELETE FROM REL WHERE id = 3''; END$a$'),
	('DECLARE matrix CURSOR FOR SELECT v FROM REL'),
	('DO $a$BEGIN PERFORM secret FROM REL; END$a$'),
	('SELECT has_table_privilege(''REL'', ''SELECT, TRUNCATE''), row_security_active(''REL'')'),
	('SELECT * FROM pg_stats WHERE schemaname = current_schema AND tablename = ''REL'''),
	('CREATE TABLE made AS SELECT id, v FROM REL'),
	('CREATE TABLE made (LIKE REL)'),
	('CREATE TEMP TABLE made () INHERITS (REL)'),
	('CREATE VIEW made AS SELECT * FROM REL'),
	('CREATE MATERIALIZED VIEW made AS SELECT id FROM REL'),
	('CREATE TABLE made (id int REFERENCES REL)'),
	('ALTER TABLE REL ADD COLUMN made int'),
	('ALTER TABLE REL ADD COLUMN made float DEFAULT random() CHECK (made < 9)'),
	('ALTER TABLE REL ADD CHECK (v + extract(hour FROM now()) < 100)'),
	('ALTER TABLE REL DROP COLUMN secret'),
	('ALTER TABLE REL ALTER COLUMN v SET DEFAULT 3'),
	('ALTER TABLE REL ALTER COLUMN v TYPE bigint'),
	('ALTER TABLE REL ADD CHECK (v < 100)'),
	('ALTER TABLE REL ALTER COLUMN v SET NOT NULL'),
	('ALTER TABLE REL RENAME COLUMN v TO made'),
	('ALTER TABLE REL RENAME TO made'),
	('ALTER TABLE REL SET SCHEMA public'),
	('ALTER TABLE REL OWNER TO matrix_stranger'),
	('ALTER TABLE REL OWNER TO matrix_owner'),
	('ALTER TABLE REL DISABLE ROW LEVEL SECURITY'),
	('ALTER TABLE REL NO FORCE ROW LEVEL SECURITY'),
	('ALTER TABLE REL DISABLE TRIGGER USER'),
	('CREATE POLICY made ON REL USING (true)'),
	('DROP POLICY seen ON REL'),
	('CREATE INDEX made ON REL (v)'),
	('CREATE STATISTICS made ON v, owner FROM REL'),
	('CREATE RULE made AS ON DELETE TO REL DO ALSO NOTHING'),
	('CREATE TRIGGER made BEFORE INSERT ON REL FOR EACH STATEMENT EXECUTE FUNCTION suppress_redundant_updates_trigger()'),
	('CREATE PUBLICATION made FOR TABLE REL'),
	('COMMENT ON COLUMN REL.v IS ''made'''),
	('GRANT SELECT ON REL TO matrix_stranger'),
	('GRANT ALL ON REL TO PUBLIC'),
	('REVOKE ALL ON REL FROM matrix_granted'),
	('ANALYZE REL'),
	('DROP TABLE REL CASCADE'),
	('DROP VIEW REL'),
	('CREATE OR REPLACE VIEW REL AS SELECT 1 AS id');

-- Does one thing as a role, and rolls it back: SQLSTATE, rows, and what is there then.
CREATE FUNCTION public.outcome(side text, role text, act text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	left_over text := '';
	base text;
	line text;
BEGIN
	PERFORM set_config('search_path', side || ', public, shuttle_tablets', true), set_config('role', role, true);
	EXECUTE act;
	GET DIAGNOSTICS n = ROW_COUNT;
	PERFORM set_config('role', 'none', true);
	IF act ~ '^(INSERT|UPDATE|DELETE|MERGE|COPY .*(FROM ''|DELETE)|TRUNCATE|WITH|DO )' THEN
		FOREACH base IN ARRAY CASE WHEN act ~ 't_t0' AND side = 'plain' THEN '{parted,p,f,r}' ELSE '{t,p,f,r}'::text[] END LOOP
			EXECUTE format('SELECT string_agg(x::text, '' '' ORDER BY id) FROM %I.%I AS x', side, base) INTO line;
			left_over := left_over || coalesce(line, 'empty') || '|';
		END LOOP;
		left_over := ' ' || md5(left_over);
	END IF;
	RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION
	WHEN SQLSTATE 'ZZ000' THEN RETURN format('%s rows', n) || left_over;
	WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
CREATE TABLE public.results (role text, relation text, act text, expected text, answer text);
CREATE PROCEDURE fill(roles text[], relations text[]) LANGUAGE plpgsql AS $$
DECLARE
	role text;
	relation text;
	act text;
	said text;
BEGIN
	FOREACH role IN ARRAY roles LOOP
		FOREACH relation IN ARRAY relations LOOP
			FOR act IN SELECT a.act FROM acts a WHERE relation IN ('t', 't_t0', 'f', 'r', 'vb')
					OR a.act !~ '^(ALTER|CREATE|DROP|COMMENT|GRANT|REVOKE|ANALYZE)' ORDER BY n LOOP
				said := replace(replace(act, 'REL', relation), 'FILE', 'matrix');
				INSERT INTO results VALUES (role, relation, act, outcome('plain', role, said), outcome('shop', role, said));
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
SET client_min_messages = error;
SELECT current_user AS super \gset
CALL fill('{matrix_stranger,matrix_granted}', '{t,t_t0,p,f,r,vo,vi,vb,vf}');
CALL fill('{matrix_columns}', '{t,p,r,vi,vb}');
CALL fill('{matrix_owner}', '{t,t_t0,p,f,r,vb,vf}');
CALL fill('{matrix_member}', '{t,t_t0,f}');
CALL fill(ARRAY[:'super'], '{t,t_t0,f,vf}');
RESET client_min_messages;
SELECT count(*), count(*) FILTER (WHERE expected ~ 'rows') > 1700 AS many_done, count(*) FILTER (WHERE expected = '42501') > 1200 AS many_refused,
	count(DISTINCT expected) > 50 AS various FROM results;

-- What is refused here whoever asks tells nothing and does nothing.
CREATE TABLE public.known (act text, relations text, answer text, reason text);
INSERT INTO public.known VALUES
	('^ALTER TABLE (?!.*SET SCHEMA)', '_t0$', '0A000', 'tablets are changed with their table'),
	('^(GRANT|TRUNCATE|ANALYZE|CREATE INDEX|CREATE TRIGGER)', '_t0$', '0A000', 'as above'),
	('^DROP TABLE|^CREATE POLICY', '_t0$', '42809', 'a tablet is a foreign table'),
	('^(LOCK TABLE|COPY .* TO|CREATE RULE|CREATE TABLE .*REFERENCES)', '_t0$', '42809', 'core says so of foreign tables, before it looks at privileges'),
	('^CREATE OR REPLACE VIEW|pg_stats', '_t0$', '^0 rows', 'tablets are not in the schema of their table'),
	('SET SCHEMA', '.', '0A000', 'names of tables on nodes have their schema'),
	('SET SCHEMA public', '^(t|f)$', '42501', 'the remote user may not create anything in that schema of the nodes'),
	('^CREATE (PUBLICATION|RULE)', '^(t|p|f)', '0A000', 'rows are on nodes'),
	('INHERITS', '.', '0A000|42809', 'the parent would have rows here'),
	('^MERGE', '_t0$|^v|^(p|f)$', '0A000', 'as above, and through views');
SELECT CASE role WHEN :'super' THEN 'superuser' ELSE role END AS role, relation, act, expected, answer FROM results r
WHERE expected <> answer AND NOT EXISTS (SELECT FROM known k WHERE r.act ~ k.act AND relation ~ relations AND r.answer ~ k.answer);
SELECT act FROM known k WHERE NOT EXISTS (SELECT FROM results r WHERE r.act ~ k.act AND relation ~ relations AND r.answer ~ k.answer AND expected <> r.answer);

-- Functions: who may call them, and of those that all may, what they do only for whom core lets do
-- the like to a plain table.
SELECT proname FROM pg_proc WHERE pronamespace = 'shuttle'::regnamespace AND prorettype NOT IN ('trigger'::regtype, 'internal'::regtype) AND NOT 'internal'::regtype = ANY (proargtypes::oid[])
	AND has_function_privilege('matrix_stranger', oid, 'EXECUTE') ORDER BY proname;
SET client_min_messages = error;
CREATE TABLE shop.n (id int PRIMARY KEY, v int);
CREATE TABLE plain.n (id int PRIMARY KEY, v int);
ALTER TABLE shop.n OWNER TO matrix_owner;
ALTER TABLE plain.n OWNER TO matrix_owner;
GRANT ALL ON shop.n, plain.n TO matrix_granted;
CREATE FUNCTION shop.g(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION plain.g(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION shop.h(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
SELECT shuttle.distribute_function('shop.h(int)');
CREATE FUNCTION plain.h(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
ALTER FUNCTION shop.g(int) OWNER TO matrix_owner;
ALTER FUNCTION plain.g(int) OWNER TO matrix_owner;
ALTER FUNCTION shop.h(int) OWNER TO matrix_owner;
ALTER FUNCTION plain.h(int) OWNER TO matrix_owner;
CREATE TABLE public.matrix_calls (n int GENERATED ALWAYS AS IDENTITY, call text, twin text);
INSERT INTO public.matrix_calls (call, twin) VALUES
	('SELECT shuttle.distribute_table(''n'', ''id'', 2)', 'ALTER TABLE n ADD made int'),
	('SELECT shuttle.distribute_tables(''{n.id}'', 2)', 'ALTER TABLE n ADD made int'),
	('SELECT shuttle.reference_table(''n'')', 'ALTER TABLE n ADD made int'),
	('SELECT shuttle.local_table(''t'')', 'ALTER TABLE t ADD made int'),
	('SELECT shuttle.local_table(''r'')', 'ALTER TABLE r ADD made int'),
	('SELECT shuttle.local_tables(''{p,f}'')', 'ALTER TABLE p ADD made int'),
	('SELECT shuttle.distribute_function(''g(int)'')', 'ALTER FUNCTION g(int) STRICT'),
	('SELECT shuttle.local_function(''h(int)'')', 'ALTER FUNCTION h(int) STRICT'),
	('SELECT shuttle.table_size(''p'')', 'SELECT pg_table_size(''p'')'),
	('SELECT * FROM shuttle.analyze(''shop'') WHERE how <> ''skipped'' AND error IS NULL', 'SELECT FROM pg_class WHERE relnamespace IN (''shop''::regnamespace, ''shuttle_tablets''::regnamespace) AND relname ~ ''^[tpf](_|$)'' AND relkind IN (''p'', ''f'') AND relowner IN (SELECT oid FROM pg_roles WHERE pg_has_role(oid, ''USAGE''))'),
	('SELECT * FROM shuttle.advise() WHERE relation = ''n''::regclass AND because !~ ''must be owner''', 'SELECT FROM pg_class WHERE relname = ''n'' AND relnamespace = ''plain''::regnamespace AND relowner IN (SELECT oid FROM pg_roles WHERE pg_has_role(oid, ''USAGE''))'),
	('SELECT shuttle.check_query_node(''n1'')', 'SELECT'),
	('SELECT shuttle.disconnect()', 'SELECT'),
	('SELECT shuttle.install_citus_names(''shop'')', 'CREATE FUNCTION made() RETURNS int LANGUAGE sql AS ''SELECT 1'''),
	('SELECT shuttle.install_citus_names(''pg_catalog'')', 'CREATE FUNCTION pg_catalog.made() RETURNS int LANGUAGE sql AS ''SELECT 1''');
CREATE TABLE public.called (role text, call text, twin text, expected text, answer text);
DO $$
DECLARE
	role text;
	c record;
BEGIN
	FOREACH role IN ARRAY ARRAY['matrix_stranger', 'matrix_columns', 'matrix_granted', 'matrix_owner', 'matrix_member', current_user] LOOP
		FOR c IN SELECT * FROM matrix_calls ORDER BY n LOOP
			INSERT INTO called VALUES (role, c.call, c.twin, outcome('plain', role, c.twin), outcome('shop', role, c.call));
		END LOOP;
	END LOOP;
END $$;
RESET client_min_messages;
SELECT count(*), count(*) FILTER (WHERE answer ~ 'rows') AS done, count(*) FILTER (WHERE answer = '42501') AS refused FROM called;
-- (ALL is MAINTAIN, too, from PostgreSQL 17 on)
SELECT CASE role WHEN :'super' THEN 'superuser' ELSE role END AS role, call, expected, answer FROM called
WHERE (expected = '42501') <> (answer = '42501') OR (expected ~ 'rows' AND call ~ 'advise|analyze' AND expected <> answer AND NOT (role = 'matrix_granted' AND call ~ 'analyze'));

-- these are no part of a transaction
SET ROLE matrix_owner;
SELECT * FROM shuttle.adopt_server('n3');
SELECT * FROM shuttle.release_server('n3');
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
DROP TABLE acts, results, known, matrix_calls, called;
DROP FUNCTION outcome;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP OWNED BY matrix_stranger, matrix_columns, matrix_granted, matrix_member, matrix_owner;
DROP ROLE matrix_stranger, matrix_columns, matrix_granted, matrix_member, matrix_owner, matrix_remote;
