-- trap 39: which setting is read when.  Batch size and row goal are part of the
-- plan; request limit, batches in flight and "off" are read when it starts.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i AS k FROM generate_series(1, 40) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, i AS k FROM generate_series(1, 40) i;
CALL test.mirror('b');
ANALYZE engine.b;
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION look(statement text, OUT batches int, OUT largest int, OUT keys int, OUT requests int, OUT most_in_flight int) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	printed json;
	found jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, VERBOSE, TIMING OFF, FORMAT JSON) EXECUTE ' || statement INTO printed;
	requests := printed -> 0 ->> 'Storage Read Requests';
	FOR found IN SELECT test.look_aheads((printed -> 0)::jsonb) LOOP
		batches := found ->> 'Batches';
		largest := found ->> 'Largest Batch';
		keys := found ->> 'Keys';
		most_in_flight := found ->> 'Most In Flight';
		RETURN NEXT;
	END LOOP;
END $$;
SELECT set_config('search_path', 'engine, local, public', false);
SET shuttle.debug_force_batched_join = on;
SET shuttle.batch_size = 10;
PREPARE q AS SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k;
PREPARE few AS SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.id LIMIT 3;
PREPARE most (int) AS SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.id LIMIT $1;
SELECT * FROM look('q');
SELECT keys FROM look('few');
SELECT keys FROM look('most (2)');
SELECT keys FROM look('most (7)');
-- a later size is not the plan's; a limit of requests is obeyed at once
SET shuttle.batch_size = 4;
SELECT * FROM look('q');
SET shuttle.request_limit = 3;
SELECT * FROM look('q');
RESET shuttle.request_limit;
SET shuttle.batches_in_flight = 1;
SELECT * FROM look('q');
RESET shuttle.batches_in_flight;
-- off: at the next start, and on again
SET shuttle.enable_batched_join = off;
SELECT count(*) FROM look('q');
RESET shuttle.enable_batched_join;
SELECT * FROM look('q');
-- force says how a plan is made, not how it runs
RESET shuttle.debug_force_batched_join;
SELECT batches FROM look('q');
DEALLOCATE q;
SET shuttle.enable_batched_join = off;
PREPARE q AS SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k;
SELECT count(*) FROM look('q');
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
SELECT count(*) FROM look('q');
-- a new plan takes the settings of its day
DEALLOCATE q;
PREPARE q AS SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k;
SELECT * FROM look('q');
-- a cursor keeps what it began with
BEGIN;
DECLARE c CURSOR FOR SELECT a.id, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.id;
FETCH 2 FROM c;
SET LOCAL shuttle.enable_batched_join = off;
SET LOCAL shuttle.request_limit = 1;
FETCH 4 FROM c;
COMMIT;
-- an option of the server is read as the setting that it stands for: the plan is made anew
ALTER SERVER engine OPTIONS (ADD shuttle_batch_size '5');
SELECT * FROM look('q');
ALTER SERVER engine OPTIONS (ADD shuttle_request_limit '2');
SELECT * FROM look('q');
ALTER SERVER engine OPTIONS (DROP shuttle_batch_size, DROP shuttle_request_limit);
-- functions' settings hold while they run
CREATE FUNCTION joined(OUT n bigint) LANGUAGE plpgsql SET shuttle.batch_size = 2 AS $$
BEGIN
	SELECT count(*) INTO n FROM a JOIN b ON b.k = a.k;
END $$;
SELECT joined(), current_setting('shuttle.batch_size');
