-- Statements that are new in PostgreSQL 19: right, or refused.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE orders (c int, id int, v int, PRIMARY KEY (c, id));
INSERT INTO orders SELECT i % 7, i, nullif(i % 3, 0) FROM generate_series(1, 60) i;
SELECT shuttle.distribute_table('orders', 'c', tablets => 4) IS NOT NULL AS distributed;
CREATE TABLE item (id int PRIMARY KEY, name text);
INSERT INTO item SELECT i, 'item ' || i FROM generate_series(1, 10) i;
SELECT shuttle.reference_table('item') IS NOT NULL AS reference;
-- older servers do not know them: these say what is wanted
CREATE FUNCTION answer(statement text, wanted text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	lines text[] := '{}';
	hint text;
BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		RETURN wanted;
	ELSIF statement !~ 'RETURNING|SELECT' THEN
		EXECUTE statement;
		RETURN 'done';
	END IF;
	FOR line IN EXECUTE statement LOOP
		lines := lines || line::text;
	END LOOP;
	RETURN array_to_string(lines, ' ');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' HINT: ', sqlerrm, hint);
END $$;
-- ON CONFLICT DO SELECT
SELECT answer('INSERT INTO orders VALUES (1, 1, 9) ON CONFLICT (c, id) DO SELECT RETURNING *',
	'ON CONFLICT of an INSERT into "orders" cannot be left to storage nodes HINT: Say DO NOTHING, and select the rows in another statement.');
SELECT answer('INSERT INTO orders VALUES (1, 1, 9), (1, 70, 9) ON CONFLICT (c, id) DO SELECT FOR UPDATE WHERE orders.v > 0 RETURNING *',
	'ON CONFLICT of an INSERT into "orders" cannot be left to storage nodes HINT: Say DO NOTHING, and select the rows in another statement.');
SELECT answer('INSERT INTO item VALUES (1, ''one''), (11, ''eleven'') ON CONFLICT (id) DO SELECT FOR UPDATE RETURNING *', '(1,"item 1") (11,eleven)');
SELECT answer('WITH new AS (INSERT INTO item VALUES (2, ''two''), (12, ''twelve'') ON CONFLICT (id) DO SELECT RETURNING *) SELECT * FROM new', '(2,"item 2") (12,twelve)');
SELECT * FROM shuttle.check();
-- windows that leave out NULLs
SELECT answer('SELECT lag(v) IGNORE NULLS OVER (ORDER BY id) FROM orders WHERE id BETWEEN 3 AND 6 ORDER BY id', '() () (1) (2)');
-- REPACK
SELECT answer('REPACK orders', 'REPACK is not possible on distributed table "orders" HINT: Use VACUUM (FULL) or CLUSTER.');
SELECT answer('REPACK orders USING INDEX orders_pkey', 'REPACK is not possible on distributed table "orders" HINT: Use VACUUM (FULL) or CLUSTER.');
SELECT answer('REPACK shuttle_tablets.orders_t0', 'cannot change tablet "orders_t0" HINT: Name the distributed table "orders": its tablets follow.');
-- nodes repack their own tables, outside of this transaction
SELECT answer($$SELECT server, ok, status FROM shuttle.run_on_nodes('REPACK shop.orders_t0', servers => '{n1,n2}') WHERE ok$$, '(n1,t,REPACK)');
SELECT answer('REPACK item', 'done');
INSERT INTO item VALUES (13, 'thirteen');
SELECT name FROM item WHERE id = 13;
SELECT * FROM shuttle.check();
-- WAIT FOR LSN on nodes
SELECT answer($$SELECT server, ok, result FROM shuttle.run_on_nodes('WAIT FOR LSN ''0/1'' WITH (MODE ''primary_flush'', TIMEOUT ''1s'')', servers => '{n1,n2}') ORDER BY server$$,
	'(n1,t,"[{""status"": ""success""}]") (n2,t,"[{""status"": ""success""}]")');
-- SPLIT and MERGE PARTITION are not in 19; shuttle.split_tablet() splits a tablet
SELECT answer($$ALTER TABLE orders SPLIT PARTITION orders_t0 INTO (PARTITION a FOR VALUES WITH (MODULUS 8, REMAINDER 0), PARTITION b FOR VALUES WITH (MODULUS 8, REMAINDER 4))$$,
	'syntax error at or near "SPLIT" HINT: ');
SELECT answer($$ALTER TABLE orders MERGE PARTITIONS (orders_t0, orders_t1) INTO orders_t9$$,
	'syntax error at or near "MERGE" HINT: ');
-- ANALYZE copies statistics by itself, over the session's connection, whatever 19's postgres_fdw could do
SELECT answer('ALTER SERVER n1 OPTIONS (ADD import_stats ''true'')', 'done');
CREATE FOREIGN TABLE seen (id int, name text) SERVER n1 OPTIONS (schema_name 'shop', table_name 'item');
ANALYZE seen;
SELECT count(*) FROM pg_stats WHERE tablename = 'seen';
SELECT count(*) FROM public.postgres_fdw_get_connections();
