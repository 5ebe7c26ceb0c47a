-- Deferrable keys beside foreign keys, and SET CONSTRAINTS outside of a block.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE TABLE late (id int PRIMARY KEY);
SELECT shuttle.distribute_table('late', 'id', tablets => 4);
INSERT INTO late VALUES (1);

-- a deferrable key has no trigger that a foreign key would have to fire
CREATE TABLE part (late_id int, no int, UNIQUE (late_id, no) DEFERRABLE);
SELECT shuttle.distribute_table('part', 'late_id', colocate_with => 'late');
ALTER TABLE part ADD CONSTRAINT part_of FOREIGN KEY (late_id) REFERENCES late ON DELETE CASCADE DEFERRABLE;
INSERT INTO part VALUES (1, 1);
DELETE FROM late;
SELECT count(*) FROM part;

-- nodes have the constraint, also outside of a block
SET CONSTRAINTS part_of IMMEDIATE;
SET CONSTRAINTS part_off IMMEDIATE;
DROP SCHEMA shop CASCADE;
