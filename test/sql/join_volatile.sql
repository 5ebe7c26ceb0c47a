-- trap 12: volatile functions run as often, and in the order, that they do
-- without batches; stable ones run where stock runs them.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 5 AS k FROM generate_series(1, 20) i;
CREATE INDEX ON a (id);
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 3 AS v FROM generate_series(1, 18) i;
CALL test.mirror('b');
CREATE SEQUENCE s;
CREATE FUNCTION test.count_up(int) RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT $1 + 0 * nextval('local.s')::int $$;
CREATE FUNCTION test.stable_up(int) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN PERFORM nextval('local.s'); RETURN $1; END $$;
-- calls in a query, in each way that looks ahead
CREATE FUNCTION calls(query text) RETURNS TABLE (calls bigint, nrows int, ways bigint) LANGUAGE plpgsql AS $$
DECLARE
	way test.way;
	answer text[];
BEGIN
	CREATE TEMP TABLE seen (calls bigint, nrows int);
	FOR way IN SELECT w.* FROM unnest(test.transports()) AS t, test.ways(t) AS w WHERE w.batched LOOP
		PERFORM setval('local.s', 1, false);
		answer := test.answer(query, way);
		INSERT INTO seen VALUES (nextval('local.s') - 1, cardinality(answer));
	END LOOP;
	RETURN QUERY SELECT x.calls, x.nrows, count(*) FROM seen x GROUP BY 1, 2;
	DROP TABLE seen;
END $$;
-- in a key: no batches
SELECT * FROM calls('SELECT a.id, b.id FROM a JOIN b ON b.k = test.count_up(a.k)');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = test.count_up(a.k)');
-- in a filter of the outer side, with a LIMIT that does not need all rows
SELECT * FROM calls('SELECT a.id, b.id FROM (SELECT id, k FROM a WHERE test.count_up(k) > 0 ORDER BY id) a JOIN b ON b.k = a.k LIMIT 2');
SELECT * FROM calls('SELECT a.id, b.id FROM (SELECT id, test.count_up(k) AS k FROM a ORDER BY id OFFSET 0) a JOIN b ON b.k = a.k LIMIT 2');
SELECT * FROM calls('SELECT g.k, b.id FROM (SELECT test.count_up(x) AS k FROM generate_series(1, 5) x OFFSET 0) g LEFT JOIN b ON b.k = g.k LIMIT 2');
SELECT * FROM calls('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM (SELECT id, k FROM a WHERE test.count_up(k) > 0 ORDER BY id OFFSET 0) a LIMIT 2');
SELECT * FROM calls('SELECT a.id, b.id FROM (SELECT id, test.count_up(id) AS k FROM a ORDER BY id OFFSET 0) a JOIN b ON b.id = a.k AND b.v > 1 LIMIT 3');
SELECT * FROM calls('SELECT a.id FROM (SELECT id, test.count_up(id) AS k FROM a ORDER BY id OFFSET 0) a WHERE (SELECT max(b.v) FROM b WHERE b.id = a.k) > 1 LIMIT 3');
-- in a filter of the inner side and of the join
SELECT * FROM calls('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND test.count_up(b.v) = 1');
SELECT * FROM calls('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND test.count_up(b.v + a.id) > 5');
-- in the select list, with and without a subquery beside it
SELECT * FROM calls('SELECT a.id, b.id, test.count_up(b.v) FROM a LEFT JOIN b ON b.k = a.k');
SELECT * FROM calls('SELECT a.id, test.count_up(a.k), (SELECT count(*) FROM b WHERE b.k = a.k) FROM a ORDER BY a.id LIMIT 3');
SELECT * FROM calls('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = test.count_up(a.k)) FROM a WHERE a.id < 5');
-- stable: for the values it is shipped with, if a row is asked for at all
SELECT * FROM calls('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.v = test.stable_up(1) LIMIT 0');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.v = test.stable_up(1)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v = extract(year FROM now())::int % 3');
