-- An answer that stands in the way of a savepoint or a write is read to its end by
-- about as many pages as it has.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.long AS SELECT i AS id, 'text ' || i AS name FROM generate_series(1, 20000) i;
ANALYZE node.long;
SELECT pair.tables('long') \g /dev/null
ANALYZE ours.long;
CREATE FOREIGN TABLE ours.unknown (id int, name text) SERVER our_node OPTIONS (schema_name 'node', table_name 'long');
CREATE TEMP TABLE counted (requests bigint, rows bigint);
CREATE FUNCTION pair.since() RETURNS TABLE (requests bigint, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	before counted := (SELECT c FROM counted c);
	now counted;
BEGIN
	SELECT n.requests, n.rows_read INTO now FROM shuttle.node_stats n WHERE n.server = 'our_node';
	DELETE FROM counted;
	INSERT INTO counted SELECT now.*;
	RETURN QUERY SELECT now.requests - before.requests, now.rows - before.rows;
END $$;
SET search_path = ours;
SELECT count(*) FROM branch;
SELECT pair.since() IS NOT NULL;
-- a write behind a cursor's first rows: its page, the rest in 20, and the write
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM long;
FETCH 2 FROM c;
SELECT * FROM pair.since();
UPDATE branch SET city = city WHERE id = 1;
SELECT * FROM pair.since();
FETCH 1 FROM c;
MOVE 19990 FROM c;
FETCH ALL FROM c;
FETCH ALL FROM c;
SELECT * FROM pair.since();
COMMIT;
-- a savepoint; rows that nobody expected are asked for by twice as many each time
SELECT pair.since() IS NOT NULL;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM unknown;
FETCH 2 FROM c;
SAVEPOINT a;
SELECT count(*) FROM branch;
SELECT requests BETWEEN 25 AND 50 AS few, rows FROM pair.since();
ROLLBACK TO a;
MOVE 19995 FROM c;
FETCH ALL FROM c;
COMMIT;
-- pages stay as small as they have to be, and locks are not taken ahead of need
SELECT pair.since() IS NOT NULL;
ALTER FOREIGN TABLE long OPTIONS (ADD shuttle_fetch_limit '5000');
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM long;
FETCH 2 FROM c;
UPDATE branch SET city = city WHERE id = 1;
SELECT * FROM pair.since();
COMMIT;
ALTER FOREIGN TABLE long OPTIONS (SET shuttle_fetch_limit '1000000', ADD shuttle_fetch_size_limit '100kB');
SELECT pair.since() IS NOT NULL;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM long;
FETCH 2 FROM c;
UPDATE branch SET city = city WHERE id = 1;
SELECT * FROM pair.since();
COMMIT;
