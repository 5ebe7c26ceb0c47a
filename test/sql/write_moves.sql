-- An UPDATE never leaves a row in a partition that it does not belong to.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
SET search_path = pair, public;
SET lock_timeout = '10s';
CREATE TABLE node.low (id int, v int);
CREATE TABLE node.high (id int, v int);
CREATE TABLE number (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE low PARTITION OF number FOR VALUES FROM (0) TO (100) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE high PARTITION OF number FOR VALUES FROM (100) TO (200) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE here PARTITION OF number FOR VALUES FROM (200) TO (300);
INSERT INTO number SELECT i, i FROM generate_series(10, 290, 20) i;
PREPARE rows AS SELECT tableoid::regclass, count(*), min(id), max(id), bool_and(id = v) FROM number GROUP BY 1 ORDER BY 1;
EXECUTE rows;

-- by expressions that run on the node, that do not, and that core evaluates
BEGIN;
UPDATE number SET id = id + 100 WHERE id = 10;
UPDATE number SET id = 150 WHERE id = 30;
UPDATE number SET id = pair.here(110) WHERE id = 50;
UPDATE number SET id = 250 WHERE pair.here(id) = 110;
UPDATE number n SET id = f.id FROM (VALUES (70, 250), (90, 260)) f (n, id) WHERE f.n = n.id;
EXECUTE rows;
ROLLBACK;
UPDATE low SET id = 100 WHERE id = 10;
\echo :SQLSTATE
-- and after it had children
CREATE FOREIGN TABLE once_parent (id int) SERVER our_node OPTIONS (table_name 'remote_once');
CREATE TABLE remote_once AS SELECT 1 AS id;
CREATE TABLE once_child () INHERITS (once_parent);
DROP TABLE once_child;
CREATE TABLE over_once (id int) PARTITION BY LIST (id);
ALTER TABLE over_once ATTACH PARTITION once_parent FOR VALUES IN (1);
UPDATE once_parent SET id = 2;
DROP TABLE over_once, remote_once;
UPDATE low SET id = 0 WHERE id = 1;
UPDATE number SET id = NULL WHERE id = 10;
EXECUTE rows;

-- those that stay, shipped whole where that is certain
CREATE FUNCTION pair.shipped(statement text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || statement LOOP
		IF line ~ 'Foreign Update on low' AND line ~ 'cost' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT statement, pair.shipped(statement) FROM unnest(ARRAY[
	'UPDATE number SET v = v + 1 WHERE id = 10',
	'UPDATE number SET id = 20 WHERE id = 10',
	'UPDATE number SET id = 100 WHERE id = 10',
	'UPDATE number SET id = id + 1 WHERE id = 10',
	'UPDATE low SET id = 99 WHERE id = 10',
	'UPDATE low SET id = 100 WHERE id = 10',
	'UPDATE low SET v = id WHERE id = 10']) statement;
BEGIN;
UPDATE number SET id = 20 WHERE id = 10;
UPDATE number SET id = id + 5 WHERE id < 100;
UPDATE number SET id = pair.here(id) - 5 WHERE id < 100;
SELECT array_agg(id ORDER BY id) FROM low;
ROLLBACK;

-- by a trigger
CREATE FUNCTION pair.push() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := NEW.id + 100; RETURN NEW; END';
CREATE TRIGGER push BEFORE UPDATE ON low FOR EACH ROW EXECUTE FUNCTION pair.push();
BEGIN;
UPDATE number SET v = v WHERE id = 10;
EXECUTE rows;
ROLLBACK;
DROP TRIGGER push ON low;

-- of a key of several columns, and by hash
CREATE TABLE node.pair1 (a int, b int);
CREATE TABLE two (a int, b int) PARTITION BY RANGE (a, b);
CREATE FOREIGN TABLE pair1 PARTITION OF two FOR VALUES FROM (1, 1) TO (1, 10) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE rest PARTITION OF two DEFAULT;
INSERT INTO two VALUES (1, 5);
UPDATE two SET a = 1;
UPDATE two SET b = 6;
UPDATE two SET a = 1, b = 7;
UPDATE two SET b = 10;
UPDATE two SET a = 2;
SELECT tableoid::regclass, * FROM two;
CREATE TABLE node.hash0 (id int);
CREATE TABLE hashed (id int) PARTITION BY HASH (id);
CREATE FOREIGN TABLE hash0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE hash1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO hashed SELECT generate_series(1, 20);
DO $$
DECLARE
	one int;
	done int := 0;
	refused int := 0;
BEGIN
	FOR one IN SELECT id FROM hash0 ORDER BY id LIMIT 5 LOOP
		FOR i IN 1..20 LOOP
			BEGIN
				EXECUTE format('UPDATE hashed SET id = %s WHERE id = %s', i, one);
				IF EXISTS (SELECT FROM hash0 WHERE NOT satisfies_hash_partition('hashed'::regclass, 2, 0, id)) THEN
					RAISE 'a row is in the wrong partition';
				END IF;
				RAISE SQLSTATE 'SH001';
			EXCEPTION
				WHEN feature_not_supported THEN refused := refused + 1;
				WHEN SQLSTATE 'SH001' THEN done := done + 1;
			END;
		END LOOP;
	END LOOP;
	RAISE NOTICE '% done, % refused', done, refused;
END $$;

-- a row that goes to a foreign partition from one that is here
UPDATE number SET id = 50 WHERE id = 210 RETURNING tableoid::regclass, *;
UPDATE number SET id = 60 WHERE v = 230;
EXECUTE rows;

-- the node's own partitions: it moves the row, or refuses to
CREATE TABLE node.split (id int, v int) PARTITION BY LIST (id);
CREATE TABLE node.split1 PARTITION OF node.split FOR VALUES IN (1);
CREATE TABLE node.split2 PARTITION OF node.split FOR VALUES IN (2);
INSERT INTO node.split VALUES (1, 1), (1, 2), (2, 3);
CREATE FOREIGN TABLE split (id int, v int) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE split1 (id int, v int) SERVER our_node OPTIONS (schema_name 'node');
UPDATE split SET id = 2 WHERE v = 1;
UPDATE split SET id = 3 - id WHERE pair.here(v) > 1;
SELECT tableoid::regclass, * FROM node.split ORDER BY v;
UPDATE split1 SET id = 2;
\echo :SQLSTATE
UPDATE split1 SET id = 2 WHERE pair.here(v) = 3;
SELECT tableoid::regclass, * FROM node.split ORDER BY v;
