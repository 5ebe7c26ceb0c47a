-- Inner sides with children that are no partitions: parents of tables that
-- inherit, and UNION ALL.  Each child is asked for the keys.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, nullif(i % 25, 7) AS k, i % 4 AS j FROM generate_series(1, 40) i;
CREATE TABLE f AS SELECT i AS id, i % 20 AS k, i % 3 AS j, 'f' || i AS t FROM generate_series(1, 60) i;
CREATE TABLE g AS SELECT i AS id, i % 15 + 10 AS k, 'g' || i AS t, i % 5 AS j FROM generate_series(1, 45) i;
CREATE TABLE h AS SELECT i AS id, nullif(i % 10, 3) AS k, 'h' || i AS t FROM generate_series(1, 30) i;
CREATE INDEX ON h (k);
CREATE TABLE p (k int, v int) PARTITION BY LIST (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0, 1, 2, 3);
CREATE TABLE p1 PARTITION OF p DEFAULT;
INSERT INTO p SELECT i % 19, i FROM generate_series(1, 90) i;
CREATE TABLE parent (id int, k int);
CREATE TABLE heir (more text) INHERITS (parent);
CREATE TABLE heir_of_heir () INHERITS (heir);
INSERT INTO parent SELECT i, i % 30 FROM generate_series(1, 40) i;
INSERT INTO heir SELECT 100 + i, i % 12, 'heir' FROM generate_series(1, 30) i;
INSERT INTO heir_of_heir SELECT 200 + i, nullif(i % 9, 4), 'next' FROM generate_series(1, 20) i;
CALL test.mirror('f', 'g');
CALL test.mirror_partitions('p');

-- UNION ALL of two foreign tables, with columns in another order
CREATE VIEW local.fg AS SELECT id, k, t FROM local.f UNION ALL SELECT id, k, t FROM local.g;
CREATE VIEW guest.fg AS SELECT id, k, t FROM guest.f UNION ALL SELECT id, k, t FROM guest.g;
CREATE VIEW engine.fg AS SELECT id, k, t FROM engine.f UNION ALL SELECT id, k, t FROM engine.g;
SET shuttle.debug_force_batched_join = on;
SELECT * FROM test.numbers('SELECT o.id, u.t FROM o LEFT JOIN fg u ON u.k = o.k');
SELECT test.plan_shape('SELECT o.id, u.t FROM o LEFT JOIN fg u ON u.k = o.k');
RESET shuttle.debug_force_batched_join;
SELECT test.same_rows('SELECT o.id, u.t FROM o JOIN fg u ON u.k = o.k');
SELECT test.same_rows('SELECT o.id, u.t FROM o LEFT JOIN fg u ON u.k = o.k AND u.id > o.j * 5');
SELECT test.same_rows('SELECT id FROM o WHERE k IN (SELECT k FROM fg)');
SELECT test.same_rows('SELECT id FROM o WHERE NOT EXISTS (SELECT FROM fg u WHERE u.k = o.k)');
SELECT test.same_order('SELECT o.id, u.t FROM o JOIN fg u ON u.k = o.k ORDER BY o.id, u.id, u.t LIMIT 9');
SELECT test.same_rows('SELECT o.id, s.* FROM o CROSS JOIN LATERAL (SELECT u.t FROM fg u WHERE u.k = o.k ORDER BY u.id, u.t LIMIT 2) s');
SELECT test.same_rows('SELECT o.id, (SELECT count(*) FROM fg u WHERE u.k = o.k) FROM o');
SELECT test.same_rows('SELECT o.id, (SELECT max(u.t) FROM fg u WHERE u.k = o.k) FROM o');
SELECT test.same_rows('SELECT o.id, u FROM o JOIN fg u ON u.k = o.k');

-- expressions and conditions of the branches
SELECT test.same_rows($$
	SELECT o.id, u.* FROM o JOIN
		(SELECT k + 1 AS k, t FROM f UNION ALL SELECT k * 2, t || k FROM g) u ON u.k = o.k $$);
SELECT test.same_rows($$
	SELECT o.id, u.* FROM o LEFT JOIN
		(SELECT k, j, t FROM f UNION ALL SELECT k, j, t FROM g) u ON u.k = o.k AND u.j = o.j $$);
SELECT test.same_rows('SELECT o.id, u.* FROM o LEFT JOIN (SELECT k, t FROM f UNION ALL SELECT 3, t FROM g) u ON u.k = o.k');
-- of three, one of them local, one with partitions, one empty
SELECT test.same_rows($$
	SELECT o.id, u.* FROM o LEFT JOIN
		(SELECT k, t FROM f UNION ALL SELECT k, t FROM h UNION ALL SELECT k, v::text FROM p UNION ALL
			SELECT k, t FROM g WHERE false) u ON u.k = o.k $$);
-- what is no table is no inner side: branches with conditions or groups
SELECT test.same_rows($$
	SELECT o.id, u.* FROM o JOIN (SELECT k, t FROM f WHERE j > 0 UNION ALL SELECT k, t FROM g) u ON u.k = o.k $$);
SELECT test.same_rows($$
	SELECT o.id, u.* FROM o LEFT JOIN
		(SELECT k, t FROM f UNION ALL SELECT k, max(t) FROM g GROUP BY k) u ON u.k = o.k $$);
SELECT test.same_rows('SELECT o.id, u.* FROM o JOIN (SELECT k, t FROM f UNION SELECT k, t FROM g) u ON u.k = o.k');

-- parents: local ones of foreign tables, foreign ones of foreign and local ones
CREATE FUNCTION make_heirs(transport text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %1$I.parent (id int, k int)', transport);
	EXECUTE format('INSERT INTO %1$I.parent SELECT * FROM ONLY local.parent', transport);
	EXECUTE format('CREATE FOREIGN TABLE %1$I.heir (more text) INHERITS (%1$I.parent) SERVER %1$I
		OPTIONS (schema_name ''local'', table_name ''only_heir'')', transport);
	EXECUTE format('CREATE FOREIGN TABLE %1$I.heir_of_heir () INHERITS (%1$I.heir) SERVER %1$I
		OPTIONS (schema_name ''local'')', transport);
END $$;
CREATE VIEW local.only_heir AS SELECT * FROM ONLY local.heir;
SELECT make_heirs(t) FROM unnest(test.transports()) t \g /dev/null
SELECT test.same_rows('SELECT o.id, p.id FROM o JOIN parent p ON p.k = o.k');
SELECT test.same_rows('SELECT o.id, p.id, p.tableoid::regclass::text ~ ''heir'' FROM o LEFT JOIN parent p ON p.k = o.k');
SELECT test.same_rows('SELECT o.id, p.id FROM o JOIN ONLY parent p ON p.k = o.k');
SELECT test.same_rows('SELECT o.id, p.id, p.more FROM o JOIN heir p ON p.k = o.k');
SELECT test.same_rows('SELECT o.id, p FROM o LEFT JOIN heir p ON p.k = o.k AND p.id % 4 = o.j');
SELECT test.same_rows('SELECT id FROM o WHERE EXISTS (SELECT FROM parent p WHERE p.k = o.k AND p.id > 99)');
SELECT test.same_rows('SELECT p.id, f.id FROM parent p JOIN f ON f.k = p.k JOIN parent q ON q.id = f.id');
SELECT test.same_rows('SELECT o.id, p.id FROM o JOIN heir p ON p.k = o.k FOR UPDATE OF o');

-- a child where one of the columns of the condition is a constant, or is computed
CREATE VIEW local.constant AS SELECT id, k FROM local.f UNION ALL SELECT id, 3 FROM local.g;
CREATE VIEW guest.constant AS SELECT id, k FROM guest.f UNION ALL SELECT id, 3 FROM guest.g;
CREATE VIEW engine.constant AS SELECT id, k FROM engine.f UNION ALL SELECT id, 3 FROM engine.g;
CREATE VIEW local.computed AS SELECT id, k FROM local.f UNION ALL SELECT id, k - 1 FROM local.g;
CREATE VIEW guest.computed AS SELECT id, k FROM guest.f UNION ALL SELECT id, k - 1 FROM guest.g;
CREATE VIEW engine.computed AS SELECT id, k FROM engine.f UNION ALL SELECT id, k - 1 FROM engine.g;
SELECT test.same_rows('SELECT o.id, u.id FROM o JOIN constant u ON u.k = o.k');
SELECT test.same_rows('SELECT o.id, u.id FROM o JOIN constant u ON u.k = o.k AND u.id > o.j');
SELECT test.same_rows('SELECT o.id, u.id FROM o LEFT JOIN computed u ON u.k = o.k');

SELECT test.same_prepared('SELECT o.id, u.t FROM o JOIN fg u ON u.k = o.k + $1', 'int', '0', '3', NULL);
DROP TABLE o, f, g, h, p, parent CASCADE;
