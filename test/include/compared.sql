\set ECHO none
-- Compares what a statement gives with the router, without it, and on plain tables of the same
-- names in schema plain. The test's run_once(query) returns what it gives and what the tables have then.
\set QUIET on
-- rows that a statement returns, or how many it has written
CREATE FUNCTION answer(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	line record;
	found text[] := '{}';
	n bigint;
BEGIN
	IF query ~ 'RETURNING|^WITH.*\) SELECT' THEN
		FOR line IN EXECUTE query LOOP
			found := found || line::text;
		END LOOP;
		RETURN found;
	END IF;
	RAISE invalid_cursor_definition;
EXCEPTION WHEN invalid_cursor_definition THEN	-- it returns no rows
	EXECUTE query;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN ARRAY[n::text];
END $$;
-- the same, rolled back; or the SQLSTATE and the message of an error
CREATE FUNCTION run(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	found := run_once(query);
	RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION
	WHEN SQLSTATE 'ZZ000' THEN RETURN found;
	WHEN OTHERS THEN RETURN ARRAY[SQLSTATE, regexp_replace(SQLERRM, '_t\d', '')];
END $$;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	routed bool;
	a text[] := run(query);
	b text[];
	c text[];
BEGIN
	BEGIN
		routed := is_routed(query);
	EXCEPTION WHEN feature_not_supported THEN routed := false;
	END;
	SET LOCAL shuttle.enable_router = off;
	b := run(query);
	SET LOCAL search_path = plain, shop;
	c := run(query);
	SET LOCAL search_path = shop;
	SET LOCAL shuttle.enable_router = on;
	RETURN format('%s, %s, %s', CASE WHEN routed THEN 'routed' ELSE 'by core' END,
		CASE WHEN a[1] ~ '^\d\w{4}$' THEN a[1] ELSE cardinality(a)::text END,
		CASE WHEN a = c THEN CASE WHEN a = b THEN 'same' ELSE format('core refuses: %s', b) END ELSE format('DIFFERENT: %s %s %s', a, b, c) END);
END $$;
\ir routed.sql
