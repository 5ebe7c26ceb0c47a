/*-------------------------------------------------------------------------
 * router_proof.c
 *	  Proves the texts of a routed statement (tablets/proof).
 *
 * They are compared with the statement as core would plan it, before anything was
 * changed for nodes. Of the texts with tablets those of the first and the last one are
 * proved: the others only have other numbers in the same places.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/nodeFuncs.h"
#include "utils/rel.h"

#include "executor/shuttle_executor.h"
#include "executor/shuttle_routed_text.h"
#include "planner/router/router.h"
#include "planner/write/write.h"
#include "tablets/shuttle_proof.h"
#include "tablets/shuttle_tablets.h"

/* ON CONFLICT ON CONSTRAINT means the constraint's columns. */
static bool
name_arbiters(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->onConflict != NULL && OidIsValid(query->onConflict->constraint))
		{
			query->onConflict->arbiterElems = shuttle_on_conflict_key_columns(query->onConflict->constraint,
																			  query->resultRelation);
			query->onConflict->constraint = InvalidOid;
		}
		return query_tree_walker(query, name_arbiters, context, 0);
	}
	return expression_tree_walker(node, name_arbiters, context);
}

/* The numbers of a table's first and last tablet. */
static void
find_ends(Oid relid, int *first, int *last)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);

	*first = shuttle_tablet_number(parts, 0);
	*last = shuttle_tablet_number(parts, parts->nparts - 1);
	table_close(rel, NoLock);
}

void
shuttle_router_prove(const Query *query, const ShuttleRoutedPlan *plan)
{
	Query	   *meant = copyObject((Query *) query);
	int			first;
	int			last;

	(void) name_arbiters((Node *) meant, NULL);
	shuttle_proof_check_statement(plan->sql, meant, plan->values);
	if (plan->tablet_sql == NIL)
		return;
	find_ends(linitial_oid(plan->relids), &first, &last);
	shuttle_proof_check_statement(shuttle_routed_text(plan->tablet_sql, first), meant, plan->values);
	shuttle_proof_check_statement(shuttle_routed_text(plan->tablet_sql, last), meant, plan->values);
}
