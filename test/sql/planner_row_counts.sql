-- Foreign tables without statistics: nodes are asked how many rows they have.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('one');
CALL test.loopback('two');
CREATE SCHEMA node;
CREATE SCHEMA far;
CREATE TABLE node.big WITH (autovacuum_enabled = off) AS SELECT i AS id, i % 1000 AS k, 'row ' || i AS t FROM generate_series(1, 30000) i;
ALTER TABLE node.big ADD PRIMARY KEY (id);
CREATE TABLE node.small WITH (autovacuum_enabled = off) AS SELECT i AS id, i * 7 AS k FROM generate_series(1, 20) i;
CREATE TABLE node.tree (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE node.tree_1 PARTITION OF node.tree FOR VALUES FROM (0) TO (10000) WITH (autovacuum_enabled = off);
CREATE TABLE node.tree_2 PARTITION OF node.tree FOR VALUES FROM (10000) TO (20000) WITH (autovacuum_enabled = off);
INSERT INTO node.tree SELECT i, i FROM generate_series(1, 19999) i;
ANALYZE node.big, node.small, node.tree_1;
-- rows since the last ANALYZE
INSERT INTO node.big SELECT i, i % 1000, 'row ' || i FROM generate_series(30001, 60000) i;
CREATE TABLE node.never (id int, k int) WITH (autovacuum_enabled = off);
INSERT INTO node.never SELECT i, i FROM generate_series(1, 50000) i;
CREATE TABLE node.empty (id int, k int) WITH (autovacuum_enabled = off);
CREATE VIEW node.seen AS SELECT * FROM node.big;
CREATE TABLE node.parts_1 (k int, v int) WITH (autovacuum_enabled = off);
CREATE TABLE node.parts_2 (k int, v int) WITH (autovacuum_enabled = off);
INSERT INTO node.parts_1 SELECT 1, i FROM generate_series(1, 4000) i;
INSERT INTO node.parts_2 SELECT 2, i FROM generate_series(1, 9000) i;
ANALYZE node.parts_1, node.parts_2;

CREATE FOREIGN TABLE far.big (id int, k int OPTIONS (column_name 'k'), t text) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.big_two (id int, k int, t text) SERVER two OPTIONS (schema_name 'node', table_name 'big');
CREATE FOREIGN TABLE far.small (id int, k int) SERVER two OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.tree (id int, k int) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.never (id int, k int) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.empty (id int, k int) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.seen (id int, k int, t text) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.missing (id int, k int) SERVER one OPTIONS (schema_name 'node');
CREATE TABLE far.parts (k int, v int) PARTITION BY LIST (k);
CREATE FOREIGN TABLE far.parts_1 PARTITION OF far.parts FOR VALUES IN (1) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE far.parts_2 PARTITION OF far.parts FOR VALUES IN (2) SERVER two OPTIONS (schema_name 'node');

-- Rows that the planner expects of scans, by table. Two digits: rows of a page differ
-- between versions.
CREATE FUNCTION test.expected(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(format('%s %s', scan ->> 'Relation Name',
			round((scan ->> 'Plan Rows')::numeric, 1 - floor(log((scan ->> 'Plan Rows')::numeric))::int)), ', ' ORDER BY scan ->> 'Relation Name')
		FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "Foreign Scan")') scan);
END $$;
CREATE FUNCTION test.joined(VARIADIC tables text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT test.expected(format('SELECT FROM far.%s, generate_series(1, 2)', name)) FROM unnest(tables) name $$;

SELECT test.joined('big', 'big_two', 'small', 'tree', 'never', 'empty', 'parts', 'seen', 'missing');
SET shuttle.enable_row_counts = off;
SELECT test.joined('big', 'small', 'parts');
RESET shuttle.enable_row_counts;

-- a table alone has no choice of plans, unless it is grouped
SELECT test.expected('SELECT FROM far.big WHERE k > 0');
SELECT test.expected('SELECT k, count(*) FILTER (WHERE random() < 2) FROM far.big GROUP BY k');

-- distinct values, of a table and of partitions; ranges have core's default
SELECT test.expected('SELECT FROM far.big, generate_series(1, 2) WHERE id = 7');
SELECT test.expected('SELECT FROM far.big, generate_series(1, 2) WHERE k = 7');
SELECT test.expected('SELECT FROM far.big, generate_series(1, 2) WHERE k BETWEEN 7 AND 8');
SELECT test.expected('SELECT FROM far.parts, generate_series(1, 2) WHERE v = 7');

-- kept for a while, until tables, servers or mappings change
DELETE FROM node.big WHERE id > 45000;
VACUUM ANALYZE node.big;
SELECT test.joined('big', 'big_two');
ALTER FOREIGN TABLE far.big OPTIONS (ADD table_name 'small');
SELECT test.joined('big', 'big_two');
ALTER FOREIGN TABLE far.big OPTIONS (DROP table_name);
SELECT test.joined('big');
INSERT INTO node.small SELECT i, i FROM generate_series(21, 2000) i;
SELECT test.joined('small');
ALTER SERVER two OPTIONS (ADD fetch_size '77');
SELECT test.joined('small');

-- inside transactions of all kinds
BEGIN ISOLATION LEVEL REPEATABLE READ;
ALTER SERVER two OPTIONS (SET fetch_size '78');
SELECT test.joined('small');
SELECT count(*) FROM far.small s JOIN far.big b USING (id);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT test.joined('never');
SELECT count(*) FROM far.small s JOIN far.big b USING (id);
INSERT INTO far.small VALUES (-1, -1);
COMMIT;
ALTER SERVER two OPTIONS (SET fetch_size '79');
BEGIN READ ONLY;
SELECT test.joined('small');
COMMIT;
SET default_transaction_isolation = serializable;
SET default_transaction_deferrable = on;
SET default_transaction_read_only = on;
SELECT test.joined('big_two');
RESET default_transaction_read_only;
RESET default_transaction_deferrable;
RESET default_transaction_isolation;

-- what the transaction itself has locked there is not waited for
BEGIN;
TRUNCATE far.small;
INSERT INTO far.small SELECT i, i FROM generate_series(1, 5) i;
ALTER SERVER two OPTIONS (SET fetch_size '80');
SET LOCAL statement_timeout = '1500ms';
SELECT count(*) FROM far.small s JOIN far.big b USING (id);
SELECT test.joined('small');
COMMIT;

-- within a function, and of a role without rights on the node's tables
CREATE ROLE counts_reader;
GRANT USAGE ON SCHEMA far, test TO counts_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA far TO counts_reader;
ALTER SERVER two OPTIONS (SET fetch_size '81');
CREATE FUNCTION test.counted() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	BEGIN
		SELECT count(*) INTO n FROM far.small s JOIN far.big b USING (id);
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		RETURN n;
	END;
END $$;
SELECT test.counted();
ALTER SERVER two OPTIONS (SET fetch_size '82');
SET ROLE counts_reader;
-- no mapping: nothing is known, and planning does not fail
SELECT test.joined('small');
RESET ROLE;
SELECT test.joined('small');

-- plans as those with statistics
CREATE FUNCTION test.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
CREATE TABLE few AS SELECT i * 10 AS id FROM generate_series(1, 50) i;
CREATE TABLE plans (query text, plan text, answer text);
CREATE FUNCTION test.plans_of() RETURNS TABLE (query text, same bool) LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	FOREACH query IN ARRAY ARRAY[
		'SELECT count(*), sum(b.k) FROM few f JOIN far.big b ON b.id = f.id',
		'SELECT count(*), sum(b.k) FROM far.small s JOIN far.big b ON b.id = s.id',
		'SELECT count(*), sum(b.k) FROM far.big b JOIN far.small s ON b.id < s.k',
		'SELECT count(*) FROM far.big a JOIN far.big_two b USING (id)',
		'SELECT count(*) FROM few f WHERE EXISTS (SELECT FROM far.big b WHERE b.id = f.id)',
		'SELECT count(*) FROM few f JOIN (SELECT id, max(k) AS k FROM far.big GROUP BY id) b ON b.id = f.id'] LOOP
		EXECUTE query INTO answer;
		INSERT INTO plans SELECT plans_of.query, string_agg(line, E'\n'), answer FROM test.plan(query) line;
	END LOOP;
	RETURN QUERY SELECT p.query, count(DISTINCT (p.plan, p.answer)) = 1 FROM plans p GROUP BY 1 ORDER BY 1;
END $$;
SELECT count(*) FROM test.plans_of();
SELECT test.plan('SELECT count(*), sum(b.k) FROM few f JOIN far.big b ON b.id = f.id');
DROP FUNCTION test.counted();
ANALYZE far.big, far.big_two, far.small;
SELECT * FROM test.plans_of();
SELECT test.joined('big', 'big_two', 'small');
DROP SERVER one CASCADE;
DROP SERVER two CASCADE;
DROP SCHEMA node CASCADE;
DROP SCHEMA far CASCADE;
DROP OWNED BY counts_reader;
DROP ROLE counts_reader;
DROP TABLE few, plans;
