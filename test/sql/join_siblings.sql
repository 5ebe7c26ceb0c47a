-- Look Aheads below the same Append send their first batches together, if all will surely be read.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/early.sql
SET search_path = ours, public;
SET shuttle.enable_batched_join = on;
CREATE TABLE pair.o AS SELECT i AS id FROM generate_series(1, 3) i;
CREATE UNIQUE INDEX ON pair.o (id);
ANALYZE pair.o;
SET shuttle.debug_force_batched_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

-- both requests are under way at the same time
EXPLAIN (COSTS OFF) SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id UNION ALL SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id;
SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id UNION ALL SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id;
CALL node.settle();
SELECT o.id, i.met FROM pair.o JOIN meet1 i ON i.id = o.id UNION ALL SELECT o.id, i.met FROM pair.o JOIN meet2 i ON i.id = o.id
UNION ALL SELECT o.id, i.met FROM pair.o JOIN meet3 i ON i.id = o.id;
CALL node.settle();
-- of a MergeAppend the first rows, though a LIMIT stops it
SET enable_sort = off;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id, met FROM (SELECT * FROM (SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id ORDER BY o.id) a
	UNION ALL SELECT * FROM (SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id ORDER BY o.id) b) s ORDER BY id LIMIT 2;
SELECT id, met FROM (SELECT * FROM (SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id ORDER BY o.id) a
	UNION ALL SELECT * FROM (SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id ORDER BY o.id) b) s ORDER BY id LIMIT 2;
CALL node.settle();
RESET enable_sort;
RESET enable_seqscan;

-- correlated subqueries, whose scans the children share
SELECT id, (SELECT met FROM pair1 i WHERE i.id = s.id) AS one, (SELECT count(met) FROM pair2 i WHERE i.id = s.id) AS other
FROM (SELECT id FROM pair.o UNION ALL SELECT id + 2 FROM pair.o) s ORDER BY id, one;
CALL node.settle();

-- not if a LIMIT may stop before
UPDATE node.patience SET seconds = 0.05;
SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id UNION ALL SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id LIMIT 1;
CALL node.settle();
-- nor if what one raises could not be kept
CREATE FUNCTION pair.raises(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'the second child'; END $$;
SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id AND 1 / (i.id - 1 + o.id - 1) > 0 UNION ALL
SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id WHERE pair.raises(o.id) > 0;
CALL node.settle();
-- a value's error waits for its turn: the first child's comes first
SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id AND sqrt(-o.id) > 0 UNION ALL
SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id WHERE 1 / (o.id - 1) > 0;
CALL node.settle();
SELECT o.id, i.met FROM pair.o JOIN pair1 i ON i.id = o.id UNION ALL
SELECT o.id, i.met FROM pair.o JOIN pair2 i ON i.id = o.id WHERE 1 / (o.id - 1) > 0;
RESET search_path;
SET client_min_messages = warning;
DROP SERVER node1, node2, node3 CASCADE;
