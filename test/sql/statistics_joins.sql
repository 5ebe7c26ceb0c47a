-- Joins of foreign tables that shuttle.analyze() has seen are estimated within
-- twice of joins of local ones: tables as those of PostgreSQL's own tests.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
RESET shuttle.enable_batched_join;
CREATE SCHEMA near;
CREATE SCHEMA far;
SET search_path = near;
CREATE TABLE tenk1 AS
SELECT u AS unique1, i AS unique2, u % 2 AS two, u % 4 AS four, u % 10 AS ten, u % 20 AS twenty, u % 100 AS hundred, u % 1000 AS thousand,
	u % 2000 AS twothousand, u % 5000 AS fivethous, u AS tenthous, u % 100 * 2 AS odd, u % 100 * 2 + 1 AS even,
	(translate(lpad(u::text, 4, '0'), '0123456789', 'ABCDEFGHIJ') || 'AA')::name AS stringu1,
	(translate(lpad(i::text, 4, '0'), '0123456789', 'ABCDEFGHIJ') || 'AA')::name AS stringu2,
	(ARRAY['AAAAxx', 'HHHHxx', 'OOOOxx', 'VVVVxx'])[1 + i % 4]::name AS string4
FROM (SELECT i, i * 7919 % 10000 AS u FROM generate_series(0, 9999) i) s;
CREATE UNIQUE INDEX ON tenk1 (unique1);
CREATE UNIQUE INDEX ON tenk1 (unique2);
CREATE INDEX ON tenk1 (hundred);
CREATE INDEX ON tenk1 (thousand, tenthous);
CREATE TABLE tenk2 AS SELECT * FROM tenk1;
CREATE TABLE onek AS SELECT * FROM tenk1 WHERE unique1 < 1000;
CREATE UNIQUE INDEX ON onek (unique1);
CREATE INDEX ON onek (hundred);
CREATE TABLE int4_tbl (f1 int4);
INSERT INTO int4_tbl VALUES (0), (123456), (-123456), (2147483647), (-2147483647);
CREATE TABLE int8_tbl (q1 int8, q2 int8);
INSERT INTO int8_tbl VALUES (123, 456), (123, 4567890123456789), (4567890123456789, 123), (4567890123456789, 4567890123456789), (4567890123456789, -4567890123456789);
CREATE TABLE text_tbl (f1 text);
INSERT INTO text_tbl VALUES ('doh!'), ('hi de ho neighbor');
CREATE TABLE j1_tbl (i int, j int, t text);
INSERT INTO j1_tbl VALUES (1, 4, 'one'), (2, 3, 'two'), (3, 2, 'three'), (4, 1, 'four'), (5, 0, 'five'), (6, 6, 'six'), (7, 7, 'seven'), (8, 8, 'eight'), (0, NULL, 'zero'), (NULL, NULL, 'null'), (NULL, 0, 'zero');
CREATE TABLE j2_tbl (i int, k int);
INSERT INTO j2_tbl VALUES (1, -1), (2, 2), (3, -3), (2, 4), (5, -5), (5, -5), (0, NULL), (NULL, NULL), (NULL, 0);
ANALYZE tenk1, tenk2, onek, int4_tbl, int8_tbl, text_tbl, j1_tbl, j2_tbl;
IMPORT FOREIGN SCHEMA near FROM SERVER our_node INTO far;
SELECT relation, how, rows FROM shuttle.analyze('far');
\set ECHO none
CREATE FUNCTION pair.estimate(schema text, query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('search_path', schema, true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE TABLE pair.joins (id int GENERATED ALWAYS AS IDENTITY, query text);
COPY pair.joins (query) FROM stdin;
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.unique1 = b.unique1
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.unique1 = b.unique2
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.hundred = b.hundred
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.ten = b.twenty AND a.unique1 < 100
SELECT 1 FROM tenk1 a, onek b WHERE a.unique1 = b.unique1
SELECT 1 FROM tenk1 a, onek b WHERE a.thousand = b.unique1
SELECT 1 FROM tenk1 a, onek b WHERE a.unique2 = b.unique1 AND b.ten = 3
SELECT 1 FROM tenk1 a, onek b WHERE a.twothousand = b.unique1 AND a.stringu1 < 'CAAAAA'
SELECT 1 FROM tenk1 a, onek b WHERE a.stringu1 = b.stringu1 AND b.string4 = 'HHHHxx'
SELECT 1 FROM tenk1 a, int4_tbl b WHERE a.unique1 = b.f1
SELECT 1 FROM tenk1 a, int8_tbl b WHERE a.thousand = b.q1
SELECT 1 FROM tenk1 a, int8_tbl b WHERE a.thousand = b.q1 AND a.ten = 3
SELECT 1 FROM tenk1 a LEFT JOIN int8_tbl b ON a.thousand = b.q1
SELECT 1 FROM onek a LEFT JOIN tenk1 b ON a.unique1 = b.thousand
SELECT 1 FROM onek a FULL JOIN tenk1 b ON a.unique1 = b.unique2
SELECT 1 FROM tenk1 a WHERE EXISTS (SELECT 1 FROM onek b WHERE b.unique1 = a.unique1)
SELECT 1 FROM tenk1 a WHERE NOT EXISTS (SELECT 1 FROM onek b WHERE b.unique1 = a.unique1)
SELECT 1 FROM tenk1 a WHERE a.hundred IN (SELECT b.hundred FROM onek b WHERE b.unique1 < 10)
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.unique1 = b.unique1 AND a.unique2 BETWEEN 100 AND 300
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.unique1 = b.unique1 AND a.hundred = 42
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.hundred = b.hundred AND a.thousand = b.thousand
SELECT 1 FROM tenk1 a, tenk2 b WHERE a.unique1 < b.unique1 AND b.unique2 < 10
SELECT 1 FROM int8_tbl a, int8_tbl b WHERE a.q1 = b.q2
SELECT 1 FROM j1_tbl a, j2_tbl b WHERE a.i = b.i
SELECT 1 FROM j1_tbl a LEFT JOIN j2_tbl b ON a.i = b.i
SELECT 1 FROM j1_tbl a LEFT JOIN j2_tbl b ON a.i = b.k WHERE b.i IS NULL
SELECT 1 FROM text_tbl a, tenk1 b WHERE a.f1 = b.stringu1::text
SELECT 1 FROM tenk1 a, tenk2 b, onek c WHERE a.unique1 = b.unique1 AND b.unique2 = c.unique1
SELECT 1 FROM tenk1 a, tenk2 b, onek c WHERE a.hundred = b.unique1 AND b.thousand = c.unique1
SELECT 1 FROM tenk1 a, onek b, int4_tbl c WHERE a.unique1 = b.unique1 AND b.two = c.f1
SELECT 1 FROM tenk1 a, int8_tbl b, int4_tbl c WHERE a.thousand = b.q1 AND a.tenthous = c.f1
SELECT 1 FROM tenk1 a JOIN onek b ON a.thousand = b.unique1 LEFT JOIN j1_tbl c ON c.i = b.ten
SELECT 1 FROM tenk1 a, tenk2 b, onek c WHERE a.hundred = 7 AND a.unique2 = b.unique2 AND b.ten = c.ten AND c.unique1 < 50
SELECT 1 FROM tenk1 a, tenk2 b, onek c, int4_tbl d WHERE a.unique1 = b.unique2 AND b.hundred = c.unique1 AND c.ten = d.f1
SELECT 1 FROM tenk1 a, tenk2 b, onek c, int8_tbl d WHERE a.thousand = c.unique1 AND a.unique1 = b.unique1 AND b.thousand = d.q1
SELECT 1 FROM onek a, onek b, tenk1 c, j1_tbl d WHERE a.unique1 = b.unique2 AND b.hundred = c.hundred AND d.i = a.ten
SELECT 1 FROM tenk1 a, onek b, j1_tbl c, j2_tbl d WHERE a.unique2 = b.unique1 AND b.ten = c.i AND c.i = d.i
SELECT a.ten, count(*) FROM tenk1 a, onek b WHERE a.unique1 = b.unique1 GROUP BY a.ten
SELECT a.hundred, b.twenty FROM tenk1 a, onek b WHERE a.unique1 = b.unique1 GROUP BY 1, 2
\.
\set ECHO all
CREATE TABLE pair.estimates AS
SELECT id, query, pair.estimate('near', query) AS near, pair.estimate('far', query) AS far FROM pair.joins;
SELECT count(*), count(*) FILTER (WHERE far BETWEEN near / 2 AND near * 2) AS within_twice FROM pair.estimates;
SELECT * FROM pair.estimates WHERE far NOT BETWEEN near / 2 AND near * 2;
-- without statistics they are not
DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'far'::regnamespace);
UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relnamespace = 'far'::regnamespace;
SELECT count(*) > 20 AS many_differ FROM pair.joins WHERE pair.estimate('far', query) NOT BETWEEN pair.estimate('near', query) / 2 AND pair.estimate('near', query) * 2;
