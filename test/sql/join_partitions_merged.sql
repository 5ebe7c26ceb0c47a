-- The first rows of a key: its partition alone is asked if the key has only one, and
-- the partitions are merged if it may have several.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 9 AS k, i % 3 AS v FROM generate_series(1, 36) i;
CREATE TABLE p (id int, k int, v int) PARTITION BY LIST (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0, 1, 2);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (3, 4, 5);
CREATE TABLE p_rest PARTITION OF p DEFAULT;
CREATE TABLE h (id int, k int, v int) PARTITION BY HASH (k, v);
CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE h2 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE TABLE r (id int, k int, v int) PARTITION BY RANGE (k, v);
CREATE TABLE r0 PARTITION OF r FOR VALUES FROM (MINVALUE, MINVALUE) TO (4, 1);
CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (4, 1) TO (4, 2);
CREATE TABLE r2 PARTITION OF r FOR VALUES FROM (4, 2) TO (MAXVALUE, MAXVALUE);
INSERT INTO p SELECT i, nullif(i % 9, 7), i % 4 FROM generate_series(1, 90) i;
INSERT INTO h SELECT * FROM p;
INSERT INTO r SELECT * FROM p WHERE k IS NOT NULL;
CALL test.mirror_partitions('p', 'p1');
CALL test.mirror_partitions('h');
CALL test.mirror_partitions('r');
-- two levels
CREATE TABLE d (id int, k int, v int) PARTITION BY LIST (k);
CREATE TABLE d_even PARTITION OF d FOR VALUES IN (0, 2, 4, 6, 8) PARTITION BY LIST (v);
CREATE TABLE d_even_a PARTITION OF d_even FOR VALUES IN (0, 1);
CREATE TABLE d_even_b PARTITION OF d_even DEFAULT;
CREATE TABLE d_odd PARTITION OF d DEFAULT;
INSERT INTO d SELECT * FROM p;
ANALYZE d;
DO $$
DECLARE
	transport text;
	part text;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		EXECUTE format('CREATE TABLE %I.d (LIKE d) PARTITION BY LIST (k)', transport);
		EXECUTE format('CREATE TABLE %1$I.d_even PARTITION OF %1$I.d FOR VALUES IN (0, 2, 4, 6, 8) PARTITION BY LIST (v)', transport);
		FOREACH part IN ARRAY '{d_even_a of d_even FOR VALUES IN (0\, 1),d_even_b of d_even DEFAULT,d_odd of d DEFAULT}'::text[] LOOP
			EXECUTE format('CREATE FOREIGN TABLE %1$I.%2$s PARTITION OF %1$I.%3$s SERVER %1$I OPTIONS (schema_name ''local'')',
				transport, split_part(part, ' of ', 1), split_part(part, ' of ', 2));
		END LOOP;
	END LOOP;
END $$;
-- whether the plans route or merge
CREATE FUNCTION test.merges(query text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT trim(line), ', ') FROM test.plan_shape(query) AS line WHERE line ~ 'Routed Append|Merge Append|DIFFERENT'
$$;
CREATE TABLE queries (id int, query text);
INSERT INTO queries VALUES
	(1, 'SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k ORDER BY p.id LIMIT 2) s'),
	(2, 'SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k AND p.k = a.v ORDER BY p.id LIMIT 2) s'),
	(3, 'SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k AND p.k > a.v ORDER BY p.id LIMIT 2) s'),
	(4, 'SELECT a.id, (SELECT max(id) FROM p WHERE p.k = a.k) FROM a'),
	(5, 'SELECT a.id, (SELECT p.v FROM p WHERE p.k = a.k ORDER BY p.id DESC LIMIT 1) FROM a'),
	(6, 'SELECT a.id, s.* FROM a, LATERAL (SELECT h.id FROM h WHERE h.k = a.k AND h.v = a.v ORDER BY h.id LIMIT 2) s'),
	(7, 'SELECT a.id, s.* FROM a, LATERAL (SELECT r.id FROM r WHERE r.k = a.k AND r.v = a.v ORDER BY r.id LIMIT 2) s'),
	(8, 'SELECT a.id, s.* FROM a, LATERAL (SELECT d.id FROM d WHERE d.k = a.k AND d.v = a.v ORDER BY d.id LIMIT 2) s'),
	(9, 'SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT p.id FROM p WHERE p.k = nullif(a.k, 4) ORDER BY p.id LIMIT 2) s ON true'),
	(11, 'SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k >= a.k ORDER BY p.id LIMIT 2) s'),
	(12, 'SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k OR p.k = a.v ORDER BY p.id LIMIT 2) s'),
	(13, 'SELECT a.id, s.* FROM a, LATERAL (SELECT r.id FROM r WHERE r.k = a.k ORDER BY r.id LIMIT 2) s'),
	(14, 'SELECT a.id, s.* FROM a, LATERAL (SELECT d.id FROM d WHERE d.k = a.k ORDER BY d.id LIMIT 2) s'),
	(15, 'SELECT a.id, s.* FROM a, LATERAL (SELECT h.id FROM h WHERE h.k = a.k ORDER BY h.id LIMIT 2) s');
SELECT id, test.merges(query), test.same_rows(query) FROM queries ORDER BY id;
-- each key is sent to one partition
SET shuttle.debug_force_batched_join = on;
SELECT id, n.* FROM queries, LATERAL (SELECT transport, keys, distinct_keys, alone FROM test.numbers(query)) n
WHERE id IN (1, 4, 6, 7) ORDER BY id, transport;
RESET shuttle.debug_force_batched_join;
-- with a parameter
SELECT test.same_prepared('SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k AND p.v = $1 ORDER BY p.id LIMIT 2) s', 'int', '1', '3');
SET shuttle.enable_routed_append = off;
SELECT id, test.same_rows(query) FROM queries WHERE id IN (1, 4, 6, 7) ORDER BY id;
RESET shuttle.enable_routed_append;
DROP TABLE a, p, h, r, d, queries;
