/*-------------------------------------------------------------------------
 * analyze_columns.c
 *	  The columns that an ANALYZE statement names.
 *
 * Core does not pass them to the callback, so the statement is kept while it
 * runs. A session that loads the library during its first statement misses it,
 * and takes all columns.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "nodes/parsenodes.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "executor/statistics/statistics.h"

/* The running statement, or NULL. */
static const VacuumStmt *running = NULL;

static bool is_about(const VacuumRelation *named, Relation rel);

void
shuttle_analyze_columns_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	const VacuumStmt *outer = running;

	/* The statement may be freed with its portal, before any reset callback. */
	PG_TRY();
	{
		running = (const VacuumStmt *) pstmt->utilityStmt;
		run(SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		running = outer;
	}
	PG_END_TRY();
}

/* A table named twice gets the columns of both. */
Bitmapset *
shuttle_analyze_columns(Relation rel)
{
	Bitmapset  *columns = NULL;
	ListCell   *cell;

	foreach(cell, running == NULL ? NIL : running->rels)
	{
		const VacuumRelation *named = lfirst_node(VacuumRelation, cell);
		ListCell   *name;

		if (!is_about(named, rel))
			continue;
		if (named->va_cols == NIL)
			return NULL;
		foreach(name, named->va_cols)
		{
			AttrNumber	attribute = get_attnum(RelationGetRelid(rel),
											   strVal(lfirst(name)));

			if (attribute > 0)
				columns = bms_add_member(columns, attribute);
		}
	}
	return columns;
}

/* Columns named for a partitioned table count for its partitions. */
static bool
is_about(const VacuumRelation *named, Relation rel)
{
	Oid			relid = named->oid;

	if (!OidIsValid(relid) && named->relation != NULL)
		relid = RangeVarGetRelid(named->relation, NoLock, true);
	if (relid == RelationGetRelid(rel))
		return true;
	return rel->rd_rel->relispartition &&
		list_member_oid(get_partition_ancestors(RelationGetRelid(rel)), relid);
}
