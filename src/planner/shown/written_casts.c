/*-------------------------------------------------------------------------
 * written_casts.c
 *	  Makes implicit casts from and to bpchar explicit.
 *
 * postgres_fdw leaves implicit casts out, and the node adds them again when it
 * resolves the operator. But from v = x.c AND w = x.c core derives v::bpchar =
 * w::bpchar; shipped as v = w it no longer ignores trailing blanks. So the
 * casts are marked explicit before core builds equivalence classes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/plancat.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "planner/shown/shown.h"

bool
shuttle_written_cast_operator_is_meant(const OpExpr *operator, Oid type)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator->opno));
	Form_pg_operator form;
	char	   *schema;
	List	   *name;
	HeapTuple	found;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_operator) GETSTRUCT(tuple);
	schema = get_namespace_name(form->oprnamespace);
	name = list_make2(makeString(schema), makeString(pstrdup(NameStr(form->oprname))));
	ReleaseSysCache(tuple);
	found = oper(NULL, name, type, type, true, -1);
	result = HeapTupleIsValid(found) && oprid(found) == operator->opno;
	if (HeapTupleIsValid(found))
		ReleaseSysCache(found);
	return result;
}

/* The CoercionForm of a cast from or to bpchar, and its argument's type; NULL:
 * none. */
static CoercionForm *
find_form(Node *node, Oid *from)
{
	Node	   *argument;
	CoercionForm *form;

	if (IsA(node, RelabelType))
	{
		argument = (Node *) ((RelabelType *) node)->arg;
		form = &((RelabelType *) node)->relabelformat;
	}
	else if (IsA(node, FuncExpr) && list_length(((FuncExpr *) node)->args) == 1)
	{
		argument = linitial(((FuncExpr *) node)->args);
		form = &((FuncExpr *) node)->funcformat;
	}
	else
		return NULL;
	*from = exprType(argument);
	return *from == BPCHAROID || exprType(node) == BPCHAROID ? form : NULL;
}

static bool
write_casts_walker(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, OpExpr))
		return expression_tree_walker(node, write_casts_walker, context);
	foreach(lc, ((OpExpr *) node)->args)
	{
		Oid			from;
		CoercionForm *form = find_form(lfirst(lc), &from);

		if (form != NULL && *form == COERCE_IMPLICIT_CAST &&
			!shuttle_written_cast_operator_is_meant((OpExpr *) node, from))
			*form = COERCE_EXPLICIT_CAST;
	}
	return expression_tree_walker(node, write_casts_walker, context);
}

void
shuttle_written_casts_write(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	if (rel->reloptkind == RELOPT_BASEREL && rte->rtekind == RTE_RELATION &&
		(rte->inh || rte->relkind == RELKIND_FOREIGN_TABLE))
		(void) write_casts_walker((Node *) root->parse->jointree, NULL);
}
