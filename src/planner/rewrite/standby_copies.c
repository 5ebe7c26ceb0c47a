/*-------------------------------------------------------------------------
 * standby_copies.c
 *	  On a standby: reference tables are read from their copies on nodes.
 *
 * A standby's own rows may be older than those of the nodes. The row of a tablet would
 * then not meet the row here that it refers to, though both were written in one
 * transaction; nor would a later statement find that row. So, before anything is planned,
 * a reference table becomes a subquery of its copies' foreign table
 * (tablets/reference/copy_tables.c), whose columns may have other numbers. An entry
 * that no FROM has stays for locks and permissions.
 *
 * Copies have no policies and other system columns, and samples of them are others. A
 * statement that needs these reads the table here, as old as it is, unless it reads tablets,
 * too.
 *
 * Memory: the query's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_relation.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat_planner.h"
#include "planner/hooks.h"
#include "planner/rewrite/rewrite.h"
#include "tablets/shuttle_tablets.h"

/* A column of the table from its copies; core sees that of a dropped one nowhere. */
static TargetEntry *
column_of_copies(const FormData_pg_attribute *column, Oid copies)
{
	Expr	   *value;

	if (column->attisdropped)
		value = (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
	else
		value = (Expr *) makeVar(1, get_attnum(copies, NameStr(column->attname)), column->atttypid,
								 column->atttypmod, column->attcollation, 0);
	return makeTargetEntry(value, column->attnum, pstrdup(NameStr(column->attname)), false);
}

static List *
column_names(Relation rel)
{
	List	   *names = NIL;

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
		names = lappend(names, makeString(pstrdup(NameStr(TupleDescAttr(RelationGetDescr(rel), i)->attname))));
	return names;
}

/* SELECT columns FROM copies, with the rights of whom the table is read for. */
static Query *
make_subquery(const Query *query, RangeTblEntry *rte, Oid relid, Oid copies)
{
	Query	   *subquery = makeNode(Query);
	RangeTblEntry *entry = copyObject(rte);
	RTEPermissionInfo *permission;
	RangeTblRef *ref = makeNode(RangeTblRef);
	Relation	table = table_open(relid, NoLock);
	Relation	copy = table_open(copies, NoLock);

	for (int i = 0; i < RelationGetNumberOfAttributes(table); i++)
		subquery->targetList = lappend(subquery->targetList,
									   column_of_copies(TupleDescAttr(RelationGetDescr(table), i), copies));
	permission = COPY_PERMISSION(subquery, entry, query);
	permission->requiredPerms = 0;
	permission->relid = copies;
	entry->relid = copies;
	entry->relkind = RELKIND_FOREIGN_TABLE;
	entry->inh = false;
	entry->alias = NULL;
	entry->eref = makeAlias(RelationGetRelationName(copy), column_names(copy));
	ref->rtindex = 1;
	subquery->commandType = CMD_SELECT;
	subquery->canSetTag = true;
	subquery->rtable = list_make1(entry);
	subquery->jointree = makeFromExpr(list_make1(ref), NULL);
	table_close(copy, NoLock);
	table_close(table, NoLock);
	return subquery;
}

static void
read_copies_of(Query *query, RangeTblEntry *rte, Oid copies)
{
	RangeTblEntry *checked = copyObject(rte);

	query->rtable = lappend(query->rtable, checked);
	rte->subquery = make_subquery(query, checked, rte->relid, copies);
	shuttle_forget_permissions(rte);
	rte->rtekind = RTE_SUBQUERY;
	rte->relid = InvalidOid;
	rte->relkind = 0;
	rte->rellockmode = NoLock;
	rte->inh = false;
}

/* Why the table's copies cannot be read for an entry; NULL: they can. */
static const char *
find_hindrance(const Query *query, RangeTblEntry *rte, Oid copies)
{
	int			column = bms_next_member(shuttle_entry_columns(query, rte), -1);

	if (!OidIsValid(copies))
		return "Its copies on storage nodes are not known.";
	if (rte->securityQuals != NIL)
		return "Its copies on storage nodes have no policies.";
	if (rte->tablesample != NULL)
		return "Its copies on storage nodes have other samples.";
	if (column >= 0 && column + FirstLowInvalidHeapAttributeNumber < 0)
		return "Its copies on storage nodes have other system columns.";
	return NULL;
}

static void
read_copies_if_possible(Query *query, RangeTblEntry *rte, bool beside_tablets)
{
	Oid			copies = shuttle_copy_table_find(rte->relid);
	const char *hindrance = find_hindrance(query, rte, copies);

	if (hindrance == NULL)
		read_copies_of(query, rte, copies);
	else if (beside_tablets)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read reference table \"%s\" beside distributed tables on a standby",
						get_rel_name(rte->relid)),
				 errdetail_internal("%s", hindrance),
				 errhint("Run the statement on the primary server.")));
}

static bool
read_copies(Node *node, void *arg)
{
	const bool *beside_tablets = arg;
	Query	   *query = (Query *) node;
	int			nentries;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, read_copies, arg);
	nentries = list_length(query->rtable);	/* more are added */
	for (int i = 0; i < nentries; i++)
	{
		RangeTblEntry *rte = list_nth_node(RangeTblEntry, query->rtable, i);

		if (rte->rtekind == RTE_RELATION && i + 1 != query->resultRelation &&
			shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_REFERENCE)
			read_copies_if_possible(query, rte, *beside_tablets);
	}
	return query_tree_walker(query, read_copies, arg, 0);
}

void
shuttle_standby_read_copies(Query *query, bool beside_tablets)
{
	(void) read_copies((Node *) query, &beside_tablets);
}

/* ---- functions */

/* As preprocess_function_rtes() does it. */
static bool
inline_functions(Node *node, void *arg)
{
	PlannerInfo *root = arg;
	ListCell   *cell;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, inline_functions, arg);
	foreach(cell, ((Query *) node)->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		Query	   *body;

		if (rte->rtekind != RTE_FUNCTION)
			continue;
		rte->functions = (List *) eval_const_expressions(root, (Node *) rte->functions);
		body = inline_function_in_from(root, rte);
		if (body == NULL)
			continue;
		rte->rtekind = RTE_SUBQUERY;
		rte->subquery = body;
		rte->security_barrier = false;
		rte->funcordinality = false;
	}
	return query_tree_walker((Query *) node, inline_functions, arg, 0);
}

void
shuttle_standby_inline_functions(Query *query, PlannerGlobal *dependencies)
{
	PlannerInfo *root = makeNode(PlannerInfo);

	root->parse = query;
	root->glob = dependencies;
	(void) inline_functions((Node *) query, root);
}
