\set ECHO none
-- Says if a statement goes to one node as a whole.
\set QUIET on
CREATE FUNCTION is_routed(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		RETURN line ~ 'Routed Statement';
	END LOOP;
END $$;
\set QUIET off
\set ECHO all
