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

#include "base/shuttle_meanings.h"
#include "planner/facts/key_equality.h"

bool
shuttle_key_is_of_relation(const RelOptInfo *rel, int column, Node *node)
{
	return list_member(rel->partexprs[column], shuttle_meaning_without_relabels(node));
}

bool
shuttle_key_equality_is_of_family(const OpExpr *op, char partitioning, Oid opfamily, Oid collation)
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

	if (!shuttle_key_equality_is_of_family(op, scheme->strategy, scheme->partopfamily[column],
										   scheme->partcollation[column]))
		return NULL;
	if (shuttle_key_is_of_relation(rel, column, linitial(op->args)))
		return lsecond(op->args);
	if (shuttle_key_is_of_relation(rel, column, lsecond(op->args)))
		return linitial(op->args);
	return NULL;
}
