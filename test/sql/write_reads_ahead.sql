-- Rows that an UPDATE or DELETE surely reads are locked ahead, on all nodes at once; others when they are needed.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = pair, public;
SET shuttle.fetch_limit = 10;
CREATE TABLE node.one (id int, v int);
CREATE TABLE node.two (id int, v int);
INSERT INTO node.one SELECT i, i FROM generate_series(0, 400, 2) i;
INSERT INTO node.two SELECT i, i FROM generate_series(1, 401, 2) i;
ANALYZE node.one;
ANALYZE node.two;
CREATE TABLE spread (id int, v int) PARTITION BY RANGE (v);
DO $$
DECLARE
	host text := coalesce(nullif(split_part(current_setting('unix_socket_directories'), ',', 1), ''), 'localhost');
BEGIN
	EXECUTE format('CREATE SERVER our_other FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname %L)',
		host, current_setting('port'), current_database());
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER our_other;
CREATE FOREIGN TABLE one PARTITION OF spread FOR VALUES FROM (0) TO (10000) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE two PARTITION OF spread FOR VALUES FROM (10000) TO (20000) SERVER our_other OPTIONS (schema_name 'node');
UPDATE node.two SET v = v + 10000;
CREATE TABLE few AS SELECT i AS id FROM generate_series(0, 400, 7) i;
ANALYZE few;
SET enable_mergejoin = off;
SET enable_nestloop = off;
-- how many rows of the nodes are locked: those are skipped
CREATE FUNCTION locked() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	nrows bigint;
BEGIN
	SELECT (SELECT count(*) FROM node.one) + (SELECT count(*) FROM node.two) INTO nrows;
	RETURN nrows - (SELECT count(*) FROM (SELECT FROM node.one FOR UPDATE SKIP LOCKED) a)
		- (SELECT count(*) FROM (SELECT FROM node.two FOR UPDATE SKIP LOCKED) a);
END $$;
-- all rows that are read are counted; what is changed is the same with a page at a time
CREATE FUNCTION pages(statement text, OUT reads int, OUT rows int) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	reads := plan -> 0 -> 'Storage Read Requests';
	rows := plan -> 0 -> 'Storage Rows Returned';
END $$;
BEGIN;
SELECT reads > 20 AS pages, rows FROM pages('UPDATE spread s SET v = v + 1 FROM few f WHERE f.id = pair.here(s.id)');
SELECT count(*) FROM spread WHERE v % 2 <> id % 2;
ROLLBACK;
BEGIN;
DELETE FROM spread s USING few f WHERE f.id = pair.here(s.id);
SELECT count(*), sum(id) FROM spread;
ROLLBACK;
-- the second node is asked before the first one's first row is used
CREATE FUNCTION both_asked(id int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF id > 0 THEN
		RETURN true;
	END IF;
	FOR i IN 1 .. 100 LOOP
		PERFORM pg_stat_clear_snapshot();
		IF (SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND application_name LIKE 'pg_shuttle%') = 2 THEN
			RETURN true;
		END IF;
		PERFORM pg_sleep(0.1);
	END LOOP;
	RETURN false;
END $$;
BEGIN;
UPDATE spread s SET v = v + 1 FROM few f WHERE f.id = pair.here(s.id) AND both_asked(s.id) RETURNING s.id = 0 \g /dev/null
SELECT count(*) FROM spread WHERE v % 2 <> id % 2;
ROLLBACK;
-- a LIMIT above the rows, a cursor: no more than needed
BEGIN;
UPDATE spread SET v = v WHERE ctid = ANY (ARRAY(SELECT s.ctid FROM spread s WHERE pair.here(s.id) >= 0 LIMIT 3 FOR UPDATE)) AND pair.here(id) >= 0;
SELECT locked() <= 402;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM spread WHERE pair.here(id) >= 0 FOR UPDATE;
FETCH 3 FROM c;
SELECT locked();
ROLLBACK;
-- batches of a join lock ahead, too, each key on the node that has its rows; not below a LIMIT
CREATE TABLE keys AS SELECT i + (i % 2) * 10000 AS v FROM generate_series(0, 400, 7) i;
ANALYZE keys;
CREATE FUNCTION batches(statement text, OUT reads int, OUT in_flight int) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	reads := plan -> 0 -> 'Storage Read Requests';
	in_flight := jsonb_path_query_first(plan, '$.**."Most In Flight"');
END $$;
SET enable_nestloop = on;
SET shuttle.enable_batched_join = on;
SET enable_hashjoin = off;
SET shuttle.debug_force_batched_join = on;
SET shuttle.batch_size = 10;
BEGIN;
SELECT reads <= 12 AS batches, in_flight FROM batches('UPDATE spread s SET id = id + 1 FROM keys k WHERE k.v = s.v AND pair.here(s.id) >= 0');
SELECT count(*) FROM spread WHERE v % 2 <> id % 2;
SELECT reads <= 12 AS batches, in_flight FROM batches('DELETE FROM spread s USING keys k WHERE k.v = s.v AND pair.here(s.id) >= 0');
SELECT count(*) FROM spread;
ROLLBACK;
BEGIN;
SELECT in_flight <= 1 AS late FROM batches('SELECT FROM keys k JOIN spread s ON k.v = s.v WHERE pair.here(s.id) >= 0 LIMIT 3 FOR UPDATE OF s');
SELECT locked() <= 10;
ROLLBACK;
