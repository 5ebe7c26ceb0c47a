-- RETURNING ... INTO of PL/pgSQL, which asks for two rows at most and says so where there
-- are more than one.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, n int);
INSERT INTO here.t SELECT i, i % 7 FROM generate_series(1, 400) i;
CALL smart.distribute('t', '{0,101,201,301,401}');
CREATE UNIQUE INDEX ON node1.t (k);
CREATE TABLE here.wanted AS SELECT i AS k FROM unnest(ARRAY[10, 20, 110]) i;
CREATE TABLE dist.t_here PARTITION OF dist.t FOR VALUES FROM (1000) TO (2000);
SET search_path = dist;
CREATE FUNCTION smart.into(query text) RETURNS text LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	said text;
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION smart.last_into() RETURNS text LANGUAGE plpgsql SET search_path = dist, public AS $f$
		DECLARE
			returned record;
			nrows bigint;
		BEGIN
			%s INTO returned;
			GET DIAGNOSTICS nrows = ROW_COUNT;
			RETURN concat_ws('' '', returned, nrows, found);
		END $f$', query);
	BEGIN
		said := smart.last_into();
	EXCEPTION WHEN OTHERS THEN
		said := SQLSTATE || ' ' || SQLERRM;
	END;
	RETURN said || ', now ' || (SELECT count(*) || ' ' || sum(k) FROM t);
END $$;
SELECT smart.into('INSERT INTO t VALUES (0, 1) RETURNING k');
SELECT smart.into('INSERT INTO t2 SELECT 150, i FROM generate_series(1, 5) i RETURNING n');
SELECT smart.into('INSERT INTO t SELECT i, i FROM generate_series(199, 202) i RETURNING k');
SELECT smart.into('INSERT INTO t SELECT i, i FROM generate_series(99, 98) i RETURNING k');
-- some on nodes, some here
SELECT smart.into('INSERT INTO t VALUES (200, 1), (1000, 1) RETURNING k');
SELECT smart.into('INSERT INTO t VALUES (1000, 1), (200, 1), (1001, 1) RETURNING k');
SELECT smart.into('INSERT INTO t VALUES (1002, 1), (1003, 1), (200, 1) RETURNING k');
SELECT smart.into('INSERT INTO t SELECT 1004, 1 FROM here.wanted WHERE k = 20 RETURNING k');
-- rows that conflict are none
SELECT smart.into('INSERT INTO t1 SELECT i, 1 FROM generate_series(98, 101) i WHERE i <> 99 ON CONFLICT DO NOTHING RETURNING k');
DELETE FROM t WHERE k IN (50, 60, 70) AND n >= 0;
SELECT smart.into('INSERT INTO t1 SELECT i, 1 FROM generate_series(41, 59) i ON CONFLICT DO NOTHING RETURNING k');
SELECT smart.into('INSERT INTO t1 SELECT i, 1 FROM generate_series(51, 79) i ON CONFLICT DO NOTHING RETURNING k');
-- found by a scan of here, moved, joined by nodes, shipped whole
SELECT smart.into('UPDATE t SET n = n + 1 WHERE k = 7 AND n >= -random() RETURNING k, n');
SELECT smart.into('UPDATE t SET n = n + 1 WHERE k IN (8, 9, 108) AND n >= -random() RETURNING k, n');
SELECT smart.into('UPDATE t SET k = k + 100 WHERE k = 7 AND n >= -random() RETURNING k, n');
SELECT smart.into('UPDATE t SET k = k + 100 WHERE k IN (8, 9, 108) AND n >= -random() RETURNING k, n');
SELECT smart.into('UPDATE t SET n = 1 FROM here.wanted w WHERE t.k = w.k AND w.k > 100 RETURNING t.k');
SELECT smart.into('UPDATE t SET n = 1 FROM here.wanted w WHERE t.k = w.k RETURNING t.k');
SELECT smart.into('DELETE FROM t WHERE k = 11 RETURNING k');
SELECT smart.into('DELETE FROM t WHERE k > 100 RETURNING k');
