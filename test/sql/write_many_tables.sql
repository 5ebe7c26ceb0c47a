-- Rows for many partitions are sent, and waited for, before their buffers together hold
-- more than a few full ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS node CASCADE;
CREATE SCHEMA node;
CALL test.loopback('one');
CREATE TABLE node.t (id int, k int, note text) PARTITION BY LIST (k);
CREATE TABLE t (id int, k int, note text) PARTITION BY LIST (k);
DO $$
BEGIN
	FOR i IN 0..39 LOOP
		EXECUTE format('CREATE TABLE node.t%s PARTITION OF node.t (PRIMARY KEY (id)) FOR VALUES IN (%s)', i, i);
		EXECUTE format('CREATE FOREIGN TABLE t%s PARTITION OF t FOR VALUES IN (%s) SERVER one OPTIONS (schema_name ''node'')', i, i);
	END LOOP;
END $$;
RESET client_min_messages;
SET shuttle.write_buffer_size = '1kB';

-- 6 rows of each have less than 1 kB
CREATE FUNCTION requests(statement text) RETURNS bigint LANGUAGE sql AS $$
	SELECT (test.dist_json(statement) -> 'Storage Flush Requests')::text::bigint $$;
SELECT requests('INSERT INTO t SELECT i, i % 2, repeat(''x'', 60) FROM generate_series(1, 12) i');
DELETE FROM node.t;
SELECT n BETWEEN 80 AND 240 AS several FROM requests('INSERT INTO t SELECT i, i % 40, repeat(''x'', 60) FROM generate_series(1, 240) i') n;
SELECT count(*), count(DISTINCT id), count(DISTINCT k), min(length(note)) FROM node.t;
WITH made AS (INSERT INTO t SELECT i, i % 40, repeat('x', 60) FROM generate_series(1000, 761, -1) i RETURNING id)
SELECT array_agg(id) = ARRAY(SELECT generate_series(1000, 761, -1)) AS ordered FROM made;
DELETE FROM node.t;
COPY t (id, k) FROM PROGRAM 'seq 1 2000 | awk ''{ print $1 "\t" $1 % 40 }''';
SELECT count(*) FROM node.t;

-- an UPDATE takes rows out of one partition and brings them to another
UPDATE t SET k = (k + 1) % 40, note = repeat('y', 60) WHERE random() < 2;
SELECT count(*), bool_and(k = (id + 1) % 40), count(DISTINCT k) FROM node.t;
UPDATE t SET k = w.n FROM (SELECT i AS id, i % 7 AS n FROM generate_series(1, 3000) i) w WHERE t.id = w.id AND random() < 2;
SELECT count(*), bool_and(k = id % 7), count(DISTINCT k) FROM node.t;
INSERT INTO t SELECT i, i % 40, repeat('x', 60) FROM generate_series(1, 2400) i
	ON CONFLICT DO NOTHING;
SELECT count(*), count(note) FROM node.t;
SET client_min_messages = warning;
DROP SERVER one CASCADE;
DROP TABLE t;
DROP SCHEMA node CASCADE;
DROP FUNCTION requests(text);
