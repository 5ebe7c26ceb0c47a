-- VOLATILE functions see the rows that were written before theirs, also if the source is read in batches and
-- therefore to its end before the first row is written.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE TABLE a (id int PRIMARY KEY, b int);
CREATE TABLE b (id int PRIMARY KEY, v int);
CREATE TABLE t (no int PRIMARY KEY, v int, w text DEFAULT 'd', gone int, g int GENERATED ALWAYS AS (v + 1) STORED, s serial);
ALTER TABLE t DROP COLUMN gone;
INSERT INTO a SELECT i, i + 3 FROM generate_series(1, 6) i;
INSERT INTO b SELECT i, i FROM generate_series(1, 20000) i;
SELECT shuttle.distribute_table('b', 'id', 3);
SELECT shuttle.distribute_table('t', 'no', 3);
CREATE FUNCTION next_no(above int DEFAULT 0) RETURNS int LANGUAGE sql AS 'SELECT coalesce(max(no), 0) + 1 + above FROM t';
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % %', TG_OP, new.no, new.v, new.w;
	RETURN new;
END $$;
CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION tell();
ANALYZE;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF, VERBOSE) INSERT INTO t (no, v, w) SELECT next_no(b.v % 2), b.v, b.v || 'x' FROM a JOIN b ON b.id = a.b ORDER BY a.id;
INSERT INTO t (no, v, w) SELECT next_no(b.v % 2), b.v, b.v || 'x' FROM a JOIN b ON b.id = a.b ORDER BY a.id;
SELECT * FROM t ORDER BY no;
-- unordered, in the condition of a CASE, twice, in RETURNING, with a subquery beside it
INSERT INTO t (no, v) SELECT CASE WHEN next_no() > 3 THEN next_no() + a.id * 0 END, b.v FROM a JOIN b ON b.id = a.b WHERE a.id = 1 OR a.id = 4;
WITH i AS (INSERT INTO t (no, v, w) SELECT next_no(), (SELECT count(*) FROM a AS x WHERE x.id < a.id), 'w' FROM a JOIN b ON b.id = a.b AND b.v % 2 = 0 RETURNING no, v, next_no())
SELECT count(*), count(DISTINCT no), min(next_no) < max(next_no) AS grows FROM i;
UPDATE t SET v = next_no(t.v) FROM a JOIN b ON b.id = a.b WHERE a.id = t.no;
SELECT no, v, w, g, s FROM t ORDER BY no;
-- with a subquery for several columns, and in a subquery of the row
WITH u AS (UPDATE t SET (v, w) = (SELECT x.b, 'm' || next_no() FROM a AS x WHERE x.id = a.id), s = next_no() + t.v * 0 FROM a JOIN b ON b.id = a.b WHERE a.id = t.no RETURNING t.*)
SELECT no, v, w, s FROM u ORDER BY no;
INSERT INTO t (no, v) SELECT next_no((SELECT count(*)::int FROM a AS x WHERE x.id < a.id)), b.v FROM a JOIN b ON b.id = a.b WHERE a.id < 3;
-- a condition that is false, and the function of a query that writes nothing
INSERT INTO t (no, v) SELECT next_no(), b.v FROM a JOIN b ON b.id = a.b WHERE current_setting('server_version_num')::int < 0;
PREPARE p AS INSERT INTO t (no, v) SELECT next_no($1), b.v + $1 FROM a JOIN b ON b.id = a.b WHERE b.v < $2;
EXECUTE p (0, 6);
EXECUTE p (1, 7);
SELECT count(*), max(no) FROM t;
