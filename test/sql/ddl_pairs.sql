-- Pairs of subcommands of ALTER TABLE, in both orders, on a distributed table, a reference table and an ordinary
-- one, with rows. Each statement is undone by a savepoint. The three have the same errors, definitions, comments
-- and rows behind it, and take and refuse the same rows. Behind each seventh statement, nodes have what is here.
-- A difference is a warning.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\set ECHO none
\set QUIET on
SET client_min_messages = warning;
SELECT count(*) FROM shuttle.use_node('n1') \gset
SELECT count(*) FROM shuttle.use_node('n2') \gset
DROP SCHEMA shop;
DROP ROLE IF EXISTS pairs_owner;
CREATE ROLE pairs_owner SUPERUSER;
CREATE FUNCTION public.twice(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 2 * $1; END';
SELECT format('DROP SCHEMA IF EXISTS %s CASCADE', s), format('CREATE SCHEMA %s', s), format('GRANT USAGE ON SCHEMA %s TO pairs_owner', s), format('SET search_path = %s', s), $f$
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN coalesce(NEW, OLD); END';
CREATE TABLE other (c int PRIMARY KEY, name text);
CREATE TABLE t (c int NOT NULL, id int, v numeric(10, 2) DEFAULT 0, note text, s small, w int,
	g int GENERATED ALWAYS AS (w * 2) STORED, CONSTRAINT t_pkey PRIMARY KEY (c, id), CONSTRAINT t_v CHECK (v >= 0),
	CONSTRAINT t_u UNIQUE (c, note), CONSTRAINT t_fk FOREIGN KEY (c) REFERENCES other);
CREATE UNIQUE INDEX t_part ON t (c, w) WHERE v IS NOT NULL AND note <> '';
CREATE INDEX t_v_idx ON t (v);
CREATE VIEW seen AS SELECT c, s FROM t;
CREATE TRIGGER trg BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION noop();
COMMENT ON CONSTRAINT t_u ON t IS 'unique';
COMMENT ON INDEX t_part IS 'partial';
COMMENT ON COLUMN t.v IS 'value';
INSERT INTO other SELECT i, 'p' || i FROM generate_series(1, 9) AS i;
INSERT INTO t SELECT 1 + i % 9, i, i, 'n' || i, i, i FROM generate_series(1, 12) AS i$f$
FROM unnest('{shop,ref,twin}'::text[]) AS s
\gexec
SELECT shuttle.distribute_tables('{shop.other.c, shop.t.c}', tablets => 2), shuttle.reference_table('ref.other'), shuttle.reference_table('ref.t') \gset
SELECT format('ALTER TABLE %s.t ADD CONSTRAINT t_later CHECK (id > 0) NOT VALID', s) FROM unnest('{shop,ref,twin}'::text[]) AS s
\gexec
\i :test/include/definitions.sql
-- What is true of a schema's tables: its lines, its rows, and what becomes of some new rows.
CREATE FUNCTION public.state(schema text) RETURNS text[] LANGUAGE plpgsql AS $f$
DECLARE
	texts text[];
	lines text;
	written text;
BEGIN
	EXECUTE public.lines_query(schema, false) INTO lines;
	texts := string_to_array(lines, E'\n') || string_to_array(public.rows_of(schema), E'\n');
	FOREACH written IN ARRAY ARRAY['INSERT INTO t (c, id) VALUES (99, 99)', 'INSERT INTO t (c, id, v) VALUES (1, 98, -5)',
		'INSERT INTO t (c, id) VALUES (2, -1)', 'INSERT INTO t (c, id, note) SELECT c, id + 50, note FROM t WHERE id = 7'] LOOP
		BEGIN
			EXECUTE written;
			RAISE EXCEPTION USING ERRCODE = 'U0001';
		EXCEPTION WHEN OTHERS THEN
			IF SQLERRM LIKE '% has no primary key' THEN
				RAISE;			-- a rule for reference tables
			END IF;
			texts := texts || format('%s: %s', written, SQLSTATE);
		END;
	END LOOP;
	RETURN texts;
END $f$;
-- Runs a statement in a schema, and undoes it. checked: nodes are compared with this server.
CREATE FUNCTION public.state_after(statement text, schema text, checked bool) RETURNS text[] LANGUAGE plpgsql AS $f$
DECLARE
	texts text[];
	hint text;
BEGIN
	PERFORM set_config('search_path', schema, true);
	EXECUTE statement;
	texts := public.state(schema);
	IF checked THEN
		texts := texts || array(SELECT c::text FROM shuttle.check() AS c);
	END IF;
	RAISE EXCEPTION USING ERRCODE = 'U0001', DETAIL = to_json(texts);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_DETAIL;
	IF SQLSTATE = 'U0001' THEN
		RETURN texts;
	END IF;
	RETURN ARRAY['fails: ' || SQLSTATE, SQLERRM];
END $f$;
CREATE TABLE public.part (no int GENERATED ALWAYS AS IDENTITY, text text);
CREATE TABLE public.refused (text text);
CREATE PROCEDURE public.try(statement text, checked bool) LANGUAGE plpgsql AS $f$
DECLARE
	twin text[] := public.state_after(statement, 'twin', false);
	had text[];
	schema text;
BEGIN
	FOREACH schema IN ARRAY '{shop,ref}'::text[] LOOP
		had := public.state_after(statement, schema, checked);
		IF had[1] IN ('fails: 0A000', 'fails: 55000') AND twin[1] <> had[1] THEN
			INSERT INTO public.refused VALUES (schema || ': ' || had[2]);
		ELSIF had[1] LIKE 'fails: %' OR twin[1] LIKE 'fails: %' THEN
			IF had[1] <> twin[1] THEN
				RAISE WARNING '% [%]: % %, should be % %', statement, schema, had[1], had[2], twin[1], twin[2];
			END IF;
		ELSIF had <> twin THEN
			RAISE WARNING '% [%]: lacks %, has %', statement, schema,
				array(SELECT unnest(twin) EXCEPT SELECT unnest(had)), array(SELECT unnest(had) EXCEPT SELECT unnest(twin));
		END IF;
	END LOOP;
	COMMIT;
END $f$;
CREATE PROCEDURE public.try_pairs() LANGUAGE plpgsql AS $f$
DECLARE
	statement text;
	n int := 0;
BEGIN
	FOR statement IN SELECT format('ALTER TABLE t %s, %s', a.text, b.text) FROM public.part AS a JOIN public.part AS b ON a.no <> b.no ORDER BY a.no, b.no LOOP
		n := n + 1;
		CALL public.try(statement, n % 7 = 0);
	END LOOP;
	RAISE WARNING '% statements', n;
END $f$;
RESET client_min_messages;
\set QUIET off
\set ECHO all
SET client_min_messages = warning;
INSERT INTO public.part (text) VALUES
('ADD w2 int NOT NULL DEFAULT 5'),
('ADD w bigint'),
('ADD IF NOT EXISTS v int'),
('ADD r float DEFAULT random() * 0'),
('ADD h int GENERATED ALWAYS AS (s * 3) STORED'),
('DROP w CASCADE'),
('DROP w'),
('DROP v'),
('DROP note'),
('DROP g'),
('ALTER w TYPE bigint'),
('ALTER v TYPE text USING v || note'),
('ALTER v TYPE numeric(12, 1) USING id + 1.25'),
('ALTER note TYPE varchar(30) USING upper(note) || v'),
('ALTER note TYPE text USING public.twice(id) || note'),
('ALTER id TYPE bigint'),
('ALTER id TYPE int USING -id'),
('ALTER c TYPE bigint'),
('ALTER v SET DEFAULT 7'),
('ALTER v DROP DEFAULT'),
('ALTER w SET NOT NULL'),
('ALTER note SET NOT NULL'),
('ALTER note DROP NOT NULL'),
('ALTER g DROP EXPRESSION'),
('ALTER w SET STATISTICS 50'),
('ALTER v SET (n_distinct = 5)'),
('ALTER note SET STORAGE external'),
('ADD CONSTRAINT small CHECK (v < 1000)'),
('ADD CONSTRAINT later CHECK (w > 5) NOT VALID'),
('VALIDATE CONSTRAINT later'),
('VALIDATE CONSTRAINT t_later'),
('DROP CONSTRAINT t_v'),
('DROP CONSTRAINT IF EXISTS t_u'),
('DROP CONSTRAINT t_pkey'),
('ADD CONSTRAINT t_pkey PRIMARY KEY (c, id)'),
('ADD CONSTRAINT t_u UNIQUE (c, v)'),
('ADD CONSTRAINT fk2 FOREIGN KEY (c) REFERENCES other'),
('VALIDATE CONSTRAINT fk2'),
('VALIDATE CONSTRAINT t_fk'),
('DROP CONSTRAINT t_fk'),
('ENABLE ROW LEVEL SECURITY'),
('DISABLE TRIGGER USER'),
('OWNER TO pairs_owner'),
('SET (fillfactor = 70)');
CALL public.try_pairs();
SELECT count(*), text FROM public.refused GROUP BY 2 ORDER BY 2;
SELECT * FROM shuttle.check();
DROP SCHEMA shop, ref, twin CASCADE;
DROP FUNCTION public.twice;
DROP ROLE pairs_owner;
DROP TABLE public.part, public.refused;
