\set ECHO none
-- Runs a statement in schema shop, and in schema plain, whose tables are not distributed; says
-- 'done', the error, or both if they are not equal.
\set QUIET on
CREATE SCHEMA plain;
CREATE FUNCTION twins(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE states text[]; place text;
BEGIN
	FOREACH place IN ARRAY '{shop,plain}'::text[] LOOP
		PERFORM set_config('search_path', place, true);
		BEGIN
			EXECUTE statement;
			states := states || 'done'::text;
		EXCEPTION WHEN OTHERS THEN
			states := states || SQLSTATE::text;
		END;
	END LOOP;
	PERFORM set_config('search_path', 'shop', true);
	RETURN CASE WHEN states[1] = states[2] THEN states[1] ELSE states::text END;
END $$;
\set QUIET off
\set ECHO all
