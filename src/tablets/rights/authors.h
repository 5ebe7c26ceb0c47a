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

/* What an object needs by itself: types and functions. */
#define SHUTTLE_NEEDED_NEXT(classid_, objid_) \
"(SELECT refclassid, refobjid FROM (" \
" SELECT refclassid, refobjid FROM pg_depend WHERE classid = " classid_ " AND objid = " objid_ " AND deptype IN ('n', 'i')" \
" UNION ALL SELECT refclassid, refobjid FROM pg_depend JOIN pg_constraint AS c ON classid = 'pg_constraint'::regclass AND objid = c.oid" \
" WHERE c.contypid = " objid_ " AND " classid_ " = 'pg_type'::regclass AND refobjid <> " objid_ \
" UNION ALL SELECT refclassid, refobjid FROM pg_type AS y JOIN pg_class AS c ON c.oid = y.typrelid AND c.relkind = 'c'" \
" JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = c.oid" \
" WHERE y.oid = " objid_ " AND " classid_ " = 'pg_type'::regclass AND refobjid <> " objid_ ") AS every" \
" WHERE refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass))"

/* What a table of this OID needs, and what that needs. */
#define SHUTTLE_NEEDED(table) \
"WITH RECURSIVE used(classid, objid) AS (" \
" SELECT refclassid, refobjid FROM" SHUTTLE_PARTS_OF_TABLE(table) " WHERE refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass)" \
" UNION SELECT n.* FROM used, LATERAL " SHUTTLE_NEEDED_NEXT("used.classid", "used.objid") " AS n)," \
" needed(classid, oid, extension) AS (SELECT u.classid, u.objid," \
" (SELECT extname::text FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid" \
" WHERE d.classid = u.classid AND d.objid = u.objid AND d.deptype = 'e') FROM used AS u)"

/* Who wrote what nodes need for a table, but superusers; and the same under the active snapshot. */
extern List *shuttle_authors_of_table(Oid relid);
extern List *shuttle_authors_of_table_seen(Oid relid);

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
