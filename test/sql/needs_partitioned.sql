-- A function of a group that has a partitioned table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 FROM shuttle.use_node('n1');
SELECT count(*) > 0 FROM shuttle.use_node('n2');
CREATE TABLE p (k int, at int) PARTITION BY RANGE (at);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
SELECT shuttle.distribute_table('p', 'k', tablets => 2);
CREATE FUNCTION add(key int, amount int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO shop.p VALUES (key, amount); RETURN key; END $$;
SELECT shuttle.distribute_function('add(int, int)', 'key');
SELECT shuttle.distribute_function('add(int, int)', 'key', colocate_with => 'p1');
SELECT add(3, 5);
SELECT * FROM p;
