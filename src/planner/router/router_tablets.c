/*-------------------------------------------------------------------------
 * router_tablets.c
 *	  The text of a statement with the names of tablets.
 *
 * If all tables have the same key, all rows are in their tablets of one number, and
 * the text names these: the node plans without partitions, and keeps its plans. The
 * number is known when the statement is executed, and tablets of one table may have been
 * named at different times. So the text is printed twice, for the tablets of two numbers,
 * and is kept in parts: where both texts have the name of their tablet, that of the
 * tablet goes which the statement is for.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "planner/router/router.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

typedef struct NamesContext
{
	int			place;			/* of the tablets among the partitions */
	bool		found;			/* all of them */
	List	   *relids;			/* the tables, each once, */
	List	   *names;			/* and their tablets' names as they are
								 * printed */
	bool		alone;			/* no alias is needed */
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

/* The tablet of a table; InvalidOid: it has other columns, or no tablets. */
static Oid
find_tablet(Oid relid, int place)
{
	Relation	rel = table_open(relid, NoLock);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	Oid			tablet = InvalidOid;

	if (parts->nparts > 0)
		tablet = parts->oids[Min(place, parts->nparts - 1)];	/* there may be one only */
	table_close(rel, NoLock);
	return OidIsValid(tablet) && has_same_columns(relid, tablet) ? tablet : InvalidOid;
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
		Oid			tablet;

		if (rte->rtekind != RTE_RELATION || shuttle_table_kind(rte->relid) != SHUTTLE_TABLE_DISTRIBUTED)
			continue;
		if (rte->alias == NULL && !context->alone)
			rte->alias = makeAlias(get_rel_name(rte->relid), NIL);
		tablet = find_tablet(rte->relid, context->place);
		if (!OidIsValid(tablet))
			context->found = false;
		else if (!list_member_oid(context->relids, rte->relid))
		{
			context->relids = lappend_oid(context->relids, rte->relid);
			context->names = lappend(context->names,
									 quote_qualified_identifier(get_namespace_name(get_rel_namespace(tablet)), get_rel_name(tablet)));
		}
		rte->relid = tablet;
	}
	return query_tree_walker((Query *) node, name_tablets, arg, 0);
}

static char *
text_for(Query *query, NamesContext *context, bool alone)
{
	Query	   *copy = copyObject(query);
	int			level = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);

	*context = (NamesContext)
	{
		.place = context->place,.found = true,.alone = alone
	};
	(void) name_tablets((Node *) copy, context);
	shuttle_row_transmission_end(level);
	return context->found ? shuttle_router_text(copy) : NULL;
}

/* Of the tables, that whose tablets both texts name here; InvalidOid: none. */
static Oid
table_named(const char *first, const NamesContext *firsts, const char *second, const NamesContext *seconds,
			int *length, int *other_length)
{
	for (int i = 0; i < list_length(firsts->names); i++)
	{
		*length = strlen(list_nth(firsts->names, i));
		*other_length = strlen(list_nth(seconds->names, i));
		if (strncmp(first, list_nth(firsts->names, i), *length) == 0 &&
			strncmp(second, list_nth(seconds->names, i), *other_length) == 0)
			return list_nth_oid(firsts->relids, i);
	}
	return InvalidOid;
}

static List *
find_parts(Query *query, bool alone)
{
	NamesContext firsts = {.place = 0};
	NamesContext seconds = {.place = 1};
	char	   *first = text_for(query, &firsts, alone);
	char	   *second = first == NULL ? NULL : text_for(query, &seconds, alone);
	char	   *start = first;
	List	   *parts = NIL;
	List	   *relids = NIL;

	if (second == NULL)
		return NIL;
	while (*first != '\0')
	{
		int			length;
		int			other_length;
		Oid			relid = table_named(first, &firsts, second, &seconds, &length, &other_length);

		if (OidIsValid(relid))
		{
			parts = lappend(parts, makeString(pnstrdup(start, first - start)));
			relids = lappend_oid(relids, relid);
			first = start = first + length;
			second += other_length;
		}
		else if (*first++ != *second++)
			return NIL;
	}
	return *second != '\0' ? NIL : list_make2(lappend(parts, makeString(pstrdup(start))), relids);
}

/* The name of a table alone may stand elsewhere in the text, too, as in FOR UPDATE OF. */
List *
shuttle_router_tablet_text(Query *query)
{
	List	   *parts = NIL;

	if (list_length(query->rtable) == 1 && !query->hasSubLinks)
		parts = find_parts(query, true);
	return parts != NIL ? parts : find_parts(query, false);
}
