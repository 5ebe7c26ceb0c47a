-- SQL/JSON's constructors in groups, conditions and what is written: what RETURNING says of them is no expression, and planning met it as one.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE t (id int PRIMARY KEY, v int, s text);
CREATE TABLE plain.t (LIKE t INCLUDING ALL);
SELECT shuttle.distribute_table('t', 'id', 4);
INSERT INTO t SELECT i, i % 3, 's' || i FROM generate_series(1, 6) AS i;
INSERT INTO plain.t SELECT * FROM t;
-- the rows of a query as one text, or its error
CREATE FUNCTION rows_of(query text, path text, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) AS q', query) INTO answer;
	PERFORM set_config('search_path', 'shop', true);
EXCEPTION WHEN OTHERS THEN
	answer := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE queries (version int, query text);
INSERT INTO queries VALUES
	(16, 'SELECT id, json_arrayagg(v ORDER BY v), json_objectagg(s : v) FROM t WHERE id = 1 GROUP BY id'),
	(16, 'SELECT v, json_arrayagg(id ORDER BY id RETURNING jsonb) FROM t GROUP BY v'),
	(16, 'SELECT id, json_objectagg(s : v ABSENT ON NULL WITH UNIQUE KEYS RETURNING text) FROM t GROUP BY id'),
	(16, 'SELECT v, count(*) FROM t GROUP BY v, json_object(''a'' : v, now()::text : 1 RETURNING jsonb)'),
	(16, 'SELECT id, json_array(v, id RETURNING jsonb), count(*) FROM t GROUP BY id, json_array(v, id RETURNING jsonb)'),
	(16, 'SELECT id FROM t WHERE json_array(v, current_date RETURNING text) <> ''[1, 1]'''),
	(16, 'SELECT a.id, b.v FROM t AS a JOIN t AS b ON b.s = json_array(a.s RETURNING text) OR json_array(a.v, b.v RETURNING text) = ''[1, 2]'''),
	(16, 'SELECT a.id, q.* FROM t AS a, LATERAL (SELECT json_objectagg(b.s : a.v) FROM t AS b WHERE b.id = a.id GROUP BY b.id) AS q'),
	(16, 'SELECT v, s IS JSON SCALAR, count(*) FROM t GROUP BY v, s IS JSON SCALAR'),
	(17, 'SELECT v, json_value(json_object(''a'' : v RETURNING jsonb), ''$.a'' RETURNING int DEFAULT 9 ON EMPTY), count(*) FROM t GROUP BY v, json_value(json_object(''a'' : v RETURNING jsonb), ''$.a'' RETURNING int DEFAULT 9 ON EMPTY)'),
	(17, 'SELECT id, json_serialize(json_scalar(v) RETURNING text), count(*) FROM t GROUP BY id, json_serialize(json_scalar(v) RETURNING text)'),
	(17, 'SELECT id, json_query(json_array(v RETURNING jsonb), ''$[*]'' WITH WRAPPER)::text, count(*) FROM t GROUP BY id, 2');
-- servers that are older know no such queries
SELECT query, a FROM queries, rows_of(query, 'shop') AS a, rows_of(query, 'plain') AS b
WHERE version <= current_setting('server_version_num')::int / 10000 AND (a IS DISTINCT FROM b OR a ~ '^[0-9A-Z]{5} ');
SET shuttle.enable_router = off;
SELECT query, a FROM queries, rows_of(query, 'shop') AS a, rows_of(query, 'plain') AS b
WHERE version <= current_setting('server_version_num')::int / 10000 AND (a IS DISTINCT FROM b OR a ~ '^[0-9A-Z]{5} ');
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
