-- ONLY in front of a distributed table has no meaning, and is ignored.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE t (id int PRIMARY KEY, v int);
CREATE TABLE u (id int PRIMARY KEY REFERENCES t, t int, v int);
CREATE TABLE local (id int PRIMARY KEY, v int);
CREATE TABLE parent (id int, v int);
CREATE TABLE child () INHERITS (parent);
CREATE TABLE parts (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (100);
INSERT INTO t SELECT i, i FROM generate_series(1, 20) AS i;
INSERT INTO u SELECT i, i, i FROM generate_series(1, 20) AS i;
INSERT INTO local TABLE t;
INSERT INTO child TABLE t;
INSERT INTO parts TABLE t;
CREATE VIEW early AS SELECT * FROM ONLY t;
CREATE FUNCTION early_atomic(k int) RETURNS bigint LANGUAGE sql STABLE BEGIN ATOMIC SELECT count(*) FROM ONLY t WHERE id <= k; END;
CREATE FUNCTION early_change(k int) RETURNS int LANGUAGE sql BEGIN ATOMIC UPDATE ONLY t SET v = v + 1 WHERE id = k RETURNING v; END;
CREATE FUNCTION early_rows() RETURNS SETOF t LANGUAGE sql STABLE AS 'SELECT * FROM ONLY t';
SELECT shuttle.distribute_tables('{t.id, u.id}');
SELECT count(*), sum(v) FROM ONLY t;
SELECT v FROM ONLY t WHERE id = 5;
SELECT count(*) FROM ONLY (t) JOIN ONLY u USING (id);
SELECT count(*) FROM ONLY t JOIN local USING (id);
SELECT count(*) FROM local WHERE EXISTS (SELECT FROM ONLY t WHERE t.id = local.v) AND v IN (SELECT v FROM ONLY u);
WITH x AS (SELECT * FROM ONLY t), y AS (UPDATE ONLY t SET v = v WHERE id < 4 RETURNING id) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM y);
SELECT count(*) FROM (SELECT id FROM ONLY t UNION ALL SELECT id FROM ONLY u) AS s;
SELECT id, s.v FROM local, LATERAL (SELECT v FROM ONLY t WHERE t.id = local.id) AS s WHERE id = 3;
SELECT count(*) FROM early;
CREATE FUNCTION early_view() RETURNS SETOF early LANGUAGE sql STABLE AS 'SELECT * FROM early';
SELECT count(*) FROM early_view();
SELECT early_atomic(7), count(*) FROM early_rows();
SELECT early_atomic(id) FROM local WHERE id = 3;
UPDATE ONLY t SET v = v + 1;
UPDATE ONLY t SET v = v + 1 WHERE id = 4 RETURNING *;
UPDATE ONLY t SET v = t.v + local.v FROM local WHERE local.id = t.id AND t.id < 3 RETURNING t.*;
DELETE FROM ONLY u WHERE id > 18;
DELETE FROM ONLY u USING ONLY t WHERE u.t = t.id AND t.v > 17;
MERGE INTO ONLY t USING (VALUES (1), (30)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 100 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 30);
INSERT INTO local SELECT id + 100, v FROM ONLY t;
SELECT id FROM ONLY t WHERE v = 0 FOR UPDATE;
SELECT id FROM ONLY t WHERE id < 3 ORDER BY 1 FOR UPDATE;
PREPARE p (int) AS SELECT v FROM ONLY t WHERE id = $1;
EXECUTE p (1);
SET plan_cache_mode = force_generic_plan;
EXECUTE p (2);
RESET plan_cache_mode;
CREATE FUNCTION f(k int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	UPDATE ONLY t SET v = v + 1 WHERE id = k;
	RETURN (SELECT v FROM ONLY t WHERE id = k);
END $$;
SELECT f(6), early_change(5);
-- the functions run here: the word would be in their texts on a node, too
SELECT shuttle.distribute_function('f(int)', 'k', 't'), shuttle.distribute_function('early_change(int)', 'k', 't');
SELECT f(6), early_change(5);
CREATE VIEW late AS SELECT * FROM ONLY t;
UPDATE late SET v = 0 WHERE id = 7;
\set VERBOSITY sqlstate
DELETE FROM late WHERE id = 8;
\set VERBOSITY terse
SELECT count(*), min(v) FROM late;
COPY (SELECT count(*) FROM ONLY t) TO STDOUT;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM ONLY t ORDER BY id;
FETCH 2 FROM c;
LOCK TABLE ONLY t IN SHARE MODE;
COMMIT;
CREATE TABLE copied AS SELECT * FROM ONLY t;
SELECT count(*) FROM copied;
-- statements that change the table
ALTER TABLE ONLY t ADD COLUMN w int DEFAULT 3;
ALTER TABLE ONLY t ADD CHECK (w > 0);
ALTER TABLE ONLY t ALTER COLUMN w TYPE bigint, ALTER COLUMN w SET NOT NULL;
ALTER TABLE ONLY u DROP CONSTRAINT u_id_fkey;
ALTER TABLE ONLY u ADD CONSTRAINT u_fkey FOREIGN KEY (id) REFERENCES t;
ALTER TABLE ONLY t RENAME COLUMN w TO x;
CREATE INDEX ON ONLY t (v);
UPDATE t SET x = -1 WHERE id = 1;
SELECT sum(x) FROM ONLY t;
SELECT * FROM shuttle.check();
TRUNCATE ONLY u;
SELECT count(*) FROM u;
-- tables of this server keep its meaning
SELECT (SELECT count(*) FROM ONLY parent) AS parent, (SELECT count(*) FROM ONLY parts) AS parts, (SELECT count(*) FROM ONLY part) AS part;
UPDATE ONLY parent SET v = 0;
INSERT INTO ONLY t VALUES (1, 1);
INSERT INTO t VALUES (50, 1, 1) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
