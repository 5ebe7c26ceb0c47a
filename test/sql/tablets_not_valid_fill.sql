-- Constraints that are NOT VALID: old rows that violate them get the values of new columns, as in a local table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE plain (id int PRIMARY KEY, v int);
INSERT INTO plain VALUES (1, -1), (2, 5), (3, NULL);
CREATE TABLE spread AS TABLE plain;
CREATE TABLE copied (id int PRIMARY KEY, v int);
INSERT INTO copied TABLE plain;
SELECT shuttle.distribute_table('spread', 'id', tablets => 2);
SELECT shuttle.reference_table('copied');
ALTER TABLE plain ADD CONSTRAINT positive CHECK (v > 0) NOT VALID, ADD CONSTRAINT known CHECK (v IS NOT NULL) NOT VALID;
ALTER TABLE spread ADD CONSTRAINT positive CHECK (v > 0) NOT VALID, ADD CONSTRAINT known CHECK (v IS NOT NULL) NOT VALID;
ALTER TABLE copied ADD CONSTRAINT positive CHECK (v > 0) NOT VALID, ADD CONSTRAINT known CHECK (v IS NOT NULL) NOT VALID;
ALTER TABLE plain ADD COLUMN r float8 NOT NULL DEFAULT random();
ALTER TABLE spread ADD COLUMN r float8 NOT NULL DEFAULT random();
ALTER TABLE copied ADD COLUMN r float8 NOT NULL DEFAULT random();
SELECT count(r) FROM plain;
SELECT count(r) FROM spread;
SELECT count(s.r), count(c.r) FROM spread AS s JOIN copied AS c USING (id);
-- new rows are held against them
INSERT INTO plain VALUES (4, -1);
INSERT INTO spread VALUES (4, -1);
INSERT INTO copied VALUES (4, -1);
UPDATE plain SET v = NULL WHERE id = 2;
UPDATE spread SET v = NULL WHERE id = 2;
UPDATE copied SET v = NULL WHERE id = 2;
-- together with others of the statement
ALTER TABLE plain DROP CONSTRAINT known, ADD COLUMN q float8 DEFAULT random();
ALTER TABLE spread DROP CONSTRAINT known, ADD COLUMN q float8 DEFAULT random();
ALTER TABLE plain VALIDATE CONSTRAINT positive, ADD COLUMN p float8 DEFAULT random();
ALTER TABLE spread VALIDATE CONSTRAINT positive, ADD COLUMN p float8 DEFAULT random();
UPDATE plain SET v = 1 WHERE id = 1;
UPDATE spread SET v = 1 WHERE id = 1;
ALTER TABLE plain VALIDATE CONSTRAINT positive, ADD COLUMN p float8 DEFAULT random();
ALTER TABLE spread VALIDATE CONSTRAINT positive, ADD COLUMN p float8 DEFAULT random();
SELECT count(p), count(q) FROM spread;
-- a node that is new, and a table that comes back
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
ALTER TABLE spread ADD CONSTRAINT small CHECK (id < 3) NOT VALID;
COMMENT ON CONSTRAINT small ON spread IS 'stays';
SELECT * FROM shuttle.check();
SELECT shuttle.local_table('spread');
SELECT count(*) FROM spread;
SELECT conname, convalidated, obj_description(oid, 'pg_constraint') AS comment FROM pg_constraint WHERE conrelid = 'spread'::regclass AND contype = 'c' ORDER BY 1;
INSERT INTO spread VALUES (9, 1, 1);
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
