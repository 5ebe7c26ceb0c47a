-- A topmost join of whole tables is kept if it is clearly cheaper than that of their
-- partitions, which core would take whatever it costs.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, n numeric);
INSERT INTO here.t SELECT i, nullif(i % 7, 0), i / 7.0 FROM generate_series(1, 200000) i;
CALL smart.distribute('t', '{1,50001,100001,150001,200001}');
-- copies on all nodes
CREATE TABLE here.few (k int PRIMARY KEY, x int);
INSERT INTO here.few SELECT i * 100, i FROM generate_series(1, 2000) i;
CREATE FOREIGN TABLE dist.few (k int, x int) SERVER smart1
	OPTIONS (schema_name 'here', shuttle_replicated_on 'smart2,smart3,smart4');
ANALYZE here.few, dist.few;
SET search_path = dist;
CREATE FUNCTION smart.looks_ahead(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan::text ~ 'Look Ahead';
END $$;
-- true: few keys are looked up; false: nodes join their partitions
SELECT q, smart.looks_ahead(q), smart.check(q) FROM (VALUES
	('SELECT g, count(*), sum(n) FROM few JOIN t USING (k) WHERE x BETWEEN 3 AND 5 GROUP BY g'),
	('SELECT count(*), max(n) FROM few JOIN t USING (k) WHERE x = 7'),
	('SELECT DISTINCT g FROM few JOIN t USING (k) WHERE x < 4'),
	('SELECT k, n FROM few JOIN t USING (k) WHERE x = 7'),
	('SELECT k, rank() OVER (ORDER BY n) FROM few JOIN t USING (k) WHERE x < 9 ORDER BY k LIMIT 3'),
	('SELECT a.g, count(*) FROM (SELECT DISTINCT g, x FROM few JOIN t USING (k) WHERE x < 9) a GROUP BY a.g'),
	('SELECT g, count(*), sum(n) FROM few JOIN t USING (k) GROUP BY g')) v(q);
-- the same joins searched by GEQO
SET geqo_threshold = 2;
SELECT q, smart.looks_ahead(q) FROM (VALUES
	('SELECT g, count(*), sum(n) FROM few JOIN t USING (k) WHERE x BETWEEN 3 AND 5 GROUP BY g'),
	('SELECT g, count(*), sum(n) FROM few JOIN t USING (k) GROUP BY g')) v(q);
RESET geqo_threshold;
