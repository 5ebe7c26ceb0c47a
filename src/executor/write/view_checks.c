/*-------------------------------------------------------------------------
 * view_checks.c
 *	  What a node returns of rows for the check options of views.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"

#include "executor/shuttle_view_checks.h"

List *
shuttle_view_checks_columns(List *checks, Index relid)
{
	ListCell   *cell;

	foreach(cell, checks)
	{
		if (lfirst_node(WithCheckOption, cell)->kind == WCO_VIEW_CHECK)
			return lappend(list_copy(checks), makeVar(relid, 0, RECORDOID, -1, InvalidOid, 0));
	}
	return checks;
}
