/*-------------------------------------------------------------------------
 * authors.h
 *	  Who wrote what nodes need for tables.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_AUTHORS_H
#define SHUTTLE_TABLETS_RIGHTS_AUTHORS_H

#include "nodes/pg_list.h"

/* What of the table depends on other objects: columns, indexes, checks, generated columns. */
#define SHUTTLE_PARTS_OF_TABLE(table) \
" (SELECT 'pg_class'::regclass::oid AS classid, " table " AS objid, 1 AS least" \
" UNION ALL SELECT 'pg_class'::regclass, indexrelid, 0 FROM pg_index WHERE indrelid = " table \
" UNION ALL SELECT 'pg_constraint'::regclass, oid, 0 FROM pg_constraint WHERE conrelid = " table " AND contype = 'c'" \
" UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, 0 FROM pg_attrdef AS d JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum" \
" WHERE adrelid = " table " AND attgenerated <> '') AS part JOIN pg_depend AS d ON d.classid = part.classid AND d.objid = part.objid AND objsubid >= least"

/* What tables of this OID need, and what that needs, depth first. */
#define SHUTTLE_NEEDED(table) \
"WITH RECURSIVE used(classid, objid, depth) AS (" \
" SELECT refclassid, refobjid, 1 FROM" SHUTTLE_PARTS_OF_TABLE(table) " WHERE refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass)" \
" UNION SELECT n.refclassid, n.refobjid, used.depth + 1 FROM used, LATERAL (" \
" SELECT refclassid, refobjid FROM pg_depend WHERE classid = used.classid AND objid = used.objid AND deptype IN ('n', 'i')" \
" UNION ALL SELECT refclassid, refobjid FROM pg_depend JOIN pg_constraint AS c ON classid = 'pg_constraint'::regclass AND objid = c.oid" \
" WHERE c.contypid = used.objid AND used.classid = 'pg_type'::regclass AND refobjid <> used.objid" \
" UNION ALL SELECT refclassid, refobjid FROM pg_type AS y JOIN pg_class AS c ON c.oid = y.typrelid AND c.relkind = 'c'" \
" JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = c.oid" \
" WHERE y.oid = used.objid AND used.classid = 'pg_type'::regclass AND refobjid <> used.objid) AS n" \
" WHERE used.depth < 20 AND n.refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass))," \
" needed(classid, oid, depth, extension) AS (SELECT u.classid, u.objid, max(depth)," \
" (SELECT extname::text FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid" \
" WHERE d.classid = u.classid AND d.objid = u.objid AND d.deptype = 'e') FROM used AS u GROUP BY 1, 2)"

/* Who wrote what nodes need for a table, but superusers. */
extern List *shuttle_authors_of_table(Oid relid);

/* A table, and one of those who wrote what nodes need for it; without any: InvalidOid. */
typedef struct ShuttleTableAuthor
{
	Oid			relid;
	Oid			owner;
	Oid			author;
} ShuttleTableAuthor;

/* The same of several tables, as of now, also under REPEATABLE READ. tables: a query of their OIDs
 * and owners, with a parameter. Returns a list of ShuttleTableAuthor, at least one for each table. */
extern List *shuttle_authors_of_tables(const char *tables, Oid parameter);

#endif							/* SHUTTLE_TABLETS_RIGHTS_AUTHORS_H */
