-- ANALYZE of a foreign table copies the node's statistics, whole.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set ECHO none
-- Statistics that are not the same here as on the node, by column.
CREATE FUNCTION pair.differ(ours regclass, theirs regclass) RETURNS TABLE (attname name, ours text, theirs text)
LANGUAGE sql AS $$
	WITH known AS (
		SELECT starelid, a.attname, s FROM pg_statistic s
		JOIN pg_attribute a ON a.attrelid = starelid AND a.attnum = staattnum)
	SELECT coalesce(o.attname, t.attname), o.s::text, t.s::text
	FROM (SELECT * FROM known WHERE starelid = ours) o
	FULL JOIN (SELECT * FROM known WHERE starelid = theirs) t ON o.attname = t.attname
	WHERE (to_jsonb(o.s) - '{starelid,staattnum,stainherit}'::text[])
		IS DISTINCT FROM (to_jsonb(t.s) - '{starelid,staattnum,stainherit}'::text[])
$$;
-- Which columns have statistics, and how large the table is said to be.
CREATE FUNCTION pair.known(rel regclass, OUT tuples real, OUT has_pages bool, OUT columns text)
LANGUAGE sql AS $$
	SELECT reltuples, relpages > 0, (SELECT string_agg(attname, ',' ORDER BY attnum)
		FROM pg_statistic JOIN pg_attribute ON attrelid = starelid AND attnum = staattnum WHERE starelid = rel)
	FROM pg_class WHERE oid = rel
$$;
\set ECHO all
CREATE TYPE node.mood AS ENUM ('sad', 'ok', 'glad');
CREATE DOMAIN node.small AS int CHECK (VALUE < 1000000);
CREATE TYPE node.pair AS (a int, b text);
CREATE TABLE node.kinds AS SELECT i AS id, i % 10 AS ten, nullif(i % 3, 0) AS three, 'word ' || i % 30 AS word,
	('w' || i % 5)::varchar(10) AS short, ('b' || i % 7)::char(5) AS blank, (i / 7.0)::numeric(12, 4) AS amount, i::float8 / 3 AS ratio,
	date '2024-01-01' + i % 500 AS day, timestamptz '2024-02-28 23:30:00+00' + i * interval '7 hours' AS at, i * interval '1 hour 1 day' AS span,
	(ARRAY['sad', 'ok', 'ok', 'glad'])[1 + i % 4]::node.mood AS mood, (i % 50)::node.small AS small,
	ARRAY[i % 3, i % 7, 5] AS numbers, ARRAY['x"' || i % 3, E'y\\'] AS texts, to_tsvector('simple', 'word' || i % 20 || ' and more') AS words,
	md5(i::text)::uuid AS uuid, decode(md5((i % 9)::text), 'hex') AS bytes, jsonb_build_object('a', i % 4) AS js, i % 2 = 0 AS flag,
	('10.0.0.' || i % 200)::inet AS address, ROW(i % 5, 'x')::node.pair AS composite, point(i, i) AS place, json_build_object('a', i) AS raw,
	('word ' || i % 30) COLLATE "C" AS word_c, NULL::int AS nothing, repeat('x', i % 2 * 3000) AS wide, E'a,"b" {}\\' || i % 3 AS odd
FROM generate_series(1, 3000) i;
ANALYZE node.kinds;
CREATE FUNCTION pair.mirror(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pair.tables(name);
	EXECUTE format('DROP FOREIGN TABLE stock.%I', name);
END $$;
SELECT pair.mirror('kinds') \g /dev/null
ALTER FOREIGN TABLE ours.kinds ALTER word_c TYPE text COLLATE "C";
ANALYZE ours.kinds;
SELECT * FROM pair.differ('ours.kinds', 'node.kinds');
SELECT tuples, has_pages FROM pair.known('ours.kinds');
-- and does so again, with what the node has learnt since
UPDATE node.kinds SET ten = 11 WHERE id <= 1000;
DELETE FROM node.kinds WHERE id > 2900;
ANALYZE node.kinds;
ANALYZE ours.kinds;
SELECT * FROM pair.differ('ours.kinds', 'node.kinds');
SELECT tuples, has_pages FROM pair.known('ours.kinds');
-- the planner reads all kinds of them
SELECT count(*) > 0 AS planned FROM ours.kinds WHERE ten = 3 AND word LIKE 'word 1%' AND numbers @> '{5}' AND words @@ 'word3'
	AND mood > 'sad' AND small < 10 AND day BETWEEN '2024-02-01' AND '2024-09-01' AND bytes <> '' AND address << '10.0.0.0/24' OR amount > 400;

-- renamed, left out, dropped and added columns; a column list; targets
CREATE TABLE node.shape (a int, "B b" text, c int, gone int, d int);
INSERT INTO node.shape SELECT i, 'x' || i % 5, i % 3, 1, i % 2 FROM generate_series(1, 500) i;
ALTER TABLE node.shape DROP gone;
ANALYZE node.shape;
CREATE FOREIGN TABLE ours.shape (z int, c int, b text OPTIONS (column_name 'B b'), a2 int OPTIONS (column_name 'a')) SERVER our_node OPTIONS (schema_name 'node');
ALTER FOREIGN TABLE ours.shape DROP z;
ANALYZE ours.shape (b);
SELECT * FROM pair.known('ours.shape');
ALTER FOREIGN TABLE ours.shape ALTER c SET STATISTICS 0, ALTER a2 OPTIONS (SET column_name 'd'), ALTER b SET (n_distinct = -0.25);
ANALYZE ours.shape;
SELECT * FROM pair.known('ours.shape');
SELECT attname, n_distinct FROM pg_stats WHERE schemaname = 'ours' AND tablename = 'shape' ORDER BY 1;

-- tables below a partitioned one and below a parent, here and on the node
CREATE TABLE node.part (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE node.part1 PARTITION OF node.part FOR VALUES FROM (0) TO (600);
CREATE TABLE node.part2 PARTITION OF node.part FOR VALUES FROM (600) TO (10000);
INSERT INTO node.part SELECT i, i % 4 FROM generate_series(1, 1000) i;
CREATE TABLE node.parent (id int, k int);
CREATE TABLE node.child () INHERITS (node.parent);
INSERT INTO node.parent SELECT i, 1 FROM generate_series(1, 100) i;
INSERT INTO node.child SELECT i, 2 FROM generate_series(101, 400) i;
ANALYZE node.part, node.parent, node.child;
SELECT pair.mirror('part'), pair.mirror('parent') \g /dev/null
ANALYZE ours.part;
ANALYZE ours.parent;
SELECT tuples, n_distinct, most_common_freqs FROM pair.known('ours.part'), pg_stats WHERE schemaname = 'ours' AND tablename = 'part' AND attname = 'k';
SELECT tuples, n_distinct, most_common_freqs FROM pair.known('ours.parent'), pg_stats WHERE schemaname = 'ours' AND tablename = 'parent' AND attname = 'k';
CREATE TABLE pair.whole (id int, k int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE pair.whole1 PARTITION OF pair.whole FOR VALUES FROM (0) TO (600) SERVER our_node OPTIONS (schema_name 'node', table_name 'part1');
CREATE FOREIGN TABLE pair.whole2 PARTITION OF pair.whole FOR VALUES FROM (600) TO (10000) SERVER our_node OPTIONS (schema_name 'node', table_name 'part2');
ANALYZE pair.whole (k);
SELECT tablename, inherited, attname, n_distinct FROM pg_stats WHERE schemaname = 'pair' ORDER BY 1, 3;
ANALYZE pair.whole;
SELECT tablename, inherited, attname, n_distinct FROM pg_stats WHERE schemaname = 'pair' ORDER BY 1, 3;
SELECT tuples FROM pair.known('pair.whole');
SELECT * FROM pair.differ('pair.whole1', 'node.part1');

-- ranges: nodes before 17 do not show them, and are asked for rows
CREATE TABLE node.spans AS SELECT i AS id, int4range(i % 10, i % 10 + i % 50) AS span,
	int4multirange(int4range(i, i + 5), int4range(i + 7, i + 9)) AS spans FROM generate_series(1, 1000) i;
ANALYZE node.spans;
SELECT pair.mirror('spans') \g /dev/null
ANALYZE ours.spans;
SELECT * FROM pair.differ('ours.spans', 'node.spans');

-- extended statistics are made here, by a sample
CREATE STATISTICS ours.here (ndistinct) ON b, a2 FROM ours.shape;
ANALYZE ours.shape;
SELECT count(*) FROM pg_statistic_ext_data JOIN pg_statistic_ext ON oid = stxoid WHERE stxname = 'here';

-- a transaction that rolls back, and one that copies twice
BEGIN;
DELETE FROM ours.branch;
ANALYZE ours.branch;
ANALYZE ours.branch;
SELECT * FROM pair.differ('ours.branch', 'node.branch');
ROLLBACK;
SELECT * FROM pair.known('ours.branch');

-- a node whose statistics have not a frequency for each value, which the planner would read
UPDATE pg_statistic SET stanumbers1 = stanumbers1[1:2] WHERE starelid = 'node.kinds'::regclass AND stakind1 = 1 AND cardinality(stanumbers1) = 11;
ANALYZE ours.kinds;
SELECT cardinality(most_common_freqs) AS frequencies, cardinality(most_common_vals::text::text[]) AS values FROM pg_stats WHERE schemaname = 'ours' AND tablename = 'kinds' AND attname = 'ten';
SELECT count(*) > 0 AS planned FROM ours.kinds WHERE ten = 3;
