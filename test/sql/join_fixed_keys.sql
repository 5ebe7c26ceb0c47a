-- Partitions that lie on one node are joined there also where the partition key
-- is fixed, so that no clause compares the keys of both tables any more.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.line (k int, d int, item int, n numeric);
INSERT INTO here.line SELECT i % 40, i % 4, i % 97, i / 7.0 FROM generate_series(1, 4000) i;
CREATE TABLE here.stock (k int, d int, item int, quantity int);
INSERT INTO here.stock SELECT i % 40, i % 3, i % 100, i * 7 % 31 FROM generate_series(1, 4000) i;
CALL smart.distribute('line', '{0,10,20,30,40}');
CALL smart.distribute('stock', '{0,10,20,30,40}');
-- the same by two columns, and by two levels of partitions
CREATE TABLE dist.line_kd (LIKE here.line) PARTITION BY RANGE (k, d);
CREATE TABLE dist.stock_kd (LIKE here.stock) PARTITION BY RANGE (k, d);
CREATE TABLE dist.line_deep (LIKE here.line) PARTITION BY RANGE (k);
CREATE TABLE dist.line_deep_1 PARTITION OF dist.line_deep FOR VALUES FROM (0) TO (20) PARTITION BY LIST (d);
CREATE TABLE dist.stock_deep (LIKE here.stock) PARTITION BY RANGE (k);
CREATE TABLE dist.stock_deep_1 PARTITION OF dist.stock_deep FOR VALUES FROM (0) TO (20) PARTITION BY LIST (d);
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{line,stock}'::text[] LOOP
		EXECUTE format('CREATE VIEW here.%1$s_kd AS TABLE here.%1$s', name);
		EXECUTE format('CREATE VIEW here.%1$s_deep AS TABLE here.%1$s', name);
		EXECUTE format('CREATE VIEW node1.%1$s_low AS SELECT * FROM here.%1$s WHERE (k, d) < (20, 2)', name);
		EXECUTE format('CREATE VIEW node2.%1$s_high AS SELECT * FROM here.%1$s WHERE (k, d) >= (20, 2)', name);
		EXECUTE format('CREATE VIEW node1.%1$s_some AS SELECT * FROM here.%1$s WHERE k < 20 AND d < 2', name);
		EXECUTE format('CREATE VIEW node2.%1$s_others AS SELECT * FROM here.%1$s WHERE k < 20 AND d >= 2', name);
		EXECUTE format('CREATE VIEW node3.%1$s_last AS SELECT * FROM here.%1$s WHERE k >= 20', name);
		EXECUTE format('CREATE FOREIGN TABLE dist.%1$s_kd_low PARTITION OF dist.%1$s_kd FOR VALUES FROM (0, 0) TO (20, 2)
			SERVER smart1 OPTIONS (schema_name ''node1'', table_name ''%1$s_low'')', name);
		EXECUTE format('CREATE FOREIGN TABLE dist.%1$s_kd_high PARTITION OF dist.%1$s_kd FOR VALUES FROM (20, 2) TO (100, 0)
			SERVER smart2 OPTIONS (schema_name ''node2'', table_name ''%1$s_high'')', name);
		EXECUTE format('CREATE FOREIGN TABLE dist.%1$s_deep_some PARTITION OF dist.%1$s_deep_1 FOR VALUES IN (0, 1)
			SERVER smart1 OPTIONS (schema_name ''node1'', table_name ''%1$s_some'')', name);
		EXECUTE format('CREATE FOREIGN TABLE dist.%1$s_deep_others PARTITION OF dist.%1$s_deep_1 DEFAULT
			SERVER smart2 OPTIONS (schema_name ''node2'', table_name ''%1$s_others'')', name);
		EXECUTE format('CREATE FOREIGN TABLE dist.%1$s_deep_last PARTITION OF dist.%1$s_deep FOR VALUES FROM (20) TO (40)
			SERVER smart3 OPTIONS (schema_name ''node3'', table_name ''%1$s_last'')', name);
	END LOOP;
END $$;
ANALYZE dist.line_kd, dist.stock_kd, dist.line_deep, dist.stock_deep;
CREATE TABLE here.kind (d int, name text);
INSERT INTO here.kind VALUES (0, 'none'), (1, 'one'), (2, 'two');
CREATE FOREIGN TABLE dist.kind (d int, name text) SERVER smart1
	OPTIONS (schema_name 'here', shuttle_replicated_on 'smart2,smart3,smart4');
ANALYZE here.kind, dist.kind;
SET search_path = dist;
SET enable_partitionwise_join = on;
-- how many scans join on their node
CREATE FUNCTION smart.joined(query text) RETURNS int
LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	line text;
	found int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found + (line ~ 'Relations:.* JOIN ')::int;
	END LOOP;
	RETURN found;
END $$;
CREATE FUNCTION smart.same(query text) RETURNS text
LANGUAGE sql AS $$ SELECT smart.joined(query) || regexp_replace(smart.check(query), '^\d+', '') $$;
EXPLAIN (COSTS OFF) SELECT count(*) FROM line JOIN stock USING (k, item) WHERE k = 7 AND quantity < 15;
SELECT q, smart.same(q) FROM unnest(ARRAY[
	'SELECT count(DISTINCT stock.item) FROM line, stock WHERE line.k = 7 AND line.d = 2 AND stock.k = 7 AND stock.item = line.item AND quantity < 15',
	'SELECT stock.d, count(*), sum(n) FROM line JOIN stock USING (k, item) WHERE k = 7 GROUP BY 1',
	'SELECT line.d, quantity FROM line JOIN stock ON stock.k = line.k AND stock.item = line.item WHERE stock.k = 7::int8',
	'SELECT a.d, b.item, c.quantity FROM line a JOIN stock b USING (k, item) JOIN stock c USING (k, item) WHERE k = 23',
	'SELECT count(*) FROM line_kd JOIN stock_kd USING (k, d, item) WHERE k = 20',
	'SELECT count(*) FROM line_kd JOIN stock_kd USING (k, d, item) WHERE d = 2',
	'SELECT count(*) FROM line_kd JOIN stock_kd USING (k, d, item) WHERE k = 20 AND d = 1',
	'SELECT count(*) FROM line_deep JOIN stock_deep USING (k, d, item) WHERE k = 13',
	'SELECT count(*) FROM line_deep JOIN stock_deep USING (k, d, item) WHERE d = 1',
	'SELECT line.item, quantity FROM line LEFT JOIN stock ON stock.k = line.k AND stock.item = line.item AND quantity < 9 WHERE line.k = 7',
	'SELECT line.item, quantity FROM line LEFT JOIN stock ON stock.k = 7 AND stock.item = line.item WHERE line.k = 7',
	'SELECT name, count(*) FROM line JOIN stock USING (k, item) JOIN kind ON kind.d = stock.d WHERE k = 7 GROUP BY name',
	'SELECT name, line.item FROM line JOIN stock USING (k, item) LEFT JOIN kind ON kind.d = line.d WHERE k = 31']) q;
-- joined here: the keys are not fixed, or not to the same value, in the rows that meet
SELECT q, smart.same(q) FROM unnest(ARRAY[
	'SELECT count(*) FROM line JOIN stock USING (item) WHERE line.k = 7 AND stock.k = 8',
	'SELECT count(*) FROM line JOIN stock USING (item) WHERE line.k = 7',
	'SELECT count(*), count(quantity) FROM line LEFT JOIN stock ON line.k = 7 AND stock.k = 7 AND stock.item = line.item',
	'SELECT count(*) FROM line_kd JOIN stock_kd USING (k, item) WHERE k = 20',
	'SELECT count(*) FROM line JOIN stock USING (item) WHERE line.k > 7 AND stock.k > 7']) q;
-- semi joins go to the node from 17 on
SELECT q, regexp_replace(smart.same(q), '\d', 'n') FROM unnest(ARRAY[
	'SELECT item FROM line WHERE k = 7 AND EXISTS (SELECT FROM stock WHERE stock.k = 7 AND stock.item = line.item)',
	'SELECT item FROM line WHERE k = 7 AND NOT EXISTS (SELECT FROM stock WHERE stock.k = 7 AND stock.item = line.item)',
	'SELECT count(*), count(a.d), count(b.d) FROM (SELECT * FROM line WHERE k = 7) a FULL JOIN (SELECT * FROM stock WHERE k = 7) b USING (k, item)']) q;
-- one value for a parameter
SET plan_cache_mode = force_generic_plan;
PREPARE low(int, int) AS SELECT count(DISTINCT stock.item) FROM line, stock
	WHERE line.k = $1 AND stock.k = $1 AND stock.item = line.item AND quantity < $2;
SELECT smart.joined('EXECUTE low(7, 15)');
EXECUTE low(7, 15);
SELECT count(DISTINCT stock.item) FROM here.line, here.stock WHERE line.k = 7 AND stock.k = 7 AND stock.item = line.item AND quantity < 15;
EXECUTE low(400, 15);
SELECT smart.same('SELECT x, s.* FROM generate_series(1, 40, 13) x, LATERAL (SELECT sum(quantity) FROM line JOIN stock USING (k, item) WHERE k = x) s');
RESET plan_cache_mode;
-- other orders of joining, GEQO
SET geqo_threshold = 2;
SELECT smart.same('SELECT name, count(*) FROM line JOIN stock USING (k, item) JOIN kind ON kind.d = stock.d WHERE k = 7 GROUP BY name');
RESET geqo_threshold;
