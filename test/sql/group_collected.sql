-- What only collects values is collected by each node, and put together here:
-- array_agg, json_agg and string_agg; of count(DISTINCT x) nodes send the different
-- values of each group.  In which order values come is open, so bags are compared.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TYPE smart.mood AS ENUM ('sad', 'ok', 'happy, "very"');
CREATE TYPE smart.pair AS (x int, y text);
CREATE DOMAIN smart.small AS int CHECK (value < 1000000);
CREATE TABLE here.t (k int, g int, t text, b bool, i4 int4, i8 int8, n numeric, f8 float8, iv interval, d date, ts timestamptz,
	bytes bytea, js json, jb jsonb, mood smart.mood, pair smart.pair, small smart.small, w int, arr int[], texts text[], m money, box box, u uuid, c "char", r int4range, cl regclass);
INSERT INTO here.t SELECT i, nullif(i % 7, 0), CASE WHEN i % 5 > 0 THEN E't {",\\}' || chr(228) || '''' || i % 13 WHEN i % 2 > 0 THEN '' END, i % 3 = 0, i * 3 - 4000, i * 10000000000::int8,
	CASE WHEN i % 9 > 0 THEN (i % 40 / 7.0)::numeric(20, 5) END, CASE WHEN i % 9 = 0 THEN 'NaN' ELSE i % 20 / 7.0::float8 END,
	i * interval '1 day 3.5 sec', date '2020-01-01' + i, timestamptz '2020-01-01 UTC' + i * interval '1 min',
	decode(lpad(to_hex(i % 9), 4, '0'), 'hex'), json_build_object('a b', i % 9), jsonb_build_array(i % 9, NULL, 'x'),
	(ARRAY['sad', 'ok', 'happy, "very"']::smart.mood[])[i % 4], ROW(i % 5, CASE WHEN i % 4 > 0 THEN 'a, "b' END)::smart.pair, i % 77, i % 77,
	ARRAY[i % 3, NULL, i % 4], ARRAY['NULL', NULL, 'a"b,{' || i % 6], i::numeric::money, box(point(i % 3, 1), point(2, i % 4)), md5((i % 9)::text)::uuid,
	chr(65 + i % 9)::"char", int4range(i % 5, i % 5 + 3), 'pg_class'
FROM generate_series(1, 1200) i;
CALL smart.distribute('t', '{1,401,801,1201,1601}');  -- the fourth node is empty
SET search_path = dist;
-- as EXPLAIN shows it
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, count(*), array_agg(i4), string_agg(t, ', '), json_agg(b) FROM t GROUP BY g;
-- arrays, JSON and texts as sorted lists of their elements
CREATE FUNCTION smart.sorted(elements text[]) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT count(*) || string_agg(coalesce(v, ''<null>''), '' | '' ORDER BY v COLLATE "C") FROM unnest(elements) v';
CREATE FUNCTION smart.sorted(elements anyarray) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT array_ndims(elements)::text || array_lower(elements, 1) || smart.sorted(array(SELECT v::text FROM unnest(elements) v))';
CREATE FUNCTION smart.sorted(elements json) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT smart.sorted(array(SELECT v::text FROM json_array_elements(elements) v))';
CREATE FUNCTION smart.sorted(elements jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT smart.sorted(array(SELECT v::text FROM jsonb_array_elements(elements) v))';
SELECT c, smart.check(format('SELECT g, smart.sorted(array_agg(%s)) FROM t GROUP BY g', c)) AS grouped, smart.check(format('SELECT smart.sorted(array_agg(%s)) FROM t', c)) AS plain
FROM unnest('{t,b,i4,i8,n,f8,iv,d,ts,bytes,js,jb,mood,pair,small,m,box,u,c::text,r,cl,i4 + 1,k % 3 = 0,upper(t),arr,texts,"arr || k"}'::text[]) c;
SELECT c, smart.check(format('SELECT g, smart.sorted(json_agg(%s)), smart.sorted(jsonb_agg(%s)) FROM t GROUP BY g', c, c)) AS grouped, smart.check(format('SELECT smart.sorted(json_agg(%s)), smart.sorted(jsonb_agg(%s)) FROM t', c, c)) AS plain
FROM unnest('{t,b,i4,n,iv,d,ts,bytes,js,jb,mood,pair,small,u,cl,"t || 1",arr}'::text[]) c;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, smart.sorted(string_to_array(string_agg(k || ''x'', '', ''), '', '')) FROM t GROUP BY g',
	'SELECT g, smart.sorted(string_to_array(string_agg(t, ''<>''), ''<>'')), count(t), sum(length(t)) FROM t GROUP BY g',
	'SELECT g, length(string_agg(t, '''')), length(string_agg(t, NULL)) FROM t GROUP BY g',
	'SELECT smart.sorted(string_to_array(encode(string_agg(bytes, ''\x2c''), ''escape''), '','')), length(string_agg(bytes, ''\x'')) FROM t',
	'SELECT g, length(string_agg(k::text, b::text)) > 0, count(*) FROM t GROUP BY g',  -- not by its parts: which delimiter is left out?
	-- beside others, filters, HAVING, what is computed above, no rows
	'SELECT g, count(*), avg(n), smart.sorted(array_agg(i4)), max(d), stddev(i8), smart.sorted(array_agg(i4)), smart.sorted(array_agg(i4) FILTER (WHERE b)) FROM t GROUP BY g',
	'SELECT g, cardinality(array_agg(k) FILTER (WHERE i4 > 0)), smart.sorted(json_agg(t) FILTER (WHERE k % 100 = 1)) FROM t GROUP BY g',
	'SELECT g + 1 AS g, cardinality(array_agg(t || g)) * 2 AS n FROM t GROUP BY g + 1 HAVING cardinality(array_agg(k)) > 171 AND length(string_agg(t, '','')) > 5 ORDER BY n, g',
	'SELECT array_agg(i4), string_agg(t, '',''), json_agg(b), jsonb_agg(b), count(*) FROM t WHERE k * 0 > 1',
	'SELECT g, array_agg(i4) FROM t WHERE k * 0 > 1 GROUP BY g',
	'SELECT g, array_agg(n), json_agg(n) FROM t WHERE n IS NULL AND k IN (9, 18, 819) GROUP BY g',
	'SELECT b, t, smart.sorted(array_agg(k)) FROM t GROUP BY b, t',
	'SELECT x, smart.sorted(a) FROM generate_series(1, 1200, 300) x, LATERAL (SELECT array_agg(k) a FROM t WHERE k > x AND k < x + 200) s',
	'SELECT count(*), sum(cardinality(a)) FROM (SELECT g, array_agg(k) a FROM t GROUP BY g) s',
	'SELECT smart.sorted(array_agg(w)) FROM (SELECT g, array_agg(k) w FROM t WHERE k % 100 = 0 GROUP BY g) s WHERE cardinality(w) = 2',
	-- the form of JSON is core's
	'SELECT json_agg(pair)::text, json_agg(js)::text, jsonb_agg(pair)::text, json_agg(g)::text FROM t WHERE k IN (45, 405, 765)',
	-- what nodes or core's parts cannot do
	'SELECT g, array_agg(k ORDER BY k) FROM t GROUP BY g',
	'SELECT g, json_object_agg(k, t) IS NULL, count(*) FROM t GROUP BY g',
	'SELECT g, smart.sorted(array_agg(to_char(ts, ''DD''))) FROM t GROUP BY g']) q;
-- settings of here decide what JSON says
SET intervalstyle = sql_standard;
SET timezone = 'Asia/Tokyo';
SELECT smart.check('SELECT smart.sorted(json_agg(iv)), smart.sorted(jsonb_agg(ts)), smart.sorted(array_agg(iv)) FROM t');
RESET intervalstyle;
RESET timezone;
-- errors are those of here
CREATE FUNCTION smart.error_of(query text, schema text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM smart.rows(query, schema);
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT q, smart.error_of(q, 'dist'), smart.error_of(q, 'here') FROM unnest(ARRAY[
	'SELECT array_agg(CASE WHEN k > 600 THEN arr ELSE arr || 1 END) FROM t',
	'SELECT array_agg(CASE WHEN k <= 400 THEN arr ELSE arr || 1 END) FROM t',
	'SELECT array_agg(CASE WHEN k > 600 THEN arr END) FROM t',
	'SELECT array_agg(CASE WHEN k > 600 THEN arr ELSE ''{}'' END) FROM t']) q;
-- prepared, and pruned at run time
SET plan_cache_mode = force_generic_plan;
PREPARE part(int) AS SELECT b, smart.sorted(array_agg(k)), string_agg('x', '-') FROM t WHERE k BETWEEN $1 AND $1 + 4 GROUP BY b ORDER BY b;
EXECUTE part(399);
EXECUTE part(1);
RESET plan_cache_mode;
-- a local partition beside foreign ones
DROP FOREIGN TABLE dist.t4;
CREATE TABLE dist.t4 PARTITION OF dist.t FOR VALUES FROM (1201) TO (1601);
INSERT INTO dist.t4 SELECT (r).* FROM (SELECT jsonb_populate_record(x, jsonb_build_object('k', k + 1300)) AS r FROM here.t x WHERE k < 100) s;
INSERT INTO here.t SELECT * FROM dist.t4;
ANALYZE here.t;
ANALYZE dist.t;
SELECT c, smart.check(format('SELECT g, smart.sorted(array_agg(%s)), smart.sorted(json_agg(%s)), count(*) FROM t GROUP BY g', c, c)) AS grouped, smart.check(format('SELECT smart.sorted(array_agg(%s)), smart.sorted(jsonb_agg(%s)) FROM t', c, c)) AS plain
FROM unnest('{t,b,i8,n,iv,bytes,jb,mood,pair,small}'::text[]) c;
SELECT smart.check('SELECT g, smart.sorted(array_agg(texts)) FROM t GROUP BY g') AS arrays, smart.check('SELECT g, smart.sorted(string_to_array(string_agg(t, ''--''), ''--'')) FROM t GROUP BY g') AS texts,
	smart.check('SELECT length(string_agg(bytes, ''\x00'')) FROM t') AS bytes;
SET enable_hashagg = off;
SELECT smart.check('SELECT g, smart.sorted(array_agg(i8)), smart.sorted(json_agg(t)), length(string_agg(t, ''+'')) FROM t GROUP BY g');
RESET enable_hashagg;
-- called by their names they are as core's
SELECT g, shuttle.collected_array(k)::text = array_agg(k)::text, shuttle.collected_json(pair)::text = json_agg(pair)::text, shuttle.collected_jsonb(t) = jsonb_agg(t),
	shuttle.collected_text(t, g::text) = string_agg(t, g::text), shuttle.collected_text(bytes, bytes) = string_agg(bytes, bytes)
FROM here.t GROUP BY g ORDER BY g;
SELECT shuttle.collected_array(k), shuttle.collected_text(t, t), shuttle.collected_json(k) FROM here.t WHERE false;
-- DISTINCT
SELECT substring(line FROM 'SELECT.*') AS asked FROM smart.asked('SELECT g, count(DISTINCT w), max(w) FROM t GROUP BY g') line WHERE line ~ 'Remote SQL';
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, count(DISTINCT w), sum(DISTINCT w), avg(DISTINCT w), min(w), max(w) FROM t GROUP BY g',
	'SELECT count(DISTINCT w) FROM t',
	'SELECT count(DISTINCT w), count(DISTINCT g) FROM t',
	'SELECT count(DISTINCT g), sum(DISTINCT g) FROM t WHERE k * 0 > 1',
	'SELECT b, count(DISTINCT t), smart.sorted(array_agg(DISTINCT t)) FROM t GROUP BY b',
	'SELECT b, string_agg(DISTINCT t, '','') IS NULL, count(DISTINCT upper(t)), count(DISTINCT g + 1) FROM t GROUP BY b',
	'SELECT b, array_agg(DISTINCT w ORDER BY w DESC) FROM t GROUP BY b',
	'SELECT g % 2 = 0, count(DISTINCT w) + 1, sum(DISTINCT w) FROM t GROUP BY 1 HAVING count(DISTINCT w) > 3',
	'SELECT count(DISTINCT n::text), count(DISTINCT n) FROM t WHERE g = 3',
	'SELECT g, count(DISTINCT g), count(DISTINCT b) FROM t GROUP BY g',
	'SELECT g, count(DISTINCT 7) FROM t GROUP BY g',
	'SELECT bool_and(DISTINCT b), bool_or(b) FROM t',
	'SELECT x, s.* FROM generate_series(1, 1200, 400) x, LATERAL (SELECT count(DISTINCT w) FROM t WHERE k > x) s',
	-- not by them alone
	'SELECT g, count(DISTINCT w), count(*) FROM t GROUP BY g',
	'SELECT g, count(DISTINCT w) FILTER (WHERE b) FROM t GROUP BY g',
	'SELECT g, count(DISTINCT w), max(k) FROM t GROUP BY g',
	'SELECT count(DISTINCT (g, b)) FROM t',
	'SELECT count(DISTINCT k) FROM t',
	'SELECT g, count(DISTINCT w) FROM t GROUP BY ROLLUP (g)']) q;
