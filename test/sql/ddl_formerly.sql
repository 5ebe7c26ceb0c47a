-- DDL that ordinary tables take, on a distributed table beside an ordinary one: SET SCHEMA,
-- CLUSTER, REPLICA IDENTITY, USING INDEX, ALTER INDEX, DROP INDEX CONCURRENTLY, identity columns, and
-- DROP COLUMN of the distribution column.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/twins.sql
SELECT count(*) FROM (SELECT shuttle.use_node('n' || i) FROM generate_series(1, 3) AS i) AS u;
SET shuttle.tablets = 4;
CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, w text, UNIQUE (id, v));
CREATE TABLE plain.t (LIKE t INCLUDING ALL);
INSERT INTO t SELECT i, i % 7, 'w' || i FROM generate_series(1, 40) AS i;
INSERT INTO plain.t TABLE t;
SELECT shuttle.distribute_table('t', 'id');
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE plain.kind (LIKE kind INCLUDING ALL);
SELECT shuttle.reference_table('kind');
CREATE FUNCTION same() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text; b text;
BEGIN
	SELECT string_agg(t::text, ' ' ORDER BY id) INTO a FROM (SELECT id, v, w FROM t) AS t;
	SET LOCAL search_path = plain;
	SELECT string_agg(t::text, ' ' ORDER BY id) INTO b FROM (SELECT id, v, w FROM t) AS t;
	SET LOCAL search_path = shop;
	RETURN CASE WHEN a = b THEN 'same' ELSE a END;
END $$;

-- what is kept here, or is so already
SELECT statement, twins(statement) FROM (VALUES
('ALTER TABLE t REPLICA IDENTITY FULL'), ('ALTER TABLE t REPLICA IDENTITY NOTHING'), ('ALTER TABLE t REPLICA IDENTITY DEFAULT'),
('ALTER TABLE t SET TABLESPACE pg_default'), ('ALTER TABLE t SET TABLESPACE nowhere'), ('ALTER TABLE t SET LOGGED'),
('ALTER TABLE t REPLICA IDENTITY FULL')) AS s (statement);
SELECT relreplident FROM pg_class WHERE oid = 't'::regclass;

-- indexes
SELECT statement, twins(statement) FROM (VALUES
('CREATE INDEX by_v ON t (v)'), ('ALTER INDEX by_v SET (fillfactor = 70)'), ('ALTER INDEX by_v SET (fillfactor = 5)'),
('ALTER INDEX by_v RESET (fillfactor)'), ('ALTER INDEX by_v SET TABLESPACE pg_default'),
('CLUSTER t'), ('CLUSTER t USING by_v'), ('CLUSTER t'), ('CLUSTER t USING nothing'), ('CLUSTER t USING kind_pkey'),
('ALTER TABLE t SET WITHOUT CLUSTER'), ('CLUSTER t'), ('ALTER TABLE t CLUSTER ON by_v'), ('ALTER TABLE t CLUSTER ON nothing'),
('CREATE UNIQUE INDEX pair ON t (v, id) INCLUDE (w)'), ('ALTER TABLE t ADD CONSTRAINT both_unique UNIQUE USING INDEX pair'),
('CREATE UNIQUE INDEX words ON t (w)'), ('ALTER TABLE t ADD UNIQUE USING INDEX words'),
('CREATE UNIQUE INDEX few ON t (id) WHERE v > 1'), ('ALTER TABLE t ADD UNIQUE USING INDEX few'),
('ALTER TABLE t ADD UNIQUE USING INDEX by_v'), ('ALTER TABLE t ADD UNIQUE USING INDEX nothing'),
('ALTER TABLE t ADD UNIQUE USING INDEX t_pkey'), ('INSERT INTO t VALUES (41, 1, ''w1'')'), ('INSERT INTO t VALUES (40, 5, ''w'')'))
AS s (statement);
SELECT n.nspname, conname, pg_get_constraintdef(c.oid) FROM pg_constraint AS c JOIN pg_class AS r ON r.oid = conrelid JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE relname = 't' AND contype IN ('p', 'u') AND n.nspname IN ('shop', 'plain') ORDER BY 2, 1;
BEGIN;
DROP INDEX CONCURRENTLY by_v;
ROLLBACK;
DROP INDEX CONCURRENTLY by_v, few;
DROP INDEX CONCURRENTLY by_v;
DROP INDEX plain.by_v;
SELECT same(), (SELECT count(*) FROM shuttle.check()) AS problems;

-- another schema, and back below a savepoint
CREATE SCHEMA "Other";
PREPARE one AS SELECT w FROM shop.t WHERE id = $1;
EXECUTE one(7);
BEGIN;
SAVEPOINT s;
ALTER TABLE t SET SCHEMA "Other";
SELECT count(*) FROM "Other".t;
ROLLBACK TO s;
SELECT count(*) FROM t;
ALTER TABLE t SET SCHEMA "Other";
ALTER TABLE kind SET SCHEMA "Other";
INSERT INTO "Other".t VALUES (50, 50, 'fifty');
INSERT INTO "Other".kind VALUES (50, 'half');
COMMIT;
INSERT INTO "Other".kind VALUES (7, 'seven');
SELECT t.id, name FROM "Other".t JOIN "Other".kind USING (id) ORDER BY 1;
SELECT count(*), min(schemaname) FROM (SELECT (json_array_elements(result) ->> 'schemaname') AS schemaname FROM shuttle.run_on_nodes(
	'SELECT schemaname FROM pg_tables WHERE tablename ~ ''^(t_t\d|kind$)''', '{n1,n2,n3}')) AS s;
EXECUTE one(7);
SELECT count(*) FROM shuttle.check();
ALTER TABLE "Other".t SET SCHEMA shop;
ALTER TABLE "Other".kind SET SCHEMA shop;
EXECUTE one(7);
DELETE FROM t WHERE id = 50;
SELECT same(), (SELECT count(*) FROM shuttle.check()) AS problems;

-- what a user writes is no part of a statement on nodes
SELECT twins($$CREATE INDEX "70')--" ON t (v)$$);
SELECT twins($$ALTER INDEX "70')--" SET (fillfactor = '%2$s')$$);
SELECT twins($$DROP INDEX "70')--"$$);

-- columns
-- before 17 the table is distributed anew, with a notice
SET client_min_messages = warning;
SELECT twins('ALTER TABLE t ADD COLUMN nr int GENERATED ALWAYS AS IDENTITY');
RESET client_min_messages;
SELECT count(DISTINCT nr), max(nr) FROM t;
INSERT INTO t (id, v, w) VALUES (60, 60, 'sixty') RETURNING nr;
INSERT INTO plain.t (id, v, w) VALUES (60, 60, 'sixty');
SELECT pg_get_partkeydef('t'::regclass);
BEGIN;
SELECT twins('ALTER TABLE t DROP COLUMN id');
SELECT pg_get_partkeydef('t'::regclass);
SELECT count(*), sum(v), count(DISTINCT w) FROM t;
INSERT INTO t (v, w) VALUES (9, 'w1');
ROLLBACK;
SELECT twins('ALTER TABLE t DROP CONSTRAINT words');
SELECT twins('ALTER TABLE t DROP COLUMN id CASCADE');
SELECT count(*) FROM shuttle.tables WHERE relation = 't'::regclass;
SELECT count(*), sum(v), count(DISTINCT w) FROM t;
SELECT count(*), sum(v), count(DISTINCT w) FROM plain.t;
SELECT shuttle.local_table('kind');
DROP SCHEMA shop, plain, "Other" CASCADE;
