-- Statements of DDL on a distributed table, a reference table and an ordinary one: the three are the same
-- afterwards, and nodes have what is here. Each statement is rolled back, on one of the first two, is tried
-- while a node cannot be reached, and is then committed on all. By their numbers, statements are rolled back
-- with the block, or by an exception; are run directly, or by a function; and every fourth one is followed by a
-- comparison, which would also find what those before have left.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\set ECHO none
\set QUIET on
SET client_min_messages = warning;
SELECT count(*) FROM shuttle.use_node('n1') \gset
SELECT count(*) FROM shuttle.use_node('n2') \gset
DROP SCHEMA shop;
DROP TABLE IF EXISTS public.statement;
SELECT format('DROP SCHEMA IF EXISTS %s CASCADE', s), format('CREATE SCHEMA %s', s), format('SET search_path = %s', s), format($f$
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE TYPE pair AS (a int, b text);
CREATE FUNCTION half(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT i / 2';
CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN coalesce(NEW, OLD); END';
CREATE TABLE other (id int PRIMARY KEY, name text);
CREATE TABLE t (c int NOT NULL, id int, v numeric(10, 2) DEFAULT 0, note text, m mood, s small, w int,
	g int GENERATED ALWAYS AS (w * 2) STORED, PRIMARY KEY (c, id), CONSTRAINT t_v CHECK (v >= 0), CONSTRAINT t_u UNIQUE (c, note));
CREATE INDEX t_v_idx ON t (v);
CREATE VIEW seen AS SELECT c, id, w FROM t;
INSERT INTO other SELECT i, 'p' || i FROM generate_series(1, 9) AS i;
INSERT INTO t SELECT 1 + i %% 9, i, i, 'n' || i, 'sad', i, i FROM generate_series(1, 20) AS i$f$)
FROM unnest('{shop,ref,twin}'::text[]) AS s
\gexec
SELECT shuttle.distribute_tables('{shop.other.id, shop.t.c}', tablets => 2), shuttle.reference_table('ref.other'), shuttle.reference_table('ref.t') \gset
DROP ROLE IF EXISTS matrix_owner;
CREATE ROLE matrix_owner;

\i :test/include/definitions.sql
CREATE OR REPLACE FUNCTION public.tell(statement text, place text, wanted text, had text) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	IF wanted IS DISTINCT FROM had THEN
		RAISE WARNING '% [%]: lacks %, has %', statement, place,
			array(SELECT unnest(string_to_array(wanted, E'\n')) EXCEPT SELECT unnest(string_to_array(had, E'\n'))),
			array(SELECT unnest(string_to_array(had, E'\n')) EXCEPT SELECT unnest(string_to_array(wanted, E'\n')));
	END IF;
END $f$;

-- Outside of the statement's transaction, since nodes are asked in another one.
CREATE OR REPLACE PROCEDURE public.compare(statement text) LANGUAGE plpgsql AS $f$
DECLARE
	shop text;
	ref text;
	twin text;
	twin_rows text := public.rows_of('twin');
	node record;
	nodes_query text := format('SELECT (%s) AS shop, (%s) AS ref', public.lines_query('shop', true), public.lines_query('ref', true));
BEGIN
	SET LOCAL search_path = pg_catalog;
	EXECUTE nodes_query INTO shop, ref;
	FOR node IN SELECT server, error, result -> 0 AS has FROM shuttle.run_on_nodes('SET search_path = pg_catalog; ' || nodes_query, '{n1,n2}') LOOP
		PERFORM public.tell(statement, 'shop on ' || node.server, shop, coalesce(node.error, node.has ->> 'shop'));
		PERFORM public.tell(statement, 'ref on ' || node.server, ref, node.has ->> 'ref');
	END LOOP;
	EXECUTE format('SELECT (%s), (%s), (%s)', public.lines_query('twin', false), public.lines_query('shop', false), public.lines_query('ref', false)) INTO twin, shop, ref;
	PERFORM public.tell(statement, 'shop', twin, shop), public.tell(statement, 'ref', twin, ref);
	PERFORM public.tell(statement, 'rows of shop', twin_rows, public.rows_of('shop')), public.tell(statement, 'rows of ref', twin_rows, public.rows_of('ref'));
END $f$;

CREATE OR REPLACE FUNCTION public.by_function(statement text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE statement; END';

-- Runs a statement in a schema; returns its error.
CREATE OR REPLACE FUNCTION public.run(statement text, schema text, how int, undo bool) RETURNS text LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM set_config('search_path', schema, true);
	IF how % 2 = 0 THEN
		EXECUTE statement;
	ELSE
		PERFORM public.by_function(statement);
	END IF;
	IF undo THEN
		RAISE EXCEPTION USING ERRCODE = 'U0001';
	END IF;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $f$;

CREATE TABLE public.statement (no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text);
CREATE OR REPLACE PROCEDURE public.try_all() LANGUAGE plpgsql AS $f$
DECLARE
	statement record;
	schema text;
	here text;
	away text;
	nstatements int := 0;
	naway int := 0;
BEGIN
	FOR statement IN SELECT *, lead(no) OVER (ORDER BY no) IS NULL AS is_last FROM public.statement ORDER BY no LOOP
		PERFORM public.run(statement.text, CASE statement.no % 2 WHEN 0 THEN 'shop' ELSE 'ref' END, statement.no / 2, statement.no % 3 > 0);
		ROLLBACK;
		schema := CASE statement.no % 2 WHEN 0 THEN 'ref' ELSE 'shop' END;
		ALTER SERVER n2 OPTIONS (SET port '1');
		away := public.run(statement.text, schema, statement.no, false);
		ROLLBACK;
		here := public.run(statement.text, 'twin', 0, false);
		IF away = '08001' THEN
			naway := naway + 1;
		ELSE
			PERFORM public.tell(statement.text, 'error with a node away', here, away);
		END IF;
		FOREACH schema IN ARRAY '{shop,ref}'::text[] LOOP
			PERFORM public.tell(statement.text, 'error in ' || schema, here, public.run(statement.text, schema, statement.no, false));
		END LOOP;
		COMMIT;
		nstatements := nstatements + 1;
		IF nstatements % 4 = 0 OR statement.is_last THEN
			CALL public.compare(statement.text);
			COMMIT;
		END IF;
	END LOOP;
	TRUNCATE public.statement;
	RAISE WARNING '% statements, % of them need a node that is away', nstatements, naway;
END $f$;
-- Each is refused with 0A000 and a hint.
CREATE OR REPLACE PROCEDURE public.refuse_all(schemas text[]) LANGUAGE plpgsql AS $f$
DECLARE
	statement record;
	schema text;
	hint text;
	nstatements int := 0;
BEGIN
	FOR statement IN SELECT * FROM public.statement ORDER BY no LOOP
		FOREACH schema IN ARRAY schemas LOOP
			BEGIN
				PERFORM set_config('search_path', schema, true);
				EXECUTE statement.text;
				RAISE WARNING '% [%]: not refused', statement.text, schema;
			EXCEPTION WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
				IF SQLSTATE <> '0A000' OR hint = '' THEN
					RAISE WARNING '% [%]: % %, hint: %', statement.text, schema, SQLSTATE, SQLERRM, hint;
				END IF;
			END;
			COMMIT;
		END LOOP;
		nstatements := nstatements + 1;
	END LOOP;
	TRUNCATE public.statement;
	CALL public.compare('what was refused');
	RAISE WARNING '% statements', nstatements;
END $f$;
RESET client_min_messages;
\set QUIET off
\set ECHO all
SET client_min_messages = warning;

-- columns
INSERT INTO public.statement (text) VALUES
('ALTER TABLE t ADD COLUMN x int DEFAULT 5 NOT NULL, ADD y text CHECK (y <> '''')'),
('ALTER TABLE t ADD COLUMN a_pair pair DEFAULT ROW(1, ''b''), ADD COLUMN pairs pair[]'),
('ALTER TABLE t ADD COLUMN z int DEFAULT (random() * 0)::int + 3'),
('ALTER TABLE t ADD COLUMN IF NOT EXISTS v int'),
('ALTER TABLE t ADD COLUMN v int'),
('ALTER TABLE ONLY t ADD COLUMN "Only" text COLLATE "C", ALTER COLUMN z DROP DEFAULT'),
('ALTER TABLE t ADD COLUMN no_value int NOT NULL'),
('ALTER TABLE t RENAME COLUMN x TO "X y"'),
('ALTER TABLE ONLY t RENAME COLUMN c TO cc'),
('ALTER TABLE t RENAME COLUMN cc TO c'),
('ALTER TABLE t ALTER v SET DEFAULT 7, ALTER w SET DEFAULT 3'),
('ALTER TABLE t ALTER v DROP DEFAULT'),
('ALTER TABLE t ALTER w SET NOT NULL, ALTER v SET NOT NULL'),
('ALTER TABLE t ALTER v DROP NOT NULL'),
('ALTER TABLE t ALTER v TYPE numeric(12, 3), ALTER id TYPE bigint'),
('ALTER TABLE t ALTER w TYPE bigint'),
('ALTER TABLE t ALTER note TYPE varchar(20) COLLATE "C"'),
('ALTER TABLE t ALTER note TYPE varchar(20) COLLATE "C" USING half(c) || note, ALTER s TYPE int USING half(s) + (random() * 0)::int'),
('ALTER TABLE t ALTER g DROP EXPRESSION'),
('ALTER TABLE t ADD COLUMN h int GENERATED ALWAYS AS (half(z)) STORED'),
('ALTER TABLE t DROP COLUMN z CASCADE'),
('ALTER TABLE t DROP COLUMN w'),
('ALTER TABLE t DROP COLUMN y, DROP COLUMN IF EXISTS nothing'),
('ALTER TABLE t ALTER id SET STATISTICS 500, ALTER note SET (n_distinct = 5)'),
('ALTER TABLE t ALTER note RESET (n_distinct), ALTER note SET STORAGE external'),
('ALTER TABLE t ADD COLUMN stored text, ALTER stored SET STORAGE main, ALTER stored SET COMPRESSION pglz, SET (fillfactor = 70, toast.autovacuum_enabled = off)'),
('ALTER TABLE t RESET (fillfactor)'),
('ALTER TABLE nothing ADD COLUMN x int'),
('ALTER TABLE IF EXISTS nothing ADD COLUMN x int');
CALL public.try_all();

-- constraints and indexes
INSERT INTO public.statement (text) VALUES
('ALTER TABLE t ADD CONSTRAINT positive CHECK (w > 0), ADD CHECK (v < 1000)'),
('ALTER TABLE ONLY t ADD CONSTRAINT broken CHECK (w > 10)'),
('ALTER TABLE t ADD CONSTRAINT later CHECK (w > 0) NOT VALID'),
('ALTER TABLE t VALIDATE CONSTRAINT later'),
('ALTER TABLE t RENAME CONSTRAINT later TO "Now"'),
('ALTER TABLE t DROP CONSTRAINT "Now", DROP CONSTRAINT IF EXISTS nothing'),
('ALTER TABLE t DROP CONSTRAINT nothing'),
('ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (c, id, w)'),
('ALTER TABLE t RENAME CONSTRAINT t_pkey TO keys'),
('ALTER TABLE t ADD CONSTRAINT u UNIQUE NULLS NOT DISTINCT (c, w) INCLUDE (v)'),
('ALTER TABLE t ADD UNIQUE (c, g) DEFERRABLE INITIALLY DEFERRED'),
('ALTER TABLE t DROP CONSTRAINT u'),
('ALTER TABLE t ADD COLUMN k int, ADD CONSTRAINT k UNIQUE (c, k), DROP CONSTRAINT t_v, ALTER v SET DEFAULT 1'),
('CREATE INDEX part ON t (w DESC, v) WHERE w > 3'),
('CREATE UNIQUE INDEX once ON t (c, w) INCLUDE (v)'),
('CREATE INDEX ON t USING hash (w) WITH (fillfactor = 50)'),
('CREATE INDEX ON ONLY t ((w + 1), lower(note))'),
('CREATE INDEX halves ON t (half(g))'),
('CREATE INDEX IF NOT EXISTS t_v_idx ON t (w)'),
('CREATE INDEX t_v_idx ON t (w)'),
('ALTER INDEX part RENAME TO "Part"'),
('ALTER INDEX halves ALTER COLUMN 1 SET STATISTICS 200'),
('DROP INDEX "Part", once'),
('DROP INDEX keys'),
('DROP FUNCTION half CASCADE');
CALL public.try_all();

-- types, domains, functions
INSERT INTO public.statement (text) VALUES
('ALTER TYPE mood ADD VALUE ''bad'' BEFORE ''ok'''),
('ALTER TYPE mood RENAME VALUE ''sad'' TO ''down'''),
('ALTER TYPE mood RENAME VALUE ''nothing'' TO ''down'''),
('ALTER TYPE mood RENAME TO moods'),
('ALTER TYPE pair ADD ATTRIBUTE "N" int, DROP ATTRIBUTE b'),
('ALTER TYPE pair RENAME ATTRIBUTE a TO aa'),
('ALTER TYPE pair ALTER ATTRIBUTE aa TYPE bigint'),
('ALTER DOMAIN small ADD CONSTRAINT more CHECK (VALUE > 0)'),
('ALTER DOMAIN small ADD CONSTRAINT less CHECK (VALUE < 5)'),
('ALTER DOMAIN small RENAME CONSTRAINT more TO "More"'),
('ALTER DOMAIN small DROP CONSTRAINT "More"'),
('ALTER DOMAIN small SET NOT NULL'),
('ALTER DOMAIN small SET DEFAULT 4'),
('ALTER DOMAIN small RENAME TO "Small"'),
('CREATE FUNCTION double(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS ''SELECT i * 2'''),
('CREATE INDEX doubles ON t (double(w))'),
('CREATE OR REPLACE FUNCTION double(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS ''SELECT i + i'''),
('ALTER FUNCTION double RENAME TO twice'),
('ALTER FUNCTION twice COST 5'),
('DROP TYPE pair CASCADE'),
('DROP DOMAIN "Small" CASCADE');
CALL public.try_all();

-- what is known here only
INSERT INTO public.statement (text) VALUES
('GRANT SELECT, UPDATE (v) ON t TO matrix_owner'),
('REVOKE SELECT ON t FROM matrix_owner'),
('COMMENT ON TABLE t IS ''a table'''),
('COMMENT ON COLUMN t.v IS ''a value'''),
('COMMENT ON CONSTRAINT positive ON t IS ''a check'''),
('CREATE STATISTICS st (ndistinct) ON w, v FROM t'),
('ALTER STATISTICS st RENAME TO st2'),
('DROP STATISTICS st2'),
('CREATE POLICY pol ON t USING (c > 3)'),
('ALTER POLICY pol ON t RENAME TO pol2'),
('ALTER TABLE t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY'),
('DROP POLICY pol2 ON t'),
('ALTER TABLE t NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY'),
('CREATE TRIGGER trg BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION noop()'),
('ALTER TRIGGER trg ON t RENAME TO trg2'),
('ALTER TABLE t DISABLE TRIGGER USER'),
('UPDATE t SET v = v + 1 WHERE id < 5'),
('ALTER TABLE t ENABLE TRIGGER ALL'),
('UPDATE t SET v = v + 1 WHERE id < 5'),
('DROP TRIGGER trg2 ON t'),
('CREATE SEQUENCE seq OWNED BY t.w'),
('ALTER TABLE t ALTER w SET DEFAULT nextval(''seq'')'),
('DROP SEQUENCE seq CASCADE'),
('ALTER TABLE t OWNER TO matrix_owner'),
('REASSIGN OWNED BY matrix_owner TO CURRENT_USER'),
('LOCK TABLE t IN ACCESS EXCLUSIVE MODE'),
('ALTER VIEW seen RENAME TO watched');
CALL public.try_all();

-- refused
CREATE TABLE public.parent (c int) PARTITION BY RANGE (c);
CREATE TABLE public.child (LIKE twin.t);
INSERT INTO public.statement (text) VALUES
('ALTER TABLE t INHERIT public.parent'),
('ALTER TABLE t NO INHERIT public.parent'),
('ALTER TABLE public.child INHERIT t'),
('ALTER TABLE public.parent ATTACH PARTITION t DEFAULT'),
('ALTER TABLE t ATTACH PARTITION public.child DEFAULT'),
('ALTER TABLE t DETACH PARTITION shuttle_tablets.t_t0'),
('CREATE TABLE public.child2 () INHERITS (t)'),
('CREATE TABLE public.child2 PARTITION OF t DEFAULT'),
('CREATE FOREIGN TABLE public.child2 () INHERITS (t) SERVER n1'),
('ALTER TABLE t OF public.child'),
('ALTER TABLE t NOT OF'),
('ALTER TABLE t SET UNLOGGED'),
('ALTER TABLE t ALTER CONSTRAINT t_u DEFERRABLE');
CALL public.refuse_all('{shop,ref}');
INSERT INTO public.statement (text) VALUES
('ALTER TABLE t ADD EXCLUDE (w WITH =)'),
('ALTER TABLE t ADD CHECK (w > 0) NO INHERIT'),
('CREATE CONSTRAINT TRIGGER trg AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION noop()'),
('CREATE TRIGGER trg AFTER INSERT ON t REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION noop()'),
('CREATE RULE r AS ON INSERT TO t DO INSTEAD NOTHING'),
('ALTER FOREIGN TABLE shuttle_tablets.t_t0 ADD COLUMN last int'),
('ALTER FOREIGN TABLE shuttle_tablets.t_t0 OPTIONS (ADD table_name ''x'')'),
('CREATE TRIGGER trg BEFORE INSERT ON shuttle_tablets.t_t0 FOR EACH ROW EXECUTE FUNCTION noop()'),
('TRUNCATE shuttle_tablets.t_t0'),
('DROP FOREIGN TABLE shuttle_tablets.t_t0');
UPDATE public.statement SET text = replace(text, 't_t0', (SELECT min(relname) FROM shuttle.tablets JOIN pg_class ON oid = tablet WHERE relation = 'shop.t'::regclass));
CALL public.refuse_all('{shop}');
DROP TABLE public.parent, public.child;

-- foreign keys, the table, and its end
INSERT INTO public.statement (text) VALUES
('ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (c) REFERENCES other ON DELETE CASCADE'),
('INSERT INTO t (c, id, w) VALUES (99, 99, 99)'),
('ALTER TABLE t RENAME CONSTRAINT fk TO "Fk"'),
('DELETE FROM other WHERE id = 3'),
('TRUNCATE other, t'),
('TRUNCATE ONLY t'),
('TRUNCATE other CASCADE'),
('ALTER TABLE t DROP CONSTRAINT "Fk"'),
('ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (c) REFERENCES other'),
('ALTER TABLE t RENAME TO "T t"'),
('ALTER TABLE "T t" RENAME TO t'),
('ALTER TABLE other DROP CONSTRAINT other_pkey CASCADE'),
('ALTER TABLE other ADD PRIMARY KEY (id)'),
('DROP TABLE t'),
('DROP TABLE other, t CASCADE');
CALL public.try_all();
SELECT * FROM shuttle.check();
DROP SCHEMA shop, ref, twin CASCADE;
DROP ROLE matrix_owner;
DROP TABLE public.statement;
