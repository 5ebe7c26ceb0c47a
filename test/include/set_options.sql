\set ECHO none
-- Runs a statement for each of the nodes n1, n2 and n3; %s stands for the number.
\set QUIET on
CREATE PROCEDURE set_options(statement text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		EXECUTE format(statement, i);
	END LOOP;
END $$;
\set QUIET off
\set ECHO all
