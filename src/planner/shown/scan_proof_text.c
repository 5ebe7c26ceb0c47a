/*-------------------------------------------------------------------------
 * scan_proof_text.c
 *	  Reads the text of a scan of a node as the planner's expressions.
 *
 * postgres_fdw calls tables r and the number that they have in the planner's query. A
 * table that is alone in a SELECT has no such name: it is the scan's only one, or the
 * subquery s has its number. Tables and columns are called there as on the node. So
 * each table gets the name that it has here, and its columns the names that they have
 * there, as column aliases.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "executor/shuttle_remote_names.h"
#include "planner/shown/scan_proof.h"
#include "tablets/shuttle_proof.h"
#include "tablets/shuttle_tablets.h"

typedef struct Naming
{
	PlannerInfo *root;
	int			only;			/* the table that has no alias; 0: none */
} Naming;

/* ---- names */

/* The number in an alias of postgres_fdw; 0: it has none. */
static int
number_in(const Alias *alias, char prefix)
{
	int			number;

	return alias != NULL && alias->aliasname[0] == prefix &&
		sscanf(alias->aliasname + 1, "%d", &number) == 1 ? number : 0;
}

static int
number_of(const RangeVar *name, const Naming *naming)
{
	int			number = name->alias == NULL ? naming->only : number_in(name->alias, 'r');

	if (number <= 0 || number >= naming->root->simple_rel_array_size ||
		planner_rt_fetch(number, naming->root)->rtekind != RTE_RELATION)
		elog(ERROR, "table \"%s\" of a text is not known", name->relname);
	return number;
}

/* The names of a table's columns on its node; *is_double: two columns are the same there. */
static List *
remote_columns(Relation rel, bool *is_double)
{
	List	   *names = NIL;

	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
	{
		String	   *name;

		if (TupleDescAttr(RelationGetDescr(rel), i)->attisdropped)
			continue;
		name = makeString(shuttle_remote_column_name(rel, i + 1));
		*is_double |= list_member(names, name);
		names = lappend(names, name);
	}
	return names;
}

static bool
has_same_columns(const TupleDescData * one, const TupleDescData * other)
{
	if (one->natts != other->natts)
		return false;
	for (int i = 0; i < one->natts; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(unconstify(TupleDescData *, one), i);
		const FormData_pg_attribute *beside = TupleDescAttr(unconstify(TupleDescData *, other), i);

		if (column->attisdropped != beside->attisdropped ||
			strcmp(NameStr(column->attname), NameStr(beside->attname)) != 0)
			return false;
	}
	return true;
}

/* The table that stands for a foreign one: that of a tablet has its keys, on which other
 * columns of groups may depend. */
static Oid
table_for(Relation rel)
{
	Relation	table;
	Oid			found = RelationGetRelid(rel);

	if (shuttle_table_kind(found) != SHUTTLE_TABLE_TABLET)
		return found;
	table = table_open(get_partition_parent(found, false), AccessShareLock);
	if (has_same_columns(RelationGetDescr(rel), RelationGetDescr(table)))
		found = RelationGetRelid(table);
	table_close(table, NoLock);
	return found;
}

/* Returns true if the columns' names are not unique there. */
static bool
name_table(RangeVar *name, const Naming *naming)
{
	int			number = number_of(name, naming);
	Relation	rel = table_open(planner_rt_fetch(number, naming->root)->relid, NoLock);
	bool		is_double = false;
	char	   *schema;
	char	   *table;
	Oid			here;

	shuttle_remote_table_name(rel, &schema, &table);
	if (strncmp(name->schemaname, schema, NAMEDATALEN - 1) != 0 ||
		strncmp(name->relname, table, NAMEDATALEN - 1) != 0)
		elog(ERROR, "table %d of a text is \"%s.%s\", not \"%s.%s\"", number, name->schemaname,
			 name->relname, schema, table);
	name->alias = makeAlias(psprintf("r%d", number), remote_columns(rel, &is_double));
	here = table_for(rel);
	name->schemaname = get_namespace_name(get_rel_namespace(here));
	name->relname = get_rel_name(here);
	table_close(rel, NoLock);
	return is_double;
}

/* A table alone in a subquery has the subquery's number. */
static void
name_subquery(const RangeSubselect *subquery)
{
	const SelectStmt *select = (const SelectStmt *) subquery->subquery;
	RangeVar   *table = linitial(select->fromClause);

	if (IsA(table, RangeVar) && table->alias == NULL)
		table->alias = makeAlias(psprintf("r%d", number_in(subquery->alias, 's')), NIL);
}

/* Columns that are set have no alias. */
static void
name_set_columns(const UpdateStmt *update, const Naming *naming)
{
	Relation	rel = table_open(planner_rt_fetch(number_of(update->relation, naming), naming->root)->relid,
								 NoLock);
	ListCell   *lc;

	foreach(lc, update->targetList)
	{
		ResTarget  *set = lfirst_node(ResTarget, lc);

		for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
		{
			if (TupleDescAttr(RelationGetDescr(rel), i)->attisdropped ||
				strcmp(set->name, shuttle_remote_column_name(rel, i + 1)) != 0)
				continue;
			set->name = pstrdup(NameStr(TupleDescAttr(RelationGetDescr(rel), i)->attname));
			break;
		}
	}
	table_close(rel, NoLock);
}

static bool
name_for_here(Node *node, void *naming)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeSubselect))
		name_subquery((RangeSubselect *) node);
	if (IsA(node, UpdateStmt))
		name_set_columns((UpdateStmt *) node, naming);
	if (IsA(node, RangeVar) && ((RangeVar *) node)->schemaname != NULL && name_table((RangeVar *) node, naming))
		return true;
	return raw_expression_tree_walker(node, name_for_here, naming);
}

Query *
shuttle_scan_proof_read(PlannerInfo *root, Relids tables, const char *text)
{
	Naming		naming = {.root = root};

	if (!bms_get_singleton_member(tables, &naming.only))
		naming.only = 0;
	return shuttle_proof_read(text, name_for_here, &naming);
}

/* ---- columns */

int
shuttle_scan_proof_number(const Query *query, int rtindex)
{
	return number_in(rt_fetch(rtindex, query->rtable)->alias, 'r');
}

Node *
shuttle_scan_proof_columns(Node *node, void *arg)
{
	const ShuttleTextLevel *level = arg;
	const Var  *var = (const Var *) node;
	const RangeTblEntry *entry;
	const List *columns;
	Var		   *column;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, shuttle_scan_proof_columns, arg);
	for (int i = 0; i < var->varlevelsup; i++)
		level = level->up;
	entry = rt_fetch(var->varno, level->query->rtable);
	if (entry->rtekind == RTE_SUBQUERY)
	{
		ShuttleTextLevel below = {.up = level,.query = entry->subquery};

		return shuttle_scan_proof_columns((Node *) list_nth_node(TargetEntry, entry->subquery->targetList,
																 var->varattno - 1)->expr, &below);
	}
	columns = entry->rtekind == RTE_JOIN ? entry->joinaliasvars : shuttle_group_columns(entry);
	if (columns != NIL)
		return shuttle_scan_proof_columns(list_nth(columns, var->varattno - 1), (void *) level);
	column = copyObject((Var *) var);
	column->varno = shuttle_scan_proof_number(level->query, var->varno);
	column->varlevelsup = 0;
	return (Node *) column;
}

/* ---- conditions and joins */

static void say_query(const Query *query, const ShuttleTextLevel *up, ShuttleScanMeaning *meaning);

static bool
add_tables(Node *node, void *tables)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, add_tables, tables);
	foreach(lc, ((Query *) node)->rtable)
	{
		if (lfirst_node(RangeTblEntry, lc)->rtekind == RTE_RELATION)
			*(Relids *) tables = bms_add_member(*(Relids *) tables,
												number_in(lfirst_node(RangeTblEntry, lc)->alias, 'r'));
	}
	return query_tree_walker((Query *) node, add_tables, tables, 0);
}

/* The tables below a node of a join tree. */
static Relids
tables_below(Node *node, const Query *query)
{
	Relids		below = shuttle_tables_below(node);
	Relids		tables = NULL;
	int			rtindex = -1;

	while ((rtindex = bms_next_member(below, rtindex)) >= 0)
	{
		const RangeTblEntry *entry = rt_fetch(rtindex, query->rtable);

		if (entry->rtekind == RTE_SUBQUERY)
			(void) add_tables((Node *) entry->subquery, &tables);
		else
			tables = bms_add_member(tables, shuttle_scan_proof_number(query, rtindex));
	}
	return tables;
}

static void
say_conditions(Node *condition, const ShuttleTextLevel *level, ShuttleScanMeaning *meaning)
{
	const SubLink *exists = (const SubLink *) condition;
	Relids		tables = NULL;
	ListCell   *lc;

	if (condition == NULL)
		return;
	if (IsA(condition, BoolExpr) && ((BoolExpr *) condition)->boolop == AND_EXPR)
	{
		foreach(lc, ((BoolExpr *) condition)->args)
			say_conditions(lfirst(lc), level, meaning);
	}
	else if (IsA(condition, SubLink) && exists->subLinkType == EXISTS_SUBLINK)
	{
		(void) add_tables(exists->subselect, &tables);
		shuttle_scan_proof_add_join(meaning, JOIN_SEMI, NULL, tables);
		say_query((Query *) exists->subselect, level, meaning);
	}
	else
		meaning->conditions = lappend(meaning->conditions,
									  shuttle_scan_proof_columns(condition, (void *) level));
}

static void
say_tree(Node *node, const ShuttleTextLevel *level, ShuttleScanMeaning *meaning)
{
	const JoinExpr *join = (const JoinExpr *) node;
	ListCell   *lc;

	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			say_tree(lfirst(lc), level, meaning);
		say_conditions(((FromExpr *) node)->quals, level, meaning);
	}
	if (!IsA(node, JoinExpr))
		return;
	say_tree(join->larg, level, meaning);
	say_tree(join->rarg, level, meaning);
	say_conditions(join->quals, level, meaning);
	if (join->jointype != JOIN_INNER)
		shuttle_scan_proof_add_join(meaning, join->jointype, tables_below(join->larg, level->query),
									tables_below(join->rarg, level->query));
}

static void
say_query(const Query *query, const ShuttleTextLevel *up, ShuttleScanMeaning *meaning)
{
	ShuttleTextLevel level = {.up = up,.query = query};
	ListCell   *lc;

	say_tree((Node *) query->jointree, &level, meaning);
	say_conditions(query->havingQual, &level, meaning);
	foreach(lc, query->rtable)
	{
		if (lfirst_node(RangeTblEntry, lc)->rtekind == RTE_SUBQUERY)
			say_query(lfirst_node(RangeTblEntry, lc)->subquery, &level, meaning);
	}
}

void
shuttle_scan_proof_say(const Query *query, ShuttleScanMeaning *meaning)
{
	say_query(query, NULL, meaning);
}
