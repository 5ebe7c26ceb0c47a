-- An error of a row that no key asks for, or that the join never comes to, is
-- not raised, on either transport: a node may check a condition on all rows of
-- a table, and a key may be asked for that a subquery would not ask for.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, i % 5 + 1 AS k FROM generate_series(1, 40) i;
CREATE TABLE i AS SELECT i AS id, i % 5 AS k, i * 10 AS v, 't' || i AS t FROM generate_series(1, 60) i;
CALL test.mirror('i');

-- Conditions are checked behind the key.
SELECT test.same_rows('SELECT max(x.v) FROM (SELECT (SELECT v FROM i WHERE i.id = o.id AND 1 / (v - 20) < 5) AS v
	FROM o WHERE o.id <> 2 OFFSET 0) x');
SELECT test.same_rows('SELECT o.id, x.v FROM o, LATERAL (SELECT v FROM i WHERE i.id = o.id AND 1 / (v - 20) < 5 OFFSET 0) x
	WHERE o.id <> 2');
SELECT test.same_error('SELECT max(x.v) FROM (SELECT (SELECT v FROM i WHERE i.id = o.id AND 1 / (v - 20) < 5) AS v
	FROM o WHERE o.id <> 3 OFFSET 0) x');

-- Rows behind the last one that is taken.
SELECT test.same_rows('SELECT o.id, (SELECT max(1 / (v - 50)) FROM i WHERE i.id = o.id) FROM o LIMIT 4');
SELECT test.same_rows('SELECT EXISTS (SELECT FROM o WHERE (SELECT max(1 / (v - 50)) FROM i WHERE i.id = o.id AND v > 30) < 10)');
SELECT test.same_error('SELECT o.id, (SELECT max(1 / (v - 50)) FROM i WHERE i.id = o.id) FROM o LIMIT 5');

-- Places that are left out: behind the difference of a row, as a subscript of
-- NULL, and behind a condition on the outer row alone.
SELECT test.same_rows('SELECT o.id, (o.id, (SELECT max(1 / (v - 20)) FROM i WHERE i.id = o.id)) < (1, 5) FROM o');
SELECT test.same_rows('SELECT o.id, (CASE WHEN o.id <> 2 THEN ARRAY[1, 2] END)[(SELECT max(1 / (v - 20)) FROM i WHERE i.id = o.id)] FROM o');
SELECT test.same_rows('SELECT o.id, (SELECT max(1 / (v - 20)) FROM i WHERE i.id = o.id AND o.id <> 2) FROM o');
SELECT test.same_rows('SELECT o.id, x.* FROM o LEFT JOIN LATERAL (SELECT max(1 / (v - 20)) FROM i WHERE i.id = o.id AND o.id <> 2) x ON true');

-- A guest reads more than one page ahead, and goes on after an error in the
-- midst of it.
SET shuttle.fetch_limit = 3;
SELECT test.same_rows('SELECT o.id, (SELECT max(1 / (v - 50)) FROM i WHERE i.id = o.id) FROM o LIMIT 4');
SELECT test.same_rows('SELECT o.id, (SELECT string_agg(x.t || 10 / (x.v - 200), '','' ORDER BY x.v) FROM i x WHERE x.k = o.k AND x.v <= 150) FROM o');
RESET shuttle.fetch_limit;

-- Where postgres_fdw may have asked for rows that nobody has read, a guest asks
-- key by key.
ALTER SERVER guest OPTIONS (ADD async_capable 'true');
SELECT test.same_rows('SELECT o.id, (SELECT max(1 / (v - 50)) FROM i WHERE i.id = o.id) FROM o LIMIT 4');
SELECT test.same_rows('SELECT a.id, (SELECT max(1 / (v - 50)) FROM i WHERE i.id = a.id)
	FROM (SELECT id FROM i WHERE id < 3 UNION ALL SELECT id FROM i WHERE id > 50) a');
DROP TABLE o, i;
