/*-------------------------------------------------------------------------
 * scan_decoder.c
 *	  Decoders of the rows of foreign scans.
 *
 * An error for a value that cannot be converted names its column by the
 * table's alias in the statement, also for joins.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"

#include "executor/facts/scan_facts.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "storage/shuttle_storage.h"

static void add_context(void *arg, AttrNumber attribute);

ShuttleDecoder *
shuttle_scan_decoder_create(ForeignScanState *scan, List *attributes,
							int first_column, MemoryContext owner)
{
	ShuttleDecoder *decoder;

	decoder = shuttle_row_decoder_create(shuttle_scan_desc(scan), attributes,
										 first_column, scan->ss.ss_currentRelation,
										 shuttle_scan_node(scan), owner);
	shuttle_row_decoder_set_context(decoder, add_context, scan);
	shuttle_foreign_states_add(decoder, (ForeignScan *) scan->ss.ps.plan, owner);
	return decoder;
}

/* The column behind an attribute of the scan's rows; NULL: an expression. */
static const Var *
find_column(const ForeignScan *plan, AttrNumber attribute)
{
	const TargetEntry *entry;

	if (attribute <= 0 || attribute > list_length(plan->fdw_scan_tlist))
		return NULL;
	entry = list_nth_node(TargetEntry, plan->fdw_scan_tlist, attribute - 1);
	return IsA(entry->expr, Var) ? (const Var *) entry->expr : NULL;
}

static void
add_context(void *arg, AttrNumber attribute)
{
	ForeignScanState *scan = arg;
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;
	Index		rtindex = plan->scan.scanrelid;
	const Alias *names;

	if (rtindex == 0)
	{
		const Var  *column = find_column(plan, attribute);

		if (column == NULL)
		{
			errcontext("processing expression at position %d in select list",
					   attribute);
			return;
		}
		rtindex = column->varno;
		attribute = column->varattno;
	}
	names = exec_rt_fetch(rtindex, scan->ss.ps.state)->eref;
	if (attribute == 0)
		errcontext("whole-row reference to foreign table \"%s\"", names->aliasname);
	else if (attribute > 0 && attribute <= list_length(names->colnames))
		errcontext("column \"%s\" of foreign table \"%s\"",
				   strVal(list_nth(names->colnames, attribute - 1)),
				   names->aliasname);
	else
		errcontext("column \"%s\" of foreign table \"%s\"", "ctid",
				   names->aliasname);
}
