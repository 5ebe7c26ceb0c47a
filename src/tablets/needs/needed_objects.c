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

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "tablets/common/local_sql.h"
#include "tablets/needs/needs.h"
#include "tablets/rights/authors.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/user_code.h"

/* What a table needs, with a depth that grows from what needs another object to that object. A function and a type may
 * need each other: then the depth ends at the number of objects. */
#define NEEDED_IN_ORDER(table) \
SHUTTLE_NEEDED(table) \
", step(classid, objid, refclassid, refobjid) AS MATERIALIZED (SELECT used.*, n.* FROM used, LATERAL " \
SHUTTLE_NEEDED_NEXT("used.classid", "used.objid") " AS n)," \
" found(classid, objid, depth) AS (SELECT *, 1 FROM used UNION SELECT refclassid, refobjid, depth + 1 FROM found JOIN step USING (classid, objid)" \
" WHERE depth < (SELECT count(*) FROM used))," \
" ordered(classid, oid, extension, depth) AS (SELECT n.*, max(depth) FROM needed AS n JOIN found AS f ON f.classid = n.classid AND f.objid = n.oid GROUP BY 1, 2, 3)"

/* What needs objects, of a query of their classes and OIDs. */
#define USERS \
"WITH RECURSIVE users(classid, objid) AS (SELECT * FROM (%s) AS objects" \
" UNION SELECT n.classid, n.objid FROM users, LATERAL (" \
" SELECT classid, objid FROM pg_depend WHERE refclassid = users.classid AND refobjid = users.objid AND deptype IN ('n', 'i')" \
" AND classid IN ('pg_type'::regclass, 'pg_proc'::regclass)" \
" UNION ALL SELECT 'pg_type'::regclass, contypid FROM pg_depend JOIN pg_constraint AS c ON classid = 'pg_constraint'::regclass AND objid = c.oid" \
" WHERE refclassid = users.classid AND refobjid = users.objid AND contypid <> 0" \
" UNION ALL SELECT 'pg_type'::regclass, reltype FROM pg_depend JOIN pg_class AS c ON classid = 'pg_class'::regclass AND objid = c.oid" \
" WHERE refclassid = users.classid AND refobjid = users.objid AND relkind = 'c') AS n)"

#define COLLATE(column, collation, type) \
" (SELECT format(' COLLATE %I.%I', nspname, collname) FROM pg_collation JOIN pg_namespace AS s ON s.oid = collnamespace" \
" WHERE pg_collation.oid = " collation " AND " collation " <> (SELECT typcollation FROM pg_type WHERE pg_type.oid = " type "))"

/* How the type t is defined, here or on a node; a node of version 13 has no multiranges. A check that
 * was never validated is made as a valid one where no column has the domain yet. */
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
" (SELECT string_agg(format(' CONSTRAINT %I %s', conname, regexp_replace(pg_get_constraintdef(oid), ' NOT VALID$', '')), '' ORDER BY conname)" \
" FROM pg_constraint WHERE contypid = t.oid AND contype = 'c')) END"

/*
 * Servers may print a domain's checks in other words, so that one which is used on the node
 * is compared with what the node makes of ours.
 */
#define MAKE_TYPE \
"format('DECLARE used text; drop_it text; BEGIN IF (SELECT %1$s FROM pg_type AS t WHERE oid = to_regtype(%2$L)) <> %3$L THEN" \
" FOREACH drop_it IN ARRAY %9$L::text[] LOOP BEGIN EXECUTE drop_it;" \
" EXCEPTION WHEN dependent_objects_still_exist OR undefined_object OR undefined_function OR invalid_schema_name THEN NULL; END; END LOOP;" \
" DROP TYPE %2$s; END IF;" \
" IF to_regtype(%2$L) IS NULL THEN IF to_regnamespace(%4$L) IS NULL THEN CREATE SCHEMA %4$s; END IF; CREATE %5$s %2$s %3$s; END IF;" \
" EXCEPTION WHEN dependent_objects_still_exist THEN GET STACKED DIAGNOSTICS used = PG_EXCEPTION_DETAIL;" \
" IF %6$L THEN EXECUTE %11$L; IF (SELECT %1$s FROM pg_type AS t WHERE oid = to_regtype(%2$L)) =" \
" (SELECT %1$s FROM pg_type AS t WHERE oid = to_regtype(%10$L)) THEN used := NULL; END IF; DROP DOMAIN %4$s.shuttle_compared; END IF;" \
" IF used IS NOT NULL THEN RAISE duplicate_object USING MESSAGE = %7$L, DETAIL = used, HINT = %8$L; END IF; END'," \
" $definition$" DEFINITION "$definition$, t.oid::regtype, d.text, quote_ident(n.nspname)," \
" CASE t.typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, t.typtype = 'd'," \
" format('type %s exists with another definition', t.oid::regtype)," \
" format('Change it on the storage node, or drop what uses it there: here it is %s.', d.text)," \
" ARRAY(SELECT CASE o.classid WHEN 'pg_type'::regclass THEN 'DROP TYPE ' || o.oid::regtype ELSE 'DROP FUNCTION ' || o.oid::regprocedure END" \
" FROM ordered AS o WHERE o.depth < u.depth AND o.extension IS NULL AND o.oid >= 16384 ORDER BY o.depth, o.oid)," \
" format('%I.shuttle_compared', n.nspname), format('CREATE DOMAIN %I.shuttle_compared %s', n.nspname, d.text))"

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
NEEDED_IN_ORDER("$1")
" SELECT format('DO %L', CASE WHEN d.text IS NOT NULL AND u.extension IS NULL THEN " MAKE_TYPE
" WHEN t.oid IS NOT NULL THEN "
MUST_HAVE("to_regtype", "type", "t.oid::regtype", "undefined_object",
		  "CASE t.typtype WHEN 'c' THEN 'Use a type that CREATE TYPE has made: rows of tables are not known on storage nodes.'"
		  " ELSE 'Make it on the storage node: base types are not copied.' END")
" WHEN u.extension IS NOT NULL OR l.lanname NOT IN ('sql', 'plpgsql') THEN "
MUST_HAVE("to_regprocedure", "function", "p.oid::regprocedure", "undefined_function",
		  "format('Make it on the storage node: functions in language \"%s\" are not copied.', l.lanname)")
" ELSE " MAKE_FUNCTION " END)"
" FROM ordered AS u LEFT JOIN pg_proc AS p ON u.classid = 'pg_proc'::regclass AND p.oid = u.oid AND p.prokind = 'f'"
" LEFT JOIN pg_language AS l ON l.oid = p.prolang"
" LEFT JOIN pg_type AS t ON u.classid = 'pg_type'::regclass AND t.oid = u.oid AND t.typtype IN ('e', 'd', 'c', 'r', 'b')"
" AND NOT EXISTS (SELECT FROM pg_type AS e WHERE e.oid = t.typelem AND e.typarray = t.oid)"
" LEFT JOIN pg_class AS c ON c.oid = t.typrelid"
" LEFT JOIN LATERAL (SELECT " DEFINITION " AS text WHERE t.typtype <> 'b' AND coalesce(c.relkind, 'c') = 'c') AS d ON true"
" JOIN pg_namespace AS n ON n.oid = coalesce(p.pronamespace, t.typnamespace)"
" WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')";

/* What is not made on nodes: a node that lacks it says so before it meets the name in a definition. */
static const char *const other_objects_query =
"SELECT DISTINCT format('DO %L', format('BEGIN IF NOT EXISTS (SELECT FROM %s) THEN RAISE undefined_object USING MESSAGE = %L, HINT = %L; END IF; END',"
" o.find, format('%s does not exist', o.name),"
" format('Make it on the storage nodes, as CREATE %s is not sent there: for example with shuttle.run_on_nodes().', o.kind)))"
" FROM (SELECT DISTINCT refclassid AS classid, refobjid AS objid FROM" SHUTTLE_PARTS_OF_TABLE("$1") ") AS u"
" CROSS JOIN LATERAL pg_identify_object(u.classid, u.objid, 0) AS i"
" CROSS JOIN LATERAL (SELECT format('operator %s', u.objid::regoperator), 'OPERATOR',"
" format('to_regoperator(%L) AS o WHERE o IS NOT NULL', u.objid::regoperator) WHERE u.classid = 'pg_operator'::regclass"
" UNION ALL SELECT format('%s %s', i.type, i.identity), upper(i.type),"
" format('%s JOIN pg_namespace AS n ON n.oid = %snamespace WHERE nspname = %L AND %sname = %L', u.classid::regclass, c.prefix, i.schema, c.prefix, c.name)"
" FROM (SELECT 'coll', collname FROM pg_collation WHERE oid = u.objid AND u.classid = 'pg_collation'::regclass"
" UNION ALL SELECT 'opc', opcname FROM pg_opclass WHERE oid = u.objid AND u.classid = 'pg_opclass'::regclass"
" UNION ALL SELECT 'cfg', cfgname FROM pg_ts_config WHERE oid = u.objid AND u.classid = 'pg_ts_config'::regclass) AS c (prefix, name)"
" ) AS o (name, kind, find) WHERE i.schema <> 'pg_catalog'";

/* All of these, as the node has them in the end. */
static const char *const names_query =
SHUTTLE_NEEDED("$1")
" SELECT DISTINCT format(" SHUTTLE_NODE_OWNERS_FORMAT ", kind, nspname, name) FROM (SELECT 'function', p.oid::regprocedure::text, pronamespace"
" FROM needed AS u JOIN pg_proc AS p ON u.classid = 'pg_proc'::regclass AND p.oid = u.oid"
" UNION ALL SELECT 'type', t.oid::regtype::text, typnamespace FROM needed AS u JOIN pg_type AS t ON u.classid = 'pg_type'::regclass AND t.oid = u.oid"
" UNION ALL SELECT 'operator', o.oid::regoperator::text, oprnamespace FROM" SHUTTLE_PARTS_OF_TABLE("$1")
" JOIN pg_operator AS o ON refclassid = 'pg_operator'::regclass AND o.oid = refobjid) AS named(kind, name, schema)"
" JOIN pg_namespace AS n ON n.oid = schema WHERE nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1";

static const char *const tables_query =
USERS
" SELECT t.relation::oid::text FROM shuttle.tables AS t JOIN (SELECT CASE WHEN d.objsubid > 0 THEN d.objid ELSE indrelid END"
" FROM users AS u JOIN pg_depend AS d ON refclassid = u.classid AND refobjid = u.objid AND d.classid = 'pg_class'::regclass"
" LEFT JOIN pg_index ON indexrelid = d.objid UNION SELECT conrelid"
" FROM users AS u JOIN pg_depend AS d ON refclassid = u.classid AND refobjid = u.objid AND d.classid = 'pg_constraint'::regclass"
" JOIN pg_constraint AS c ON c.oid = d.objid AND contype = 'c' UNION SELECT adrelid"
" FROM users AS u JOIN pg_depend AS d ON refclassid = u.classid AND refobjid = u.objid AND d.classid = 'pg_attrdef'::regclass"
" JOIN pg_attrdef AS f ON f.oid = d.objid JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum AND attgenerated <> '') AS r (relid)"
" ON t.relation = r.relid ORDER BY t.relation::regclass::text";

List *
shuttle_needed_objects_names(Oid relid)
{
	return shuttle_local_texts(names_query, relid);
}

List *
shuttle_needed_objects_texts(Oid relid, const List *servers)
{
	return shuttle_needed_objects_texts_but(relid, servers, InvalidOid);
}

List *
shuttle_needed_objects_texts_but(Oid relid, const List *servers, Oid type)
{
	List	   *authors = shuttle_authors_of_table(relid);
	List	   *texts = shuttle_user_code_guard(authors, servers, relid);
	List	   *others;
	List	   *names;
	StringInfoData query;

	/*
	 * no lock keeps a domain from getting a check: who wrote what is sent is
	 * seen by the same snapshot
	 */
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
	others = list_difference_oid(shuttle_authors_of_table_seen(relid), authors);
	texts = list_concat(texts, shuttle_user_code_guard(others, servers, relid));
	initStringInfo(&query);
	appendStringInfoString(&query, needed_query);
	if (OidIsValid(type))
		appendStringInfo(&query, " AND (u.classid <> 'pg_type'::regclass OR u.oid <> %u)", type);
	appendStringInfoString(&query, " ORDER BY u.depth DESC, u.oid");
	names = shuttle_local_texts_seen(names_query, relid);

	/* of what is there already: what is made next may call it */
	if (names != NIL)
		texts = lappend(texts, shuttle_node_owners_text(names));
	texts = list_concat(texts, shuttle_local_texts_seen(other_objects_query, relid));
	texts = list_concat(texts, shuttle_local_texts_seen(query.data, relid));
	PopActiveSnapshot();
	return names == NIL ? texts : lappend(texts, shuttle_node_owners_text(names));
}

List *
shuttle_needed_objects_tables(const char *objects)
{
	List	   *relids = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf(tables_query, objects), InvalidOid))
		relids = lappend_oid(relids, atooid(lfirst(cell)));
	return relids;
}
