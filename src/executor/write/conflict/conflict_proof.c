/*-------------------------------------------------------------------------
 * conflict_proof.c
 *	  Proves the text of an ON CONFLICT clause (tablets/proof).
 *
 * It is read behind an INSERT of default values into the tablet's table, and compared
 * with the clause of the plan. Other foreign tables are left out: their columns may
 * have other names on the node.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/conflict_clause.h"
#include "tablets/shuttle_proof.h"
#include "tablets/shuttle_tablets.h"

/* The parameters that stand for expressions. */
static List *
make_parameters(const List *expressions)
{
	List	   *parameters = NIL;
	ListCell   *lc;

	foreach(lc, expressions)
	{
		Param	   *param = makeNode(Param);

		param->paramkind = PARAM_EXTERN;
		param->paramid = foreach_current_index(lc) + 1;
		param->paramtype = exprType(lfirst(lc));
		param->paramtypmod = exprTypmod(lfirst(lc));
		param->paramcollid = exprCollation(lfirst(lc));
		param->location = -1;
		parameters = lappend(parameters, param);
	}
	return parameters;
}

/* Leaves out the casts that tell the node parameters' types. */
static Node *
forget_told(Node *node, void *context)
{
	const RelabelType *told = (const RelabelType *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, RelabelType) && IsA(told->arg, Param) && ((Param *) told->arg)->paramtype == told->resulttype)
		return copyObject((Node *) told->arg);
	return expression_tree_mutator(node, forget_told, context);
}

void
shuttle_conflict_prove(const ShuttleConflictClause *printed, const OnConflictExpr *clause,
					   Index target, Relation root, Relation table, const List *parameters)
{
	Oid			tablet = RelationGetRelid(table);
	Node	   *meant = forget_told((Node *) clause, NULL);
	StringInfoData text;

	if (shuttle_table_kind(tablet) != SHUTTLE_TABLE_TABLET ||
		get_partition_parent(tablet, false) != RelationGetRelid(root))
		return;
	initStringInfo(&text);
	appendStringInfo(&text, "INSERT INTO %s AS " SHUTTLE_TABLE_ALIAS " DEFAULT VALUES%s",
					 shuttle_tablet_text(tablet), printed->sql);
	if (printed->condition != NULL)
		appendStringInfo(&text, " WHERE %s", printed->condition);
	shuttle_proof_check_conflict(text.data, (OnConflictExpr *) meant, target, make_parameters(parameters));
}
