-- Joins with groups: what nodes are asked for, which subqueries and conditions it
-- is done for, and when it pays.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, i * 7 % 100 AS k, i % 3 AS m, 'k' || i % 7 AS t FROM generate_series(1, 20) i;
CREATE TABLE many AS SELECT i AS id, i * 7 % 20000 AS k FROM generate_series(1, 30000) i;
CREATE TABLE big AS SELECT i AS id, i % 20000 AS k, i % 5 AS m, i / 7.0 AS x, 'k' || i % 8 AS t FROM generate_series(1, 100000) i;
CREATE INDEX ON big (k);
CALL test.mirror('big');
-- the default from 17 on, and a near node
ALTER SERVER engine OPTIONS (ADD fdw_tuple_cost '0.2', ADD shuttle_round_trip_cost '30');
ALTER SERVER guest OPTIONS (ADD fdw_tuple_cost '0.2');
ANALYZE engine.big, guest.big;
SELECT transport, batches, keys, served, alone, requests FROM test.numbers('SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c, sum(x) FROM big GROUP BY k) s ON s.k = o.k');
SELECT transport, batches, keys, served, alone, requests FROM test.numbers('SELECT o.id, s.* FROM o JOIN (SELECT DISTINCT k, m FROM big) s ON s.k = o.k');
SET shuttle.batch_size = 5;
SELECT transport, batches, keys, served, alone, requests FROM test.numbers('SELECT o.id, s.c FROM o LEFT JOIN (SELECT k, count(*) c, sum(x) FROM big GROUP BY k) s ON s.k = o.k');
RESET shuttle.batch_size;
SET search_path = engine, local, public;
EXPLAIN (VERBOSE, COSTS OFF) SELECT o.id, s.c FROM o JOIN (SELECT k, count(*) c, sum(x) FROM big GROUP BY k) s ON s.k = o.k WHERE s.c > 1;

-- The SELECTs that have a key as a parameter, or that none has.
CREATE FUNCTION asked(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text[] = '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ 'Remote SQL: .* WHERE .*\$1' THEN
			found := found || regexp_replace(substring(line, 'WHERE (.*)'), ' ORDER BY.*', '');
		END IF;
	END LOOP;
	RETURN CASE WHEN found = '{}' THEN 'not by key' ELSE found::text END;
END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT x, k, count(*) c FROM engine.big GROUP BY x, k;
CREATE VIEW plain AS SELECT t, k, count(*) c FROM engine.big GROUP BY t, k;
CREATE FUNCTION there(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT $1';
CREATE COLLATION ignoring (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
ALTER FOREIGN TABLE big ADD COLUMN i text COLLATE ignoring;
SET shuttle.debug_force_batched_join = on;
SELECT query, asked(query) FROM unnest(ARRAY[
	-- a part of the columns, of the conditions
	'SELECT 1 FROM o JOIN (SELECT k, m, count(*) c FROM big GROUP BY k, m) s ON s.k = o.k AND s.c > o.m',
	'SELECT 1 FROM o JOIN (SELECT DISTINCT ON (k) k, m FROM big ORDER BY k, id) s ON s.k = o.k AND s.m = o.m',
	'SELECT 1 FROM o JOIN (SELECT k, m, sum(x) FROM big GROUP BY k, m) s ON s.k = o.k WHERE s.m < 3',
	-- two levels; parameters of the statement; views
	'SELECT 1 FROM o JOIN (SELECT k, count(*) c FROM (SELECT DISTINCT k, m FROM big) b GROUP BY k) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN plain s ON s.k = o.k',
	'SELECT 1 FROM o JOIN plain s ON s.t = o.t AND upper(s.t) > o.t',
	'SELECT 1 FROM o JOIN barrier s ON s.k = o.k',
	'SELECT 1 FROM o JOIN barrier s ON s.k BETWEEN o.k AND o.m',
	'SELECT 1 FROM o JOIN barrier s ON s.x = o.k',
	-- what is not grouped by
	'SELECT 1 FROM o JOIN (SELECT k, max(m) m FROM big GROUP BY k) s ON s.m = o.m',
	'SELECT 1 FROM o JOIN (SELECT k, max(m) m FROM big GROUP BY k) s ON s.k + 1 = o.m',
	'SELECT 1 FROM o JOIN (SELECT DISTINCT ON (m) k, m FROM big ORDER BY m, id) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN (SELECT max(k) k FROM big) s ON s.k = o.k',
	-- what is above groups or beside them
	'SELECT 1 FROM o JOIN (SELECT k, count(*) FROM big GROUP BY ROLLUP (k)) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN (SELECT k, count(*) FROM big GROUP BY k ORDER BY 2 LIMIT 9) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN (SELECT k, rank() OVER (ORDER BY count(*)) FROM big GROUP BY k) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN (SELECT k, generate_series(1, 2) FROM big GROUP BY k) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN (SELECT k, there(1) FROM big GROUP BY k) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN (SELECT k FROM big GROUP BY k HAVING count(*) > (SELECT 1)) s ON s.k = o.k',
	'SELECT 1 FROM o JOIN (WITH b AS MATERIALIZED (SELECT * FROM big) SELECT k FROM b GROUP BY k) s ON s.k = o.k',
	-- one group has values that differ for the condition
	'SELECT 1 FROM o JOIN (SELECT i FROM big GROUP BY i) s ON s.i = o.t',
	'SELECT 1 FROM o JOIN (SELECT t COLLATE "C" t FROM big GROUP BY 1) s ON s.t COLLATE "POSIX" < o.t']) query;
RESET shuttle.debug_force_batched_join;

-- few keys of many groups
CREATE FUNCTION choice(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO printed;
	RETURN CASE WHEN printed::jsonb @@ 'strict $.**."Custom Plan Provider" == "Look Ahead"' THEN 'batched' ELSE 'whole' END;
END $$;
SELECT query, choice(replace(query, 'big', 'engine.big')) FROM unnest(ARRAY[
	'SELECT 1 FROM o JOIN (SELECT k, count(*) FROM big GROUP BY k) s ON s.k = o.k',
	'SELECT 1 FROM (SELECT k FROM many LIMIT 1000) o JOIN (SELECT k, count(*) FROM big GROUP BY k) s ON s.k = o.k',
	'SELECT 1 FROM many JOIN (SELECT k, count(*) FROM big GROUP BY k) s ON s.k = many.k',
	'SELECT 1 FROM many JOIN (SELECT k, count(*) FROM big GROUP BY k) s ON s.k = many.k LIMIT 5',
	-- few large groups
	'SELECT 1 FROM o JOIN (SELECT t, count(*) FROM big GROUP BY t) s ON s.t = o.t']) query;
SET enable_nestloop = off;
SELECT choice('SELECT 1 FROM o JOIN (SELECT k, count(*) FROM engine.big GROUP BY k) s ON s.k = o.k');
RESET enable_nestloop;
SET shuttle.enable_batched_join = off;
SELECT choice('SELECT 1 FROM o JOIN (SELECT k, count(*) FROM engine.big GROUP BY k) s ON s.k = o.k');
RESET shuttle.enable_batched_join;

-- the genetic search, which tries joins and forgets them; a prepared statement; writes
SET geqo_threshold = 2;
SELECT o.id, s.*, r.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k JOIN o p ON p.id = o.id + 1
	JOIN (SELECT k, m, count(*) c FROM big GROUP BY k, m) r ON r.k = p.k WHERE o.id < 6 ORDER BY 1;
RESET geqo_threshold;
PREPARE groups(int, int) AS SELECT o.id, s.c FROM o JOIN (SELECT k, count(*) c FROM big WHERE id > $1 GROUP BY k) s ON s.k = o.k WHERE o.id < $2 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE groups(60000, 4);
EXECUTE groups(90000, 4);
RESET plan_cache_mode;
BEGIN;
UPDATE o SET m = s.c FROM (SELECT k, count(*) c FROM big GROUP BY k) s WHERE s.k = o.k AND o.id < 4 RETURNING o.*;
DELETE FROM o USING (SELECT DISTINCT k FROM big WHERE m = 2) s WHERE s.k = o.k AND o.id < 9 RETURNING o.id;
SELECT o.id, s.c FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k ORDER BY 1 LIMIT 2 FOR UPDATE OF o;
ROLLBACK;
