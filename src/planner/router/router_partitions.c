/*-------------------------------------------------------------------------
 * router_partitions.c
 *	  Statements on a partitioned table that need one of its partitions.
 *
 * Nodes do not know the partitioned table, but its partitions, which are distributed tables. If
 * constants of a statement leave one partition of each partitioned table, the statement
 * is routed as if it named that partition. It is looked for among the bounds, so that no
 * other partition is opened. Parameters are constants in a custom plan.
 *
 * The plan checks the rights on the partitioned table, which is what the user has named, and locks
 * the partition, too.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat_planner.h"
#include "planner/router/router.h"
#include "tablets/shuttle_tablets.h"

/* Constants that a partition key's column is compared with. */
typedef struct ColumnLimits
{
	const Const *equal;
	const Const *from;			/* rows are above it or equal */
	const Const *to;			/* rows are below it */
	bool		to_is_in;		/* or equal */
} ColumnLimits;

typedef struct SwapContext
{
	PlannerInfo *root;			/* has the values of parameters */
	List	   *swaps;			/* of OIDs: partitioned table, partition, ... */
	bool		failed;
} SwapContext;

/* ---- what a statement says of a column */

/* Clauses that all rows of the query's own level meet, constants folded. */
static List *
clauses_of(PlannerInfo *root, Node *item)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	if (IsA(item, FromExpr))
	{
		foreach(cell, ((FromExpr *) item)->fromlist)
			clauses = list_concat(clauses, clauses_of(root, lfirst(cell)));
		clauses = list_concat(clauses, make_ands_implicit((Expr *)
														  eval_const_expressions(root, copyObject(((FromExpr *) item)->quals))));
	}
	else if (IsA(item, JoinExpr) && ((JoinExpr *) item)->jointype == JOIN_INNER)
	{
		JoinExpr   *join = (JoinExpr *) item;

		clauses = list_concat(clauses_of(root, join->larg), clauses_of(root, join->rarg));
		clauses = list_concat(clauses, make_ands_implicit((Expr *)
														  eval_const_expressions(root, copyObject(join->quals))));
	}
	return clauses;
}

static bool
is_column(const Node *node, int rtindex, AttrNumber column)
{
	const Var  *var;

	if (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	var = (const Var *) node;
	return IsA(node, Var) && var->varno == rtindex && var->varlevelsup == 0 && var->varattno == column;
}

/* A clause that compares the column with a constant, as the partition key does. Returns the
 * strategy, from the column's side; 0: another clause. */
static int
comparison_of(const Node *clause, int rtindex, PartitionKey key, int i, const Const **value)
{
	const OpExpr *comparison = (const OpExpr *) clause;
	Oid			operator;
	bool		is_left;
	Node	   *other;
	Oid			left;
	Oid			right;
	int			strategy;

	if (!IsA(clause, OpExpr) || list_length(comparison->args) != 2 ||
		(OidIsValid(key->partcollation[i]) && comparison->inputcollid != key->partcollation[i]))
		return 0;
	is_left = is_column(linitial(comparison->args), rtindex, key->partattrs[i]);
	if (!is_left && !is_column(lsecond(comparison->args), rtindex, key->partattrs[i]))
		return 0;
	other = is_left ? lsecond(comparison->args) : linitial(comparison->args);
	operator = is_left ? comparison->opno : get_commutator(comparison->opno);
	if (!IsA(other, Const) || ((Const *) other)->constisnull || !OidIsValid(operator) ||
		!op_in_opfamily(operator, key->partopfamily[i]))
		return 0;
	get_op_opfamily_properties(operator, key->partopfamily[i], false, &strategy, &left, &right);
	if (left != right || right != key->partopcintype[i])
		return 0;
	*value = (const Const *) other;
	return strategy;
}

/* Of several limits of one kind the first counts: the others leave no more rows. */
static ColumnLimits
limits_of(const List *clauses, int rtindex, PartitionKey key, int i)
{
	ColumnLimits limits = {0};
	bool		is_hash = key->strategy == PARTITION_STRATEGY_HASH;
	const ListCell *cell;

	foreach(cell, clauses)
	{
		const Const *value = NULL;
		int			strategy = comparison_of(lfirst(cell), rtindex, key, i, &value);

		if (strategy == 0)
			continue;
		if (strategy == (is_hash ? HTEqualStrategyNumber : BTEqualStrategyNumber))
			limits.equal = value;
		else if (is_hash)
			continue;
		else if (strategy == BTGreaterEqualStrategyNumber || strategy == BTGreaterStrategyNumber)
			limits.from = value;
		else if (strategy == BTLessEqualStrategyNumber || strategy == BTLessStrategyNumber)
		{
			limits.to = value;
			limits.to_is_in = strategy == BTLessEqualStrategyNumber;
		}
	}
	return limits;
}

/* ---- which partition */

/* The place among the bounds of the rows of a range that lie at or, if is_end, below a value. */
static int
place_in_range(PartitionKey key, PartitionBoundInfo bounds, const Const *value, bool is_end)
{
	Datum		datum = value->constvalue;
	bool		is_equal;
	int			offset = partition_range_datum_bsearch(key->partsupfunc, key->partcollation, bounds, 1, &datum, &is_equal);

	return is_end && is_equal && offset >= 0 ? offset : offset + 1;
}

static int
part_in_range(PartitionKey key, PartitionBoundInfo bounds, const ColumnLimits *limits)
{
	int			from;
	int			to;

	if (limits->equal != NULL)
		return bounds->indexes[place_in_range(key, bounds, limits->equal, false)];
	if (limits->from == NULL || limits->to == NULL)
		return -1;
	from = place_in_range(key, bounds, limits->from, false);
	to = place_in_range(key, bounds, limits->to, !limits->to_is_in);
	return from == to ? bounds->indexes[from] : -1;
}

static int
part_in_list(PartitionKey key, PartitionBoundInfo bounds, const ColumnLimits *limits)
{
	bool		is_equal;
	int			offset;

	if (limits->equal == NULL)
		return -1;
	offset = partition_list_bsearch(key->partsupfunc, key->partcollation, bounds, limits->equal->constvalue, &is_equal);
	return offset >= 0 && is_equal ? bounds->indexes[offset] : -1;
}

static int
part_by_hash(PartitionKey key, PartitionBoundInfo bounds, const List *clauses, int rtindex)
{
	Datum		values[PARTITION_MAX_KEYS];
	bool		nulls[PARTITION_MAX_KEYS] = {0};

	for (int i = 0; i < key->partnatts; i++)
	{
		ColumnLimits limits = limits_of(clauses, rtindex, key, i);

		if (limits.equal == NULL)
			return -1;
		values[i] = limits.equal->constvalue;
	}
	return bounds->indexes[compute_partition_hash_value(key->partnatts, key->partsupfunc, key->partcollation, values, nulls) %
						   bounds->nindexes];
}

/* The only partition with rows that meet the clauses; InvalidOid: it is not known. Rows in the default
 * partition are not looked for by values. */
static Oid
find_part(Relation rel, const List *clauses, int rtindex)
{
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc parts = RelationGetPartitionDesc(rel, true);
	int			part = -1;

	if (parts->nparts == 0)
		return InvalidOid;
	for (int i = 0; i < key->partnatts; i++)
	{
		if (key->partattrs[i] == 0)
			return InvalidOid;
	}
	if (key->strategy == PARTITION_STRATEGY_HASH)
		part = part_by_hash(key, parts->boundinfo, clauses, rtindex);
	else if (key->partnatts == 1)
	{
		ColumnLimits limits = limits_of(clauses, rtindex, key, 0);

		part = key->strategy == PARTITION_STRATEGY_LIST ? part_in_list(key, parts->boundinfo, &limits) :
			part_in_range(key, parts->boundinfo, &limits);
	}
	return part < 0 ? InvalidOid : parts->oids[part];
}

/* True if clauses and texts mean the same columns of both. */
static bool
has_same_columns(Relation rel, Relation other)
{
	TupleDesc	columns = RelationGetDescr(rel);
	TupleDesc	others = RelationGetDescr(other);

	if (columns->natts != others->natts)
		return false;
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(columns, i);
		Form_pg_attribute b = TupleDescAttr(others, i);

		if (a->attisdropped != b->attisdropped || strcmp(NameStr(a->attname), NameStr(b->attname)) != 0)
			return false;
	}
	return true;
}

/* The distributed table below a partitioned one that has all rows which meet the clauses, locked as
 * the partitioned one is; InvalidOid: there are several, or it is not known. */
static Oid
find_only(Oid relid, const List *clauses, const RangeTblEntry *rte, int rtindex)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			part = find_part(rel, clauses, rtindex);

	if (OidIsValid(part))
	{
		Relation	found = table_open(part, rte->rellockmode);

		if (!has_same_columns(rel, found))
			part = InvalidOid;
		table_close(found, NoLock);
	}
	table_close(rel, NoLock);
	if (!OidIsValid(part) || shuttle_table_kind(part) == SHUTTLE_TABLE_DISTRIBUTED)
		return part;
	return shuttle_table_kind(part) == SHUTTLE_TABLE_PARTITIONED ? find_only(part, clauses, rte, rtindex) : InvalidOid;
}

/* ---- statements */

static bool
is_partitioned(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE &&
		shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_PARTITIONED;
}

/* Whether an entry was one of the partition or of the partitioned table cannot be told later. */
static bool
names_partition(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE &&
		shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED && get_rel_relispartition(rte->relid);
}

/* A target's triggers fire for the table that was named. Inserted rows are routed by core. */
static bool
is_left_alone(const Query *query, const RangeTblEntry *rte, int rtindex)
{
	bool		is_target = rtindex == query->resultRelation;
	Relation	rel;
	bool		has_triggers;

	if (!is_target)
		return !rte->inh;
	rel = table_open(rte->relid, NoLock);
	has_triggers = rel->trigdesc != NULL;
	table_close(rel, NoLock);
	return has_triggers || !rte->inh || query->commandType == CMD_INSERT || query->commandType == CMD_MERGE;
}

static void
name_partition(Query *query, RangeTblEntry *rte, Oid partition)
{
	if (rte->alias == NULL)
		rte->alias = makeAlias(get_rel_name(rte->relid), NIL);
	shuttle_entry_set_table(query, rte, partition);
}

/* The plan's entries are told from each other by the partition: it must stand for one table only, or
 * the rights on another would be checked. */
static bool
has_other_name(const List *swaps, Oid table, Oid partition)
{
	for (int i = 0; i < list_length(swaps); i += 2)
	{
		if (list_nth_oid(swaps, i + 1) == partition && list_nth_oid(swaps, i) != table)
			return true;
	}
	return false;
}

static bool
name_partitions(Node *node, void *arg)
{
	SwapContext *context = arg;
	List	   *clauses = NIL;
	Query	   *query;
	ListCell   *cell;

	if (node == NULL || context->failed)
		return context->failed;
	if (!IsA(node, Query))
		return expression_tree_walker(node, name_partitions, arg);
	query = (Query *) node;
	foreach(cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		int			rtindex = foreach_current_index(cell) + 1;
		Oid			partition;

		context->failed |= names_partition(rte);
		if (!is_partitioned(rte))
			continue;
		if (clauses == NIL)
			clauses = clauses_of(context->root, (Node *) query->jointree);
		partition = is_left_alone(query, rte, rtindex) ? InvalidOid : find_only(rte->relid, clauses, rte, rtindex);
		if (!OidIsValid(partition))
		{
			context->failed = true;
			return true;
		}
		if (has_other_name(context->swaps, rte->relid, partition))
		{
			context->failed = true;
			return true;
		}
		context->swaps = lappend_oid(lappend_oid(context->swaps, rte->relid), partition);
		name_partition(query, rte, partition);
	}
	return query_tree_walker(query, name_partitions, arg, 0);
}

static bool
has_partitioned(Node *node, void *arg)
{
	ListCell   *cell;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, has_partitioned, arg);
	foreach(cell, ((Query *) node)->rtable)
	{
		if (is_partitioned(lfirst_node(RangeTblEntry, cell)))
			return true;
	}
	return shuttle_walk_queries_below((Query *) node, has_partitioned, arg);
}

Query *
shuttle_router_name_partitions(Query *query, ShuttlePlanCall call, List **swaps)
{
	SwapContext context = {.root = makeNode(PlannerInfo)};
	Query	   *copy;

	*swaps = NIL;
	if (!has_partitioned((Node *) query, NULL))
		return query;
	context.root->parse = query;
	context.root->glob = makeNode(PlannerGlobal);
	context.root->glob->boundParams = call.params;
	copy = copyObject(query);
	(void) name_partitions((Node *) copy, &context);
	*swaps = context.swaps;
	return context.failed ? NULL : copy;
}

void
shuttle_router_name_partitioned(PlannedStmt *statement, const List *swaps)
{
	int			nentries = list_length(statement->rtable);

	for (int i = 0; i < nentries; i++)
	{
		RangeTblEntry *rte = list_nth_node(RangeTblEntry, statement->rtable, i);

		for (int j = 0; j < list_length(swaps); j += 2)
		{
			RangeTblEntry *partition;

			if (rte->rtekind != RTE_RELATION || rte->relid != list_nth_oid(swaps, j + 1))
				continue;
			partition = makeNode(RangeTblEntry);
			partition->rtekind = RTE_RELATION;
			partition->relid = rte->relid;
			partition->relkind = rte->relkind;
			partition->rellockmode = rte->rellockmode;
			partition->eref = rte->eref;
			partition->inh = true;
			statement->rtable = lappend(statement->rtable, partition);
			shuttle_plan_entry_set_table(statement, rte, list_nth_oid(swaps, j));
			statement->relationOids = lappend_oid(statement->relationOids, rte->relid);
			break;
		}
	}
	shuttle_plan_lock_all(statement);
}
