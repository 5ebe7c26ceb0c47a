-- MERGE into partitions on nodes: what it shows, needs and refuses (the rest: write_merge_same).
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = ours, pair;
SET shuttle.enable_batched_join = on;
-- a foreign table itself is refused by core before anybody is asked
MERGE INTO account a USING (VALUES (1, 7)) v (id, branch) ON v.id = a.id WHEN MATCHED THEN UPDATE SET branch = v.branch;
\echo :SQLSTATE
CREATE TABLE node.low (id int PRIMARY KEY, v int);
CREATE TABLE number (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE low PARTITION OF number FOR VALUES FROM (0) TO (100) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE here PARTITION OF number FOR VALUES FROM (100) TO (200);
CREATE UNIQUE INDEX ON here (id);
INSERT INTO number VALUES (1, 1), (101, 101);
CREATE FUNCTION pair.rows() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(tableoid::regclass || ' ' || id || ' ' || v, ', ' ORDER BY id) FROM ours.number $$;
MERGE INTO number n USING (VALUES (1, 7), (2, 8), (101, 9), (102, 10)) v (id, v) ON v.id = n.id
	WHEN MATCHED THEN UPDATE SET v = v.v WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v);
SELECT pair.rows();
-- the plan: what is read, and a ModifyTable for each action, deletes first
CREATE FUNCTION pair.lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Merge\)|CTE|LockRows|Look Ahead|Routed|Foreign|Delete|Update|Insert' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '^\s*(->)?\s*', ''), '_\d+', '', 'g');
		END IF;
	END LOOP;
END $$;
SET shuttle.debug_force_batched_join = on;
SELECT pair.lines('MERGE INTO number n USING (VALUES (1, 7), (2, 8)) v (id, v) ON v.id = n.id
	WHEN MATCHED AND v.v = 7 THEN UPDATE SET v = v.v WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v)');
-- nothing is locked where nothing is changed
SELECT pair.lines('MERGE INTO number n USING (VALUES (1, 7), (2, 8)) v (id, v) ON v.id = n.id WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v)');
RESET shuttle.debug_force_batched_join;

-- core's own MERGE where only partitions of here are left
SELECT pair.lines('MERGE INTO number n USING (VALUES (101, 7)) v (id, v) ON v.id = n.id AND n.id >= 100 WHEN MATCHED THEN UPDATE SET v = v.v');
MERGE INTO number n USING (VALUES (101, 7)) v (id, v) ON v.id = n.id AND n.id = 101 WHEN MATCHED THEN UPDATE SET v = v.v;
SELECT pair.rows();
-- rows for a foreign partition there; 17 can return them
SELECT current_setting('server_version_num')::int >= 170000 AS is_17 \gset
\set ECHO none
\set QUIET on
\if :is_17
MERGE INTO number n USING (VALUES (3, 7), (102, 8), (103, 9)) v (id, v) ON v.id = n.id AND n.id >= 100
	WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v) RETURNING merge_action() AS action, v.id AS given, n.id, n.v;
\else
MERGE INTO number n USING (VALUES (3, 7), (102, 8), (103, 9)) v (id, v) ON v.id = n.id AND n.id >= 100
	WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v);
SELECT * FROM (VALUES ('INSERT', 3, 3, 7), ('DELETE', 102, 102, 10), ('INSERT', 103, 103, 9)) x (action, given, id, v);
\endif
\set QUIET off
\set ECHO all
SELECT pair.rows();

-- refused: what a statement says, with or without a hint
CREATE FUNCTION pair.refused(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE query;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', SQLSTATE, SQLERRM, left(nullif(hint, ''), 30));
END $$;
\set merge 'MERGE INTO number n USING (VALUES (1, 7), (2, 8)) v (id, v) ON v.id = n.id WHEN MATCHED THEN UPDATE SET v = v.v WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v)'
-- triggers, of here
CREATE FUNCTION pair.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER t BEFORE UPDATE ON number EXECUTE FUNCTION pair.nothing();
SELECT pair.refused(:'merge');
DROP TRIGGER t ON number;
CREATE TRIGGER t AFTER INSERT ON low FOR EACH ROW EXECUTE FUNCTION pair.nothing();
SELECT pair.refused(:'merge');
DROP TRIGGER t ON low;
-- row security, for a user that it is for
CREATE ROLE pair_user;
GRANT USAGE ON SCHEMA ours, pair TO pair_user;
GRANT ALL ON number TO pair_user;
ALTER TABLE number ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON number USING (true);
SET ROLE pair_user;
SELECT pair.refused(:'merge');
RESET ROLE;
ALTER TABLE number DISABLE ROW LEVEL SECURITY;
-- several columns at once
SELECT pair.refused('MERGE INTO number n USING (VALUES (1, 7)) v (id, v) ON v.id = n.id WHEN MATCHED THEN UPDATE SET (id, v) = (SELECT v.id, v.v)');
-- other servers
CREATE TABLE node.high (v int, id int);
CREATE FOREIGN TABLE high (id int, v int) SERVER stock_node OPTIONS (schema_name 'node');
ALTER TABLE number ATTACH PARTITION high FOR VALUES FROM (200) TO (300);
SELECT pair.refused(:'merge');
DROP FOREIGN TABLE high;
-- what only 17 has
\set ECHO none
\set QUIET on
\if :is_17
SELECT pair.refused(:'merge' || ' RETURNING n.id') = '0A000 cannot execute MERGE on relation "low" Use INSERT ... ON CONFLICT, or'
	AND pair.refused(:'merge' || ' WHEN NOT MATCHED BY SOURCE THEN DELETE') = '0A000 cannot execute MERGE on relation "low" Use INSERT ... ON CONFLICT, or' AS refused;
\else
SELECT true AS refused;
\endif
\set QUIET off
\set ECHO all
-- what the hint says
UPDATE number n SET v = v.v FROM (VALUES (1, 7), (2, 8)) v (id, v) WHERE v.id = n.id;
INSERT INTO number SELECT v.* FROM (VALUES (1, 7), (2, 8)) v (id, v) WHERE NOT EXISTS (SELECT FROM number n WHERE n.id = v.id);
-- another error keeps its own words
MERGE INTO here h USING (VALUES (101, 0)) v (id, v) ON v.id = h.id WHEN MATCHED THEN UPDATE SET v = 1 / v.v;

-- privileges: those of its actions, and of what it reads
CREATE USER MAPPING FOR pair_user SERVER our_node OPTIONS (password_required 'false');
GRANT USAGE ON SCHEMA node TO pair_user;
GRANT ALL ON node.low TO pair_user;
REVOKE ALL ON number FROM pair_user;
CREATE FUNCTION pair.allowed(privileges text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('GRANT %s ON ours.number TO pair_user', privileges);
	SET LOCAL ROLE pair_user;
	answer := pair.refused(query);
	RESET ROLE;
	EXECUTE 'REVOKE ALL ON ours.number FROM pair_user';
	RETURN answer;
END $$;
SELECT p, pair.allowed(p, :'merge') FROM unnest('{"SELECT, UPDATE","SELECT, INSERT","UPDATE, INSERT","UPDATE (v), INSERT, SELECT (v)","UPDATE (v), INSERT, SELECT (id)","UPDATE (id), INSERT, SELECT"}'::text[]) p;
SELECT p, pair.allowed(p, 'MERGE INTO number n USING (VALUES (2)) v (id) ON v.id = n.id WHEN MATCHED THEN DELETE') FROM unnest('{"SELECT, UPDATE","SELECT, DELETE"}'::text[]) p;
SELECT pair.rows();

-- columns with defaults, generated ones; the node's table has partitions itself
CREATE TABLE node.made (k int, a int, b int GENERATED ALWAYS AS (a * 2) STORED, c text DEFAULT 'of the node', d int) PARTITION BY LIST (k);
CREATE TABLE node.made1 PARTITION OF node.made FOR VALUES IN (1, 2);
CREATE TABLE node.made2 PARTITION OF node.made FOR VALUES IN (3, 4);
CREATE TABLE node.made3 PARTITION OF node.made FOR VALUES IN (5, 6);
CREATE TABLE made (k int, a int, b int GENERATED ALWAYS AS (a * 2) STORED, c text DEFAULT 'of here', d int) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE made1 PARTITION OF made FOR VALUES FROM (1) TO (7) SERVER our_node OPTIONS (schema_name 'node', table_name 'made');
CREATE TABLE made2 PARTITION OF made FOR VALUES FROM (7) TO (10);
INSERT INTO made (k, a, d) SELECT i, i, i FROM generate_series(1, 9) i WHERE i NOT IN (2, 8);
\set merge 'MERGE INTO made m USING generate_series(1, 9) i ON i = m.k WHEN MATCHED AND i % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET a = m.a + 100, c = DEFAULT WHEN NOT MATCHED AND i < 5 THEN INSERT (a, k) VALUES (i, i) WHEN NOT MATCHED THEN INSERT VALUES (i, DEFAULT, DEFAULT, \'given\')'
BEGIN;
SET shuttle.enable_write_buffer = off;
:merge;
SELECT tableoid::regclass, * FROM made ORDER BY k;
ROLLBACK;
SET shuttle.enable_batched_join = off;
:merge;
RESET shuttle.enable_batched_join;
SELECT tableoid::regclass, * FROM made ORDER BY k;
SELECT pair.refused('MERGE INTO made m USING (VALUES (1)) v (k) ON v.k = m.k WHEN MATCHED THEN UPDATE SET b = 1');
-- after columns were dropped: partitions as the table has them, and others
ALTER TABLE made DROP COLUMN d;
ALTER TABLE made ADD e int;
ALTER TABLE node.made ADD e int;
MERGE INTO made m USING (VALUES (1, 5), (7, 6), (2, 7)) i (k, v) ON i.k = m.k WHEN MATCHED THEN UPDATE SET e = i.v, a = m.a - 100;
SELECT tableoid::regclass, * FROM made ORDER BY k;
CREATE TABLE node.made20 (k int, a int, b int GENERATED ALWAYS AS (a * 2) STORED, c text, e int);
CREATE TABLE node.made30 (e int, gone text, c text, a int, b int GENERATED ALWAYS AS (a * 2) STORED, k int);
CREATE FOREIGN TABLE made3 PARTITION OF made FOR VALUES FROM (20) TO (30) SERVER our_node OPTIONS (schema_name 'node', table_name 'made20');
CREATE FOREIGN TABLE made4 (c text, gone text, k int, e int, a int, b int GENERATED ALWAYS AS (a * 2) STORED) SERVER our_node OPTIONS (schema_name 'node', table_name 'made30');
ALTER TABLE made4 DROP gone;
ALTER TABLE made ATTACH PARTITION made4 FOR VALUES FROM (30) TO (40);
INSERT INTO made (k, a, c, e) SELECT i, -i, 'c' || i, i FROM generate_series(20, 39, 5) i;
MERGE INTO made m USING (VALUES (1, 5), (20, 6), (25, 0), (30, 7), (35, 0), (36, 8)) i (k, v) ON i.k = m.k WHEN MATCHED AND i.v = 0 THEN DELETE
	WHEN MATCHED THEN UPDATE SET e = i.v WHEN NOT MATCHED THEN INSERT (k, e) VALUES (i.k, i.v);
MERGE INTO made m USING (VALUES (20, 31), (36, 22), (30, 9)) i (k, v) ON i.k = m.k WHEN MATCHED THEN UPDATE SET k = i.v, c = m.c || '!';
SELECT tableoid::regclass, * FROM made ORDER BY k;
DROP TABLE made, number;
REVOKE ALL ON SCHEMA ours, pair FROM pair_user;
DROP SCHEMA node CASCADE;
DROP USER MAPPING FOR pair_user SERVER our_node;
DROP ROLE pair_user;
