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

-- keys of partitions have other names, and are set with the partitioned table's
CREATE TABLE parted (id int UNIQUE DEFERRABLE) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);
CREATE TABLE parted_highest PARTITION OF parted_high FOR VALUES FROM (15) TO (20);
SELECT shuttle.distribute_table('parted', 'id', tablets => 4);
BEGIN;
SET CONSTRAINTS parted_id_key DEFERRED;
INSERT INTO parted VALUES (1), (1), (15), (15);
DELETE FROM parted WHERE id = 15;
SET CONSTRAINTS parted_id_key IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS parted_high_id_key DEFERRED;
INSERT INTO parted VALUES (15), (15);
INSERT INTO parted VALUES (1), (1);
ROLLBACK;
DROP SCHEMA shop CASCADE;
