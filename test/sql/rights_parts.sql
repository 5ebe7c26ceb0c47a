-- Tablets, copies and entries hold rows that policies of their table hide: no other role than their owner and
-- superusers names them in a statement, with whatever right, by whatever way.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS parts_reader, parts_writer, parts_owner, parts_member, parts_backup;
RESET client_min_messages;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE ROLE parts_reader;
CREATE ROLE parts_writer;
CREATE ROLE parts_owner;
CREATE ROLE parts_member;
CREATE ROLE parts_backup BYPASSRLS;
GRANT pg_read_all_data TO parts_reader, parts_writer, parts_backup;
GRANT pg_write_all_data TO parts_writer;
GRANT parts_owner TO parts_member;
GRANT USAGE, CREATE ON SCHEMA shop TO parts_reader, parts_writer, parts_owner;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO parts_owner;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SET ROLE parts_owner;
CREATE TABLE p (id int PRIMARY KEY, owner name, code text UNIQUE);
CREATE TABLE c (id int PRIMARY KEY, owner name, code text);
INSERT INTO p SELECT i, CASE i % 4 WHEN 0 THEN 'parts_reader' ELSE 'nobody' END, 'code ' || i FROM generate_series(1, 40) AS i;
INSERT INTO c TABLE p;
ALTER TABLE p ENABLE ROW LEVEL SECURITY;
ALTER TABLE c ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON p USING (owner = current_user);
CREATE POLICY own ON c USING (owner = current_user);
SELECT shuttle.distribute_table('p', 'id', 2);
SELECT shuttle.reference_table('c');
RESET ROLE;
ANALYZE;
SELECT relname AS copy FROM pg_class WHERE relnamespace = 'pg_shuttle_copies'::regnamespace \gset
SELECT relname AS entries FROM pg_class WHERE relnamespace = 'shuttle_indexes'::regnamespace AND relkind = 'p' \gset
CREATE TABLE parts (n int, part text, col text);
INSERT INTO parts SELECT i, part, (SELECT attname FROM pg_attribute WHERE attrelid = part::regclass AND atttypid = ANY ('{text, name}'::regtype[]) ORDER BY attnum LIMIT 1)
FROM unnest(ARRAY['shuttle_tablets.p_t0', 'pg_shuttle_copies.' || :'copy', 'shuttle_indexes.' || :'entries', 'shuttle_tablets.' || :'entries' || '_t0'])
	WITH ORDINALITY AS u (part, i);

-- an operator that tells what it compares, if the planner looks at statistics with it
CREATE FUNCTION tell(text, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE ''saw %'', $1; END';
CREATE FUNCTION tell(name, name) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE ''saw %'', $1; END';
CREATE OPERATOR <<< (LEFTARG = text, RIGHTARG = text, FUNCTION = tell, RESTRICT = scalarltsel);
CREATE OPERATOR <<< (LEFTARG = name, RIGHTARG = name, FUNCTION = tell, RESTRICT = scalarltsel);

-- PART, and a column of it
CREATE TABLE attacks (n int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO attacks (statement) VALUES
	('SELECT * FROM PART'),
	('SELECT count(*) FROM PART'),
	('SELECT 1 FROM PART WHERE false'),
	('SELECT (SELECT max(COL) FROM PART)'),
	('SELECT 1 WHERE EXISTS (SELECT FROM PART)'),
	('WITH w AS MATERIALIZED (SELECT COL FROM PART) SELECT * FROM w'),
	('SELECT * FROM shop.p JOIN PART AS x ON x.COL::text = p.code'),
	('SELECT COL FROM PART UNION ALL SELECT COL FROM PART'),
	('SELECT * FROM PART WHERE COL <<< ''x'''),
	('EXPLAIN SELECT * FROM PART'),
	('EXPLAIN SELECT * FROM PART WHERE COL <<< ''x'''),
	('EXPLAIN ANALYZE SELECT * FROM PART'),
	('COPY PART TO ''/dev/null'''),
	('COPY (SELECT * FROM PART) TO STDOUT'),
	('COPY (SELECT COL FROM PART) TO ''/dev/null'''),
	('CREATE TABLE taken AS SELECT * FROM PART'),
	('CREATE MATERIALIZED VIEW taken AS SELECT * FROM PART'),
	('DECLARE taken CURSOR FOR SELECT * FROM PART'),
	('DEALLOCATE ALL;; PREPARE taken AS SELECT * FROM PART;; EXECUTE taken'),
	('DO $d$ BEGIN PERFORM FROM PART; END $d$'),
	('SELECT query_to_xml(''SELECT * FROM PART'', true, true, '''')'),
	('CREATE VIEW taken AS SELECT * FROM PART;; SELECT * FROM taken'),
	('CREATE FUNCTION pg_temp.taken() RETURNS bigint LANGUAGE sql AS ''SELECT count(*) FROM PART'';; SELECT pg_temp.taken()'),
	('SELECT FROM PART FOR UPDATE'),
	('INSERT INTO PART DEFAULT VALUES'),
	('UPDATE PART SET COL = COL'),
	('DELETE FROM PART'),
	('DELETE FROM shop.p USING PART AS x WHERE x.COL::text = p.code'),
	('INSERT INTO shop.p SELECT 100, COL::text, COL::text FROM PART'),
	('MERGE INTO shop.p USING PART AS x ON x.COL::text = p.code WHEN MATCHED THEN DELETE'),
	('TRUNCATE PART'),
	('LOCK TABLE PART IN ACCESS EXCLUSIVE MODE'),
	('CREATE RULE taken AS ON INSERT TO shop.parts DO ALSO SELECT * FROM PART');
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	part text;
BEGIN
	FOREACH part IN ARRAY string_to_array(statement, ';; ') LOOP
		EXECUTE part;
	END LOOP;
	RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION
	WHEN SQLSTATE 'ZZ000' THEN
		RETURN 'done';
	WHEN OTHERS THEN
		RETURN SQLSTATE || CASE WHEN SQLERRM LIKE 'saw%' THEN ' ' || SQLERRM ELSE '' END;
END $$;
GRANT SELECT ON attacks, parts TO PUBLIC;
CREATE TEMP VIEW outcomes AS
SELECT a.n, a.statement, string_agg(outcome(replace(replace(a.statement, 'PART', part), 'COL', col)), ' | ' ORDER BY p.n) AS outcomes
FROM attacks AS a CROSS JOIN parts AS p GROUP BY a.n, a.statement;
SET ROLE parts_writer;
SELECT statement, outcomes FROM outcomes ORDER BY n;
SET row_security = off;
SELECT count(*) FROM shuttle_tablets.p_t0;
RESET row_security;
COPY shuttle_tablets.p_t0 FROM STDIN;
COPY (SELECT * FROM shuttle_tablets.p_t0) TO STDOUT;
SET ROLE parts_backup;
SELECT count(*) FROM p;
SELECT count(*) FROM shuttle_tablets.p_t0;
SET ROLE parts_reader;
\set VERBOSITY default
SELECT count(*) FROM shuttle_tablets.p_t0;
\set VERBOSITY terse
TABLE c ORDER BY id;
SELECT * FROM p WHERE code = 'code 7';
SELECT * FROM p WHERE code = 'code 8';

-- a plan that was made for the owner, and what others than the caller own
SET plan_cache_mode = force_generic_plan;
SET ROLE parts_owner;
PREPARE of_owner AS SELECT count(*) FROM shuttle_tablets.p_t0;
PREPARE of_writer AS SELECT count(*) FROM shuttle_tablets.p_t0 WHERE id < $1;
EXECUTE of_owner;
CREATE VIEW owners_view AS SELECT * FROM shuttle_tablets.p_t0;
GRANT SELECT ON owners_view TO parts_reader;
SET ROLE parts_writer;
EXECUTE of_owner;
EXECUTE of_writer (10);
CREATE VIEW writers_view AS SELECT * FROM shuttle_tablets.p_t0;
CREATE FUNCTION writers_function() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM shuttle_tablets.p_t0';
CREATE FUNCTION callers_function() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN count(*) FROM shuttle_tablets.p_t0; END';
GRANT SELECT ON writers_view TO parts_owner;
SELECT callers_function();
SET ROLE parts_owner;
SELECT count(*) FROM owners_view;
SELECT count(*) FROM writers_view;
SELECT writers_function();
SELECT callers_function();
EXECUTE of_owner;
EXECUTE of_writer (10);
SET ROLE parts_reader;
SELECT count(*) FROM owners_view;
SELECT callers_function();
SET ROLE parts_member;
SELECT count(*) FROM shuttle_tablets.p_t0;
UPDATE shuttle_tablets.p_t0 SET owner = 'nobody' WHERE owner = 'nobody' AND id < 8;
SELECT count(*) > 0 AS member_sees FROM pg_stats WHERE tablename = 'p_t0';
RESET ROLE;
RESET plan_cache_mode;
SELECT count(*) FROM shuttle_tablets.p_t0;

-- statistics
CREATE TABLE q (id int PRIMARY KEY, v int UNIQUE);
INSERT INTO q SELECT i, i FROM generate_series(1, 100) AS i;
SELECT shuttle.distribute_table('q', 'id', 2);
ANALYZE q;
SELECT count(*) > 0 AS superuser_sees FROM pg_stats WHERE schemaname LIKE '%shuttle%';
SET ROLE parts_reader;
SELECT DISTINCT schemaname, tablename FROM pg_stats WHERE schemaname LIKE '%shuttle%' OR schemaname = 'shop';
RESET ROLE;

-- what was opened without our eyes is closed
SELECT * FROM shuttle.check();
SET allow_system_table_mods = on;
UPDATE pg_class SET relrowsecurity = false WHERE oid IN ('shuttle_tablets.p_t0'::regclass, 'shuttle_tablets.q_t1'::regclass);
RESET allow_system_table_mods;
SELECT problem, repaired FROM shuttle.check(repair => true);
SELECT * FROM shuttle.check();

-- a dump makes foreign tables, and partitions of these
SET shuttle.enable_ddl = off;
CREATE FOREIGN TABLE shuttle_tablets.p_t7 (id int NOT NULL, owner name, code text) SERVER n1;
RESET shuttle.enable_ddl;
SELECT relname, relrowsecurity FROM pg_class WHERE relname ~ '^[pq]_t\d$' ORDER BY 1;
SET client_min_messages = warning;
DROP OWNED BY parts_reader, parts_writer, parts_owner CASCADE;
DROP ROLE parts_reader, parts_writer, parts_member, parts_owner, parts_backup;
