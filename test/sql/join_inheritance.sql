-- A foreign table with children is one of several inner scans, and rows of a tree
-- that is changed are found behind a batched join.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 50 AS k FROM generate_series(1, 200) i;
CREATE TABLE b AS SELECT i AS id, i % 9 AS v FROM generate_series(1, 60) i;
CREATE INDEX ON b (id);
CALL test.mirror('b');
-- the foreign parents have the rows of b alone, each child those of b_child
CREATE TABLE b_rows AS TABLE b;
CREATE INDEX ON b_rows (id);
CREATE TABLE b_child () INHERITS (b);
INSERT INTO b_child VALUES (1, 100), (70, 101);
CREATE TABLE engine.b_child AS TABLE local.b_child;
CREATE TABLE guest.b_child AS TABLE local.b_child;
ALTER TABLE engine.b_child INHERIT engine.b;
ALTER TABLE guest.b_child INHERIT guest.b;
ALTER FOREIGN TABLE engine.b OPTIONS (ADD table_name 'b_rows');
ALTER FOREIGN TABLE guest.b OPTIONS (ADD table_name 'b_rows');
SELECT test.same_rows('SELECT a.id, b.v FROM a JOIN b ON b.id = a.k');
SELECT test.same_rows('SELECT a.id FROM a WHERE k IN (SELECT id FROM b)');
SELECT test.same_rows('SELECT a.id, b.v FROM a LEFT JOIN b ON b.id = a.k AND b.v > 3');
DROP TABLE engine.b_child, guest.b_child, local.b_child;

-- the tree is the outer side, the inner side, and both
CREATE TABLE tree (id int, k int, note text) PARTITION BY RANGE (id);
CREATE TABLE tree_low PARTITION OF tree FOR VALUES FROM (0) TO (30);
CREATE TABLE tree_high PARTITION OF tree FOR VALUES FROM (30) TO (100);
INSERT INTO tree SELECT i, i % 20, 'old' FROM generate_series(1, 60) i;
CREATE INDEX ON tree (id);
ANALYZE tree;
CALL test.mirror_partitions('tree', 'tree_low');
-- the rows that a statement changes, in each way; it is undone
CREATE FUNCTION changed(statement text) RETURNS TABLE (rows text, ways bigint) LANGUAGE plpgsql AS $$
DECLARE
	way test.way;
	answer text;
BEGIN
	CREATE TEMP TABLE seen (rows text);
	FOR way IN SELECT ('local', NULL, false, 1024, 1024, false)::test.way UNION ALL
		SELECT w FROM unnest(test.transports()) AS t, test.ways(t) AS w LOOP
		BEGIN
			PERFORM test.set_way(way);
			EXECUTE 'WITH changed AS (' || statement || ') SELECT md5(string_agg(c::text, '' '' ORDER BY c::text)) || '' '' || count(*)
				FROM changed c' INTO answer;
			RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
		EXCEPTION WHEN SQLSTATE 'SH001' THEN
			NULL;
		END;
		INSERT INTO seen VALUES (answer);
	END LOOP;
	RETURN QUERY SELECT split_part(s.rows, ' ', 2), count(*) FROM seen s GROUP BY s.rows;
	DROP TABLE seen;
END $$;
SELECT * FROM changed('UPDATE tree SET note = b.v::text FROM b WHERE b.id = tree.k RETURNING tree.id, tree.note');
SELECT * FROM changed('UPDATE tree SET note = x::text FROM (VALUES (1), (33), (44)) s (x) WHERE tree.id = s.x RETURNING tree.id, tree.note');
SELECT * FROM changed('UPDATE tree SET note = b.v::text FROM a JOIN b ON b.id = a.k WHERE tree.id = a.id RETURNING tree.id, tree.note');
SELECT * FROM changed('DELETE FROM tree USING b WHERE b.id = tree.k AND b.v > 2 RETURNING tree.id');
-- the nodes are there all the same
SET shuttle.debug_force_batched_join = on;
SELECT test.plan_shape('UPDATE tree SET note = b.v::text FROM b WHERE b.id = tree.k');
SELECT test.plan_shape('DELETE FROM tree USING (VALUES (1), (33), (44)) s (x) WHERE tree.id = s.x');
RESET shuttle.debug_force_batched_join;

-- partitions joined one by one: parameters come from the partition
SET enable_partitionwise_join = on;
CREATE TABLE other (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE other_low PARTITION OF other FOR VALUES FROM (0) TO (30);
CREATE TABLE other_high PARTITION OF other FOR VALUES FROM (30) TO (100);
INSERT INTO other SELECT i, i FROM generate_series(1, 80, 3) i;
ANALYZE other;
CALL test.mirror_partitions('other');
SELECT test.same_rows('SELECT t.id, o.v FROM tree t JOIN other o ON o.id = t.id');
SELECT test.same_rows('SELECT t.id, o.v FROM tree t LEFT JOIN other o ON o.id = t.id AND o.v > 10');
SELECT test.same_rows('SELECT t.id, o.v, p.v FROM tree t JOIN other o ON o.id = t.id JOIN other p ON p.id = o.id');
