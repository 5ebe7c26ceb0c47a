-- Foreign keys that a new partition would get, and those to a partitioned table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 FROM shuttle.use_node('n1');
SELECT count(*) > 0 FROM shuttle.use_node('n2');
CREATE TABLE p (k int, at int) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
SELECT shuttle.distribute_table('p', 'k', tablets => 2);
CREATE TABLE c (k int PRIMARY KEY);
SELECT shuttle.distribute_table('c', 'k', colocate_with => 'p1');
CREATE TABLE p5 PARTITION OF p (FOREIGN KEY (k) REFERENCES c) FOR VALUES FROM (50) TO (60);
CREATE TABLE p5 PARTITION OF p (k REFERENCES c) FOR VALUES FROM (50) TO (60);
CREATE TABLE p5 PARTITION OF p FOR VALUES FROM (50) TO (60);
SELECT relation, kind FROM shuttle.tables ORDER BY relation::text COLLATE "C";

-- foreign keys to a partitioned table
ALTER TABLE p ADD PRIMARY KEY (k, at);
CREATE TABLE f (k int, at int, FOREIGN KEY (k, at) REFERENCES p (k, at));
CREATE TABLE f (k int, at int);
ALTER TABLE f ADD FOREIGN KEY (k, at) REFERENCES p;
