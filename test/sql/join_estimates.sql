-- trap 20: an answer that is a thousand times larger, or smaller, than it was
-- thought to be is ended without harm where the plan has enough of it.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 2 + 1 AS k FROM generate_series(1, 10) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, 1 AS k, repeat('x', 40) AS t FROM generate_series(1, 10) i;
CREATE TABLE c AS SELECT i AS id, i AS k, repeat('x', 40) AS t FROM generate_series(1, 20000) i;
CALL test.mirror('b', 'c');
ANALYZE guest.b, guest.c, engine.b, engine.c;
-- what is known of the foreign tables is no longer true
ALTER TABLE b SET (autovacuum_enabled = off);
ALTER TABLE c SET (autovacuum_enabled = off);
INSERT INTO b SELECT i, 1 + i % 2, repeat('y', 40) FROM generate_series(11, 20000) i;
DELETE FROM c WHERE id > 3;
CREATE FUNCTION nrows(query text, OUT transport text, OUT answer text, OUT few bool) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM set_config('search_path', transport || ', local, public', true);
		EXECUTE query INTO answer;
		EXECUTE 'EXPLAIN (ANALYZE, DIST, TIMING OFF, FORMAT JSON) ' || query INTO printed;
		few := (printed -> 0 ->> 'Storage Rows Returned')::int < 1000;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM nrows('SELECT left(t, 1) FROM b LIMIT 1');
SELECT * FROM nrows('SELECT count(*) FROM (SELECT FROM b WHERE id > 5 LIMIT 7) s');
SELECT * FROM nrows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k) ORDER BY a.id LIMIT 1');
SELECT * FROM nrows('SELECT s.id FROM (SELECT id, k FROM b OFFSET 0) s JOIN a ON a.k = s.k LIMIT 1');
-- the transaction goes on, and so does a cursor
CREATE FUNCTION goes_on(transport text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text := '';
	r record;
	c refcursor;
BEGIN
	PERFORM set_config('search_path', transport || ', local, public', true);
	FOR r IN SELECT b.id FROM a JOIN b ON b.k = a.k LOOP
		found := found || '+';
		EXIT WHEN found = '+++';
	END LOOP;
	OPEN c FOR SELECT a.id, b.id AS b FROM a JOIN b ON b.k = a.k ORDER BY a.id;
	FETCH c INTO r;
	SELECT found || ' ' || count(*) INTO found FROM c;
	MOVE FORWARD 30000 FROM c;
	FETCH c INTO r;
	CLOSE c;
	RETURN found || ' ' || r.id || ' ' || (SELECT count(*) FROM b WHERE k = 2);
END $$;
SELECT t, goes_on(t) FROM unnest(test.transports() || 'local'::text) t;
SET shuttle.debug_force_batched_join = on;
SELECT t, goes_on(t) FROM unnest(test.transports() || 'local'::text) t;
-- a batch whose rows were thought to be few, and one whose rows were thought many
SET work_mem = '64kB';
SELECT test.same_rows('SELECT a.id, count(*), min(b.id) FROM a JOIN b ON b.k = a.k WHERE a.id < 5 GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 2) s');
SELECT test.same_rows('SELECT a.id, c.id FROM a LEFT JOIN c ON c.k = a.id');
SELECT test.same_rows('SELECT c.id, a.id FROM c JOIN a ON a.k = c.k');
