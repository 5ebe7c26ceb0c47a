-- MERGE is refused where it would write to a foreign table, with what to write instead.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = ours, pair;
MERGE INTO account a USING (VALUES (1, 7)) v (id, branch) ON v.id = a.id WHEN MATCHED THEN UPDATE SET branch = v.branch;
\echo :SQLSTATE
CREATE TABLE node.low (id int PRIMARY KEY, v int);
CREATE TABLE number (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE low PARTITION OF number FOR VALUES FROM (0) TO (100) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE here PARTITION OF number FOR VALUES FROM (100) TO (200);
CREATE UNIQUE INDEX ON here (id);
INSERT INTO number VALUES (1, 1), (101, 101);
MERGE INTO number n USING (VALUES (1, 7), (2, 8)) v (id, v) ON v.id = n.id
	WHEN MATCHED THEN UPDATE SET v = v.v WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v);
\echo :SQLSTATE
-- the partition that is left is here
MERGE INTO number n USING (VALUES (101, 7)) v (id, v) ON v.id = n.id AND n.id = 101 WHEN MATCHED THEN UPDATE SET v = v.v;
-- what the hint says
UPDATE number n SET v = v.v FROM (VALUES (1, 7), (2, 8)) v (id, v) WHERE v.id = n.id;
INSERT INTO number SELECT v.* FROM (VALUES (1, 7), (2, 8)) v (id, v) WHERE NOT EXISTS (SELECT FROM number n WHERE n.id = v.id);
SELECT tableoid::regclass, * FROM number ORDER BY id;
-- another error keeps its own words
MERGE INTO here h USING (VALUES (101, 0)) v (id, v) ON v.id = h.id WHEN MATCHED THEN UPDATE SET v = 1 / v.v;

-- rows for a foreign partition where those of here alone are looked at; 17 can return them
INSERT INTO number VALUES (102, 102);
SELECT current_setting('server_version_num')::int >= 170000 AS returns \gset
\set ECHO none
\set QUIET on
\if :returns
MERGE INTO number n USING (VALUES (3, 7), (102, 8), (103, 9)) v (id, v) ON v.id = n.id AND n.id >= 100
	WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v) RETURNING merge_action() AS action, v.id AS given, n.id, n.v;
\else
MERGE INTO number n USING (VALUES (3, 7), (102, 8), (103, 9)) v (id, v) ON v.id = n.id AND n.id >= 100
	WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.v);
SELECT * FROM (VALUES ('INSERT', 3, 3, 7), ('DELETE', 102, 102, 102), ('INSERT', 103, 103, 9)) x (action, given, id, v);
\endif
\set QUIET off
\set ECHO all
SELECT tableoid::regclass, * FROM number ORDER BY id;
