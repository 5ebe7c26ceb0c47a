-- The names of a plan's nodes, indented.
CREATE FUNCTION test.node_lines(node jsonb, depth int) RETURNS SETOF text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	child jsonb;
BEGIN
	RETURN NEXT repeat('  ', depth) || concat_ws(' ',
		CASE WHEN node ->> 'Parent Relationship' IN ('SubPlan', 'InitPlan') THEN (node ->> 'Parent Relationship') || ':' END,
		CASE WHEN node ->> 'Node Type' = 'Custom Scan' THEN node ->> 'Custom Plan Provider'
			ELSE node ->> 'Node Type' END,
		nullif(node ->> 'Join Type', 'Inner'),
		'on ' || coalesce(node ->> 'Relation Name', node ->> 'CTE Name'));
	FOR child IN SELECT jsonb_array_elements(node -> 'Plans') LOOP
		RETURN QUERY SELECT test.node_lines(child, depth + 1);
	END LOOP;
END $$;
