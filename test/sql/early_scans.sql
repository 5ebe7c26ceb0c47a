-- Scans that will be read are sent before the first answer is waited for.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/early.sql

-- inputs of Append, of MergeAppend, of aggregates over them
SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3;
SELECT count(*), bool_and(met) FROM (SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3) u;
SELECT * FROM (SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3) u ORDER BY id LIMIT 3;
-- both sides of joins
SELECT * FROM pair1 a JOIN pair2 b USING (id);
SET enable_hashjoin = off;
SELECT * FROM pair1 a JOIN pair2 b USING (id);
SET enable_mergejoin = off;
SELECT * FROM pair1 a JOIN pair2 b USING (id);
RESET enable_hashjoin;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT * FROM pair1 a JOIN pair2 b USING (id);
SELECT * FROM pair1 a JOIN pair2 b USING (id);
SELECT * FROM pair1 a LEFT JOIN pair2 b USING (id);
SELECT * FROM pair1 a FULL JOIN pair2 b USING (id);
RESET enable_nestloop;
RESET enable_mergejoin;
SELECT met FROM pair1 INTERSECT SELECT met FROM pair2;
-- subqueries that run once, CTEs, the source of a write
SELECT (SELECT met FROM meet1), (SELECT met FROM meet2), (SELECT met FROM meet3);
SELECT id FROM account WHERE id = (SELECT count(*) FROM pair1 WHERE met) + (SELECT count(*) FROM pair2 WHERE met);
WITH a AS MATERIALIZED (SELECT * FROM pair1), b AS MATERIALIZED (SELECT * FROM pair2)
SELECT * FROM a, b;
CREATE TABLE pair.met AS SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3;
SELECT * FROM pair.met ORDER BY id;
INSERT INTO pair.met SELECT * FROM pair1 UNION ALL SELECT * FROM pair2 RETURNING met;

-- not where a part of the inputs may do, and not where it is switched off
UPDATE node.patience SET seconds = 0.1;
CALL node.settle();
SELECT * FROM (SELECT * FROM meet1 UNION ALL SELECT * FROM meet2) u LIMIT 1;
CALL node.settle();
SELECT CASE WHEN met THEN 'both' WHEN NOT met THEN 'alone' ELSE (SELECT 'never' FROM pair2) END FROM pair1;
SET shuttle.enable_early_start = off;
CALL node.settle();
SELECT * FROM pair1 a JOIN pair2 b USING (id);
CALL node.settle();
SELECT met FROM meet1 UNION ALL SELECT met FROM meet2;
RESET shuttle.enable_early_start;

-- an error of a scan that turns out not to be needed does not show, and the
-- node's transaction goes on
CREATE TABLE pair.empty (id int);
SET enable_hashjoin = off;
SET enable_mergejoin = off;
BEGIN;
SELECT count(*) FROM other_account;
EXPLAIN (COSTS OFF) SELECT * FROM pair.empty e JOIN failing f ON e.id <> f.id;
SELECT * FROM pair.empty e JOIN failing f ON e.id <> f.id;
SELECT count(*) FROM other_account;
COMMIT;
-- where it is needed it does
INSERT INTO pair.empty VALUES (2);
SELECT * FROM pair.empty e JOIN failing f ON e.id <> f.id;
SELECT id FROM account WHERE id < 3 UNION ALL SELECT id FROM failing WHERE zero = 1;
SELECT count(*) FROM other_account;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- trap 24: a read sees the node as it was before its statement's writes,
-- started early or not
SET shuttle.enable_early_start = off;
BEGIN;
WITH gone AS (DELETE FROM account WHERE pair.here(id) = 3 RETURNING id)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM account);
SELECT count(*) FROM account;
WITH more AS (UPDATE account SET balance = balance + 1000 WHERE id > 290 RETURNING id)
SELECT (SELECT count(*) FROM more), max(balance), count(*) FROM account;
-- a cursor that was not read yet keeps what it was opened for
DECLARE c CURSOR FOR SELECT count(*) FROM account;
DELETE FROM account;
FETCH c;
SELECT count(*) FROM account;
ROLLBACK;
RESET shuttle.enable_early_start;
BEGIN;
WITH gone AS (DELETE FROM account WHERE pair.here(id) = 3 RETURNING id)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM account);
ROLLBACK;
RESET search_path;
SET client_min_messages = warning;
DROP SERVER node1, node2, node3 CASCADE;
