-- MERGE is refused, with a hint where a partition is a foreign table; what the hint says does the same.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = pair, public;
CREATE TABLE node.part (id int PRIMARY KEY, v int);
INSERT INTO node.part VALUES (1, 10), (2, 20);
CREATE TABLE whole (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (100) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE here PARTITION OF whole FOR VALUES FROM (100) TO (200);
INSERT INTO here VALUES (101, 1010);
CREATE TABLE news (id int, v int);
INSERT INTO news VALUES (2, 21), (3, 30), (101, 1011);
MERGE INTO part USING news n ON n.id = part.id WHEN MATCHED THEN UPDATE SET v = n.v;
MERGE INTO whole w USING news n ON n.id = w.id WHEN MATCHED THEN UPDATE SET v = n.v WHEN NOT MATCHED THEN INSERT VALUES (n.id, n.v);
MERGE INTO whole w USING news n ON n.id = w.id WHEN MATCHED THEN DELETE;
MERGE INTO whole w USING (VALUES (101, 1)) n (id, v) ON n.id = w.id AND w.id = 101 WHEN MATCHED THEN UPDATE SET v = n.v;
MERGE INTO here w USING news n ON n.id = w.id WHEN MATCHED THEN UPDATE SET v = n.v;
BEGIN;
UPDATE whole w SET v = n.v FROM news n WHERE n.id = w.id;
INSERT INTO whole SELECT * FROM news n WHERE NOT EXISTS (SELECT FROM whole w WHERE w.id = n.id);
COMMIT;
SELECT * FROM whole ORDER BY id;
