/*-------------------------------------------------------------------------
 * router_tablets.c
 *	  The text of a statement with the names of tablets.
 *
 * If all tables have the same key, all rows are in their tablets of one number, and
 * the text names these: the node plans without partitions, and keeps its plans. The
 * number is known when the statement is executed. So the text is printed for the
 * tablets 0 and 1, and is kept in parts: the number goes wherever the two texts differ.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "planner/router/router.h"
#include "tablets/shuttle_tablets.h"

/* Longer names of tables are shortened in those of tablets, by the digits of the number. */
#define MOST_TABLET_BASE (NAMEDATALEN - 1 - 8)

typedef struct NamesContext
{
	int			number;			/* of the tablets */
	bool		found;			/* all of them */
	bool		alone;			/* the statement has one table and no subquery */
} NamesContext;

/* True if columns have the same names and numbers. */
static bool
has_same_columns(Oid relid, Oid tablet)
{
	Relation	rel = table_open(relid, NoLock);
	Relation	part = table_open(tablet, AccessShareLock);
	TupleDesc	columns = RelationGetDescr(rel);
	TupleDesc	others = RelationGetDescr(part);
	bool		same = columns->natts == others->natts;

	for (int i = 0; same && i < columns->natts; i++)
		same = TupleDescAttr(columns, i)->attisdropped == TupleDescAttr(others, i)->attisdropped &&
			strcmp(NameStr(TupleDescAttr(columns, i)->attname), NameStr(TupleDescAttr(others, i)->attname)) == 0;
	table_close(part, AccessShareLock);
	table_close(rel, NoLock);
	return same;
}

/* The tablet of a table; InvalidOid: there is none, or it has another name or other columns. */
static Oid
find_tablet(Oid relid, int number)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	Oid			tablet = InvalidOid;

	for (int i = 0; i < parts->nparts && !OidIsValid(tablet); i++)
	{
		if (shuttle_tablet_number(parts, i) == number)
			tablet = parts->oids[i];
	}
	table_close(rel, NoLock);
	if (!OidIsValid(tablet) || strlen(get_rel_name(relid)) > MOST_TABLET_BASE ||
		strcmp(get_rel_name(tablet), shuttle_tablet_name(relid, number)) != 0 ||
		!has_same_columns(relid, tablet))
		return InvalidOid;
	return tablet;
}

/* Columns are still those of the table's name, which is no other table's alias. */
static bool
name_tablets(Node *node, void *arg)
{
	NamesContext *context = arg;
	ListCell   *cell;

	if (node == NULL || !context->found)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, name_tablets, arg);
	foreach(cell, ((Query *) node)->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind != RTE_RELATION || shuttle_table_kind(rte->relid) != SHUTTLE_TABLE_DISTRIBUTED)
			continue;
		if (rte->alias == NULL && !context->alone)
			rte->alias = makeAlias(get_rel_name(rte->relid), NIL);
		rte->relid = find_tablet(rte->relid, context->number);
		context->found &= OidIsValid(rte->relid);
	}
	return query_tree_walker((Query *) node, name_tablets, arg, 0);
}

static char *
text_for(Query *query, int number)
{
	NamesContext context = {
		.number = number,
		.found = true,
		.alone = list_length(query->rtable) == 1 && !query->hasSubLinks,
	};
	Query	   *copy = copyObject(query);

	(void) name_tablets((Node *) copy, &context);
	return context.found ? shuttle_route_text(copy) : NULL;
}

List *
shuttle_route_tablet_text(Query *query)
{
	char	   *first = text_for(query, 0);
	char	   *second = first == NULL ? NULL : text_for(query, 1);
	List	   *parts = NIL;
	char	   *start = first;

	/* first has '0', second '1' */
	if (second == NULL || strlen(first) != strlen(second))
		return NIL;
	for (int i = 0; first[i] != '\0'; i++)
	{
		if (first[i] == second[i])
			continue;
		first[i] = '\0';
		parts = lappend(parts, makeString(start));
		start = first + i + 1;
		if (second[i] != '1')
			return NIL;
	}
	return lappend(parts, makeString(start));
}
