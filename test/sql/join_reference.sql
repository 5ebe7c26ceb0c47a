-- Reference tables (shuttle_replicated_on): joined on the nodes of what they are
-- joined with, partition by partition; answers are those of local tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, n numeric);
INSERT INTO here.t SELECT i, nullif(i % 7, 0), i / 7.0 FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,3001,4001}');
CREATE TABLE here.o (k int, d int);
INSERT INTO here.o SELECT i, i % 50 FROM generate_series(1, 4000) i;
CALL smart.distribute('o', '{1,1001,2001,3001,4001}');
-- copies: the same name on all nodes
CREATE TABLE here.kind (g int PRIMARY KEY, name text, area int);
INSERT INTO here.kind VALUES (1, 'one', 1), (2, 'two', 1), (3, 'three', 2), (4, 'four', NULL), (9, 'nine', 2);
CREATE TABLE here.area (id int, label text);
INSERT INTO here.area VALUES (1, 'east'), (2, 'west'), (NULL, 'none');
CREATE FOREIGN TABLE dist.kind (g int, name text, area int) SERVER smart1
	OPTIONS (schema_name 'here', shuttle_replicated_on 'smart2, smart3,smart4');
CREATE FOREIGN TABLE dist.area (id int, label text) SERVER smart3
	OPTIONS (schema_name 'here', shuttle_replicated_on 'smart1,smart2,smart3,smart4');
ANALYZE here.kind, here.area, dist.kind, dist.area;
SET search_path = dist;
CREATE TABLE smart.queries (q text);
INSERT INTO smart.queries VALUES
	('SELECT t.k, name FROM t JOIN kind ON kind.g = t.g'),
	('SELECT t.k, name FROM t LEFT JOIN kind ON kind.g = t.g'),
	('SELECT t.k, name FROM kind RIGHT JOIN t ON kind.g = t.g AND t.k > 3000'),
	('SELECT t.k, name FROM kind LEFT JOIN t ON kind.g = t.g'),
	('SELECT t.k, name FROM kind FULL JOIN t ON kind.g = t.g'),
	('SELECT t.k FROM t WHERE t.g IN (SELECT g FROM kind)'),
	('SELECT t.k FROM t WHERE NOT EXISTS (SELECT FROM kind WHERE kind.g = t.g)'),
	('SELECT name FROM kind WHERE EXISTS (SELECT FROM t WHERE kind.g = t.g)'),
	('SELECT name, count(*), sum(n), avg(k) FROM t JOIN kind ON kind.g = t.g GROUP BY name'),
	('SELECT label, count(*) FROM t JOIN kind USING (g) JOIN area ON area.id = kind.area WHERE name <> ''one'' GROUP BY label'),
	('SELECT name, label FROM kind JOIN area ON area.id = kind.area'),
	('SELECT d, name, count(*) FROM t JOIN o USING (k) JOIN kind ON kind.g = t.g WHERE d < 5 GROUP BY d, name'),
	('SELECT count(*), max(name) FROM t JOIN kind ON kind.g = t.g WHERE k BETWEEN 900 AND 2100'),
	('SELECT t.k, name FROM t JOIN kind ON kind.g = t.g WHERE k = 1500'),
	('SELECT t.k, kind FROM t JOIN kind ON kind.g = t.g WHERE k < 20'),
	('SELECT t, name FROM t JOIN kind ON kind.g = t.g WHERE k < 20'),
	('SELECT a.name, b.name, count(*) FROM t JOIN kind a USING (g) JOIN kind b ON b.area = a.area GROUP BY a.name, b.name'),
	('SELECT t.k, name, s.c FROM t JOIN kind USING (g), LATERAL (SELECT count(*) c FROM o WHERE o.k = t.k AND d > kind.area) s WHERE k < 30');
SELECT q, smart.check(q) FROM smart.queries;
EXPLAIN (COSTS OFF) SELECT name, count(*), avg(k) FROM t JOIN kind ON kind.g = t.g GROUP BY name;
EXPLAIN (COSTS OFF) SELECT t.k, name FROM t LEFT JOIN kind ON kind.g = t.g;
EXPLAIN (COSTS OFF) SELECT label, count(*) FROM t JOIN kind USING (g) JOIN area ON area.id = kind.area GROUP BY label;
-- pruned when the plan is made; the tables of another order
EXPLAIN (COSTS OFF) SELECT t.k, name FROM kind JOIN t ON kind.g = t.g WHERE k > 2500;
-- with other tables that are partitioned alike
SET enable_partitionwise_join = on;
SELECT q, smart.check(q) FROM smart.queries;
EXPLAIN (COSTS OFF) SELECT d, name, count(*) FROM t JOIN o USING (k) JOIN kind ON kind.g = t.g GROUP BY d, name;
RESET enable_partitionwise_join;
-- GEQO throws joins away, and may choose others
SET geqo_threshold = 2;
SELECT q FROM smart.queries WHERE smart.check(q) !~ 'same$';
SET enable_partitionwise_join = on;
SELECT q FROM smart.queries WHERE smart.check(q) !~ 'same$';
RESET enable_partitionwise_join;
RESET geqo_threshold;
-- tables of one node; which node is asked
CREATE FOREIGN TABLE dist.lone (k int, g int, n numeric) SERVER smart4 OPTIONS (schema_name 'node4', table_name 't');
CREATE VIEW here.lone AS SELECT * FROM here.t WHERE k >= 3001;
ANALYZE dist.lone;
SELECT q, smart.check(q) FROM (SELECT replace(replace(q, ' t', ' lone'), '(t', '(lone') q FROM smart.queries WHERE q !~ 'lateral|t\.k = 1500|SELECT t,') s;
EXPLAIN (COSTS OFF) SELECT name, label, count(*) FROM lone JOIN kind USING (g) JOIN area ON area.id = kind.area GROUP BY name, label;
CREATE FUNCTION smart.nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json; BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, VERBOSE, FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(DISTINCT m[1], ',' ORDER BY m[1]) FROM regexp_matches(plan::text, '"(smart\d)"', 'g') m);
END $$;
SELECT smart.nodes('SELECT * FROM lone JOIN kind USING (g)'), smart.nodes('SELECT * FROM kind');
-- by cost alone 19 would look up rows: until 18 core drops other paths than partitionwise ones
SET shuttle.enable_batched_join = off;
SELECT smart.nodes('SELECT * FROM t JOIN kind USING (g)');
RESET shuttle.enable_batched_join;
-- locks are taken on the table's own node, rows are found again under EvalPlanQual
SET shuttle.enable_batched_join = off;
SELECT smart.nodes('SELECT * FROM lone JOIN kind USING (g) FOR UPDATE OF kind');
RESET shuttle.enable_batched_join;
SET enable_hashjoin = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT * FROM t JOIN kind USING (g) FOR UPDATE OF t;
RESET enable_hashjoin;
RESET enable_material;
BEGIN;
SELECT count(*) FROM (SELECT name FROM t JOIN kind USING (g) FOR UPDATE) s;
UPDATE t SET n = area FROM kind WHERE kind.g = t.g AND k <= 10;
UPDATE lone SET n = area FROM kind WHERE kind.g = lone.g AND k <= 3010;
SELECT sum(n) FROM t WHERE k <= 10 OR k BETWEEN 3001 AND 3010;
ROLLBACK;
-- a partition without a copy beside it; local partitions
ALTER FOREIGN TABLE kind OPTIONS (SET shuttle_replicated_on 'smart2,smart3');
SELECT q, smart.check(q) FROM smart.queries LIMIT 10;
SET shuttle.enable_batched_join = off;
EXPLAIN (COSTS OFF) SELECT t.k, name FROM t JOIN kind ON kind.g = t.g WHERE k <= 3000;
RESET shuttle.enable_batched_join;
ALTER FOREIGN TABLE kind OPTIONS (SET shuttle_replicated_on 'smart2,smart3,smart4');
CREATE TABLE dist.t_here (LIKE here.t);
INSERT INTO dist.t_here SELECT * FROM here.t WHERE k BETWEEN 1001 AND 2000;
ALTER TABLE dist.t DETACH PARTITION dist.t2;
ALTER TABLE dist.t ATTACH PARTITION dist.t_here FOR VALUES FROM (1001) TO (2001);
ANALYZE dist.t_here;
SELECT q, smart.check(q) FROM smart.queries;
DROP TABLE dist.t_here;
-- partitions of partitions
CREATE TABLE dist.t_parts PARTITION OF dist.t FOR VALUES FROM (1001) TO (2001) PARTITION BY RANGE (k);
ALTER TABLE dist.t_parts ATTACH PARTITION dist.t2 FOR VALUES FROM (1001) TO (2001);
SET enable_partitionwise_join = on;
SELECT q, smart.check(q) FROM smart.queries;
RESET enable_partitionwise_join;
-- parameters, stable values, a view, a security barrier
SET plan_cache_mode = force_generic_plan;
PREPARE by_name(text, int) AS SELECT count(*), sum(k) FROM t JOIN kind USING (g) WHERE name <> $1 AND k < $2 AND now() > '2001-01-01';
EXECUTE by_name('two', 3000);
EXECUTE by_name('one', 10);
CREATE VIEW dist.kinds WITH (security_barrier) AS SELECT * FROM dist.kind WHERE area IS NOT NULL;
CREATE VIEW here.kinds AS SELECT * FROM here.kind WHERE area IS NOT NULL;
SELECT smart.check('SELECT name, count(*) FROM t JOIN kinds USING (g) WHERE name <> ''two'' GROUP BY name');
-- writes are refused; an option that names no server
\set VERBOSITY default
INSERT INTO kind VALUES (5);
INSERT INTO kind VALUES (5) ON CONFLICT DO NOTHING;
UPDATE kind SET name = 'x' WHERE g = 1;
UPDATE kind SET name = 'x' FROM t WHERE t.g = kind.g;
DELETE FROM kind;
COPY kind FROM stdin;
\.
TRUNCATE kind;
ALTER FOREIGN TABLE kind OPTIONS (SET shuttle_replicated_on 'smart2,nowhere');
SELECT smart.check('SELECT name, count(*) FROM t JOIN kind USING (g) GROUP BY name');
