-- The detail of a check option's error shows the whole row, as a plain table's does, also columns that the view
-- does not have and that the statement does not name.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE SCHEMA plain;
CREATE TABLE item (id int PRIMARY KEY, n int, note text DEFAULT 'none', twice int GENERATED ALWAYS AS (n * 2) STORED, at date DEFAULT '2020-02-02');
CREATE TABLE plain.item (LIKE item INCLUDING ALL);
INSERT INTO item SELECT i, i, 'row ' || i FROM generate_series(1, 20) AS i;
INSERT INTO plain.item SELECT id, n, note FROM item;
SELECT shuttle.distribute_table('item', 'id', 4);
CREATE VIEW few AS SELECT id, n FROM item WHERE n < 100 WITH CHECK OPTION;
CREATE VIEW fewer AS SELECT n, id FROM few WHERE id < 1000 WITH LOCAL CHECK OPTION;
CREATE VIEW plain.few AS SELECT id, n FROM plain.item WHERE n < 100 WITH CHECK OPTION;
CREATE VIEW plain.fewer AS SELECT n, id FROM plain.few WHERE id < 1000 WITH LOCAL CHECK OPTION;
CREATE FUNCTION outcome(statement text, path text, OUT text) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE statement;
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	$3 := sqlstate || ' ' || sqlerrm || ' ' || detail;
END $$;
SELECT ours, ours = plain AS same FROM (VALUES
	('INSERT INTO few VALUES (30, 100)'),
	('INSERT INTO fewer (id, n) VALUES (30, 5), (31, 200), (32, 300)'),
	('INSERT INTO fewer (id, n) VALUES (1000, 5)'),
	('INSERT INTO few SELECT 40 + i, 98 + i FROM generate_series(1, 5) AS i'),
	('INSERT INTO few (id) VALUES (30)'),
	('UPDATE few SET n = 100 + id WHERE id = 7'),
	('UPDATE few SET n = 100 + length(md5(id::text)) WHERE n = 8'),
	('UPDATE fewer SET n = k.n + 100 FROM (VALUES (3, 100)) AS k (id, n) WHERE k.id = fewer.id'),
	('WITH w AS (UPDATE few SET n = 500 WHERE id = 11 RETURNING n) SELECT * FROM w'),
	('INSERT INTO few VALUES (30, 99) RETURNING n')) AS s (statement),
	outcome(statement, 'shop') AS ours, outcome(statement, 'plain') AS plain;
