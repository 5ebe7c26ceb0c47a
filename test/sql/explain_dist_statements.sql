-- EXPLAIN (DIST) of everything that EXPLAIN takes; nested ones; errors between.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote AS SELECT i AS id FROM generate_series(1, 20) i;
CALL test.loopback('far');
CREATE FOREIGN TABLE ft (id int) SERVER far OPTIONS (table_name 'remote');
SET client_min_messages = notice;
PREPARE p(int) AS SELECT * FROM ft WHERE id = $1;
-- rows that the statement's nodes and the whole statement returned
CREATE FUNCTION test.rows(statement text) RETURNS text LANGUAGE sql AS
$$SELECT format('%s %s %s', j #> '{Plan,Node Type}', j #> '{Plan,Storage Rows Returned}', j #> '{Storage Rows Returned}')
FROM test.dist_json(statement, ', COSTS OFF, BUFFERS OFF') j$$;
SELECT test.rows('SELECT * FROM ft');
SELECT test.rows('EXECUTE p(3)');
SELECT test.rows('CREATE TABLE made AS SELECT * FROM ft');
SELECT count(*) FROM made;
SELECT test.rows('CREATE TABLE IF NOT EXISTS made AS SELECT * FROM ft');
SELECT test.rows('CREATE TABLE made_by_execute AS EXECUTE p(4)');
SELECT count(*) FROM made_by_execute;
SELECT test.rows('DECLARE c CURSOR FOR SELECT * FROM ft');
-- as statements, not by EXECUTE of plpgsql
\set VERBOSITY terse
DO $$
DECLARE
	line text;
BEGIN
	FOR i IN 1..2 LOOP		-- the second time from the plan cache
		FOR line IN EXPLAIN (ANALYZE, DIST, COSTS OFF, BUFFERS OFF, TIMING OFF) SELECT * FROM ft LOOP
			IF line LIKE '%Rows Returned%' THEN RAISE NOTICE '%', line; END IF;
		END LOOP;
	END LOOP;
END $$;
-- a rule makes two plans; each has its own totals
CREATE TABLE ruled (id int);
CREATE RULE also AS ON INSERT TO ruled DO ALSO SELECT count(*) FROM (SELECT id FROM ft OFFSET 0) x;
SELECT line FROM test.explained('EXPLAIN (ANALYZE, DIST, COSTS OFF, BUFFERS OFF, TIMING OFF) INSERT INTO ruled VALUES (1)') line
WHERE line ~ '^ *Storage Rows Returned';
-- functions: their own EXPLAINs show what they asked for, the outer one all
CREATE FUNCTION test.reads() RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT count(*) FROM (SELECT id FROM ft OFFSET 0) x); END$$;
CREATE FUNCTION test.explains(options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF, FORMAT JSON%s) SELECT * FROM ft', options) INTO plan;
	RETURN format('node %s total %s', plan #> '{0,Plan,Storage Rows Returned}', plan #> '{0,Storage Rows Returned}');
END $$;
SELECT test.rows('SELECT test.reads()');
CREATE TABLE log (t text);
SELECT test.rows($$INSERT INTO log SELECT test.explains('') UNION ALL SELECT test.explains(', DIST') UNION ALL SELECT test.explains(', DIST off')$$);
SELECT * FROM log;
-- a parameter of EXECUTE that reads is not part of the plan
SELECT test.rows('EXECUTE p(test.reads()::int)');
-- an error ends it; the next statement is as ever
SELECT (test.raised('EXPLAIN (ANALYZE, DIST) SELECT 1 / (id - 5) FROM ft')).message;
SELECT test.explains('');
SELECT test.rows('SELECT * FROM ft');
EXPLAIN (ANALYZE, DIST) SELECT 1 / (id - 5) FROM ft;
SELECT test.explains('');
DEALLOCATE ALL;
SET client_min_messages = warning;
DROP SERVER far CASCADE;
DROP TABLE remote, made, made_by_execute, ruled, log;
DROP FUNCTION test.rows, test.reads, test.explains;
