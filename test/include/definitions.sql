-- What a schema has, as lines without its name; of nodes only what they get of it.
CREATE OR REPLACE FUNCTION public.lines_query(schema text, of_node bool) RETURNS text LANGUAGE sql AS $f$
SELECT format($q$
SELECT coalesce(string_agg(replace(line, %1$L, ''), E'\n' ORDER BY line COLLATE "C"), '') AS lines FROM (
SELECT format('%%s.%%s %%s%%s %%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' not null' END,
	(SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = c.oid AND adnum = a.attnum AND (a.attgenerated <> '' OR NOT %2$L))) AS line
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = to_regnamespace(%3$L) AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT format('%%s constraint %%s %%s', c.relname, conname, pg_get_constraintdef(o.oid))
FROM pg_class AS c JOIN pg_constraint AS o ON o.conrelid = c.oid
WHERE c.relnamespace = to_regnamespace(%3$L) AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND contype IN ('c', 'p', 'u')
UNION ALL SELECT replace(pg_get_indexdef(c.oid), ' ONLY ', ' ') FROM pg_class AS c
WHERE c.relnamespace = to_regnamespace(%3$L) AND c.relkind IN ('i', 'I') AND NOT c.relispartition
UNION ALL SELECT format('%%s %%s', typname, array(SELECT enumlabel FROM pg_enum WHERE enumtypid = t.oid ORDER BY enumsortorder)) FROM pg_type AS t
WHERE typnamespace = to_regnamespace(%3$L) AND typtype IN ('e', 'd') AND EXISTS (SELECT FROM pg_attribute WHERE atttypid = t.oid)
UNION ALL SELECT x.line FROM pg_class AS c, LATERAL (
	SELECT format('%%s owner %%s, %%s, row security %%s %%s', c.relname, relowner::regrole, relacl, relrowsecurity, relforcerowsecurity) AS line
	UNION ALL SELECT format('%%s, enabled: %%s', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger
		WHERE tgrelid = c.oid AND NOT tgisinternal AND tgname NOT LIKE 'zz_shuttle%%'
	UNION ALL SELECT format('%%s policy %%s %%s', c.relname, polname, pg_get_expr(polqual, polrelid)) FROM pg_policy WHERE polrelid = c.oid
	UNION ALL SELECT format('%%s comment %%s %%s', c.relname, objsubid, description) FROM pg_description WHERE objoid = c.oid
	UNION ALL SELECT format('%%s comment on %%s %%s', c.relname, conname, obj_description(oid, 'pg_constraint')) FROM pg_constraint WHERE conrelid = c.oid AND contype <> 'f'
	UNION ALL SELECT format('%%s comment on %%s %%s', c.relname, x.relname, obj_description(x.oid, 'pg_class'))
		FROM pg_index JOIN pg_class AS x ON x.oid = indexrelid WHERE indrelid = c.oid
	UNION ALL SELECT format('%%s %%s storage %%s %%s', c.relname, attname, attstorage, attcompression) FROM pg_attribute
		WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
	UNION ALL SELECT format('%%s %%s target %%s, %%s', c.relname, attname, coalesce(attstattarget, -1), array(SELECT o FROM unnest(attoptions) AS o WHERE o LIKE 'n_%%')) FROM pg_attribute
		WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
	UNION ALL SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxrelid = c.oid) AS x
WHERE NOT %2$L AND c.relnamespace = to_regnamespace(%3$L) AND c.relkind IN ('r', 'p') AND NOT c.relispartition) AS l
$q$, schema || '.', of_node, schema)
$f$;

-- All rows of a schema.
CREATE OR REPLACE FUNCTION public.rows_of(schema text) RETURNS text LANGUAGE plpgsql AS $f$
DECLARE
	relation regclass;
	rows text := '';
	part text;
BEGIN
	FOR relation IN SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace(schema) AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname LOOP
		EXECUTE format('SELECT coalesce(string_agg(x::text, E''\n'' ORDER BY x::text COLLATE "C"), '''') FROM %s AS x', relation) INTO part;
		rows := rows || E'\n' || part;
	END LOOP;
	RETURN rows;
END $f$;
