-- trap 22: a ctid names a row in each partition of a remote table, so that statements carry tableoid as well.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.part (id int, v int) PARTITION BY LIST (id);
CREATE TABLE node.part1 PARTITION OF node.part FOR VALUES IN (1);
CREATE TABLE node.part2 PARTITION OF node.part FOR VALUES IN (2);
CREATE TABLE node.part3 PARTITION OF node.part FOR VALUES IN (3, 4);
INSERT INTO node.part VALUES (1, 10), (2, 20), (3, 30), (3, 31), (4, 40), (1, 11);
SELECT pair.tables('part');
\set SHOW_CONTEXT never
SELECT ctid, id FROM node.part ORDER BY tableoid, ctid;
UPDATE ours.part SET v = v + 100 WHERE pair.here(id) = 1;
DELETE FROM ours.part WHERE pair.here(v) = 31 RETURNING *;
SELECT id, v FROM node.part ORDER BY id, v;

-- every row once, whatever table it is in
UPDATE ours.part SET v = v + 1000 WHERE pair.here(id) > 0;
SELECT id, v FROM node.part ORDER BY id, v;

-- rows that the node moves to another partition
UPDATE ours.part SET id = id % 4 + 1 WHERE pair.here(id) > 0;
SELECT tableoid::regclass, id, v FROM node.part ORDER BY id, v;

-- a row of one partition that a trigger there keeps: no other row takes its place
CREATE FUNCTION node.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON node.part1 FOR EACH ROW EXECUTE FUNCTION node.keep();
UPDATE ours.part SET v = 0 WHERE pair.here(id) = 1;
DELETE FROM ours.part WHERE pair.here(id) = 1;
SELECT id, v FROM node.part ORDER BY id, v;
DROP TRIGGER keep ON node.part1;

-- inherited tables, with rows of their own
CREATE TABLE node.parent (id int, v text);
CREATE TABLE node.child () INHERITS (node.parent);
INSERT INTO node.parent VALUES (1, 'parent');
INSERT INTO node.child VALUES (2, 'child');
SELECT pair.tables('parent');
UPDATE ours.parent SET v = v || ' updated' WHERE pair.here(id) = 2 RETURNING *;
DELETE FROM ours.parent WHERE pair.here(id) = 1 RETURNING *;
SELECT tableoid::regclass, * FROM node.parent;

-- the target joined here, on the node, and asked by key
CREATE TABLE pair.change AS SELECT i AS id, i * 7 AS v FROM generate_series(1, 3) i;
ANALYZE pair.change;
ANALYZE ours.part;
UPDATE ours.part p SET v = c.v FROM pair.change c WHERE c.id = p.id AND pair.here(p.id) > 0;
SELECT tableoid::regclass, id, v FROM node.part ORDER BY id, v;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE FUNCTION pair.relations(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Relations' THEN RETURN trim(line); END IF;
	END LOOP;
	RETURN NULL;
END $$;
SELECT pair.relations('UPDATE ours.part p SET v = pair.here(p.v) + b.id FROM ours.branch b WHERE b.id = p.id');
WITH updated AS (UPDATE ours.part p SET v = pair.here(p.v) + b.id FROM ours.branch b WHERE b.id = p.id RETURNING p.id, p.v, b.city)
SELECT * FROM updated ORDER BY 1, 2;
SELECT tableoid::regclass, id, v FROM node.part ORDER BY id, v;
RESET enable_nestloop;
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
INSERT INTO node.part VALUES (1, 1), (2, 2), (3, 3);
EXPLAIN (COSTS OFF) UPDATE ours.part p SET v = p.v + c.v FROM pair.change c WHERE c.id = p.id AND pair.here(p.v) < 7;
UPDATE ours.part p SET v = p.v + c.v FROM pair.change c WHERE c.id = p.id AND pair.here(p.v) < 7;
SELECT tableoid::regclass, id, v FROM node.part ORDER BY id, v;
RESET shuttle.enable_batched_join;

-- more tables than a short list has room for
CREATE TABLE node.many (id int, v int) PARTITION BY HASH (id);
DO $$ BEGIN FOR i IN 0..39 LOOP EXECUTE format('CREATE TABLE node.many%s PARTITION OF node.many FOR VALUES WITH (MODULUS 40, REMAINDER %s)', i, i); END LOOP; END $$;
INSERT INTO node.many SELECT i, i FROM generate_series(1, 2000) i;
SELECT pair.tables('many');
UPDATE ours.many SET v = -v WHERE pair.here(id) % 3 = 0;
SELECT count(*) FILTER (WHERE v = -id), count(*) FILTER (WHERE v = id), bool_and((v = -id) = (id % 3 = 0)) FROM node.many;
DELETE FROM ours.many WHERE pair.here(v) < 0;
SELECT count(*), min(id % 3) FROM node.many;
