-- A part of a plan that is executed again with other values, or perhaps not at all,
-- sends all of its scans that will surely be read when the first of them is read.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/early.sql
SET client_min_messages = warning;
-- in each round those who meet have locks of their own; STABLE, so that views that use
-- it are flattened and it is called for the rounds that are asked for
CREATE FUNCTION node.meet_in(round int, me int, others int[]) RETURNS bool LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN node.meet(10 * round + me, ARRAY(SELECT 10 * round + o FROM unnest(others) o));
END $$;
CREATE VIEW node.round1 AS SELECT r AS round, 1 AS id, node.meet_in(r, 1, '{2,3}') AS met FROM generate_series(1, 3) r;
CREATE VIEW node.round2 AS SELECT r AS round, 2 AS id, node.meet_in(r, 2, '{1,3}') AS met FROM generate_series(1, 3) r;
CREATE VIEW node.round3 AS SELECT r AS round, 3 AS id, node.meet_in(r, 3, '{1,2}') AS met FROM generate_series(1, 3) r;
CREATE VIEW node.round4 AS SELECT r AS round, 4 AS id, node.meet_in(r, 4, '{5}') AS met FROM generate_series(1, 3) r;
CREATE VIEW node.round5 AS SELECT r AS round, 5 AS id, node.meet_in(r, 5, '{4}') AS met FROM generate_series(1, 3) r;
DO $$
BEGIN
	FOR i IN 1..5 LOOP
		EXECUTE format('CREATE FOREIGN TABLE ours.round%s (round int, id int, met bool) SERVER node%s OPTIONS (schema_name ''node'')',
			i, 1 + (i - 1) % 3);
	END LOOP;
END $$;
CREATE VIEW ours.rounds AS SELECT * FROM ours.round1 UNION ALL SELECT * FROM ours.round2 UNION ALL SELECT * FROM ours.round3;
CREATE VIEW ours.three AS SELECT * FROM ours.meet1 UNION ALL SELECT * FROM ours.meet2 UNION ALL SELECT * FROM ours.meet3;
CREATE VIEW ours.some_rows AS SELECT id, branch, balance FROM ours.account UNION ALL SELECT id, id, 7 FROM ours.branch;
CREATE VIEW stock.some_rows AS SELECT id, branch, balance FROM stock.account UNION ALL SELECT id, id, 7 FROM stock.branch;
RESET client_min_messages;

-- subqueries for each row, in lists, conditions, and in other subqueries
SELECT n, (SELECT bool_and(met) FROM rounds WHERE round = n) FROM generate_series(1, 3) n;
SELECT n, ARRAY(SELECT met FROM rounds WHERE round = n) FROM generate_series(1, 3) n;
SELECT n FROM generate_series(1, 3) n WHERE 3 = (SELECT count(*) FROM rounds WHERE round = n AND met);
SELECT n, (SELECT (SELECT bool_and(met) FROM rounds WHERE round = n) AND count(*) > 0 FROM nodes_account a WHERE a.id = n) FROM generate_series(1, 3) n;
-- inner sides
SELECT n, l.met FROM generate_series(1, 3) n, LATERAL (SELECT bool_and(met) AS met FROM rounds WHERE round = n) l;
SELECT n, l.* FROM generate_series(1, 3) n, LATERAL (SELECT id, met FROM rounds WHERE round = n OFFSET 0) l;
-- merged scans, of which each is read
SELECT n, l.* FROM generate_series(1, 3) n, LATERAL (SELECT id, met FROM rounds WHERE round = n ORDER BY id LIMIT 1) l;
-- both sides of a join
SELECT n, l.* FROM generate_series(1, 3) n, LATERAL (SELECT a.id, b.id, a.met, b.met
	FROM (SELECT * FROM round4 WHERE round = n) a FULL JOIN (SELECT * FROM round5 WHERE round = n) b ON a.round = b.round) l;
-- subqueries that run once, and only if they are needed
SELECT n, n IN (SELECT id FROM three WHERE met) FROM generate_series(2, 4) n;
SELECT CASE WHEN count(*) > 0 THEN (SELECT bool_and(met) FROM three) END FROM nodes_account WHERE id = 1;
-- prepared, with a generic plan
SET plan_cache_mode = force_generic_plan;
PREPARE q(int) AS SELECT n, (SELECT bool_and(met) FROM rounds WHERE round = n) FROM generate_series(1, $1) n;
EXECUTE q(2);
EXECUTE q(1);
RESET plan_cache_mode;
DEALLOCATE q;

-- not where the first scans may do
UPDATE node.patience SET seconds = 0.1;
CALL node.settle();
SELECT n, l.* FROM generate_series(1, 1) n, LATERAL (SELECT id, met FROM rounds WHERE round = n LIMIT 1) l;
SET shuttle.enable_early_start = off;
CALL node.settle();
SELECT n, (SELECT bool_and(met) FROM rounds WHERE round = n) FROM generate_series(1, 1) n;
RESET shuttle.enable_early_start;
UPDATE node.patience SET seconds = 20;

-- the answers of scans that are started again, with and without other values
SELECT pair.same('SELECT b.id, (SELECT sum(balance) FROM some_rows a WHERE a.branch = b.id) FROM branch b');
SELECT pair.same('SELECT b.id, (SELECT sum(a.balance) FROM some_rows a JOIN some_rows c ON c.id = a.id WHERE a.branch = b.id AND c.branch < b.id + 3) FROM branch b');
SELECT pair.same('SELECT b.id, ARRAY(SELECT a.id FROM some_rows a WHERE a.branch = b.id ORDER BY balance, id LIMIT 4) FROM branch b');
SELECT pair.same('SELECT b.id, (SELECT count(*) FROM some_rows a LEFT JOIN some_rows c ON c.id = a.id AND c.branch = b.id WHERE a.id < 20) FROM branch b');
SELECT pair.same('SELECT b.id, l.* FROM branch b, LATERAL (SELECT a.branch, count(*), sum(balance) FROM some_rows a WHERE a.id > b.id * 20 GROUP BY a.branch) l');
SELECT pair.same('SELECT b.id, (WITH x AS MATERIALIZED (SELECT * FROM some_rows WHERE branch = b.id) SELECT count(*) FROM x, x y WHERE x.id = y.id) FROM branch b');
SELECT pair.same('SELECT b.id, (SELECT count(*) FROM some_rows a WHERE a.branch = b.id AND a.balance > (SELECT avg(balance) FROM some_rows c WHERE c.branch = b.id)) FROM branch b');
SELECT pair.same('SELECT b.id FROM branch b WHERE b.id NOT IN (SELECT branch FROM some_rows a WHERE a.id > 5 AND a.balance < 40)');
SELECT pair.same('WITH RECURSIVE up(id, n) AS (SELECT 1, 0 UNION ALL SELECT a.id, n + 1 FROM up, LATERAL (SELECT * FROM some_rows b WHERE b.id = up.id * 2) a WHERE n < 6) SELECT * FROM up');
-- partitions that are pruned by a value of the outer row
CREATE TABLE pg_temp.pruned (id int, branch int) PARTITION BY LIST (branch);
CREATE TABLE pg_temp.pruned_one PARTITION OF pg_temp.pruned FOR VALUES IN (1);
CREATE TABLE pg_temp.pruned_rest PARTITION OF pg_temp.pruned DEFAULT;
INSERT INTO pg_temp.pruned SELECT i, i % 4 FROM generate_series(1, 40) i;
ANALYZE pg_temp.pruned;
SELECT pair.same('SELECT b.id, (SELECT count(*) FROM (SELECT id FROM some_rows a WHERE branch = b.id EXCEPT SELECT id FROM pg_temp.pruned p WHERE branch = b.id) a) FROM branch b');
SELECT pair.same('SELECT b.id, ARRAY(SELECT id FROM some_rows a WHERE branch = b.id UNION ALL (SELECT id FROM pg_temp.pruned p WHERE branch = b.id ORDER BY id LIMIT 5)) FROM branch b');
-- a key of an index that cannot be computed, and is not needed
CREATE TABLE pg_temp.looked_up AS SELECT generate_series(1, 1000) AS x;
CREATE INDEX ON pg_temp.looked_up (x);
ANALYZE pg_temp.looked_up;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SELECT pair.same('SELECT b.id, (SELECT count(l.x) FROM (SELECT id FROM some_rows WHERE branch = -b.id OFFSET 0) s LEFT JOIN pg_temp.looked_up l ON l.x = 10 / (b.id - 1)) FROM branch b');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_bitmapscan;
-- an error of a scan that is not needed
SELECT n, (SELECT count(*) FROM (SELECT id FROM nodes_account WHERE id = -n) a JOIN failing f ON f.id <> a.id) FROM generate_series(1, 2) n;
BEGIN;
SELECT n, (SELECT count(*) FROM (SELECT id FROM nodes_account WHERE id = n UNION ALL SELECT id FROM failing WHERE zero = n) u) FROM generate_series(1, 2) n;
ROLLBACK;
RESET search_path;
SET client_min_messages = warning;
DROP SERVER node1, node2, node3 CASCADE;
