\ir tablets.sql
-- Tables of sales to be distributed, the same rows in schema plain, and a function that
-- compares the answers of a query with aggregates.
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE item (id int PRIMARY KEY, brand text COLLATE "C", class text COLLATE "C", w int);
CREATE TABLE sale (id int PRIMARY KEY, item int, g int, h int, s smallint, i int, l bigint, n numeric, f float8, b bool, d date, t varchar(9) COLLATE "C");
CREATE TABLE other (id int PRIMARY KEY, g int, h int, i int);
INSERT INTO item SELECT k, 'b' || k % 4, nullif('c' || k % 3, 'c2'), k FROM generate_series(1, 12) AS k;
INSERT INTO sale SELECT k, nullif(k % 13, 0), nullif(k % 4, 0), k % 3, k % 7, nullif(k % 11, 0), k * 1000000000::bigint, nullif(k % 17, 3) / 8.0 + (k % 2) * 0.100, k % 9, nullif(k % 3, 1) = 0, date '2020-01-01' + k % 40, 't' || k % 5
FROM generate_series(1, 3000) AS k;
INSERT INTO other SELECT k, nullif(k % 3, 0), k % 2, k FROM generate_series(1, 500) AS k;
INSERT INTO sale (id, g, h, n) VALUES (5001, 8, 1, 'NaN'), (5002, 9, NULL, NULL), (5003, 9, NULL, NULL);
CREATE SCHEMA plain;
CREATE TABLE plain.item AS TABLE item;
CREATE TABLE plain.sale AS TABLE sale;
CREATE TABLE plain.other AS TABLE other;
ANALYZE;
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		line := regexp_replace(line, '(pg_shuttle_copies\.\w+)_\d+', '\1_OID', 'g');
		RETURN NEXT regexp_replace(line, '\mr\d+\M', 'r', 'g');
	END LOOP;
END $$;
-- how many scans group on their node, and how the answer differs from one without that and
-- from that of plain tables
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	scans int;
	nrows int;
	ndifferent int[];
BEGIN
	SELECT count(*) INTO scans FROM explain(query) AS line WHERE line ~ '^ *Relations: Aggregate on';
	EXECUTE 'CREATE TEMP TABLE on_nodes AS ' || query;
	SET LOCAL shuttle.enable_storage_aggregate = off;
	EXECUTE 'CREATE TEMP TABLE without AS ' || query;
	SET LOCAL shuttle.enable_storage_aggregate = on;
	SET LOCAL search_path = plain, shop;
	EXECUTE 'CREATE TEMP TABLE plain_tables AS ' || query;
	SET LOCAL search_path = shop;
	-- as texts: the scale of a numeric counts
	SELECT ARRAY[
		(SELECT count(*) FROM (SELECT a::text FROM on_nodes a EXCEPT ALL SELECT a::text FROM without a) AS x),
		(SELECT count(*) FROM (SELECT a::text FROM without a EXCEPT ALL SELECT a::text FROM on_nodes a) AS x),
		(SELECT count(*) FROM (SELECT a::text FROM on_nodes a EXCEPT ALL SELECT a::text FROM plain_tables a) AS x),
		(SELECT count(*) FROM (SELECT a::text FROM plain_tables a EXCEPT ALL SELECT a::text FROM on_nodes a) AS x)] INTO ndifferent;
	SELECT count(*) INTO nrows FROM on_nodes;
	DROP TABLE on_nodes, without, plain_tables;
	RETURN format('%s, %s rows, %s', scans, nrows, CASE WHEN ndifferent = '{0,0,0,0}' THEN 'same' ELSE ndifferent::text END);
END $$;
