/*-------------------------------------------------------------------------
 * local_scan.c
 *	  Keys of a local index scan, and where a search for them starts.
 *
 * A search starts with the equalities on the leading columns and one
 * inequality after them, in the scan's direction. Conditions that cannot be
 * checked outside of the scan (arrays, row comparisons, a leading IS NULL) end
 * it: then only the leaf page is found, and no table pages.
 *
 * Memory: a scan lives in the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_expressions.h"
#include "executor/executor_types.h"
#include "executor/facts/parameters.h"
#include "executor/join/join.h"
#include "executor/prefetch/prefetch.h"

/* Table pages prefetched for one key, at most. */
#define MOST_BLOCKS 64

/* What an index scan and an index-only scan have in common. */
typedef struct ScanParts
{
	const Plan *plan;
	Relation	index;
	ScanKey		keys;
	int			nkeys;
	IndexRuntimeKeyInfo *runtime_keys;
	int			nruntime_keys;
	ScanDirection direction;
} ScanParts;

/* ---- preparing a scan */

static bool
take_parts(PlanState *node, ScanParts *parts)
{
	parts->plan = node->plan;
	if (IsA(node, IndexScanState))
	{
		IndexScanState *scan = (IndexScanState *) node;

		parts->index = scan->iss_RelationDesc;
		parts->keys = scan->iss_ScanKeys;
		parts->nkeys = scan->iss_NumScanKeys;
		parts->runtime_keys = scan->iss_RuntimeKeys;
		parts->nruntime_keys = scan->iss_NumRuntimeKeys;
		parts->direction = ((const IndexScan *) node->plan)->indexorderdir;
	}
	else
	{
		IndexOnlyScanState *scan = castNode(IndexOnlyScanState, node);

		parts->index = scan->ioss_RelationDesc;
		parts->keys = scan->ioss_ScanKeys;
		parts->nkeys = scan->ioss_NumScanKeys;
		parts->runtime_keys = scan->ioss_RuntimeKeys;
		parts->nruntime_keys = scan->ioss_NumRuntimeKeys;
		parts->direction = ((const IndexOnlyScan *) node->plan)->indexorderdir;
	}
	return parts->index != NULL && parts->index->rd_rel->relam == BTREE_AM_OID &&
		!RelationUsesLocalBuffers(parts->index);
}

static bool
function_may_fail(Oid function, void *context)
{
	return !get_func_leakproof(function);
}

/* True if evaluating an expression early could be noticed: functions that may
 * raise errors, subqueries. */
static bool
may_fail_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Const:
			return false;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXEC &&
				((Param *) node)->paramkind != PARAM_EXTERN;
		case T_RelabelType:
			break;
		case T_FuncExpr:
		case T_OpExpr:
			if (check_functions_in_node(node, function_may_fail, context))
				return true;
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, may_fail_walker, context);
}

static IndexRuntimeKeyInfo *
find_runtime_key(const ScanParts *parts, ScanKey key)
{
	for (int i = 0; i < parts->nruntime_keys; i++)
	{
		if (parts->runtime_keys[i].scan_key == key)
			return &parts->runtime_keys[i];
	}
	return NULL;
}

/* True of a key "column operator value". */
static bool
is_plain(ScanKey key)
{
	return (key->sk_flags & (SK_ROW_HEADER | SK_SEARCHARRAY | SK_SEARCHNULL |
							 SK_SEARCHNOTNULL | SK_ORDER_BY)) == 0;
}

/* Adds a key if its value can be evaluated early; else returns false. */
static bool
add_key(ShuttleLocalScan *scan, const ScanParts *parts, ScanKey key,
		const Bitmapset *bound_between, Bitmapset **params)
{
	IndexRuntimeKeyInfo *runtime = find_runtime_key(parts, key);
	ShuttleLocalKey *to = &scan->keys[scan->nkeys];

	if ((key->sk_flags & (SK_ROW_HEADER | SK_SEARCHARRAY)) != 0)
		return false;
	to->key = *key;
	to->value = -1;
	if (runtime != NULL)
	{
		List	   *expr = list_make1(runtime->key_expr->expr);
		Bitmapset  *used = shuttle_expression_params(expr);

		if (may_fail_walker(linitial(expr), NULL) ||
			bms_overlap(used, bound_between))
			return false;
		*params = bms_add_members(*params, used);
		to->value = scan->nvalues++;
		scan->values[to->value].expr = runtime->key_expr;
		scan->values[to->value].toastable = runtime->key_toastable;
	}
	else if (is_plain(key) && (key->sk_flags & SK_ISNULL) != 0)
		return false;
	scan->nkeys++;
	return true;
}

/* The btree comparison function of a column and the key's type. */
static bool
find_order(Relation index, ScanKey key, FmgrInfo *order)
{
	int			column = key->sk_attno - 1;
	Oid			type = index->rd_opcintype[column];
	RegProcedure function;

	if (key->sk_subtype == type || key->sk_subtype == InvalidOid)
	{
		*order = *index_getprocinfo(index, key->sk_attno, BTORDER_PROC);
		return true;
	}
	function = get_opfamily_proc(index->rd_opfamily[column], type,
								 key->sk_subtype, BTORDER_PROC);
	if (!RegProcedureIsValid(function))
		return false;
	fmgr_info(function, order);
	return true;
}

/* A key on a column that a search can start with, or NULL. *beyond: the search
 * starts after equal entries. */
static ShuttleLocalKey *
find_start(ShuttleLocalScan *scan, AttrNumber column, bool *is_equal, bool *beyond)
{
	bool		descends = (scan->index->rd_indoption[column - 1] & INDOPTION_DESC) != 0;
	ShuttleLocalKey *found = NULL;

	for (int i = 0; i < scan->nkeys; i++)
	{
		ShuttleLocalKey *key = &scan->keys[i];
		StrategyNumber strategy = key->key.sk_strategy;

		if (key->key.sk_attno != column || !is_plain(&key->key))
			continue;
		if (descends)
			strategy = BTCommuteStrategyNumber(strategy);
		*is_equal = strategy == BTEqualStrategyNumber;
		if (*is_equal)
		{
			*beyond = scan->backward;
			return key;
		}
		if (!scan->backward && strategy >= BTGreaterEqualStrategyNumber)
		{
			*beyond = strategy == BTGreaterStrategyNumber;
			found = key;
		}
		if (scan->backward && strategy <= BTLessEqualStrategyNumber)
		{
			*beyond = strategy == BTLessEqualStrategyNumber;
			found = key;
		}
	}
	return found;
}

/* Prepares the start of a search; false if there is no key to start with. */
static bool
prepare_start(ShuttleLocalScan *scan)
{
	BTScanInsert start = &scan->start;
	bool		is_equal = true;
	int			ncolumns = IndexRelationGetNumberOfKeyAttributes(scan->index);

	_bt_metaversion(scan->index, &start->heapkeyspace, &start->allequalimage);
	start->nextkey = scan->backward;
	for (AttrNumber column = 1; column <= ncolumns && is_equal; column++)
	{
		bool		beyond;
		ShuttleLocalKey *key = find_start(scan, column, &is_equal, &beyond);
		FmgrInfo	order;

		if (key == NULL || !find_order(scan->index, &key->key, &order))
			break;
		ScanKeyEntryInitializeWithInfo(&start->scankeys[start->keysz],
									   scan->index->rd_indoption[column - 1] << SK_BT_INDOPTION_SHIFT,
									   column, InvalidStrategy,
									   key->key.sk_subtype,
									   scan->index->rd_indcollation[column - 1],
									   &order, key->key.sk_argument);
		scan->start_values[start->keysz++] = key->value;
		start->nextkey = beyond;
		key->is_start = is_equal;
	}
	return start->keysz > 0;
}

/* Prepares keys; false if none uses the Look Ahead's parameters. */
static bool
prepare_keys(ShuttleLocalScan *scan, LookAheadState *look, const ScanParts *parts,
			 const Bitmapset *bound_between)
{
	Bitmapset  *params = NULL;
	bool		binds = false;

	scan->keys = palloc0_array(ShuttleLocalKey, parts->nkeys);
	scan->values = palloc0_array(ShuttleLocalValue, parts->nruntime_keys + 1);
	scan->exact = true;
	for (int i = 0; i < parts->nkeys; i++)
	{
		if (!add_key(scan, parts, &parts->keys[i], bound_between, &params))
			scan->exact = false;
	}
	for (int i = 0; i < look->nbindings; i++)
	{
		binds = binds || bms_is_member(look->bindings[i].param, params);
		params = bms_del_member(params, look->bindings[i].param);
	}
	scan->others = params;
	return binds;
}

ShuttleLocalScan *
shuttle_local_scan_create(LookAheadState *look, PlanState *node,
						  const Bitmapset *bound_between, bool one_row)
{
	ScanParts	parts;
	ShuttleLocalScan *scan;

	if (!take_parts(node, &parts))
		return NULL;
	scan = palloc0_object(ShuttleLocalScan);
	scan->index = parts.index;
	scan->heap = ((ScanState *) node)->ss_currentRelation;
	scan->index_only = IsA(node, IndexOnlyScanState);
	scan->backward = ScanDirectionIsBackward(parts.direction);
	scan->one_row = one_row;
	scan->index_limit = get_tablespace_io_concurrency(scan->index->rd_rel->reltablespace);
	scan->heap_limit = get_tablespace_io_concurrency(scan->heap->rd_rel->reltablespace);
	if (scan->index_limit == 0 && scan->heap_limit == 0)
		return NULL;
	if (!prepare_keys(scan, look, &parts, bound_between) || !prepare_start(scan))
		return NULL;
	scan->econtext = CreateExprContext(node->state);
	scan->nblocks = one_row ? 1 : Max(1, Min(scan->heap_limit, MOST_BLOCKS));
	scan->blocks = palloc_array(BlockNumber, scan->nblocks);
	return scan;
}

/* ---- the key of a row */

/* True if the parameters of other nodes have been computed. */
static bool
others_are_set(ShuttleLocalScan *scan)
{
	int			param = -1;

	while ((param = bms_next_member(scan->others, param)) >= 0)
	{
		if (scan->econtext->ecxt_param_exec_vals[param].execPlan != NULL)
			return false;
	}
	return true;
}

bool
shuttle_local_scan_evaluate(ShuttleLocalScan *scan, Datum *values)
{
	if (!others_are_set(scan))
		return false;
	for (int i = 0; i < scan->nvalues; i++)
	{
		bool		isnull;

		values[i] = ExecEvalExpr(scan->values[i].expr, scan->econtext, &isnull);

		/* btree operators are strict; a TOASTed value would cost reads */
		if (isnull || (scan->values[i].toastable &&
					   VARATT_IS_EXTERNAL(DatumGetPointer(values[i]))))
			return false;
	}
	return true;
}
