-- Where ANALYZE cannot copy, the node takes a sample; no table travels.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set ECHO none
-- What became of a table, and how many rows came for it; those that tell what
-- the node knows are among them.
CREATE FUNCTION pair.outcome(rel regclass, OUT tuples text, OUT columns bigint, OUT travelled text)
LANGUAGE sql AS $$
	SELECT CASE WHEN reltuples BETWEEN 90000 AND 110000 THEN 'about 100000' ELSE reltuples::text END,
		(SELECT count(*) FROM pg_statistic WHERE starelid = rel),
		CASE WHEN rows_read < 100 THEN 'nothing' WHEN rows_read < 3700 THEN 'a sample' WHEN rows_read < 9300 THEN 'some samples' ELSE rows_read::text END
	FROM pg_class, shuttle.node_stats WHERE oid = rel AND server = 'our_node'
$$;
\set ECHO all
SET default_statistics_target = 10;
CREATE TABLE node.large AS SELECT i AS id, i % 10 AS ten, 'word ' || i % 3 AS word FROM generate_series(1, 100000) i;
ALTER TABLE node.large SET (autovacuum_enabled = off);
SELECT pair.tables('large') \g /dev/null

-- never analyzed there: its rows are counted by some of its pages
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');
-- analyzed, and allowed to copy or not
ANALYZE node.large;
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');
ALTER FOREIGN TABLE ours.large OPTIONS (ADD shuttle_copy_statistics 'off');
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');
ALTER FOREIGN TABLE ours.large OPTIONS (DROP shuttle_copy_statistics);

-- another type, another collation, a type that is sorted elsewhere
ALTER FOREIGN TABLE ours.large ALTER ten TYPE bigint;
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');
ALTER FOREIGN TABLE ours.large ALTER ten TYPE int, ALTER word TYPE text COLLATE "ucs_basic";
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');
ALTER FOREIGN TABLE ours.large ALTER word TYPE varchar;
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');

-- a column without statistics: only where it is wanted
ALTER TABLE node.large ADD late int DEFAULT 7;
ALTER FOREIGN TABLE ours.large ADD late int;
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large (id, ten);
SELECT * FROM pair.outcome('ours.large');
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');

-- values that a domain here would refuse: what is stored is not checked again
CREATE DOMAIN pair.tiny AS int CHECK (VALUE < 5);
ALTER FOREIGN TABLE ours.large DROP late, ALTER ten TYPE pair.tiny;
ANALYZE ours.large;
ALTER FOREIGN TABLE ours.large ALTER ten TYPE int;

-- a role that may not read a column there
CREATE ROLE pair_reader LOGIN;
GRANT USAGE ON SCHEMA node TO pair_reader;
GRANT SELECT (id, ten) ON node.large TO pair_reader;
ALTER USER MAPPING FOR CURRENT_USER SERVER our_node OPTIONS (ADD user 'pair_reader', ADD password_required 'false');
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large (ten);
SELECT * FROM pair.outcome('ours.large');
\set VERBOSITY terse
ANALYZE ours.large;
GRANT SELECT ON node.large TO pair_reader;
ALTER TABLE node.large ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON node.large USING (id <= 50);
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.large;
SELECT * FROM pair.outcome('ours.large');
ALTER TABLE node.large DISABLE ROW LEVEL SECURITY;
ALTER USER MAPPING FOR CURRENT_USER SERVER our_node OPTIONS (DROP user, DROP password_required);
DROP OWNED BY pair_reader;
DROP ROLE pair_reader;

-- statistics that are out of date: it was small, and is not
CREATE TABLE node.grown AS SELECT i AS id, i % 10 AS ten FROM generate_series(1, 10) i;
ALTER TABLE node.grown SET (autovacuum_enabled = off);
ANALYZE node.grown;
INSERT INTO node.grown SELECT i, i % 10 FROM generate_series(11, 100000) i;
SELECT pair.tables('grown') \g /dev/null
ALTER FOREIGN TABLE ours.grown OPTIONS (ADD shuttle_copy_statistics 'off');
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.grown;
SELECT * FROM pair.outcome('ours.grown');
UPDATE pg_class SET reltuples = 10, relpages = pg_relation_size(oid) / 8192 WHERE oid = 'node.grown'::regclass;
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.grown;
SELECT * FROM pair.outcome('ours.grown');

-- views, materialized views, partitioned and foreign tables there
CREATE VIEW node.view AS SELECT * FROM node.large;
CREATE MATERIALIZED VIEW node.stored AS SELECT * FROM node.large;
CREATE TABLE node.ranges (id int, ten int) PARTITION BY RANGE (id);
CREATE TABLE node.ranges1 PARTITION OF node.ranges FOR VALUES FROM (0) TO (50000);
CREATE TABLE node.ranges2 PARTITION OF node.ranges FOR VALUES FROM (50000) TO (200000);
INSERT INTO node.ranges SELECT i, i % 10 FROM generate_series(1, 100000) i;
SELECT pair.tables('view'), pair.tables('stored'), pair.tables('ranges') \g /dev/null
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.view;
SELECT * FROM pair.outcome('ours.view');
SELECT relpages > 100 AS has_pages FROM pg_class WHERE oid = 'ours.view'::regclass;
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.stored;
SELECT * FROM pair.outcome('ours.stored');
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.ranges;
SELECT * FROM pair.outcome('ours.ranges');
ANALYZE node.ranges1, node.ranges2;
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.ranges;
SELECT * FROM pair.outcome('ours.ranges');
CREATE FOREIGN TABLE node.far (id int, ten int) SERVER stock_node OPTIONS (schema_name 'node', table_name 'ranges');
CREATE FOREIGN TABLE ours.far (id int, ten int) SERVER our_node OPTIONS (schema_name 'node');
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.far;
SELECT * FROM pair.outcome('ours.far');

-- a partitioned table here: a sample of all its partitions together
CREATE TABLE pair.all (id int, ten int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE pair.all1 PARTITION OF pair.all FOR VALUES FROM (0) TO (50000) SERVER our_node OPTIONS (schema_name 'node', table_name 'ranges1');
CREATE FOREIGN TABLE pair.all2 PARTITION OF pair.all FOR VALUES FROM (50000) TO (200000) SERVER our_node OPTIONS (schema_name 'node', table_name 'ranges2');
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE pair.all;
SELECT * FROM pair.outcome('pair.all');
SELECT attname, n_distinct BETWEEN 9 AND 11 OR n_distinct = -1 AS good, (SELECT max(b::int) > 90000 FROM unnest(histogram_bounds::text::text[]) b) FROM pg_stats WHERE schemaname = 'pair' AND tablename = 'all' ORDER BY 1;

-- nothing there: no rows, and no error; no table: the node's error
CREATE TABLE node.empty (id int);
SELECT pair.tables('empty') \g /dev/null
SELECT shuttle.reset_node_stats('our_node') \g /dev/null
ANALYZE ours.empty;
SELECT * FROM pair.outcome('ours.empty');
DROP TABLE node.empty;
ANALYZE ours.empty;
