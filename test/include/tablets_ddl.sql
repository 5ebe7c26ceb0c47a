\set ECHO none
-- try(): runs a statement in a block that is rolled back, below a savepoint that
-- is rolled back, and for good. Each time the tables of shop on the nodes are
-- compared with those here: distributed ones (kind p) or reference tables (r).
-- Each difference is a notice.
\set QUIET on
CREATE OR REPLACE FUNCTION public.tables_query(kind text) RETURNS text LANGUAGE sql AS $f$
SELECT replace($$
SELECT coalesce(string_agg(line, E'\n' ORDER BY line COLLATE "C"), '') AS lines FROM (
SELECT format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	CASE WHEN a.attnotnull THEN ' not null' END,
	CASE WHEN a.attgenerated <> '' THEN (SELECT ' generated ' || pg_get_expr(adbin, adrelid)
		FROM pg_attrdef WHERE adrelid = c.oid AND adnum = a.attnum) END) AS line
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = 'shop'::regnamespace AND c.relkind = 'p' AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT format('%s constraint %s %s', c.relname, conname, pg_get_constraintdef(o.oid))
FROM pg_class AS c JOIN pg_constraint AS o ON o.conrelid = c.oid
WHERE c.relnamespace = 'shop'::regnamespace AND c.relkind = 'p' AND NOT c.relispartition AND contype = ANY ('{c,p,u}')
UNION ALL
SELECT replace(pg_get_indexdef(c.oid), ' ONLY ', ' ')
FROM pg_class AS c WHERE c.relnamespace = 'shop'::regnamespace AND c.relkind = CASE 'p' WHEN $p$p$p$ THEN 'I' ELSE 'i' END AND NOT c.relispartition) AS l $$, $$'p'$$, quote_literal(kind))
$f$;

-- Our transaction is still open for the nodes, so this runs in another one.
CREATE OR REPLACE PROCEDURE public.differences(kind text DEFAULT 'p') LANGUAGE plpgsql AS $f$
DECLARE
	here text;
	line text;
BEGIN
	SET LOCAL search_path = pg_catalog;
	EXECUTE public.tables_query(kind) INTO here;
	FOR line IN
		WITH nodes AS (
			SELECT r.server, r.ok, r.error, string_to_array(r.result -> 0 ->> 'lines', E'\n') AS lines
			FROM shuttle.run_on_nodes('SET search_path = pg_catalog; ' || public.tables_query(kind), '{n1,n2,n3}') AS r),
		ours AS (SELECT string_to_array(here, E'\n') AS lines)
		SELECT format('%s: %s', n.server, n.error) FROM nodes AS n WHERE NOT ok OR n.lines IS NULL
		UNION ALL
		SELECT format('%s lacks: %s', n.server, l) FROM nodes AS n, ours, unnest(ours.lines) AS l WHERE l <> ALL (n.lines)
		UNION ALL
		SELECT format('%s has: %s', n.server, l) FROM nodes AS n, ours, unnest(n.lines) AS l WHERE l <> ALL (ours.lines)
		ORDER BY 1
	LOOP
		RAISE NOTICE '%', line;
	END LOOP;
END $f$;

CREATE OR REPLACE PROCEDURE public.try(statement text, kind text DEFAULT 'p') LANGUAGE plpgsql AS $f$
BEGIN
	EXECUTE statement;
	ROLLBACK;
	CALL public.differences(kind);
	COMMIT;
	BEGIN
		EXECUTE statement;
		RAISE EXCEPTION USING ERRCODE = 'U0001';
	EXCEPTION WHEN SQLSTATE 'U0001' THEN
		NULL;
	END;
	COMMIT;
	CALL public.differences(kind);
	COMMIT;
	EXECUTE statement;
	COMMIT;
	CALL public.differences(kind);
END $f$;
\set QUIET off
\set ECHO all
