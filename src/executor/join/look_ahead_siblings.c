/*-------------------------------------------------------------------------
 * look_ahead_siblings.c
 *	  Look Aheads below the same Append send their first batches together.
 *
 * An Append reads its children one after the other, and a MergeAppend asks each
 * for its first row in turn: a round trip for each child, though none depends on
 * another. So when the first of their Look Aheads has sent a batch, the others
 * send one, too, if they will surely be read. Their outer rows are on their way
 * (early_start.c).
 *
 * The other children's turn has not come. What reading their outer rows raises is
 * kept until then (read_ahead.c); if it cannot be kept, nothing is read.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "executor/executor_types.h"
#include "executor/facts/node_names.h"
#include "executor/facts/outer_side.h"
#include "executor/facts/plan_facts.h"
#include "executor/join/join.h"
#include "executor/join/served_scan.h"
#include "executor/shuttle_executor.h"

/* The Look Aheads of an Append's children, in their order. */
struct ShuttleSiblings
{
	bool		all_begin;		/* each child is asked for a row before any is
								 * returned */
	int			nlooks;
	LookAheadState *looks[FLEXIBLE_ARRAY_MEMBER];
};

/* ---- which are siblings */

/* The Look Ahead that a child of an Append runs first; or NULL. */
static LookAheadState *
find_first_look(PlanState *node)
{
	LookAheadState *found = NULL;

	while (node != NULL)
	{
		if (shuttle_node_is_look_ahead(node))
			found = (LookAheadState *) node;
		switch (nodeTag(node))
		{
			case T_SubqueryScanState:
				node = ((SubqueryScanState *) node)->subplan;
				break;
			case T_CustomScanState:
			case T_NestLoopState:
			case T_AggState:
			case T_SortState:
			case T_IncrementalSortState:
			case T_MaterialState:
				node = outerPlanState(node);
				break;
			default:
				return found;
		}
	}
	return found;
}

static void
make_siblings(PlanState **children, int nchildren, bool all_begin)
{
	ShuttleSiblings *siblings = palloc0(offsetof(ShuttleSiblings, looks) +
										nchildren * sizeof(LookAheadState *));

	siblings->all_begin = all_begin;
	for (int i = 0; i < nchildren; i++)
	{
		LookAheadState *look = find_first_look(children[i]);

		if (look == NULL)
			continue;
		siblings->looks[siblings->nlooks++] = look;
		look->siblings = siblings;
	}
}

void
shuttle_look_ahead_siblings_link(PlanState *node)
{
	if (node->plan->parallel_aware)
		return;
	if (IsA(node, AppendState))
	{
		AppendState *append = (AppendState *) node;

		if (append->as_nplans > 1 && !shuttle_prunes_at_run_time(append->as_prune_state))
			make_siblings(append->appendplans, append->as_nplans, false);
	}
	else if (IsA(node, MergeAppendState))
	{
		MergeAppendState *append = (MergeAppendState *) node;

		if (append->ms_nplans > 1 && !shuttle_prunes_at_run_time(append->ms_prune_state))
			make_siblings(append->mergeplans, append->ms_nplans, true);
	}
}

/* ---- their first batches */

/* True if a Look Ahead is begun once, and then read to its end or, if all begin,
 * for a row at least. */
static bool
is_surely_read(const LookAheadState *look, bool all_begin)
{
	return look->once && (all_begin || isinf(look->min_rows));
}

/* True if requests are sent and not waited for, and lock nothing. */
static bool
asks_ahead(const LookAheadState *look)
{
	for (int i = 0; i < look->nscans; i++)
	{
		if (!look->scans[i]->transport->is_engine || look->scans[i]->locks)
			return false;
	}
	return look->nscans > 0 && look->batch_size > 1 && !look->locks_late;
}

static bool
may_begin(const LookAheadState *look)
{
	return look->linked && !look->ran_before && look->nbatches == 0 &&
		look->rows_pulled == 0 && !look->outer_done && look->stopped == NULL &&
		asks_ahead(look);
}

/* Sends a Look Ahead's first batch before its turn. What its outer side may raise
 * is found out again when its turn has come. */
static void
begin_out_of_turn(LookAheadState *look)
{
	look->errors = shuttle_outer_errors(outerPlanState(look), look->once);
	look->judged = look->out_of_turn = true;
	if (look->errors != SHUTTLE_RAISES_ANYTHING)
	{
		if (look->shares)
			shuttle_look_ahead_take_shared(look);
		(void) shuttle_look_ahead_batch_fill(look);
	}
	look->errors = SHUTTLE_RAISES_NOTHING;
	look->judged = look->out_of_turn = false;
}

void
shuttle_look_ahead_siblings_begin(LookAheadState *look)
{
	ShuttleSiblings *siblings = look->siblings;
	Size		held = 0;
	int			nahead = 0;

	if (siblings == NULL || !is_surely_read(look, siblings->all_begin))
		return;
	for (int i = 0; i < siblings->nlooks; i++)
	{
		LookAheadState *other = siblings->looks[i];

		if (other == look || !is_surely_read(other, siblings->all_begin) || !may_begin(other))
			continue;
		if (++nahead >= look->most_in_flight || held >= (Size) work_mem * 1024)
			break;
		begin_out_of_turn(other);
		held += MemoryContextMemAllocated(other->cxt, true);
	}
	if (look->shares)
		shuttle_look_ahead_take_shared(look);
}
