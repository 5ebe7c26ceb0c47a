/*-------------------------------------------------------------------------
 * conflict_clause.c
 *	  The SQL text of an ON CONFLICT clause.
 *
 * Core's ruleutils.c deparses the expressions. It is given a range table in which
 * columns have their names on the node.
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "base/shuttle_compat.h"
#include "executor/fdw/fdw.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/conflict_clause.h"
#include "storage/shuttle_storage.h"

/* An RTE for a relation of the clause, which gives deparsing its column names:
 * root's attributes, with the names that table's columns have on the node. */
static RangeTblEntry *
make_named_relation(Relation root, Relation table, const char *alias)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	TupleDesc	desc = RelationGetDescr(root);
	List	   *names = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		AttrNumber	number = i + 1;

		if (attribute->attisdropped)
		{
			names = lappend(names, makeString(pstrdup("")));
			continue;
		}
		if (root != table)
			number = get_attnum(RelationGetRelid(table), NameStr(attribute->attname));
		names = lappend(names, makeString(shuttle_remote_column_name(table, number)));
	}
	entry->rtekind = RTE_VALUES;
	entry->alias = makeAlias(alias, NIL);
	entry->eref = makeAlias(alias, names);
	entry->inFromCl = true;
	return entry;
}

/* A context for core's deparse_expression(). */
static List *
make_print_context(Relation root, Relation table, Index target, Index excluded)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	List	   *names = NIL;

	for (Index i = 1; i <= Max(target, excluded); i++)
	{
		const char *alias = i == target ? SHUTTLE_TABLE_ALIAS :
			i == excluded ? "excluded" : "shuttle_unused";
		RangeTblEntry *entry;

		if (i == target || i == excluded)
			entry = make_named_relation(root, table, alias);
		else
		{
			entry = makeNode(RangeTblEntry);
			entry->rtekind = RTE_RESULT;
			entry->eref = makeAlias(alias, NIL);
		}
		statement->rtable = lappend(statement->rtable, entry);
		names = lappend(names, pstrdup(alias));
	}
	return deparse_context_for_plan_tree(statement, names);
}

static void
append_arbiter(StringInfo sql, const InferenceElem *element, List *context)
{
	const char *text = deparse_expression(element->expr, context, false, false);

	appendStringInfo(sql, IsA(element->expr, Var) ? "%s" : "(%s)", text);
	if (OidIsValid(element->infercollid))
		appendStringInfo(sql, " COLLATE %s", generate_collation_name(element->infercollid));
	if (OidIsValid(element->inferopclass))
		appendStringInfo(sql, " %s", generate_opclass_name(element->inferopclass));
}

/* ON CONFLICT (...) WHERE ... */
static void
append_target(StringInfo sql, const OnConflictExpr *clause, List *context)
{
	const char *separator = " (";
	ListCell   *cell;

	appendStringInfoString(sql, " ON CONFLICT");
	foreach(cell, clause->arbiterElems)
	{
		appendStringInfoString(sql, separator);
		append_arbiter(sql, lfirst_node(InferenceElem, cell), context);
		separator = ", ";
	}
	appendStringInfoChar(sql, ')');
	if (clause->arbiterWhere != NULL)
		appendStringInfo(sql, " WHERE %s",
						 deparse_expression(clause->arbiterWhere, context, false, false));
}

static void
append_set(StringInfo sql, const TargetEntry *entry, Relation root, Relation table,
		   List *context)
{
	AttrNumber	number = entry->resno;

	if (root != table)
		number = get_attnum(RelationGetRelid(table),
							get_attname(RelationGetRelid(root), number, false));
	shuttle_remote_append_column(sql, table, number);
	appendStringInfo(sql, " = %s",
					 deparse_expression((Node *) entry->expr, context, true, false));
}

/*
 * Core has removed all columns from SET: these are generated columns = DEFAULT.
 */
static void
append_generated(StringInfo sql, Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attisdropped || !attribute->attgenerated)
			continue;
		shuttle_remote_append_column(sql, table, i + 1);
		appendStringInfoString(sql, " = DEFAULT");
		return;
	}
	elog(ERROR, "ON CONFLICT DO UPDATE sets no column");
}

void
shuttle_conflict_clause_print(ShuttleConflictClause *printed, const OnConflictExpr *clause,
							  Index target, Relation root, Relation table)
{
	bool		updates = clause->action == ONCONFLICT_UPDATE;
	int			nestlevel = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);
	List	   *context = make_print_context(root, table, target, clause->exclRelIndex);
	StringInfoData sql;
	const char *separator = "";
	ListCell   *cell;

	initStringInfo(&sql);
	append_target(&sql, clause, context);
	if (clause->arbiterWhere != NULL)
		printed->arbiter_condition = deparse_expression(clause->arbiterWhere, context, true, false);
	appendStringInfoString(&sql, updates ? " DO UPDATE SET " : " DO NOTHING");
	foreach(cell, clause->onConflictSet)
	{
		appendStringInfoString(&sql, separator);
		append_set(&sql, lfirst_node(TargetEntry, cell), root, table, context);
		separator = ", ";
	}
	if (updates && clause->onConflictSet == NIL)
		append_generated(&sql, table);
	printed->sql = sql.data;
	if (clause->onConflictWhere != NULL)
		printed->condition = deparse_expression(clause->onConflictWhere, context, true, false);
	shuttle_row_transmission_end(nestlevel);
}
