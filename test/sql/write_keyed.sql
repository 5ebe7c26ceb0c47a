-- UPDATE and DELETE joined with rows of here: one statement for each table, which finds what a local one does.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = pair, public;
SET client_min_messages = warning;
DROP SERVER IF EXISTS keyed_node CASCADE;
DROP SCHEMA IF EXISTS far CASCADE;
RESET client_min_messages;
DO $$
DECLARE
	host text := coalesce(nullif(split_part(current_setting('unix_socket_directories'), ',', 1), ''), 'localhost');
BEGIN
	EXECUTE format('CREATE SERVER keyed_node FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname %L)',
		host, current_setting('port'), current_database());
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER keyed_node;
-- the same rows in a local table, in one foreign table, and in partitions: by hash, by list and range below it
CREATE SCHEMA far;
CREATE TABLE node.item (id int PRIMARY KEY, n int, note text, amount numeric, tags text[], spot box, at timestamptz);
INSERT INTO node.item SELECT i, i % 10, 'note ' || i, i / 4.0, ARRAY['a' || i % 3, NULL], box(point(i, i), point(0, 0)),
	timestamptz '2020-01-01 UTC' + i * interval '1 day' FROM generate_series(1, 300) i;
CREATE TABLE far.item AS TABLE node.item;
ALTER TABLE far.item ADD PRIMARY KEY (id);
CREATE FOREIGN TABLE ours.item (id int, n int, note text, amount numeric, tags text[], spot box, at timestamptz)
	SERVER our_node OPTIONS (schema_name 'far');
CREATE TABLE node.spread (LIKE node.item);
INSERT INTO node.spread TABLE node.item;
CREATE TABLE ours.spread (LIKE node.item) PARTITION BY HASH (id);
CREATE TABLE node.deep (LIKE node.item);
INSERT INTO node.deep TABLE node.item;
CREATE TABLE ours.deep (LIKE node.item) PARTITION BY LIST (n);
CREATE TABLE ours.deep_low PARTITION OF ours.deep FOR VALUES IN (0, 1, 2) PARTITION BY RANGE (id);
DO $$
BEGIN
	FOR i IN 0 .. 2 LOOP
		EXECUTE format('CREATE TABLE far.s%1$s (LIKE node.item);
			CREATE FOREIGN TABLE ours.s%1$s PARTITION OF ours.spread FOR VALUES WITH (MODULUS 3, REMAINDER %1$s)
			SERVER %2$s OPTIONS (schema_name ''far'');
			CREATE TABLE far.d%1$s (LIKE node.item)', i, CASE i WHEN 1 THEN 'keyed_node' ELSE 'our_node' END);
	END LOOP;
END $$;
CREATE FOREIGN TABLE ours.d0 PARTITION OF ours.deep DEFAULT SERVER our_node OPTIONS (schema_name 'far');
CREATE FOREIGN TABLE ours.d1 PARTITION OF ours.deep_low FOR VALUES FROM (0) TO (100) SERVER keyed_node OPTIONS (schema_name 'far');
CREATE FOREIGN TABLE ours.d2 PARTITION OF ours.deep_low FOR VALUES FROM (100) TO (1000) SERVER our_node OPTIONS (schema_name 'far');
INSERT INTO ours.spread TABLE node.item;
INSERT INTO ours.deep TABLE node.item;
CREATE TABLE few AS SELECT i * 7 AS id, i AS n, 'new "' || i || E'"\\' AS note, i / 3.0 AS amount,
	ARRAY[NULL, 'x' || i] AS tags, box(point(i, 0), point(0, i)) AS spot, now() AS at FROM generate_series(1, 60) i;
INSERT INTO few VALUES (NULL, 1), (8, NULL);
CREATE TABLE pairs AS SELECT id % 5 AS n, id % 3 AS k, id FROM few;
ANALYZE few;
ANALYZE pairs;
-- how a statement runs, and that a local table says and holds the same afterwards
CREATE FUNCTION keyed(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('search_path', 'ours', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line LIKE '%Keyed Write%' THEN
			RETURN 'keyed';
		END IF;
	END LOOP;
	RETURN 'by row';
END $$;
CREATE FUNCTION alike(statement text) RETURNS TABLE (tab text, run text, verdict text) LANGUAGE sql AS $$
	SELECT tab, keyed(replace(statement, 'item', tab)),
		same_here('SELECT * FROM ' || tab || ' ORDER BY id', replace(statement, 'item', tab))
	FROM unnest(ARRAY['item', 'spread', 'deep']) tab;
$$;
SELECT * FROM alike('UPDATE item SET note = f.note FROM pair.few f WHERE f.id = item.id');
SELECT * FROM alike('UPDATE item i SET amount = i.amount + f.amount, note = f.note || i.note FROM pair.few f WHERE f.id = i.id RETURNING i.*, f.n, f.note');
SELECT * FROM alike('UPDATE item i SET tags = f.tags, spot = f.spot, at = f.at FROM pair.few f WHERE f.id = i.id AND i.n < f.n RETURNING i, f');
SELECT * FROM alike('UPDATE item i SET note = NULL FROM pair.few f WHERE f.id = i.id RETURNING f.n, 7');
SELECT * FROM alike('UPDATE item i SET note = ''x'' FROM (VALUES (1, 5), (2, 6), (2, 6), (NULL, 1)) v (a, b) WHERE v.a = i.n AND v.b < i.id RETURNING i.id, a, b');
SELECT * FROM alike('UPDATE item i SET amount = u.q FROM unnest(ARRAY[3, 4, 5], ARRAY[1.5, NULL, 2]) u (id, q) WHERE u.id = i.id RETURNING i.amount, u');
SELECT * FROM alike('UPDATE item i SET amount = s.total FROM (SELECT n, sum(amount) AS total FROM item GROUP BY n) s WHERE s.n = i.id RETURNING i.id, total');
SELECT * FROM alike('UPDATE item i SET amount = o.amount FROM item o JOIN pair.few f ON f.id = o.id WHERE o.id = i.id + 1');
SELECT * FROM alike('DELETE FROM item USING pair.few f WHERE f.id = item.id');
SELECT * FROM alike('DELETE FROM item i USING pair.few f, pair.pairs p WHERE f.id = i.id AND p.n = i.n AND p.k = f.n % 3 RETURNING i.id');
SELECT * FROM alike('DELETE FROM item WHERE id IN (SELECT id FROM pair.few)');
SELECT * FROM alike('DELETE FROM item WHERE n IN (SELECT n FROM pair.pairs WHERE k > 0) RETURNING *');
SELECT * FROM alike('UPDATE item SET note = ''gone'' WHERE EXISTS (SELECT FROM pair.pairs p WHERE p.n = item.n AND p.id > item.id) RETURNING id');
-- no condition that a node can look up by; of another type; by text and its collations
SELECT * FROM alike('UPDATE item i SET note = ''between'' FROM (VALUES (3, 9), (20, 25)) v (low, high) WHERE i.id BETWEEN v.low AND v.high RETURNING i.id, low');
SELECT * FROM alike('UPDATE item i SET note = v.t FROM (VALUES (3::bigint, ''a''), (20, ''b'')) v (k, t) WHERE i.id = v.k');
SELECT * FROM alike('UPDATE item i SET amount = 0 FROM pair.few f WHERE i.note = ''note '' || f.id');
SELECT * FROM alike('DELETE FROM item i USING (VALUES (ARRAY[''a1'', NULL]), (ARRAY[''a2''])) v (t) WHERE i.tags = v.t');
SELECT * FROM alike('DELETE FROM item i USING (VALUES (''(2,2),(0,0)''::box), (NULL)) v (b) WHERE i.spot ~= v.b');
-- what a node may not do stays with ModifyTable
SELECT * FROM alike('UPDATE item SET note = pair.here(f.n) FROM pair.few f WHERE f.id = item.id');
SELECT * FROM alike('UPDATE item SET note = ''x'' FROM pair.few f WHERE f.id = item.id AND pair.here(item.n) > 3');
SELECT * FROM alike('UPDATE item i SET note = p.n FROM pair.few f LEFT JOIN pair.pairs p ON p.id = f.id WHERE f.id = i.id');
SELECT * FROM alike('DELETE FROM item WHERE NOT EXISTS (SELECT FROM pair.few f WHERE f.id = item.id)');
SELECT * FROM alike('DELETE FROM item i USING pair.few f WHERE f.id = i.id AND false');
SELECT keyed('UPDATE spread SET id = f.n FROM pair.few f WHERE f.id = spread.id');
SELECT keyed('UPDATE deep SET n = f.n FROM pair.few f WHERE f.id = deep.id');
SELECT keyed('UPDATE deep SET n = 1 FROM pair.few f WHERE f.id = deep.id AND deep.n = 2');
-- what the statement computes once: by its parameters and subqueries, and what is stable
SELECT * FROM alike('UPDATE item SET at = now() FROM pair.few f WHERE f.id = item.id');
SELECT * FROM alike('UPDATE item SET at = now(), note = f.note || current_setting(''server_version'') FROM pair.few f WHERE f.id = item.id AND item.at < current_timestamp - interval ''1 day'' RETURNING item.id');
SELECT * FROM alike('UPDATE item i SET amount = (SELECT max(amount) FROM item) + f.n FROM pair.few f WHERE f.id = i.id AND i.n <> (SELECT min(n) FROM pair.few)');
-- what is sent, and where a key goes
EXPLAIN (VERBOSE, COSTS OFF) UPDATE ours.deep d SET note = d.note || f.note FROM few f WHERE f.id = d.id AND f.n = d.n RETURNING d.id, f.n;
CREATE FUNCTION sent(statement text) RETURNS TABLE (name text, requests int, rows int) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	RETURN QUERY SELECT t ->> 'Relation Name', (t -> 'Storage Flush Requests')::int, (t -> 'Storage Write Requests')::int
		FROM jsonb_path_query(plan, 'strict $.**?(exists(@."Written Tables"))."Written Tables"[*]') t;
END $$;
BEGIN;
SELECT * FROM sent('UPDATE ours.deep d SET note = f.note FROM few f WHERE f.id = d.id AND f.n = d.n');
SELECT * FROM sent('DELETE FROM ours.spread s USING (VALUES (1), (NULL)) v (id) WHERE v.id = s.id');
-- so it does where the statement fixes a part of the partition key
PREPARE fixed (int) AS UPDATE ours.deep d SET note = 'fixed' FROM (VALUES (1), (11), (150)) f (id) WHERE f.id = d.id AND d.n = $1;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM sent('EXECUTE fixed (1)');
SELECT * FROM sent('EXECUTE fixed (9)');
SELECT * FROM sent('EXECUTE fixed (NULL)');
RESET plan_cache_mode;
DEALLOCATE fixed;
ROLLBACK;
-- a row that several keys find is changed once, in several requests as well
CREATE TABLE many AS SELECT i % 150 + 1 AS id, i AS n FROM generate_series(1, 3000) i;
ANALYZE many;
SET shuttle.write_buffer_size = '8kB';
BEGIN;
UPDATE ours.spread s SET n = s.n + 1000 FROM many m WHERE m.id = s.id;
SELECT count(*), min(n), max(n) FROM ours.spread WHERE n >= 1000;
UPDATE ours.item s SET n = s.n + 1000, id = s.id FROM many m WHERE m.id = s.id;
WITH u AS (UPDATE ours.item s SET n = s.n + 1000 FROM many m WHERE m.id = s.id RETURNING s.id, s.n, m.id AS mid)
SELECT count(*), count(DISTINCT id), min(n), max(n), bool_and(id = mid) FROM u;
SELECT count(*), min(n), max(n) FROM ours.item WHERE n >= 2000;
DELETE FROM ours.spread s USING many m WHERE m.id = s.id;
SELECT count(*) FROM ours.spread;
ROLLBACK;
SELECT count(*) AS requests, max(requests) > 1 AS several FROM sent('UPDATE ours.spread s SET n = s.n + 1000 FROM many m WHERE m.id = s.id');
SELECT count(*), min(n), max(n) FROM ours.spread WHERE n >= 1000;
-- values that are stored compressed count as long as they are sent
CREATE TABLE long AS SELECT i AS id, repeat('x', 100000) AS note FROM generate_series(1, 10) i;
ANALYZE long;
SET shuttle.write_buffer_size = '200kB';
BEGIN;
SELECT * FROM sent('UPDATE ours.item i SET note = l.note FROM long l WHERE l.id = i.id');
ROLLBACK;
RESET shuttle.write_buffer_size;
UPDATE ours.spread SET n = n - 1000 WHERE n >= 1000;
-- prepared statements, functions, CTEs, savepoints, errors of a node
PREPARE stock (int[], numeric[]) AS WITH w AS (UPDATE ours.spread s SET amount = s.amount - u.q FROM unnest($1, $2) u (id, q) WHERE u.id = s.id RETURNING s.id, s.amount, u.q) TABLE w ORDER BY id;
SET plan_cache_mode = force_generic_plan;
EXECUTE stock ('{5,6,5000}', '{1,2,3}');
EXECUTE stock ('{}', '{}');
EXECUTE stock (NULL, NULL);
RESET plan_cache_mode;
EXECUTE stock ('{5,6,5000}', '{-1,-2,3}');
DO $$
DECLARE
	nrows bigint;
BEGIN
	UPDATE ours.item i SET n = i.n FROM pair.few f WHERE f.id = i.id;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	RAISE NOTICE 'found %, rows %', FOUND, nrows;
	DELETE FROM ours.item i USING (VALUES (-1)) v (id) WHERE v.id = i.id;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	RAISE NOTICE 'found %, rows %', FOUND, nrows;
END $$;
BEGIN;
WITH u AS (UPDATE ours.spread s SET n = -1 FROM few f WHERE f.id = s.id) SELECT count(*) FROM ours.spread WHERE n = -1;
SELECT count(*) FROM ours.spread WHERE n = -1;
WITH u AS (DELETE FROM ours.spread s USING few f WHERE f.id = s.id RETURNING s.id) SELECT count(u.id), count(s.id) FROM u JOIN ours.spread s ON s.id = u.id;
SELECT count(*) FROM ours.spread;
ROLLBACK;
ALTER TABLE far.s0 ADD CONSTRAINT positive CHECK (n >= 0);
ALTER TABLE far.s1 ADD CONSTRAINT positive CHECK (n >= 0);
ALTER TABLE far.s2 ADD CONSTRAINT positive CHECK (n >= 0);
BEGIN;
UPDATE ours.spread s SET n = 5 FROM few f WHERE f.id = s.id;
SAVEPOINT one;
\set VERBOSITY sqlstate
UPDATE ours.spread s SET n = -f.n FROM few f WHERE f.id = s.id;
\set VERBOSITY default
ROLLBACK TO one;
SELECT count(*) FROM ours.spread s JOIN few f ON f.id = s.id WHERE s.n = 5;
ROLLBACK;
-- triggers here, checks of views, a table of here among the partitions: by row
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', TG_OP, OLD.id; RETURN NULL; END $$;
CREATE TRIGGER tell AFTER UPDATE ON ours.item FOR EACH ROW EXECUTE FUNCTION tell();
UPDATE ours.item i SET n = i.n FROM few f WHERE f.id = i.id AND f.id < 10;
DROP TRIGGER tell ON ours.item;
CREATE VIEW low AS SELECT * FROM ours.item WHERE n < 100 WITH CHECK OPTION;
UPDATE low i SET n = 200 FROM few f WHERE f.id = i.id;
BEGIN;
ALTER TABLE ours.deep DETACH PARTITION ours.d0;
CREATE TABLE ours.here PARTITION OF ours.deep DEFAULT;
INSERT INTO ours.here TABLE ours.d0;
SELECT keyed('UPDATE deep SET note = f.note FROM pair.few f WHERE f.id = deep.id');
UPDATE ours.deep d SET note = f.note FROM pair.few f WHERE f.id = d.id;
SELECT count(*) FROM ours.deep WHERE note LIKE 'new%';
ROLLBACK;
SET shuttle.enable_write_buffer = off;
SELECT * FROM alike('UPDATE item SET note = f.note FROM pair.few f WHERE f.id = item.id');
RESET shuttle.enable_write_buffer;
-- the other side reads foreign partitions by key, through a routed append
SET shuttle.debug_force_batched_join = on;
SELECT * FROM alike('UPDATE item SET amount = item.amount + 1 FROM pair.few f WHERE item.id > ANY (SELECT s.id FROM ours.spread s) AND item.id < 5');
SELECT * FROM alike('UPDATE item SET amount = 7 FROM pair.few f JOIN ours.spread s ON s.id = f.id WHERE item.id = s.id');
RESET shuttle.debug_force_batched_join;
-- no condition between the tables
SELECT * FROM alike('UPDATE item SET amount = g FROM generate_series(1, 1) g WHERE item.id < 5');
SELECT * FROM alike('DELETE FROM item i USING (VALUES (1), (2)) v (x) WHERE i.id < 5');
-- an UPDATE in several pieces, in a transaction that changed the rows before, also in a part of it that was rolled back
CREATE TABLE far.rolled (id int PRIMARY KEY, n int);
CREATE FOREIGN TABLE rolled (id int, n int) SERVER keyed_node OPTIONS (schema_name 'far', table_name 'rolled');
CREATE TABLE source AS SELECT i AS id FROM generate_series(1, 4000) i;
ANALYZE source;
INSERT INTO rolled SELECT id, 0 FROM source;
ANALYZE rolled;
BEGIN;
DELETE FROM rolled;
INSERT INTO rolled SELECT id, 0 FROM source;
DO $$
BEGIN
	FOR i IN 1..60 LOOP
		UPDATE rolled SET n = 1 WHERE id % 60 = i - 1;
	END LOOP;
	BEGIN
		FOR i IN 1..66 LOOP
			UPDATE rolled SET n = n + 5 WHERE id / 60 = i;
		END LOOP;
		RAISE EXCEPTION 'undone';
	EXCEPTION WHEN OTHERS THEN NULL;
	END;
END $$;
SET LOCAL shuttle.write_buffer_size = '8kB';
UPDATE rolled SET n = rolled.n + 1000 FROM (SELECT * FROM source OFFSET 0) z WHERE z.id = rolled.id;
SELECT n, count(*) FROM rolled GROUP BY n;
COMMIT;
SET shuttle.write_buffer_size = '8kB';
UPDATE rolled SET n = rolled.n + 1000 FROM (SELECT * FROM source UNION ALL SELECT * FROM source OFFSET 0) z WHERE z.id = rolled.id;
SELECT n, count(*) FROM rolled GROUP BY n;
-- the same over a table of the node that moves the rows between its partitions, also in a savepoint
CREATE TABLE far.moving (id int, n int) PARTITION BY RANGE (id);
CREATE TABLE far.moving1 (n int, id int);
ALTER TABLE far.moving ATTACH PARTITION far.moving1 FOR VALUES FROM (0) TO (4001);
CREATE TABLE far.moving2 PARTITION OF far.moving FOR VALUES FROM (4001) TO (9000);
CREATE FOREIGN TABLE moving (id int, n int) SERVER keyed_node OPTIONS (schema_name 'far', table_name 'moving');
INSERT INTO moving SELECT id, 0 FROM source;
ANALYZE moving;
BEGIN;
UPDATE moving SET id = moving.id + 4000, n = moving.n + 1 FROM (SELECT id FROM source UNION ALL SELECT id + 4000 FROM source OFFSET 0) z WHERE z.id = moving.id;
SELECT n, count(*), min(id), max(id) FROM moving GROUP BY n;
ROLLBACK;
BEGIN;
SAVEPOINT s;
WITH moved AS (UPDATE moving SET id = moving.id + 4000, n = moving.n + 1
	FROM (SELECT id FROM source UNION ALL SELECT id + 4000 FROM source OFFSET 0) z WHERE z.id = moving.id RETURNING moving.id, moving.n)
SELECT n, count(*), min(id), max(id) FROM moved GROUP BY n;
SELECT n, count(*), min(id), max(id) FROM moving GROUP BY n;
ROLLBACK;
DROP FOREIGN TABLE moving;
RESET shuttle.write_buffer_size;
DROP FOREIGN TABLE rolled;
SET client_min_messages = warning;
DROP SERVER keyed_node CASCADE;
DROP SCHEMA far CASCADE;
