-- Texts of all kinds: quotes, backslashes, parameters, white space, empty.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE texts (id int, t text);
INSERT INTO texts VALUES (1, ''), (2, ' '), (3, ''''), (4, ''''''), (5, '"'), (6, '\'), (7, '\\'), (8, E'a\nb'), (9, E'a\tb'),
	(10, '$1'), (11, '$$'), (12, '$1$1$'), (13, '{}'), (14, '{"a"}'), (15, 'NULL'), (16, 'null'), (17, ','), (18, '(1,2)'),
	(19, 'ä'), (20, 'Ä'), (21, U&'\0061\0308'), (22, '%'), (23, '--'), (24, '/* */'), (25, E'\r\n'), (26, 'E''\\'''),
	(27, ';'), (28, '{'), (29, '}'), (30, '"{""a"":1}"'), (31, U&'\+01F600'), (32, NULL), (33, 'x ');
CREATE TABLE a AS SELECT id, t, t::varchar AS v, t::name AS n, convert_to(t, 'UTF8') AS bytes FROM texts
	UNION ALL SELECT id + 50, t, t, t, convert_to(t, 'UTF8') FROM texts;
CREATE TABLE b AS SELECT id + 100 AS id, t, v, n, bytes, ARRAY[t, v] AS ts FROM a WHERE id <> 5;
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON b.t = a.t');
SELECT test.same_rows('SELECT a.id, b.id, b.v FROM a LEFT JOIN b ON b.v = a.v');
SELECT test.same_rows('SELECT a.id, b.id, b.v FROM a LEFT JOIN b ON b.v = a.t AND b.t = a.v');
SELECT test.same_rows('SELECT a.id, b.id, b.bytes FROM a LEFT JOIN b ON b.bytes = a.bytes');
SELECT test.same_rows('SELECT a.id, b.id, b.n FROM a LEFT JOIN b ON b.n = a.n');
SELECT test.same_rows('SELECT a.id, b.id, b.n FROM a LEFT JOIN b ON b.t = a.n');
SELECT test.same_rows('SELECT a.id, b.id, b.ts FROM a LEFT JOIN b ON b.ts = ARRAY[a.t, a.v]');
-- beside literals in the node's query that look like parameters and quotes
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t = a.t AND b.t <> ''$1''');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t = a.t AND b.v NOT IN (''it''''s $1'', E''\\$1'', ''$$ $1 $$'', ''--'')');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t = a.t AND b.v <> ''\'' AND b.id <> length(a.t || ''$2'')');
-- a name is sent as $1::name, which has the collation "C" there: columns of another one are compared here
CREATE TABLE named AS SELECT id, n, n COLLATE "und-x-icu" AS u FROM (SELECT id, (CASE WHEN id % 2 = 0 THEN 'B' ELSE 'a' END || id)::name AS n FROM generate_series(1, 8) id) s;
CALL test.mirror('named');
SELECT test.same_rows('SELECT o.id, i.id, i.n FROM (SELECT id, n FROM named OFFSET 0) o LEFT JOIN named i ON i.n > o.n AND i.id = o.id % 3');
SELECT test.same_rows('SELECT o.id, i.id, i.n FROM (SELECT id, n FROM named OFFSET 0) o LEFT JOIN named i ON i.n = o.n');
SELECT test.same_rows('SELECT o.id, i.id, i.u FROM (SELECT id, n FROM named OFFSET 0) o LEFT JOIN named i ON i.u > o.n AND i.id = o.id % 3');
SELECT test.same_rows('SELECT o.id, i.id, i.u FROM (SELECT id, n FROM named OFFSET 0) o LEFT JOIN named i ON i.u = o.n AND i.id <= o.id');
SELECT test.same_rows('SELECT o.id, i.id, i.u FROM (SELECT id, ARRAY[n] AS ns FROM named OFFSET 0) o LEFT JOIN named i ON i.u <= ANY (o.ns) AND i.id = o.id % 3');
SELECT test.same_rows('SELECT id FROM named WHERE n > (SELECT max(n) FROM named WHERE id < 3)');
SET search_path = engine, local;
SELECT id, u > (SELECT n FROM local.named WHERE id = 3) AS is_behind FROM local.named ORDER BY id;
SELECT id FROM named WHERE u > (SELECT n FROM local.named WHERE id = 3) ORDER BY id;
SELECT id FROM named WHERE NULLIF(u, (SELECT n FROM local.named WHERE id = 3)) IS NULL;
