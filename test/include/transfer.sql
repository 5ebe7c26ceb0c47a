\set ECHO none
-- Behind foreign.sql: whether values are the same however they travel.
\set QUIET on
-- What one query had sent from nodes, in bytes.
CREATE FUNCTION pair.bytes(query text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->>'Storage Bytes Received')::bigint;
END $$;

-- Reads a table by postgres_fdw, by ours as texts, and by ours with values in
-- binary allowed; compares bit for bit, and tells how the last one travelled.
CREATE FUNCTION pair.transfer(name text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT * FROM ours.%I', name);
	text_bytes bigint;
	nrows bigint;
	wrong bigint;
BEGIN
	PERFORM set_config('client_min_messages', 'warning', true);
	DROP TABLE IF EXISTS by_stock, by_text, by_binary;
	PERFORM set_config('client_min_messages', 'notice', true);
	EXECUTE format('CREATE TEMP TABLE by_stock AS SELECT * FROM stock.%I', name);
	PERFORM set_config('shuttle.enable_binary_transfer', 'off', true);
	EXECUTE 'CREATE TEMP TABLE by_text AS ' || query;
	text_bytes := pair.bytes(query);
	PERFORM set_config('shuttle.enable_binary_transfer', 'on', true);
	PERFORM pair.bytes(query);
	EXECUTE 'CREATE TEMP TABLE by_binary AS ' || query;
	SELECT count(*), count(*) FILTER (WHERE NOT (stock_row *= text_row AND stock_row *= binary_row))
	INTO nrows, wrong
	FROM by_stock stock_row JOIN by_text text_row USING (id) JOIN by_binary binary_row USING (id);
	IF wrong > 0 OR nrows <> (SELECT count(*) FROM by_stock) THEN
		RETURN format('DIFFERENT: %s of %s rows', wrong, nrows);
	END IF;
	RETURN CASE WHEN pair.bytes(query) = text_bytes THEN 'same, as texts' ELSE 'same, in binary' END;
END $$;
-- Makes a table of one type, filled from its texts, and foreign tables over it;
-- tells how its values travel.  The last column makes it worth while to have the
-- rows in binary.
CREATE PROCEDURE pair.travels(name text, type text, VARIADIC texts text[])
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE node.%I (id int, v %s, at timestamptz)', name, type);
	EXECUTE format('INSERT INTO node.%I SELECT i, t::%s, ''2024-02-29 12:00+00'' FROM unnest($1) WITH ORDINALITY u(t, i)',
		name, type) USING texts || NULL::text;
	PERFORM pair.tables(name);
	COMMIT;
	RAISE NOTICE '%: %', name, pair.transfer(name);
END $$;
\set QUIET off
\set ECHO all
