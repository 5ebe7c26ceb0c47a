-- trap 4: a function that leaks sees no row that a security barrier hides.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 4 AS k, 'n' || i % 4 AS n FROM generate_series(1, 8) i;
CREATE TABLE b AS SELECT i AS id, i % 4 AS k, 'n' || i % 4 AS n, i % 2 = 0 AS shown, 'secret ' || i AS t FROM generate_series(1, 12) i;
CALL test.mirror('b');
SELECT set_config('test.seen', '', false) \g /dev/null
CREATE FUNCTION leak(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$
BEGIN
	PERFORM set_config('test.seen', current_setting('test.seen') || $1 || ',', false);
	RETURN true;
END $$;
-- the rows that the function saw in a query, in each way
CREATE FUNCTION seen(query text) RETURNS TABLE (seen text, ways bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY WITH s AS MATERIALIZED (
		SELECT set_config('test.seen', '', false), test.answer(query, way), current_setting('test.seen') AS seen
		FROM unnest(test.transports()) AS t, test.ways(t) AS way)
	SELECT (SELECT string_agg(DISTINCT x, ',' ORDER BY x) FROM unnest(string_to_array(s.seen, ',')) AS x), count(*) FROM s GROUP BY 1;
END $$;
CREATE FUNCTION test.here(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 < 5; END';
DO $$
DECLARE
	schema text;
BEGIN
	FOREACH schema IN ARRAY test.transports() || 'local'::text LOOP
		EXECUTE format('CREATE VIEW %1$I.v WITH (security_barrier) AS SELECT * FROM %1$I.b WHERE shown', schema);
		EXECUTE format('CREATE VIEW %1$I.w WITH (security_barrier) AS SELECT * FROM %1$I.b WHERE test.here(b.id)', schema);
	END LOOP;
END $$;
SELECT * FROM seen('SELECT a.id, v.t FROM a JOIN v ON v.k = a.k AND leak(v.t)');
SELECT * FROM seen('SELECT a.id, v.t FROM a JOIN v ON v.k = a.k AND leak(v.t || a.id * 0)');
SELECT * FROM seen('SELECT a.id, w.t FROM a JOIN w ON w.k = a.k AND leak(w.t)');
SELECT * FROM seen('SELECT a.id, w.t FROM a LEFT JOIN w ON w.k = a.k AND leak(w.t || a.id * 0)');
SELECT * FROM seen('SELECT a.id FROM a WHERE EXISTS (SELECT FROM w WHERE w.k = a.k AND leak(w.t))');
SELECT test.same_rows('SELECT a.id, v.t FROM a JOIN v ON v.k = a.k');
SELECT test.same_rows('SELECT a.id, v.t FROM a LEFT JOIN v ON v.n = a.n');
SELECT test.same_rows('SELECT a.id, w.t FROM a JOIN w ON w.k = a.k');
-- an operator that may leak is no key behind a barrier
SELECT test.same_rows('SELECT a.id, w.t FROM a JOIN w ON w.t LIKE a.n || ''%'' OR w.k = a.k');
SELECT test.same_rows('SELECT a.id, w.t FROM a LEFT JOIN w ON w.t > a.n AND w.t < a.n || ''x''');
-- policies on the outer table, and on an inner one that has partitions
CREATE TABLE p (id int, k int, t text) PARTITION BY LIST (k);
CREATE TABLE p_even PARTITION OF p FOR VALUES IN (0, 2);
CREATE TABLE p_odd PARTITION OF p FOR VALUES IN (1, 3);
INSERT INTO p SELECT id, k, t FROM b;
CALL test.mirror_partitions('p');
CREATE ROLE test_reader;
GRANT USAGE ON SCHEMA local, guest, engine, test TO test_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA local, guest, engine TO test_reader;
ALTER TABLE a ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON a USING (id % 2 = 0);
DO $$
DECLARE
	schema text;
BEGIN
	FOREACH schema IN ARRAY test.transports() || 'local'::text LOOP
		EXECUTE format('ALTER TABLE %I.p ENABLE ROW LEVEL SECURITY', schema);
		EXECUTE format('CREATE POLICY visible ON %I.p USING (test.here(id))', schema);
	END LOOP;
END $$;
SELECT format('CREATE USER MAPPING FOR test_reader SERVER %I OPTIONS (user %L, password_required ''false'')', t, current_user) FROM unnest(test.transports()) t \gexec
SET ROLE test_reader;
SELECT * FROM seen('SELECT a.id, b.t FROM a JOIN b ON b.k = a.k AND leak(a.n || a.id)');
SELECT test.same_rows('SELECT a.id, b.t FROM a JOIN b ON b.k = a.k');
SELECT * FROM seen('SELECT a.id, p.t FROM a JOIN p ON p.k = a.k AND leak(p.t)');
SELECT * FROM seen('SELECT a.id, p.t FROM a LEFT JOIN p ON p.k = a.k AND leak(p.t || a.id * 0)');
SELECT test.same_rows('SELECT a.id, p.t FROM a JOIN p ON p.k = a.k');
SELECT test.same_rows('SELECT a.id, p.t FROM a LEFT JOIN p ON p.t > a.n AND p.k = a.k');
-- nor does an operator that would tell of a hidden row by its error
SELECT test.same_error('SELECT a.id, p.t FROM a LEFT JOIN p ON 10 / (p.id - 6) = a.k AND p.k = a.k');
SELECT test.same_error('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM p WHERE p.k = a.k AND 10 / (p.id - 6) > a.k)');
RESET ROLE;
DROP OWNED BY test_reader;
DROP ROLE test_reader;
