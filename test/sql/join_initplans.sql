-- Keys beside the value of an initplan: it is executed once, when something
-- that surely runs needs it, and not for what may not run.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE FUNCTION test.twice(i int) RETURNS int
LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN i * 2; END';
CREATE TABLE f AS SELECT i AS id, i % 40 AS k, i % 7 AS j FROM generate_series(1, 200) i;
CREATE TABLE o AS SELECT i AS id, i % 30 AS k, i % 7 AS j FROM generate_series(1, 150) i;
CREATE TABLE t AS SELECT i AS x FROM generate_series(0, 3) i;
CREATE INDEX ON t (x);
CALL test.mirror('f');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = o.k AND f.j <= (SELECT max(x) FROM t)');
SELECT test.same_rows('SELECT o.id, f.id FROM o LEFT JOIN f ON f.k = test.twice(o.k) AND f.j <= (SELECT max(x) FROM t)');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = test.twice(o.k + (SELECT min(x) + 1 FROM t))');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = o.k AND f.j = (SELECT min(g.j) FROM f g WHERE g.id > 9)');
SELECT test.same_rows('SELECT o.id, s.* FROM o CROSS JOIN LATERAL (SELECT f.id FROM f WHERE f.k = o.k AND f.j > (SELECT max(x) FROM t) ORDER BY id LIMIT 2) s');
SELECT test.same_rows('SELECT o.id, (SELECT count(*) FROM f WHERE f.k = o.k AND f.j <= (SELECT max(x) FROM t)) FROM o');
SELECT test.same_rows('SELECT id FROM o WHERE EXISTS (SELECT FROM f WHERE f.k = o.k AND f.j <= (SELECT max(x) FROM t) OFFSET 0)');

-- executed once
CREATE SEQUENCE calls;
CREATE FUNCTION test.counted(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	PERFORM nextval('local.calls');
	RETURN i;
END $$;
CREATE FUNCTION test.calls_of(query text) RETURNS TABLE (transport text, calls bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM setval('local.calls', 100);
		PERFORM test.answer(query, (transport, transport, true, 7, 1024, false));
		calls := nextval('local.calls') - 101;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM test.calls_of('SELECT o.id, f.id FROM o JOIN f ON f.k = o.k AND f.j <= (SELECT test.counted(3))');
SELECT * FROM test.calls_of('SELECT o.id, (SELECT count(*) FROM f WHERE f.k = o.k AND f.j <= (SELECT test.counted(3))) FROM o');
SELECT * FROM test.calls_of('SELECT o.id, f.id FROM o JOIN f ON f.k = o.k AND f.j <= (SELECT test.counted(3)) WHERE o.id < 0');

-- trap 13: not executed for what is not evaluated; and then the keys of the
-- first rows wait for the one that is
SELECT test.same_rows($$
	SELECT o.id, CASE WHEN o.j > 7 THEN (SELECT count(*) FROM f WHERE f.k = o.k AND f.j <= (SELECT max(1 / x) FROM t)) END
	FROM o $$);
SELECT test.same_rows($$
	SELECT o.id, o.j < 8 OR EXISTS (SELECT FROM f WHERE f.k = o.k AND f.j <= (SELECT max(1 / x) FROM t) OFFSET 0)
	FROM o $$);
SELECT test.same_error($$
	SELECT o.id, CASE WHEN o.j > 5 THEN (SELECT count(*) FROM f WHERE f.k = o.k AND f.j <= (SELECT max(1 / x) FROM t)) END
	FROM o $$);
SELECT * FROM test.calls_of($$
	SELECT o.id, CASE WHEN o.j > 7 THEN (SELECT count(*) FROM f WHERE f.k = o.k AND f.j <= (SELECT test.counted(3))) END
	FROM o $$);
SELECT test.same_rows($$
	SELECT o.id, CASE WHEN o.j > 3 THEN (SELECT count(*) FROM f WHERE f.k = o.k AND f.j <= (SELECT max(x) FROM t)) END
	FROM o $$);
SELECT * FROM test.numbers($$
	SELECT o.id, CASE WHEN o.j > 3 THEN (SELECT count(*) FROM f WHERE f.k = o.k AND f.j <= (SELECT max(x) FROM t)) END
	FROM o $$);

-- a scan below something that may leave it out: another side, a condition on
-- the outer row alone, a partition that no key leads to
SELECT test.same_rows($$
	SELECT id, (SELECT max(f.id) FROM o y, f WHERE y.id = o.id + 1000 AND f.k = o.k AND f.j > (SELECT max(1 / x) FROM t))
	FROM o $$);
SELECT test.same_rows($$
	SELECT id, (SELECT max(f.id) FROM o y LEFT JOIN f ON f.k = o.k AND f.j > (SELECT max(1 / x) FROM t) WHERE y.id = o.id + 1000)
	FROM o $$);
SELECT test.same_rows($$
	SELECT id, (SELECT max(f.id) FROM f WHERE f.k = o.k AND f.j > (SELECT max(1 / x) FROM t) AND o.id < 0) FROM o $$);
SELECT test.same_rows($$
	SELECT o.id, s.* FROM o LEFT JOIN LATERAL
		(SELECT f.id FROM f WHERE f.k = o.k AND f.j > (SELECT max(1 / x) FROM t) AND o.id < 0 OFFSET 0) s ON true $$);
SELECT test.same_rows($$
	SELECT id, (SELECT max(f.id) FROM o y, f WHERE y.id = o.id + 60 AND f.k = o.k AND f.j > (SELECT max(x) FROM t)) FROM o $$);
SELECT * FROM test.numbers($$
	SELECT id, (SELECT max(f.id) FROM o y, f WHERE y.id = o.id + 60 AND f.k = o.k AND f.j > (SELECT max(x) FROM t)) FROM o $$);
SELECT * FROM test.calls_of($$
	SELECT id, (SELECT max(f.id) FROM o y, f WHERE y.id = o.id + 1000 AND f.k = o.k AND f.j > (SELECT test.counted(3))) FROM o $$);
CREATE TABLE p (k int, j int) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1, 2);
CREATE TABLE p2 PARTITION OF p DEFAULT;
INSERT INTO p SELECT k, j FROM f;
CALL test.mirror_partitions('p', 'p2');
SELECT test.same_rows('SELECT o.id, p.j FROM o LEFT JOIN p ON p.k = o.k AND p.j = (SELECT max(x) FROM t)');
SELECT test.same_rows('SELECT o.id, p.j FROM o LEFT JOIN p ON p.k = o.k AND p.j = (SELECT max(1 / x) FROM t) WHERE o.id < 0');

-- a value that changes with the row, and one that changes with a rescan
SELECT test.same_rows('SELECT o.id, (SELECT count(*) FROM f WHERE f.k = (SELECT max(x) + o.j FROM t)) FROM o');
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL
		(SELECT o.id, f.id AS f FROM o JOIN f ON f.k = o.k AND f.j = (SELECT max(u.x) FROM t u WHERE u.x <= t.x)
			WHERE o.j = t.x OFFSET 0) s $$);
-- the same where the initplan is the inner side's own
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.f FROM o CROSS JOIN LATERAL
		(SELECT f.id AS f FROM f WHERE f.id = o.id AND f.j <= (SELECT max(u.x) FROM t u WHERE u.x <= t.x) OFFSET 0) i OFFSET 0) s $$);
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.n FROM o CROSS JOIN LATERAL
		(SELECT count(*) AS n FROM f WHERE f.k = o.k AND f.j = (SELECT max(u.x) FROM t u WHERE u.x <= t.x)) i OFFSET 0) s $$);
SELECT test.same_rows($$
	SELECT t.x, (SELECT sum(n) FROM (SELECT (SELECT count(*) FROM f WHERE f.k = o.k AND f.j = (SELECT max(u.x) FROM t u WHERE u.x <= t.x)) AS n
		FROM o OFFSET 0) s) FROM t $$);
SELECT * FROM test.numbers($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.n FROM o CROSS JOIN LATERAL
		(SELECT count(*) AS n FROM f WHERE f.k = o.k AND f.j = (SELECT max(u.x) FROM t u WHERE u.x <= t.x)) i OFFSET 0) s $$);
-- what a rescan computes before there is an outer row: a LIMIT, a key of an index
CREATE TABLE named AS SELECT *, repeat('x', j + 1) AS name FROM o;
CREATE TABLE looked_up AS SELECT 'x' AS name, i AS x, i * 10 AS z FROM generate_series(0, 3) i;
CREATE INDEX ON looked_up (name, x);
ANALYZE named, looked_up;
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.f FROM named o CROSS JOIN LATERAL
		(SELECT f.id AS f FROM f WHERE f.k = o.k AND f.j <= (SELECT max(u.x) FROM t u WHERE u.x <= t.x)
			ORDER BY f.id LIMIT length(o.name)) i OFFSET 0) s $$);
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.f FROM named o CROSS JOIN LATERAL
		(SELECT f.id AS f FROM f WHERE f.k = o.k AND f.j <= (SELECT max(u.x) FROM t u WHERE u.x <= t.x)
			ORDER BY f.id LIMIT 3) i OFFSET 0) s $$);
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.f FROM named o CROSS JOIN LATERAL
		(SELECT f.id AS f FROM f WHERE f.k = o.k AND f.j <= (SELECT max(u.x) FROM t u WHERE u.x <= t.x)
			ORDER BY f.id LIMIT 5 - 10 * t.x) i WHERE o.j < 0 OFFSET 0) s $$);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.* FROM named o CROSS JOIN LATERAL
		(SELECT f.id AS f, l.z FROM f JOIN looked_up l ON l.name = left(o.name, 1) AND l.x = t.x
			WHERE f.k = o.k AND f.j <= (SELECT max(u.x) FROM t u WHERE u.x <= t.x) OFFSET 0) i OFFSET 0) s $$);
SELECT test.same_rows($$
	SELECT t.x, s.* FROM t CROSS JOIN LATERAL (SELECT o.id, i.* FROM named o CROSS JOIN LATERAL
		(SELECT f.id AS f, l.z FROM f JOIN looked_up l ON l.x = 10 / t.x
			WHERE f.k = o.k AND f.j <= (SELECT max(u.x) FROM t u WHERE u.x <= t.x) OFFSET 0) i WHERE o.j < 0 OFFSET 0) s $$);
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE f, o, t, p, named, looked_up;
