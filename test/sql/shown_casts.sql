-- Casts that a query does not write, and so postgres_fdw neither: where the node would find another operator or function,
-- it gets them. Conditions that core derives from several columns' equality with one, and arguments of SQL functions, have such casts.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE t (id int PRIMARY KEY, a bigint, b bigint, s smallint, r real, n numeric, c char(4), v varchar(8), w text, m name, q "char", d date, at timestamp, o oid, l int[]);
INSERT INTO t VALUES
	(1, 9007199254740992, 9007199254740993, 3, 0.1, 0.1, 'x', 'x ', 'x', 'x', 'x', '2024-02-29', '2024-02-29 12:00', 5, '{1,2}'),
	(5, 5, 5, 5, 0.5, 0.5, 'Y', 'Y', 'y', 'Y', 'Y', '2024-03-01', '2024-03-01', 4294967295, '{3}'),
	(3, -1, -1, -2, 1, -1, 'a', 'B', 'B', 'B', 'a', '1999-12-31', '2000-01-01', 4294967294, '{}'),
	(4, NULL, 7, NULL, 7, 7.5, NULL, 'é', 'é', 'é', NULL, NULL, '2024-01-01', 0, NULL);
CREATE TABLE f (id int, x float8, n numeric, w text, at timestamp, o oid);
INSERT INTO f VALUES (1, 9007199254740992, 9007199254740992, 'x', '2024-02-29', 3), (2, 5, 5, 'Y', '2024-03-01', 5), (3, -1, -1, 'B', '1999-12-31', 4294967294);
CREATE FUNCTION test.same(x float8, y float8) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT x = y';
CREATE FUNCTION test.other(x float8, y float8) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT x IS DISTINCT FROM y';
CREATE FUNCTION test.among(x float8) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT x = ANY (ARRAY[9007199254740993, 5]::int8[])';
CREATE FUNCTION test.first(x numeric, y numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN y > 0 THEN x ELSE y END';
CREATE FUNCTION test.either(x numeric, y numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT coalesce(x, y)';
CREATE FUNCTION test.half(x numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT x / 2::smallint';
CREATE FUNCTION test.third(x numeric, y numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT x / y';
CREATE FUNCTION test.bytes(x text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT octet_length(x)';
CREATE FUNCTION test.twice(x text, y text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT x || y';
CREATE FUNCTION test.less(x text, y text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT x < y';
CREATE FUNCTION test.as_text(x text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION test.as_oid(x oid) RETURNS oid LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION test.as_numeric(x numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION test.as_float(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE FUNCTION test.negative(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT -x';
CREATE FUNCTION test.through(x float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT test.as_numeric(x::numeric)';
CREATE FUNCTION test.days(x timestamp, y timestamp) RETURNS interval LANGUAGE sql IMMUTABLE AS 'SELECT x - y';
CREATE FUNCTION test.part(x bigint[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT x[1] * 2000000000';
CREATE FUNCTION test.listed(x numeric, y numeric) RETURNS numeric[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY[x, y]';
CALL test.mirror('t', 'f');
SELECT q AS query, split_part(test.same_rows(q), ',', 1) AS verdict FROM unnest(ARRAY[
	'SELECT t.id, f.id FROM f JOIN t ON f.x = t.a AND f.x = t.b',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.x = t.a AND f.x = t.b',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.n = t.id AND f.n = t.s',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.w = t.c AND f.w = t.v',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.w = t.c AND f.w = t.m',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.at = t.d AND f.at = t.at',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.o = t.id AND f.o = t.s',
	'SELECT a.id, b.id FROM t a JOIN t b ON a.r = b.id',
	'SELECT a.id, f.id FROM t a JOIN local.f ON a.a = f.x LEFT JOIN t b ON b.b = f.x',
	'SELECT a.id, f.id, b.id FROM local.f JOIN t a ON a.a = f.x JOIN t b ON b.b = f.x',
	'SELECT a.id, f.id, b.id FROM local.f JOIN t a ON a.v = f.w JOIN t b ON b.c = f.w',
	'SELECT u.id FROM (SELECT id, a, b, s, c FROM t UNION ALL SELECT id + 10, b, a, s, c FROM t) u WHERE test.same(u.a, u.b) AND test.bytes(u.c) = 1',
	'SELECT u.id, f.id FROM local.f JOIN (SELECT id, a, b, s, c FROM t UNION ALL SELECT id + 10, b, a, s, c FROM t) u ON f.x = u.a AND f.x = u.b',
	'SELECT u.id, f.id FROM local.f, LATERAL (SELECT id FROM (SELECT id, a, b, s, c FROM t UNION ALL SELECT id + 10, b, a, s, c FROM t) u WHERE u.b IN (f.id + 4, f.id + 6) ORDER BY u.s DESC, u.id LIMIT 1) u',
	'SELECT max(k), min(k) FROM (SELECT test.as_oid(s) AS k FROM t UNION ALL SELECT test.as_oid(id) FROM t) u',
	'SELECT sum(k) FROM (SELECT test.as_float(r) AS k FROM t UNION ALL SELECT test.as_float(r) FROM t) u',
	'SELECT max(k) || ''.'' FROM (SELECT test.as_text(c) AS k FROM t WHERE id = 1 UNION ALL SELECT test.as_text(c) FROM t WHERE id = 1) u',
	'SELECT k, rank() OVER (ORDER BY k) FROM (SELECT test.as_oid(s) AS k FROM t UNION ALL SELECT test.as_oid(id) FROM t) u',
	'SELECT u.k, f.id FROM (SELECT test.as_oid(s) AS k FROM t UNION ALL SELECT test.as_oid(id) FROM t) u JOIN (SELECT test.as_oid(id) AS k, id FROM f UNION ALL SELECT o, id FROM f) f USING (k)',
	'SELECT id FROM t WHERE test.same(a, b)',
	'SELECT id FROM t WHERE NOT test.other(a, b)',
	'SELECT id FROM t WHERE test.among(b)',
	'SELECT id FROM t WHERE test.half(s) = 1.5',
	'SELECT id FROM t WHERE test.third(s, 2) = 1.5',
	'SELECT id FROM t WHERE test.third(b, s) = 0.5',
	'SELECT id FROM t WHERE test.first(s, id) / 2 = 1.5',
	'SELECT id FROM t WHERE test.either(s, id) / 2 = 1.5',
	'SELECT id FROM t WHERE test.bytes(c) = 1',
	'SELECT id FROM t WHERE test.twice(c, c) = ''xx''',
	'SELECT id FROM t WHERE test.twice(c, v) LIKE ''xx_''',
	'SELECT id FROM t WHERE test.less(m, q)',
	'SELECT id FROM t WHERE test.less(c, v)',
	'SELECT id FROM t WHERE test.negative(a) = -5',
	'SELECT id FROM t WHERE test.through(b) > 9007199254740000',
	'SELECT id FROM t WHERE test.days(at, d) >= interval ''1 hour''',
	'SELECT id FROM t WHERE test.part(l) > 0',
	'SELECT id FROM t WHERE test.listed(s, id) = ARRAY[3, 1]::numeric[]',
	'SELECT id FROM t WHERE (test.listed(s, id))[1] / 2 = 1.5',
	'SELECT id FROM t WHERE round(id, 1) = s',
	'SELECT id FROM t WHERE octet_length(coalesce(c, v)) = 4',
	'SELECT id FROM t WHERE coalesce(v, c) = ''x ''',
	'SELECT id FROM t WHERE coalesce(v, c) || ''.'' = ''x .''',
	'SELECT id FROM t WHERE length(coalesce(repeat(w, 80), m)) = 80',
	'SELECT id FROM t WHERE octet_length(nullif(test.as_text(c), ''Y'')) = 1',
	'SELECT coalesce(c, v), count(*) FROM t GROUP BY 1',
	'SELECT s, count(*) FROM t GROUP BY s HAVING octet_length(coalesce(max(c), max(v))) = 4',
	'SELECT id FROM t WHERE substring(w from 1 for 1) = ''x'' AND position(test.as_text(c) in w) = 1 AND trim(w) = ''x''',
	'SELECT id FROM t WHERE overlay(w placing v from 1) = ''x '' AND trim(both test.as_text(m) from c) = '''' AND normalize(w) = ''x''',
	'SELECT sum(test.as_float(a)), avg(test.as_float(b)), sum(test.as_numeric(r::numeric)) FROM t',
	'SELECT test.as_float(b), count(*) FROM t GROUP BY 1 HAVING test.as_float(b) < 9e15',
	'SELECT test.half(s), count(*) FROM t GROUP BY 1',
	'SELECT string_agg(w, '','' ORDER BY test.as_text(m)) FROM t',
	'SELECT array_agg(id ORDER BY test.as_oid(s)) FROM t',
	'SELECT max(test.as_text(c)), min(test.as_text(m)), max(test.as_oid(s)) FROM t',
	'SELECT count(*) FILTER (WHERE test.same(a, b)) FROM t',
	'SELECT bool_or(test.same(a, b) AND id = 1) FROM t']) AS q;
SELECT q AS query, split_part(test.same_order(q), ',', 1) AS verdict FROM unnest(ARRAY[
	'SELECT id FROM t ORDER BY test.as_oid(s), id LIMIT 2',
	'SELECT id FROM t ORDER BY test.as_text(m) COLLATE "C", id LIMIT 2',
	'SELECT id FROM t ORDER BY test.as_text(q) COLLATE "C", id LIMIT 2',
	'SELECT test.as_float(b) FROM t ORDER BY 1, id LIMIT 2',
	'SELECT test.as_oid(s) FROM t UNION ALL SELECT test.as_oid(id) FROM t ORDER BY 1 LIMIT 4',
	'SELECT test.as_oid(s) FROM t UNION ALL SELECT o FROM t ORDER BY 1 LIMIT 4',
	'SELECT DISTINCT test.as_oid(s) FROM t ORDER BY 1 LIMIT 2']) AS q;
-- joins and merges of what the node sorts
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET shuttle.enable_batched_join = off;
SELECT q AS query, split_part(test.same_rows(q), ',', 1) AS verdict FROM unnest(ARRAY[
	'SELECT t.id, f.id FROM f JOIN t ON f.x = t.a AND f.x = t.b',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.o = t.s',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.w = t.m',
	'SELECT t.id, f.id FROM local.f JOIN t ON f.w = t.q']) AS q;
-- what a node gets
SET search_path = engine, local;
EXPLAIN (VERBOSE, COSTS OFF) SELECT t.id FROM t WHERE test.same(a, b) AND test.bytes(c) = 1 AND test.bytes(v) = 1 AND s * n < 9 AND id / 2.5 > 0
	AND s::numeric(5, 1) = 5 AND v::varchar(3) < 'x' AND id::varchar(2) < 'x';
-- as the local table's twin has it then
CREATE TABLE local.twin AS TABLE local.t;
UPDATE t SET w = test.bytes(c), a = test.through(b), b = test.as_float(b), v = test.as_text(m) WHERE test.same(a, b);
UPDATE twin SET w = test.bytes(c), a = test.through(b), b = test.as_float(b), v = test.as_text(m) WHERE test.same(a, b);
DELETE FROM t WHERE (test.bytes(c) = 1 AND test.half(s) = 1.5) OR coalesce(v, c) = 'B ';
DELETE FROM twin WHERE (test.bytes(c) = 1 AND test.half(s) = 1.5) OR coalesce(v, c) = 'B ';
SELECT count(*), count(*) FILTER (WHERE w = '1') AS changed FROM twin;
TABLE local.t EXCEPT TABLE twin;
