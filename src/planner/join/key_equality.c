/*-------------------------------------------------------------------------
 * key_equality.c
 *	  Conditions that make a key column of a partitioned relation equal to
 *	  something.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"

#include "planner/join/node_joins.h"

static Node *
strip_relabel(Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

bool
shuttle_is_key(const RelOptInfo *rel, int column, Node *node)
{
	return list_member(rel->partexprs[column], strip_relabel(node));
}

bool
shuttle_is_key_equality(const OpExpr *op, char partitioning, Oid opfamily, Oid collation)
{
	int			strategy = partitioning == PARTITION_STRATEGY_HASH ?
		HTEqualStrategyNumber : BTEqualStrategyNumber;

	return IsA(op, OpExpr) && list_length(op->args) == 2 && op->inputcollid == collation &&
		get_op_opfamily_strategy(op->opno, opfamily) == strategy && op_strict(op->opno);
}

Node *
shuttle_key_value(const RelOptInfo *rel, int column, const RestrictInfo *condition)
{
	const OpExpr *op = (const OpExpr *) condition->clause;
	PartitionScheme scheme = rel->part_scheme;

	if (!shuttle_is_key_equality(op, scheme->strategy, scheme->partopfamily[column],
								 scheme->partcollation[column]))
		return NULL;
	if (shuttle_is_key(rel, column, linitial(op->args)))
		return lsecond(op->args);
	if (shuttle_is_key(rel, column, lsecond(op->args)))
		return linitial(op->args);
	return NULL;
}
