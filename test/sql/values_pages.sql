-- Rows whose values travel in binary: pages of both formats in one answer,
-- answers that get out of the way, answers that are read again, batches.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/transfer.sql
CREATE TABLE node.event AS
SELECT i AS id, i % 50 AS device, timestamptz '2024-01-01 00:00+00' + i * interval '1 minute' AS at, i / 7.0::float8 AS reading,
	CASE WHEN i % 3 = 0 THEN NULL ELSE 'note ' || i END AS note
FROM generate_series(1, 5000) i;
ALTER TABLE node.event ADD PRIMARY KEY (id);
ANALYZE node.event;
SELECT pair.tables('event') \g /dev/null
-- each of these is a statement that the session sends for the first time: its
-- first pages are texts, the next ones are not
SET shuttle.fetch_limit = 100;
SET shuttle.fetch_ahead = '20kB';
SELECT pair.same('SELECT * FROM event');
SELECT pair.same('SELECT * FROM event WHERE pair.here(id) % 2 = 0 ORDER BY id DESC');
SELECT pair.same('SELECT at, note FROM event ORDER BY id LIMIT 4000');
SELECT pair.same('SELECT a.id, b.at FROM event a, event b WHERE pair.here(a.id) = b.id ORDER BY 1');
SELECT pair.bytes('SELECT device, at, reading FROM ours.event WHERE id > 0') > pair.bytes('SELECT device, at, reading FROM ours.event WHERE id > 0') AS second_in_binary;

-- pages wait in a store while a savepoint comes and goes, or another statement
-- needs the connection; in memory and in a file
CREATE FUNCTION pair.interrupted(side text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	rows text[] := '{}';
	one record;
	c refcursor;
BEGIN
	PERFORM set_config('search_path', side, true);
	OPEN c FOR SELECT id, at, reading, note FROM event ORDER BY id;
	FOR i IN 1 .. 5000 LOOP
		FETCH c INTO one;
		rows := rows || one::text;
		IF i IN (1, 150, 2500) THEN
			BEGIN
				rows := rows || (SELECT max(at)::text FROM event WHERE id < i);
				IF i = 150 THEN
					RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
				END IF;
			EXCEPTION WHEN SQLSTATE 'SH001' THEN
				NULL;
			END;
		END IF;
	END LOOP;
	FETCH c INTO one;
	RETURN rows || FOUND::text;
END $$;
SELECT pair.judge(pair.interrupted('stock'), pair.interrupted('ours'));
SET work_mem = '64kB';
SELECT pair.judge(pair.interrupted('stock'), pair.interrupted('ours'));
RESET work_mem;

-- an answer that is read again, from its pages and by asking once more
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT pair.same('SELECT i, sum(reading), max(at) FROM generate_series(1, 3) i, event WHERE id < 90 AND pair.here(id) > i GROUP BY i ORDER BY i');
SELECT pair.same('SELECT i, sum(reading), max(at) FROM generate_series(1, 3) i, event WHERE pair.here(id) > i GROUP BY i ORDER BY i');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET shuttle.fetch_limit;
RESET shuttle.fetch_ahead;

-- batches: the ordinal of a key is in binary as well
CREATE TABLE wanted AS SELECT i * 7 % 300 AS id FROM generate_series(1, 600) i;
ANALYZE wanted;
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE FUNCTION pair.batches(format text, size int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('shuttle.enable_binary_transfer', format, true);
	PERFORM set_config('shuttle.batch_size', size::text, true);
	RETURN (SELECT md5(string_agg(r::text, ' ')) FROM (
		SELECT w.id, e.at, e.reading, e.note FROM wanted w LEFT JOIN ours.event e ON e.id = w.id) r);
END $$;
SELECT size, pair.batches('off', size) = pair.batches('on', size) AS same,
	pair.batches('off', size) = md5(string_agg(r::text, ' ')) AS right
FROM unnest(ARRAY[1, 7, 100, 1024]) size,
	(SELECT w.id, e.at, e.reading, e.note FROM wanted w LEFT JOIN node.event e ON e.id = w.id) r
GROUP BY size ORDER BY size;
SET shuttle.batch_size = 100;
SET shuttle.enable_binary_transfer = off;
SELECT pair.bytes('SELECT w.id, e.at, e.reading FROM wanted w JOIN ours.event e ON e.id = w.id') AS text_bytes \gset
RESET shuttle.enable_binary_transfer;
-- all batches of the first one are on their way before an answer is here
SELECT pair.bytes('SELECT w.id, e.at, e.reading FROM wanted w JOIN ours.event e ON e.id = w.id') = :text_bytes AS first_as_texts,
	pair.bytes('SELECT w.id, e.at, e.reading FROM wanted w JOIN ours.event e ON e.id = w.id') < :text_bytes * 0.8 AS second_in_binary;
DROP TABLE wanted;
