/*-------------------------------------------------------------------------
 * system_columns.c
 *	  Fetches xmin, xmax, cmin and cmax of rows from their node.
 *
 * postgres_fdw fetches ctid only, and takes 0 for the others. They mean on the
 * node what they mean here: a row that was changed there has another xmin. So a
 * scan's SELECT, and the RETURNING of writes row by row, get them as more
 * columns. Conditions with them are checked here: an UPDATE or DELETE has
 * locked the newest version of the row before.
 *
 * Joins, aggregates and LIMITs on the node, and direct writes, are not planned
 * if they would have to return such a column.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_expressions.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_system_columns.h"

static const AttrNumber system_columns[] = {
	MinTransactionIdAttributeNumber,
	MinCommandIdAttributeNumber,
	MaxTransactionIdAttributeNumber,
	MaxCommandIdAttributeNumber,
};

/* Attribute numbers of those that an expression reads of a relation. */
static List *
find_columns(const void *expression, Index relid)
{
	Bitmapset  *attributes = NULL;
	List	   *found = NIL;

	pull_varattnos((Node *) unconstify(void *, expression), relid, &attributes);
	for (int i = 0; i < lengthof(system_columns); i++)
	{
		if (bms_is_member(system_columns[i] - FirstLowInvalidHeapAttributeNumber, attributes))
			found = lappend_int(found, system_columns[i]);
	}
	return found;
}

void
shuttle_system_columns_add_to_scan(ForeignScan *scan, List *targets)
{
	Index		relid = scan->scan.scanrelid;
	List	   *found;

	if (relid == 0)
		return;
	found = find_columns(targets, relid);
	found = list_concat_unique_int(found, find_columns(scan->scan.plan.qual, relid));
	if (found != NIL)
		shuttle_postgres_fdw_add_scan_columns(scan, found);
}

List *
shuttle_system_columns_add_to_modify(List *fdw_private, CmdType operation, List *returning,
									 Index relid)
{
	List	   *found = find_columns(returning, relid);

	if (operation != CMD_DELETE && shuttle_expression_has_old_ctid(returning))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("RETURNING cannot use ctid of OLD of a foreign table"),
				 errhint("Select it in another statement.")));
	if (found != NIL && shuttle_expression_has_old_or_new(returning))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("RETURNING cannot use OLD or NEW together with xmin, xmax, cmin or cmax of a foreign table"),
				 errhint("Name the system column without OLD and NEW.")));

	/* that of a new row is 0; ON CONFLICT fetches it itself */
	if (operation == CMD_INSERT)
		found = list_delete_int(found, MaxTransactionIdAttributeNumber);
	return found == NIL ? fdw_private :
		shuttle_postgres_fdw_add_modify_columns(fdw_private, found);
}
