\set ECHO none
-- Compares statements that write, batched and not, with the same ones over
-- local tables.  Needs helpers.sql.

-- What a statement returns (RETURNING, also in WITH) or how many rows it writes,
-- and the rows of a query afterwards; all of it is undone.
CREATE FUNCTION test.written(statement text, query text, way test.way, OUT answer text[])
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET shuttle.enable_batched_join FROM CURRENT
SET shuttle.debug_force_batched_join FROM CURRENT
SET shuttle.batch_size FROM CURRENT
SET shuttle.request_limit FROM CURRENT
SET shuttle.debug_spoil_look_ahead FROM CURRENT
AS $$
DECLARE
	returned record;
	nrows bigint;
	afterwards text[];
BEGIN
	PERFORM test.set_way(way);
	answer := '{}';
	IF statement ~* '\mRETURNING\M' THEN
		FOR returned IN EXECUTE statement LOOP
			answer := answer || returned::text;
		END LOOP;
	ELSE
		EXECUTE statement;
		GET DIAGNOSTICS nrows = ROW_COUNT;
		answer := answer || (nrows || ' rows');
	END IF;
	EXECUTE test.rows_query(query) INTO afterwards;
	answer := answer || '|'::text || afterwards;
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION WHEN SQLSTATE 'SH001' THEN
	NULL;
END $$;

-- Whether a statement's plan looked ahead, undone as well.
CREATE FUNCTION test.write_batched(statement text, transport text, OUT verdict text)
LANGUAGE plpgsql
AS $$
BEGIN
	verdict := test.look_ahead_verdict(test.explain(statement, (transport, transport, true, 1024, 1024, false), 'ANALYZE, TIMING OFF,'));
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION WHEN SQLSTATE 'SH001' THEN
	NULL;
END $$;

CREATE FUNCTION test.same_write(query text, statement text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text[] := test.written(statement, query, ('local', NULL, false, 1024, 1024, false));
	transport text;
	way test.way;
	wrong text;
	nwrong int := 0;
	verdicts text[];
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		FOR way IN SELECT * FROM test.ways_of(statement, transport) LOOP
			wrong := test.difference(expected, test.written(statement, query, way), false);
			IF wrong IS NOT NULL THEN
				nwrong := nwrong + 1;
				RETURN NEXT format('DIFFERENT: %s: %s', way.label, wrong);
			END IF;
		END LOOP;
		verdicts := verdicts || test.write_batched(statement, transport);
	END LOOP;
	IF nwrong = 0 THEN
		RETURN NEXT 'same, ' || CASE WHEN verdicts[1] = verdicts[2] THEN verdicts[1] ELSE array_to_string(verdicts, ' and ') END;
	END IF;
END $$;
\set ECHO all
