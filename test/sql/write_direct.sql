-- UPDATE and DELETE that run wholly on the storage node.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set state '''SELECT * FROM account ORDER BY id'''
SELECT pair.plan('UPDATE account SET balance = balance * 2 WHERE id % 3 = 0');
SELECT pair.same_write(:state, 'UPDATE account SET balance = balance * 2 WHERE id % 3 = 0');
SELECT pair.same_write(:state, 'UPDATE account SET balance = balance * 2 WHERE id < 0');
SELECT pair.same_write(:state, 'UPDATE account SET balance = balance * 2, owner = NULL WHERE id < 9 RETURNING *');
SELECT pair.same_write(:state, 'UPDATE account SET balance = 0 WHERE id < 9 RETURNING 1, now() IS NULL');
SELECT pair.same_write(:state, 'UPDATE account SET balance = 0 WHERE id < 9 RETURNING account, ctid IS NULL, tableoid = ''account''::regclass');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE id > 100');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE id > 280 RETURNING id, opened, weights');
SELECT pair.same_write(:state, 'UPDATE account SET id = 1 WHERE id = 2');

-- system columns alone
SET search_path = ours;
BEGIN;
INSERT INTO account (id) VALUES (1001) RETURNING xmax, tableoid::regclass;
INSERT INTO account (id) VALUES (1002), (1003) RETURNING xmax = 0 AS inserted;
UPDATE account SET balance = 0 WHERE id > 1000 RETURNING xmin <> '0' AS told, xmax IS NOT NULL;
UPDATE account SET balance = 1 WHERE id > 1000 AND random() < 2 RETURNING xmax IS NOT NULL;
UPDATE account SET balance = 2 FROM generate_series(1001, 1002) g WHERE id = g RETURNING xmax IS NOT NULL, cmin IS NOT NULL;
DELETE FROM account WHERE id = 1003 RETURNING cmax IS NOT NULL, tableoid::regclass;
ROLLBACK;
RESET search_path;

-- joins: RETURNING of the target, of the other tables, of both, of system columns
SET shuttle.enable_write_buffer = off;
SELECT pair.plan('UPDATE account a SET owner = b.city FROM branch b WHERE b.id = a.branch AND a.id < 20 RETURNING a.*, b.id');
RESET shuttle.enable_write_buffer;
SELECT pair.same_write(:state, 'UPDATE account a SET owner = b.city FROM branch b WHERE b.id = a.branch AND a.id < 20');
SELECT pair.same_write(:state, 'UPDATE account a SET owner = b.city FROM branch b WHERE b.id = a.branch AND a.id < 20 RETURNING a.*, b.id');
SELECT pair.same_write(:state, 'UPDATE account a SET owner = b.city FROM branch b WHERE b.id = a.branch AND a.id < 20 RETURNING b.city, a.id + 1');
SELECT pair.same_write(:state, 'UPDATE account a SET owner = b.city FROM branch b WHERE b.id = a.branch AND a.id < 20 RETURNING a, b');
SELECT pair.same_write(:state, 'UPDATE account a SET owner = b.city FROM branch b WHERE b.id = a.branch AND a.id < 20 RETURNING a.ctid IS NULL, a.tableoid = ''account''::regclass');
-- a small table, for a join on the node; stock servers of 18 return no tableoid
CREATE TABLE node.few AS SELECT i AS id, i AS v FROM generate_series(1, 3) i;
CREATE FOREIGN TABLE ours.few (id int, v int) SERVER our_node OPTIONS (schema_name 'node');
ANALYZE ours.few;
SET search_path = ours;
BEGIN;
EXPLAIN (COSTS OFF) UPDATE few f SET v = 7 FROM few g WHERE f.id = 2 AND g.id = 3 RETURNING f.tableoid;
UPDATE few f SET v = 7 FROM few g WHERE f.id = 2 AND g.id = 3 RETURNING f.tableoid::regclass, f.id, g.v;
UPDATE few f SET v = 7 FROM few g WHERE f.id = 2 AND g.id = 3 RETURNING f.tableoid::regclass;
DELETE FROM few f USING few g WHERE f.id = 2 AND g.id = 3 RETURNING f.tableoid::regclass, f;
ROLLBACK;

-- new values are computed on the node alone: from the rows that it returns they would fail
BEGIN;
UPDATE few SET v = -500000000 * v RETURNING *;
UPDATE few SET id = 6 / (4 - id), v = id - 4 WHERE id > 1 RETURNING *, v + id;
ROLLBACK;
BEGIN;
UPDATE few f SET v = -500000000 * f.v FROM few g WHERE f.id = 2 AND g.id = 3 RETURNING f.v, g.v;
UPDATE few f SET v = g.v, id = 6 / (3 - g.id + f.id / 2) - 2 FROM few g WHERE f.id = 2 AND g.id = 3 RETURNING f, g.v;
ROLLBACK;
CREATE TABLE parent (id int, v int);
CREATE FOREIGN TABLE child (more int) INHERITS (parent) SERVER our_node OPTIONS (schema_name 'node', table_name 'child');
CREATE TABLE node.child AS SELECT i AS id, i AS v, i AS more FROM generate_series(1, 3) i;
INSERT INTO parent VALUES (4, 4);
EXPLAIN (VERBOSE, COSTS OFF) UPDATE parent SET v = -500000000 * v RETURNING *;
UPDATE parent SET v = -500000000 * v RETURNING *, tableoid::regclass;
EXPLAIN (COSTS OFF) UPDATE parent SET v = 100000000 / coalesce(v + 500000001, 0) RETURNING 1;
UPDATE parent SET v = 100000000 / coalesce(v + 500000001, 0) RETURNING *;
UPDATE parent SET id = v, v = v RETURNING *;
DROP TABLE parent CASCADE;
RESET search_path;
SELECT pair.same_write(:state, 'UPDATE account a SET owner = b.city FROM branch b WHERE b.id = a.branch AND a.id < 20 RETURNING 1');
SELECT pair.same_write(:state, 'DELETE FROM account a USING branch b WHERE b.id = a.branch AND b.id < 3');
SELECT pair.same_write(:state, 'DELETE FROM account a USING branch b WHERE b.id = a.branch AND b.id < 3 RETURNING a.id, b.extra');
SELECT pair.same_write(:state, 'DELETE FROM account a USING branch b LEFT JOIN branch c ON c.id = b.id + 5 WHERE b.id = a.branch AND b.id < 6 RETURNING a.id, b.id, c.city');

-- within a statement: in a CTE, below a function that reads the count, prepared
SELECT pair.same_write(:state, 'WITH u AS (UPDATE account SET balance = 1 WHERE id < 5 RETURNING id) SELECT count(*) FROM u');
SELECT pair.same_write(:state, 'WITH u AS (UPDATE account SET balance = 1 WHERE id < 5) SELECT sum(balance) FROM account');
SELECT pair.same_write(:state, 'WITH d AS (DELETE FROM account WHERE id > 290 RETURNING *) INSERT INTO account SELECT id + 1000, branch, owner FROM d');
SET search_path = ours;
PREPARE raise(int, numeric) AS UPDATE account SET balance = balance + $2 WHERE id < $1 RETURNING id, balance;
SET plan_cache_mode = force_generic_plan;
EXECUTE raise(3, 10);
EXECUTE raise(3, -10);
DO $$
DECLARE
	n bigint;
BEGIN
	UPDATE account SET owner = owner WHERE id BETWEEN 10 AND 14;
	GET DIAGNOSTICS n = ROW_COUNT;
	RAISE NOTICE 'count % found %', n, found;
	DELETE FROM account WHERE id = -1;
	GET DIAGNOSTICS n = ROW_COUNT;
	RAISE NOTICE 'count % found %', n, found;
END $$;
RESET search_path;

-- tables of one node, however large: they are joined there
CREATE TABLE node.many AS SELECT i AS id, i % 7 AS v FROM generate_series(1, 3000) i;
ALTER TABLE node.many ADD PRIMARY KEY (id);
CREATE TABLE node.more AS SELECT i AS id, i % 11 AS v, i / 2 AS many FROM generate_series(1, 11000) i;
ALTER TABLE node.more ADD PRIMARY KEY (id);
CREATE FOREIGN TABLE ours.many (id int, v int) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.more (id int, v int, many int) SERVER our_node OPTIONS (schema_name 'node');
ANALYZE ours.many, ours.more;
\set state '''SELECT count(*), sum(v), sum(id * v) FROM many'''
SET search_path = ours;
EXPLAIN (COSTS OFF) UPDATE many SET v = more.v FROM more WHERE more.id = many.id;
EXPLAIN (COSTS OFF) DELETE FROM many USING more, account WHERE more.many = many.id AND account.id = more.id;
EXPLAIN (COSTS OFF) UPDATE many SET v = pair.here(more.v) FROM more WHERE more.id = many.id;
RESET search_path;
SELECT pair.same_here(:state, 'UPDATE many SET v = more.v FROM more WHERE more.id = many.id');
SELECT pair.same_here(:state, 'UPDATE many SET v = more.v FROM more WHERE more.id = many.id AND more.v > 5 RETURNING many.*, more.id');
SELECT pair.same_here(:state, 'UPDATE many SET v = pair.here(more.v) FROM more WHERE more.id = many.id RETURNING many.id');
SELECT pair.same_here(:state, 'DELETE FROM many USING more WHERE more.many = many.id AND more.v = 3');
SELECT pair.same_here(:state, 'DELETE FROM many USING more, more m WHERE more.many = many.id AND m.id = more.id + 1 AND m.v = 3 RETURNING many.id, m.v');

-- the sign of a zero is not lost on the way
CREATE TABLE node.zero (id int PRIMARY KEY, f8 float8, f4 float4, s text);
CREATE FOREIGN TABLE ours.zero (id int, f8 float8, f4 float4, s text) SERVER our_node OPTIONS (schema_name 'node');
INSERT INTO ours.zero VALUES (1, 1, 1, ''), (2, 2, 2, '');
UPDATE ours.zero SET f8 = '-0', f4 = '-0', s = '(-0)::real' WHERE id = 1 RETURNING *;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE ours.zero SET f8 = '-0', f4 = '-0', s = '(-0)::real' WHERE id = 1;
SELECT id, atan2('-0', -f8) FROM ours.zero WHERE atan2('-0', -f8) < 0;
PREPARE to_zero(float8) AS UPDATE ours.zero SET f8 = $1 WHERE id = 2 RETURNING f8;
EXECUTE to_zero('-0');
