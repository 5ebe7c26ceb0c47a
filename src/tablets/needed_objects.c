/*-------------------------------------------------------------------------
 * needed_objects.c
 *	  Types and functions that nodes need for a table, and their statements.
 *
 * Nodes get the types of columns (enums, domains, composite types, ranges), the
 * functions of checks, indexes, generated columns and domains, and what these
 * need, found by pg_depend. What belongs to extensions, base types, and functions
 * in other languages than SQL and PL/pgSQL must be on the node already.
 *
 * A node may have a type of that name from before, as nothing is dropped there. If
 * it is defined in another way, it is made anew, as is what needs it for this table;
 * that fails while something else uses it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "tablets/tablets_internal.h"

/* What tables of this OID need, and what that needs, depth first. */
#define NEEDED \
"WITH RECURSIVE used(classid, objid, depth) AS (" \
" SELECT refclassid, refobjid, 1 FROM pg_depend WHERE refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass) AND" \
" CASE classid WHEN 'pg_class'::regclass THEN objid = $1 AND objsubid > 0 OR objid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1)" \
" WHEN 'pg_constraint'::regclass THEN objid IN (SELECT oid FROM pg_constraint WHERE conrelid = $1 AND contype = 'c')" \
" WHEN 'pg_attrdef'::regclass THEN objid IN (SELECT d.oid FROM pg_attrdef AS d JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum" \
" WHERE adrelid = $1 AND attgenerated <> '') END" \
" UNION SELECT n.refclassid, n.refobjid, used.depth + 1 FROM used, LATERAL (" \
" SELECT refclassid, refobjid FROM pg_depend WHERE classid = used.classid AND objid = used.objid AND deptype IN ('n', 'i')" \
" UNION ALL SELECT refclassid, refobjid FROM pg_depend JOIN pg_constraint AS c ON classid = 'pg_constraint'::regclass AND objid = c.oid" \
" WHERE c.contypid = used.objid AND used.classid = 'pg_type'::regclass AND refobjid <> used.objid" \
" UNION ALL SELECT refclassid, refobjid FROM pg_depend JOIN pg_class AS c ON classid = 'pg_class'::regclass AND objid = c.oid" \
" WHERE c.reltype = used.objid AND c.relkind = 'c' AND used.classid = 'pg_type'::regclass AND refobjid <> used.objid) AS n" \
" WHERE used.depth < 20 AND n.refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass))," \
" needed(classid, oid, depth, extension) AS (SELECT u.classid, u.objid, max(depth), max(e.extname::text) FROM used AS u" \
" LEFT JOIN pg_depend AS d ON d.classid = u.classid AND d.objid = u.objid AND d.deptype = 'e'" \
" LEFT JOIN pg_extension AS e ON e.oid = d.refobjid GROUP BY 1, 2)"

#define COLLATE(column, collation, type) \
" (SELECT format(' COLLATE %I.%I', nspname, collname) FROM pg_collation JOIN pg_namespace AS s ON s.oid = collnamespace" \
" WHERE pg_collation.oid = " collation " AND " collation " <> (SELECT typcollation FROM pg_type WHERE pg_type.oid = " type "))"

/* How the type t is defined, here or on a node; a node of version 13 has no multiranges. */
#define DEFINITION \
"CASE t.typtype WHEN 'e' THEN format('AS ENUM (%s)'," \
" (SELECT string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))" \
" WHEN 'c' THEN format('AS (%s)', (SELECT string_agg(format('%I %s%s', attname, format_type(atttypid, atttypmod)," \
COLLATE("attcollation", "attcollation", "atttypid") "), ', ' ORDER BY attnum)" \
" FROM pg_attribute WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped))" \
" WHEN 'r' THEN (SELECT format('AS RANGE (SUBTYPE = %s%s%s%s%s%s)', format_type(rngsubtype, NULL)," \
" (SELECT format(', SUBTYPE_OPCLASS = %I.%I', nspname, opcname) FROM pg_opclass AS o JOIN pg_namespace AS s ON s.oid = opcnamespace" \
" WHERE o.oid = rngsubopc AND NOT opcdefault)," \
" (SELECT format(', COLLATION = %I.%I', nspname, collname) FROM pg_collation AS o JOIN pg_namespace AS s ON s.oid = collnamespace" \
" WHERE o.oid = rngcollation AND rngcollation <> (SELECT typcollation FROM pg_type WHERE oid = rngsubtype))," \
" ', CANONICAL = ' || nullif(rngcanonical::oid, 0)::regproc, ', SUBTYPE_DIFF = ' || nullif(rngsubdiff::oid, 0)::regproc," \
" (SELECT format(', MULTIRANGE_TYPE_NAME = %s', m.oid::regtype) FROM pg_type AS m JOIN pg_depend ON objid = m.oid AND refobjid = t.oid" \
" WHERE classid = 'pg_type'::regclass AND refclassid = 'pg_type'::regclass AND m.typtype = 'm'" \
" AND m.typname NOT IN (t.typname || '_multirange', regexp_replace(t.typname, 'range', 'multirange'))))" \
" FROM pg_range WHERE rngtypid = t.oid)" \
" WHEN 'd' THEN format('AS %s%s%s%s', format_type(t.typbasetype, t.typtypmod)," \
COLLATE("typcollation", "t.typcollation", "t.typbasetype") ", CASE WHEN t.typnotnull THEN ' NOT NULL' END," \
" (SELECT string_agg(format(' CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), '' ORDER BY conname)" \
" FROM pg_constraint WHERE contypid = t.oid AND contype = 'c')) END"

/*
 * Servers may print a domain's checks in other words, so that one which is used on the node
 * is taken as it is.
 */
#define MAKE_TYPE \
"format('DECLARE used text; drop_it text; BEGIN IF (SELECT %s FROM pg_type AS t WHERE oid = to_regtype(%2$L)) <> %3$L THEN" \
" FOREACH drop_it IN ARRAY %9$L::text[] LOOP BEGIN EXECUTE drop_it;" \
" EXCEPTION WHEN dependent_objects_still_exist OR undefined_object OR undefined_function OR invalid_schema_name THEN NULL; END; END LOOP;" \
" DROP TYPE %2$s; END IF;" \
" IF to_regtype(%2$L) IS NULL THEN IF to_regnamespace(%4$L) IS NULL THEN CREATE SCHEMA %4$s; END IF; CREATE %5$s %2$s %3$s; END IF;" \
" EXCEPTION WHEN dependent_objects_still_exist THEN GET STACKED DIAGNOSTICS used = PG_EXCEPTION_DETAIL;" \
" IF %6$L THEN RAISE duplicate_object USING MESSAGE = %7$L, DETAIL = used, HINT = %8$L; END IF; END'," \
" $definition$" DEFINITION "$definition$, t.oid::regtype, d.text, quote_ident(n.nspname)," \
" CASE t.typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, t.typtype <> 'd'," \
" format('type %s exists with another definition', t.oid::regtype)," \
" format('Change it on the storage node, or drop what uses it there: here it is %s.', d.text)," \
" ARRAY(SELECT CASE o.classid WHEN 'pg_type'::regclass THEN 'DROP TYPE ' || o.oid::regtype ELSE 'DROP FUNCTION ' || o.oid::regprocedure END" \
" FROM needed AS o WHERE o.depth < u.depth AND o.extension IS NULL AND o.oid >= 16384 ORDER BY o.depth, o.oid))"

/* Raises an error if a node lacks something; find is to_regtype or to_regprocedure. */
#define MUST_HAVE(find, kind, name, condition, hint) \
"format('BEGIN IF " find "(%L) IS NULL THEN RAISE " condition " USING MESSAGE = %L, HINT = %L; END IF; END'," \
" " name ", format('" kind " %s does not exist', " name "), CASE WHEN u.extension IS NOT NULL" \
" THEN format('Install extension \"%s\" on the storage node.', u.extension) ELSE " hint " END)"

#define MAKE_FUNCTION \
"format('BEGIN IF NOT EXISTS (SELECT FROM pg_proc WHERE oid = to_regprocedure(%L) AND pg_get_functiondef(oid) = %L)" \
" THEN IF to_regnamespace(%L) IS NULL THEN CREATE SCHEMA %I; END IF; %s; END IF; END'," \
" p.oid::regprocedure, pg_get_functiondef(p.oid), quote_ident(n.nspname), n.nspname, pg_get_functiondef(p.oid))"

/* Types of other kinds, as arrays, come with those that they depend on. */
static const char *const needed_query =
NEEDED
" SELECT format('DO %L', CASE WHEN d.text IS NOT NULL AND u.extension IS NULL THEN " MAKE_TYPE
" WHEN t.oid IS NOT NULL THEN "
MUST_HAVE("to_regtype", "type", "t.oid::regtype", "undefined_object",
		  "CASE t.typtype WHEN 'c' THEN 'Use a type that CREATE TYPE has made: rows of tables are not known on storage nodes.'"
		  " ELSE 'Make it on the storage node: base types are not copied.' END")
" WHEN u.extension IS NOT NULL OR l.lanname NOT IN ('sql', 'plpgsql') THEN "
MUST_HAVE("to_regprocedure", "function", "p.oid::regprocedure", "undefined_function",
		  "format('Make it on the storage node: functions in language \"%s\" are not copied.', l.lanname)")
" ELSE " MAKE_FUNCTION " END)"
" FROM needed AS u LEFT JOIN pg_proc AS p ON u.classid = 'pg_proc'::regclass AND p.oid = u.oid AND p.prokind = 'f'"
" LEFT JOIN pg_language AS l ON l.oid = p.prolang"
" LEFT JOIN pg_type AS t ON u.classid = 'pg_type'::regclass AND t.oid = u.oid AND t.typtype IN ('e', 'd', 'c', 'r', 'b')"
" AND NOT EXISTS (SELECT FROM pg_type AS e WHERE e.typarray = t.oid)"
" LEFT JOIN pg_class AS c ON c.oid = t.typrelid"
" LEFT JOIN LATERAL (SELECT " DEFINITION " AS text WHERE t.typtype <> 'b' AND coalesce(c.relkind, 'c') = 'c') AS d ON true"
" JOIN pg_namespace AS n ON n.oid = coalesce(p.pronamespace, t.typnamespace)"
" WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY u.depth DESC, u.oid";

/* Tables that need something; others are left out before their dependencies are followed. */
static const char *const tables_query =
"SELECT relation::oid::text FROM shuttle.tables WHERE $1 IS NOT NULL AND EXISTS (SELECT FROM pg_depend WHERE (refclassid, refobjid) IN (%s)) ORDER BY relation::regclass::text";

static const char *const needs_query = NEEDED " SELECT u.oid::text FROM needed AS u WHERE (u.classid, u.oid) IN (%s)";

List *
shuttle_table_text_needed(Oid relid)
{
	return shuttle_local_texts(needed_query, relid);
}

List *
shuttle_tables_that_need(const char *objects)
{
	List	   *relids = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf(tables_query, objects), InvalidOid))
	{
		Oid			relid = atooid(lfirst(cell));

		if (shuttle_local_text(psprintf(needs_query, objects), relid) != NULL)
			relids = lappend_oid(relids, relid);
	}
	return relids;
}
