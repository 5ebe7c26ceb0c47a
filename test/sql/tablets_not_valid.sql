-- A foreign key that rows of before do not meet. tablets_not_valid_1.out: partitioned tables have such keys since 18.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int, note text);
INSERT INTO child VALUES (7, 'an orphan');
ALTER TABLE child ADD CONSTRAINT child_parent FOREIGN KEY (id) REFERENCES parent NOT VALID;
SELECT shuttle.distribute_tables('{parent.id, child.id}', tablets => 3);
SELECT relation, kind FROM shuttle.tables ORDER BY 1;
SELECT * FROM child;
INSERT INTO child VALUES (8, 'an orphan');
DROP SCHEMA shop CASCADE;
