/*-------------------------------------------------------------------------
 * ddl_copy.c
 *	  Forms of COPY that core refuses for partitioned tables.
 *
 * COPY ... TO becomes the COPY of a query, as core's hint says. FREEZE only saves
 * work: rows of tablets are as visible without it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "commands/copy.h"
#include "nodes/makefuncs.h"
#include "utils/rel.h"

#include "tablets/ddl/ddl.h"
#include "tablets/shuttle_tablets.h"

static bool
freezes(const CopyStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->is_from ? statement->options : NIL)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, "freeze") == 0)
			return true;
	}
	return false;
}

static bool
is_distributed(const RangeVar *name)
{
	ShuttleTableKind kind;

	(void) shuttle_ddl_find(name, &kind);
	return kind == SHUTTLE_TABLE_DISTRIBUTED;
}

List *
shuttle_ddl_copied(const CopyStmt *statement)
{
	if (statement->is_from ? freezes(statement) : is_distributed(statement->relation))
		return list_make1(statement->relation);
	return NIL;
}

/* The columns that COPY writes: of those that the statement names, core refuses the same. */
static List *
column_names(Oid relid, List *named)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, CopyGetAttnums(desc, rel, named))
		names = lappend(names, makeString(pstrdup(NameStr(TupleDescAttr(desc, lfirst_int(cell) - 1)->attname))));
	table_close(rel, NoLock);
	return names;
}

static Node *
make_query(RangeVar *relation, const List *names)
{
	SelectStmt *select = makeNode(SelectStmt);
	ListCell   *cell;

	foreach(cell, names)
	{
		ColumnRef  *column = makeNode(ColumnRef);
		ResTarget  *target = makeNode(ResTarget);

		column->fields = list_make1(lfirst(cell));
		column->location = -1;
		target->val = (Node *) column;
		target->location = -1;
		select->targetList = lappend(select->targetList, target);
	}
	select->fromClause = list_make1(relation);
	return (Node *) select;
}

void
shuttle_ddl_copy(const ShuttleDdl *ddl)
{
	CopyStmt   *statement = copyObject(castNode(CopyStmt, ddl->pstmt->utilityStmt));
	ListCell   *cell;

	if (!statement->is_from)
	{
		statement->query = make_query(statement->relation, column_names(ddl->relid, statement->attlist));
		statement->relation = NULL;
		statement->attlist = NIL;
	}
	foreach(cell, statement->is_from ? statement->options : NIL)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, "freeze") == 0)
			statement->options = foreach_delete_current(statement->options, cell);
	}
	shuttle_ddl_run_here(ddl, (Node *) statement);
}
