-- Partitions by expressions and inequalities, all of them pruned, none of them
-- pruned, default ones alone, and partitions of partitions, mixed with local ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 13, 0) AS k, i % 4 AS v, chr(97 + i % 5) AS t FROM generate_series(1, 28) i;
-- by an expression
CREATE TABLE e (id int, k int, t text) PARTITION BY RANGE ((k % 5));
CREATE TABLE e0 PARTITION OF e FOR VALUES FROM (MINVALUE) TO (2);
CREATE TABLE e1 PARTITION OF e FOR VALUES FROM (2) TO (4);
CREATE TABLE e2 PARTITION OF e DEFAULT;
INSERT INTO e SELECT i, nullif(i % 11, 3), chr(97 + i % 6) FROM generate_series(1, 60) i;
-- by list, over a list, with a default partition of partitions
CREATE TABLE p (id int, k int, t text) PARTITION BY LIST (t);
CREATE TABLE p_a PARTITION OF p FOR VALUES IN ('a');
CREATE TABLE p_bc PARTITION OF p FOR VALUES IN ('b', 'c');
CREATE TABLE p_d PARTITION OF p FOR VALUES IN ('d');
INSERT INTO p SELECT i, i % 11, chr(97 + i % 4) FROM generate_series(1, 60) i;
-- a default partition and nothing else
CREATE TABLE d (id int, k int, t text) PARTITION BY HASH (k);
CREATE TABLE d0 PARTITION OF d FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO d SELECT * FROM p;
CREATE TABLE r (id int, k int, t text) PARTITION BY RANGE (k);
CREATE TABLE r_all PARTITION OF r DEFAULT;
INSERT INTO r SELECT * FROM e;
-- no row of the outer side has its partition
CREATE TABLE n (id int, k int, t text) PARTITION BY RANGE (k);
CREATE TABLE n0 PARTITION OF n FOR VALUES FROM (100) TO (200);
CREATE TABLE n1 PARTITION OF n FOR VALUES FROM (200) TO (300);
INSERT INTO n SELECT i, 100 + i, 'n' FROM generate_series(1, 150) i;
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	(1, 'SELECT a.id, e.id FROM a LEFT JOIN e ON e.k = a.k'),
	(2, 'SELECT a.id, e.id FROM a JOIN e ON e.k % 5 = a.v'),
	(3, 'SELECT a.id, e.id FROM a LEFT JOIN e ON e.k % 5 = a.k % 5 AND e.k = a.k'),
	(4, 'SELECT a.id, e.id FROM a JOIN e ON e.k % 5 < a.v AND e.t = a.t'),
	(5, 'SELECT a.id, p.id FROM a LEFT JOIN p ON p.t = a.t AND p.k = a.k'),
	(6, 'SELECT a.id, p.id FROM a JOIN p ON p.t > a.t AND p.k = a.k'),
	(7, 'SELECT a.id, p.id FROM a LEFT JOIN p ON p.t <> a.t AND p.k = a.k'),
	(8, 'SELECT a.id, p.id FROM a JOIN p ON p.t = ANY (ARRAY[a.t, ''a'']) AND p.k = a.k'),
	(9, 'SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM p WHERE p.t = a.t AND p.k = a.k)'),
	(10, 'SELECT a.id, d.id FROM a LEFT JOIN d ON d.k = a.k'),
	(11, 'SELECT a.id, r.id FROM a LEFT JOIN r ON r.k >= a.k AND r.k < a.k + 2'),
	(12, 'SELECT a.id, n.id FROM a LEFT JOIN n ON n.k = a.k'),
	(13, 'SELECT a.id, n.id FROM a LEFT JOIN n ON n.k = a.k + 95'),
	(14, 'SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM n WHERE n.k = a.k)'),
	(15, 'SELECT a.id, (SELECT count(*) FROM n WHERE n.k = a.k) FROM a'),
	(16, 'SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT e.id FROM e WHERE e.k = a.k ORDER BY e.id LIMIT 2) s ON true');
CALL test.mirror_partitions('e');
CALL test.mirror_partitions('p');
CALL test.mirror_partitions('d');
CALL test.mirror_partitions('r');
CALL test.mirror_partitions('n');
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
-- every partition is asked
SET enable_partition_pruning = off;
SELECT nr, test.same_rows(query) FROM queries WHERE nr IN (1, 3, 5, 7, 9, 12, 16) ORDER BY nr;
RESET enable_partition_pruning;
-- some partitions are here
CALL test.mirror_partitions('e', 'e2');
CALL test.mirror_partitions('p', 'p_a', 'p_d');
CALL test.mirror_partitions('n', 'n0');
SELECT nr, test.same_rows(query) FROM queries WHERE nr NOT IN (10, 11) ORDER BY nr;
SET enable_partition_pruning = off;
SELECT nr, test.same_rows(query) FROM queries WHERE nr IN (1, 3, 5, 7, 9, 12, 16) ORDER BY nr;
RESET enable_partition_pruning;
-- a partition of partitions, of which one is here
CREATE FUNCTION make_parts(transport text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %1$I.q (id int, k int, t text) PARTITION BY LIST (t)', transport);
	EXECUTE format('CREATE FOREIGN TABLE %1$I.q_a PARTITION OF %1$I.q FOR VALUES IN (''a'') SERVER %1$I OPTIONS (schema_name ''local'', table_name ''p_a'')', transport);
	EXECUTE format('CREATE TABLE %1$I.q_more PARTITION OF %1$I.q DEFAULT PARTITION BY RANGE (k)', transport);
	EXECUTE format('CREATE FOREIGN TABLE %1$I.q_low PARTITION OF %1$I.q_more FOR VALUES FROM (0) TO (5) SERVER %1$I OPTIONS (schema_name ''local'')', transport);
	EXECUTE format('CREATE TABLE %1$I.q_high PARTITION OF %1$I.q_more DEFAULT', transport);
	EXECUTE format('INSERT INTO %1$I.q_high SELECT * FROM local.p WHERE t <> ''a'' AND k >= 5', transport);
END $$;
CREATE TABLE q AS TABLE p;
CREATE TABLE q_low AS SELECT * FROM p WHERE t <> 'a' AND k < 5;
SELECT make_parts(t) FROM unnest(test.transports()) t \g /dev/null
SELECT test.same_rows('SELECT a.id, q.id FROM a LEFT JOIN q ON q.t = a.t AND q.k = a.k');
SELECT test.same_rows('SELECT a.id, q.id FROM a LEFT JOIN q ON q.k = a.k');
SELECT test.same_rows('SELECT a.id, q.id FROM a JOIN q ON q.t = a.t AND q.k < a.k');
SELECT test.same_rows('SELECT a.id, (SELECT max(q.id) FROM q WHERE q.t = a.t) FROM a');
-- keys go to the partitions of their values only: requests, of one batch
SET shuttle.debug_force_batched_join = on;
CALL test.mirror_partitions('n');
SELECT transport, keys, requests FROM test.numbers('SELECT a.id, n.id FROM a LEFT JOIN n ON n.k = a.k');
SELECT transport, keys, requests FROM test.numbers('SELECT a.id, n.id FROM a LEFT JOIN n ON n.k = a.k + 100');
SELECT transport, keys, requests FROM test.numbers('SELECT a.id, n.id FROM a LEFT JOIN n ON n.t = a.t');
