\set ECHO none
-- What a statement on table person does in a search path, all of it taken back: a digest of the
-- rows, and what view problems says of them, or the error. Constraints that are deferred are checked.
\set QUIET on
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	wrong text;
	before text := current_setting('search_path');
	message text; detail text; name text; relation text;
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE statement;
	EXECUTE 'SET CONSTRAINTS ALL IMMEDIATE';
	SELECT md5(string_agg(person::text, ';' ORDER BY id, customer)) INTO result FROM person;
	PERFORM set_config('search_path', before, true);
	SELECT string_agg(problem, ' ') INTO wrong FROM problems;
	RAISE division_by_zero USING MESSAGE = COALESCE(result, 'empty') || COALESCE(' wrong: ' || wrong, '');
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
WHEN others THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, name = CONSTRAINT_NAME, relation = TABLE_NAME;
	RETURN format('%s %s %s %s %s', SQLSTATE, message, detail, relation, name);
END $$;
\set QUIET off
\set ECHO all
