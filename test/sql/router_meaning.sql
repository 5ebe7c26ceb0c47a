-- Statements with one key whose expressions mean something else on a node, or nothing: answers and
-- changes are those of a plain table. ON CONFLICT that writes a stored value as text is refused (13).
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE m (id int PRIMARY KEY, name text, b bytea, f float8, r real, p point, g circle, i interval, d date, at timestamptz,
	n numeric, j jsonb, a float8[], out text);
CREATE SCHEMA plain;
CREATE TABLE plain.m (LIKE m INCLUDING ALL);
INSERT INTO m SELECT i, CASE i % 3 WHEN 0 THEN 'Mixed' WHEN 1 THEN 'plain' ELSE 'two words' END, decode('00ff41' || lpad(to_hex(i), 2, '0'), 'hex'),
	0.1 * i + 0.2, 0.1 * i, point(0.1 * i, 1 / (i * 3.0)), circle(point(0.1, 0.2), 0.1 * i), i * interval '1 mon 2 days 03:04:05.6',
	date '2026-02-03' + i, timestamptz '2026-02-03 04:05:06+00' + i * interval '1 hour', 1.10 * i, jsonb_build_object('f', 0.1 * i), ARRAY[0.1 * i, 0.3]
FROM generate_series(1, 12) AS i;
INSERT INTO plain.m TABLE m;
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq);
CREATE OPERATOR ## (LEFTARG = text, RIGHTARG = text, FUNCTION = textcat);
CREATE TEXT SEARCH CONFIGURATION own (COPY = pg_catalog.simple);
CREATE COLLATION own_collation FROM "C";
SELECT shuttle.distribute_table('m', 'id', 4);
CREATE TABLE statements (n int PRIMARY KEY, statement text);
INSERT INTO statements VALUES
(1, 'SELECT id, b::text, f::text, r::text, p::text, g::text, i::text, d::text, at::text, n::text, j::text, a::text FROM m WHERE id = 3'),
(2, 'SELECT quote_ident(name), quote_literal(name), format(''%I %L %s'', name, f, b) FROM m WHERE id = 5'),
(3, 'SELECT to_json(f), to_jsonb(i), to_json(at), row_to_json(m), json_build_object(f, b), json_agg(f) OVER () FROM m WHERE id = 6'),
(4, 'SELECT f || name, ''x'' || b::text, concat(f, i, at), concat_ws('','', p, d), array_to_string(a, '';'') FROM m WHERE id = 7'),
(5, 'SELECT to_char(at, ''DD TZ Day''), to_char(f, ''9.999''), date_trunc(''day'', at), at::date, extract(hour FROM at), at::time FROM m WHERE id = 8'),
(6, 'SELECT id FROM m WHERE id = 3 AND f::text = ''0.5'''),
(7, 'SELECT id FROM m WHERE id = 3 AND length(f::text) > 4'),
(8, 'SELECT id FROM m WHERE id = 4 AND b::text LIKE ''\\x%'''),
(9, 'SELECT id FROM m WHERE id = 4 AND quote_ident(name) = name'),
(10, 'UPDATE m SET out = f::text || b::text || i::text WHERE id = 1'),
(11, 'UPDATE m SET out = quote_ident(name), name = p::text WHERE id = 2'),
(12, 'UPDATE m SET j = jsonb_build_object(''f'', f, ''b'', b, ''i'', i), out = CASE WHEN f::text = ''0.5'' THEN g::text ELSE r::text END WHERE id = 3'),
(13, 'INSERT INTO m (id, out) VALUES (2, ''x'') ON CONFLICT (id) DO UPDATE SET out = m.f::text || excluded.out || m.p'),
(14, 'DELETE FROM m WHERE id = 9 AND f::text ~ ''^1.0'' '),
(15, 'SELECT max(f::text), string_agg(b::text, ''-''), count(DISTINCT p::text) FROM m WHERE id = 5'),
(16, 'SELECT a::text[], (SELECT x::text FROM (SELECT f AS x FROM m AS y WHERE y.id = 4) AS s), ARRAY[b::text, i::text] FROM m WHERE id = 4'),
(17, 'SELECT ROW(f, b)::text, (''{0.3}''::float8[])::text[] FROM m WHERE id = 4'),
(19, 'SELECT name ## ''x'' FROM m WHERE id = 3 AND id === 3'),
(20, 'SELECT id === 3, (id, name) IN (SELECT id, name FROM m WHERE id = 3) FROM m WHERE id = 3'),
(21, 'UPDATE m SET out = name ## ''!'' WHERE id = 4 AND id === 4'),
(22, 'SELECT id FROM m WHERE id = 4 AND id === ANY (ARRAY[4, 5])'),
(23, 'SELECT id FROM m WHERE id = 4 AND NOT id OPERATOR(shop.===) ALL (ARRAY[4, 5])'),
(24, 'SELECT id FROM m WHERE id = 4 AND to_tsvector(''shop.own'', name) @@ to_tsquery(''shop.own'', ''plain'')'),
(25, 'SELECT count(*) FROM m WHERE to_tsvector(''shop.own'', name) @@ to_tsquery(''shop.own'', ''plain'')'),
(26, 'SELECT id, name COLLATE shop.own_collation FROM m WHERE id = 4 ORDER BY name COLLATE shop.own_collation'),
(27, 'SELECT count(*) FROM m WHERE f::text ~ ''^0''' ),
(28, 'SELECT f::text, count(*) FROM m GROUP BY 1'),
(29, 'SELECT count(*) FROM m WHERE quote_ident(name) <> name'),
(30, 'SELECT quote_ident(name), count(*) FROM m GROUP BY 1'),
(31, 'SELECT count(*) FROM m WHERE id === 3'),
(32, 'WITH RECURSIVE t AS (SELECT id FROM m WHERE id = 4 UNION ALL SELECT t.id FROM t, m WHERE m.id = 4 AND t.id < 3) SEARCH DEPTH FIRST BY id SET o SELECT * FROM t'),
(33, 'WITH RECURSIVE t AS (SELECT id FROM m WHERE id = 4 UNION ALL SELECT m.id FROM t, m WHERE m.id = 4) CYCLE id SET c USING q SELECT * FROM t'),
(34, 'SELECT d + interval ''1 mon'', i + interval ''P1M2DT3H'', at - interval ''1 day 2:03'', date ''2026-01-02'' FROM m WHERE id = 4'),
(35, 'SELECT interval ''1 mon'' > i, at > ''2026-02-03 04:05'', d = ''03/02/2026'' FROM m WHERE id = 4');

-- what a statement returns and leaves: here and on the plain table; first as it is written, so that it is routed if it may be
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; line text; result text := ''; at text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', path, true);
	IF statement ~ '^SELECT.*WHERE id =' THEN
		EXECUTE statement INTO r;
		result := r::text || '|';
	END IF;
	FOR line IN EXECUTE 'WITH q AS (' || statement || CASE WHEN statement ~ '^(UPDATE|INSERT|DELETE)' THEN ' RETURNING *' ELSE '' END || ') SELECT q::text FROM q ORDER BY 1' LOOP
		result := result || line || ';';
	END LOOP;
	EXECUTE statement;
	SELECT result || string_agg(m::text, ';' ORDER BY id) INTO result FROM m;
	PERFORM set_config('search_path', at, true);
	RAISE division_by_zero USING MESSAGE = result;
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
WHEN others THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE VIEW differing AS SELECT n, left(outcome(statement, 'shop'), 60) AS here, left(outcome(statement, 'plain, shop'), 60) AS plain
	FROM statements WHERE outcome(statement, 'shop') IS DISTINCT FROM outcome(statement, 'plain, shop') ORDER BY n;
SELECT n, outcome(statement, 'plain, shop') FROM statements WHERE outcome(statement, 'plain, shop') ~ '^[0-9A-Z]{5} ' ORDER BY 1;
SELECT * FROM differing;
SET extra_float_digits = -3;
SELECT * FROM differing;
SET bytea_output = escape;
SET quote_all_identifiers = on;
SELECT * FROM differing;
SET IntervalStyle = iso_8601;
SET DateStyle = 'German, DMY';
SET TimeZone = 'Asia/Tokyo';
SELECT * FROM differing;
SET IntervalStyle = sql_standard;
SET xmlbinary = hex;
SET array_nulls = off;
SET transform_null_equals = on;
SET default_text_search_config = 'shop.own';
SELECT * FROM differing;
RESET ALL;
SET search_path = shop;
-- what is not of this kind is still sent as a whole
EXPLAIN (COSTS OFF, VERBOSE) SELECT n::text, id::text, name || '!', d, f, b FROM m WHERE id = 3;
EXPLAIN (COSTS OFF, VERBOSE) UPDATE m SET name = name || id::text, f = f + 0.1 WHERE id = 3;
