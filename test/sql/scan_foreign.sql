-- Scans of foreign tables give the rows, the order and the plans of postgres_fdw.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SELECT pair.same('SELECT * FROM account ORDER BY id');
SELECT pair.plan('SELECT * FROM account ORDER BY id');

-- Values that depend on settings here travel under fixed ones (trap 5).
SET DateStyle = 'German';
SET IntervalStyle = 'sql_standard';
SET TimeZone = 'Asia/Kolkata';
SET extra_float_digits = -5;
SELECT pair.same('SELECT id, opened, weights FROM account WHERE opened > ''2024-03-01 12:00:00+00'' ORDER BY id');
SELECT pair.same('SELECT * FROM branch WHERE span > interval ''3 months'' ORDER BY id');
SELECT pair.same('SELECT id FROM account WHERE weights[1] < 20.0 / 3 ORDER BY id');
RESET DateStyle;
RESET IntervalStyle;
RESET TimeZone;
RESET extra_float_digits;

-- Filters there and here, no columns, whole rows, system columns.
SELECT pair.same('SELECT id FROM account WHERE branch IS NULL OR owner LIKE ''%9%'' ORDER BY id');
SELECT pair.same('SELECT id FROM account WHERE id < 20 AND pair.here(id) % 2 = 0 ORDER BY id');
SELECT pair.same('SELECT NULL FROM account WHERE id <= 5');
SELECT pair.same('SELECT count(*) FROM account WHERE pg_catalog.random() < 2');
SELECT pair.same('SELECT account FROM account WHERE id IN (1, 11) ORDER BY id');
SELECT pair.same('SELECT ctid, id FROM account WHERE id < 4 ORDER BY id');
SELECT pair.same('SELECT tableoid = ''account''::regclass, id FROM account WHERE id < 4 ORDER BY id');
SELECT pair.same('SELECT id FROM account WHERE ctid = ''(0,3)''');
SELECT pair.same('SELECT id FROM account WHERE id < 0');
SELECT pair.same('SELECT * FROM account ORDER BY opened DESC LIMIT 7 OFFSET 3');
SELECT pair.same('SELECT * FROM account ORDER BY id LIMIT 0');
SELECT pair.same('SELECT id FROM account WHERE 1 / (id - 5) > 0');

-- Aggregates, with and without groups.
SELECT pair.same('SELECT count(*), sum(balance), max(opened), avg(weights[1]) FROM account');
SELECT pair.plan('SELECT count(*), sum(balance) FROM account');
SELECT pair.same('SELECT branch, count(*), sum(balance) FROM account GROUP BY branch HAVING count(*) > 40 ORDER BY branch');
SELECT pair.plan('SELECT branch, count(*) FROM account GROUP BY branch HAVING count(*) > 40');
SELECT pair.same('SELECT count(*) FROM account GROUP BY id HAVING id < 4');
SELECT pair.same('SELECT count(DISTINCT branch) FILTER (WHERE id > 100) FROM account HAVING count(*) > 1000');
SELECT pair.same('SELECT string_agg(owner, '','' ORDER BY id DESC) FROM account WHERE id < 12');

-- Parameters of statements, custom and generic.
SET search_path = ours;
PREPARE by_key(int, timestamptz) AS SELECT id, owner FROM account WHERE id = $1 AND opened > $2;
EXECUTE by_key(4, '2024-01-01');
SET plan_cache_mode = force_generic_plan;
EXECUTE by_key(4, '2024-01-01');
EXECUTE by_key(NULL, '2024-01-01');
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE by_key(4, '2024-01-01');
RESET plan_cache_mode;

-- Cursors: rows in between other statements, backwards, after a savepoint.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM account ORDER BY id;
FETCH 3 FROM c;
SAVEPOINT s;
FETCH 1 FROM c;
SELECT count(*) FROM account;
SELECT 1 / (id - 4) FROM account WHERE id = 4;
ROLLBACK TO s;
FETCH 2 FROM c;
MOVE BACKWARD 4 FROM c;
FETCH 1 FROM c;
MOVE FORWARD ALL FROM c;
FETCH LAST FROM c;
COMMIT;

-- A type that does not fit is an error that names the column.
ALTER FOREIGN TABLE account ALTER owner TYPE int;
SELECT id, owner FROM account WHERE id = 1;
ALTER FOREIGN TABLE account ALTER owner TYPE text;
SELECT id, owner FROM account WHERE id = 1;
RESET search_path;

-- A view that writes needs shuttle_volatile; it is asked as often as by
-- postgres_fdw: once a scan, and again for other parameters.
CREATE SEQUENCE node.counter;
CREATE VIEW node.tick AS SELECT nextval('node.counter') AS tick;
CREATE FOREIGN TABLE ours.tick (tick bigint) SERVER our_node OPTIONS (schema_name 'node');
\set VERBOSITY sqlstate
SELECT * FROM ours.tick;
\set VERBOSITY default
ALTER FOREIGN TABLE ours.tick OPTIONS (ADD shuttle_volatile 'on');
SELECT * FROM ours.tick;
SELECT last_value FROM node.counter;
SET enable_material = off;
SELECT i, tick FROM generate_series(1, 3) i LEFT JOIN ours.tick ON pair.here(i) > 0 ORDER BY i;
RESET enable_material;
SELECT i, (SELECT tick FROM ours.tick WHERE tick > i - 10) FROM generate_series(1, 3) i;
SELECT tick FROM ours.tick UNION ALL SELECT tick FROM ours.tick ORDER BY 1;
