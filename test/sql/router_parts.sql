-- Assignments to parts of columns: a statement for one node changes what it does on a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TYPE inner_pair AS (p int, q int);
CREATE TYPE pair AS (x int, y text, z int[], n inner_pair, m inner_pair[]);
CREATE DOMAIN checked_pair AS inner_pair CHECK ((VALUE).p <= (VALUE).q);
CREATE DOMAIN three AS int[] CHECK (cardinality(VALUE) <= 3);
CREATE TABLE parts (id int PRIMARY KEY, a int[], b int[], t three, j jsonb, c pair, d checked_pair, e inner_pair[], v int);
CREATE SCHEMA plain;
CREATE TABLE plain.parts (LIKE parts INCLUDING ALL);
INSERT INTO parts SELECT i, ARRAY[1, 2, 3, 4], ARRAY[[1, 2], [3, 4]], ARRAY[1, 2, 3], '{"p": 1, "l": [1, 2], "o": {"x": 1}}',
	ROW(1, 'y', ARRAY[1, 2], ROW(1, 2), ARRAY[ROW(1, 2)::inner_pair])::pair, ROW(1, 2)::inner_pair, ARRAY[ROW(1, 2)::inner_pair], i
FROM generate_series(1, 12) AS i;
INSERT INTO plain.parts TABLE parts;
SELECT shuttle.distribute_table('parts', 'id', 4);

-- runs a statement here and on the plain table, and shows what of it differs; one that is not routed is named
CREATE FUNCTION same(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text; routed bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		routed := routed OR line LIKE '%Routed Statement%';
	END LOOP;
	IF NOT routed THEN RETURN NEXT 'not routed'; END IF;
	EXECUTE statement;
	SET LOCAL search_path = plain, shop;
	EXECUTE statement;
	SET LOCAL search_path = shop;
	RETURN QUERY SELECT 'here  ' || r::text FROM (SELECT * FROM shop.parts EXCEPT ALL SELECT * FROM plain.parts) AS r;
	RETURN QUERY SELECT 'plain ' || r::text FROM (SELECT * FROM plain.parts EXCEPT ALL SELECT * FROM shop.parts) AS r;
EXCEPTION WHEN others THEN
	RETURN NEXT SQLERRM;
END $$;

SELECT same('UPDATE parts SET a[1] = 10, a[3] = 30 WHERE id = 1');
SELECT same('UPDATE parts SET a[1] = a[2], a[2] = a[1], a[6] = v WHERE id = 1');
SELECT same('UPDATE parts SET a[1:2] = ARRAY[7, 8], a[3] = 9, a[:1] = ARRAY[5] WHERE id = 2');
SELECT same('UPDATE parts SET b[1][2] = 20, b[2][1] = 30 WHERE id = 2');
SELECT same('UPDATE parts SET t[1] = 5, t[2] = 6 WHERE id = 2');
SELECT same('UPDATE parts SET t[4] = 5, t[2] = 6 WHERE id = 2');
SELECT same($$UPDATE parts SET j['p'] = '2', j['s'] = '"new"', j['l'][1] = '9', j['o']['y'] = '3' WHERE id = 3$$);
SELECT same($$UPDATE parts SET j['p'] = '2', v = 4, j['s'] = to_jsonb(v), a[1] = v, a[2] = v + 1 WHERE id = 3$$);
SELECT same($$UPDATE parts SET c.x = 5, c.y = 'five' WHERE id = 4$$);
SELECT same('UPDATE parts SET c.z[1] = 5, c.z[2] = 6 WHERE id = 4');
SELECT same('UPDATE parts SET c.n.p = 5, c.x = 7, c.n.q = 6 WHERE id = 4');
SELECT same('UPDATE parts SET c.m[1].p = 5, c.m[2].q = 6, c.z[3] = 1 WHERE id = 5');
SELECT same('UPDATE parts SET d.p = 5, d.q = 6 WHERE id = 5');
SELECT same('UPDATE parts SET d.p = 8, d.q = 6 WHERE id = 5');
SELECT same('UPDATE parts SET e[1].p = 5, e[2].q = 6 WHERE id = 6');
SELECT same('UPDATE parts SET e[1] = ROW(3, 4), e[2] = NULL, e[3].p = v WHERE id = 6');
SELECT same('UPDATE parts SET (a[1], a[2]) = (SELECT 5, 6) WHERE id = 7');
SELECT same('UPDATE parts SET (a[1], v, a[2]) = (SELECT 5, 6, 7) WHERE id = 7');
SELECT same('UPDATE parts SET (a[3], c.x, c.y) = (ROW(5, 6, 7)) WHERE id = 7');
SELECT same('UPDATE parts AS p SET a[1] = q.v, a[2] = q.v + 1 FROM parts AS q WHERE p.id = 8 AND q.id = p.id');
SELECT same('WITH u AS (UPDATE parts SET a[1] = 4, a[2] = 3 WHERE id = 8 RETURNING a) SELECT * FROM u');
SELECT same($$INSERT INTO parts (id, a) VALUES (9, '{}') ON CONFLICT (id) DO UPDATE SET a[1] = excluded.id, a[2] = 4, c.x = 9, c.y = 'nine'$$);
SELECT same('INSERT INTO parts (id, a[1], a[2], c.x, c.y) VALUES (20, 1, 2, 3, 4)');
SELECT same('UPDATE parts SET a = NULL, c = NULL, j = NULL, e = NULL WHERE id = 10');
SELECT same($$UPDATE parts SET a[2] = 1, a[3] = 2, c.x = 1, c.z[2] = 2, j['a'] = '1', j['b'] = '2', e[2].p = 1, e[3].q = 2 WHERE id = 10$$);
-- errors are those of a plain table
SELECT same('UPDATE parts SET a[1] = 1, a = NULL WHERE id = 1');
SELECT same('UPDATE parts SET a[NULL] = 1, a[2] = 1 WHERE id = 1');

-- with parameters, prepared and in functions
CREATE FUNCTION set_parts(which int, first int, second int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE result int[];
BEGIN
	UPDATE parts SET a[first] = first, a[second] = second, c.x = first, c.z[2] = second WHERE id = which RETURNING a INTO result;
	RETURN result;
END $$;
PREPARE here (int, int) AS UPDATE parts SET a[1] = $2, a[2] = $2 + 1, c.x = $2, c.y = $2::text WHERE id = $1;
PREPARE plain (int, int) AS UPDATE plain.parts SET a[1] = $2, a[2] = $2 + 1, c.x = $2, c.y = $2::text WHERE id = $1;
EXECUTE here (11, 5);
EXECUTE plain (11, 5);
SET plan_cache_mode = force_generic_plan;
EXECUTE here (12, 6);
EXECUTE plain (12, 6);
SELECT set_parts(11, 3, 4);
RESET plan_cache_mode;
SET search_path = plain, shop;
SELECT set_parts(11, 3, 4);
SET search_path = shop;
-- views over the table
CREATE VIEW seen AS SELECT id, a, c AS pair FROM parts;
CREATE VIEW plain.seen AS SELECT id, a, c AS pair FROM plain.parts;
SELECT same($$UPDATE seen SET a[1] = 12, a[4] = 13, pair.x = 14, pair.y = 'seen' WHERE id = 12$$);
SELECT same($$MERGE INTO parts AS p USING (VALUES (2, 5)) AS s (id, v) ON p.id = s.id AND p.id = 2
	WHEN MATCHED THEN UPDATE SET a[1] = s.v, a[2] = s.v + 1, c.x = s.v, c.y = 'merged'$$);
SELECT * FROM parts EXCEPT ALL SELECT * FROM plain.parts;
