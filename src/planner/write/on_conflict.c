/*-------------------------------------------------------------------------
 * on_conflict.c
 *	  INSERT ... ON CONFLICT with columns or a constraint, into foreign
 *	  tables and tables with foreign partitions.
 *
 * Core would look for a unique index on this server. So the clause is removed
 * before planning and attached to the finished plan (executor/write/conflict/on_conflict.c), to be
 * deparsed for the node. What it updates stays if it is computed here.
 *
 * What its expressions have the node compute, and what is computed here, is
 * decided by conflict_values.c. If triggers must see the updated rows, all is
 * computed here (conflict_here.c). What is not possible is refused with the
 * reason.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "foreign/fdwapi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/written_tables.h"
#include "planner/write/conflict_here.h"
#include "planner/write/conflict_values.h"
#include "planner/write/write.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* A clause that was removed from a statement. */
typedef struct TakenClause
{
	OnConflictExpr *clause;		/* NULL: none removed */
	Oid			relid;
	ShuttleConflictValues values;
	List	   *relids;			/* tables that were checked */
} TakenClause;

static const char *const compute_here = "Compute values in the INSERT's source and refer to them by EXCLUDED, or insert and update in two statements.";
static const char *const select_after = "Say DO NOTHING, and select the rows in another statement.";
static const char *const name_columns = "Name columns, or expressions of built-in functions that are immutable.";
static const char *const name_partition = "Insert into the partition that the row belongs to.";
static const char *const two_statements = "Name a key with the distribution column, or insert in a block with EXCEPTION WHEN unique_violation.";
static const char *const name_all_columns = "Name the columns of all partition keys.";

pg_noreturn static void
refuse(Oid relid, const char *reason, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("ON CONFLICT of an INSERT into \"%s\" cannot be left to storage nodes",
					get_rel_name(relid)),
			 errdetail("%s", reason),
			 errhint("%s", hint)));
}

/* Each unique index of a distributed table has its distribution column. */
pg_noreturn static void
refuse_missing_index(Oid relid, const char *key)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
			 errmsg("there is no unique or exclusion constraint matching the ON CONFLICT specification"),
			 errdetail("Unique constraints of distributed table \"%s\" include its distribution column \"%s\".",
					   get_rel_name(relid), key)));
}

/* So has each of a partitioned table that is distributed, and those of its partition keys. */
pg_noreturn static void
refuse_missing_column(Oid relid, const char *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
			 errmsg("there is no unique or exclusion constraint matching the ON CONFLICT specification"),
			 errdetail("Unique constraints of partitioned table \"%s\" include column \"%s\".",
					   get_rel_name(relid), column)));
}

/* ---- tables */

/* True if a table's rows go to our foreign tables; an error if only some do.
 * Lists the tables. */
static bool
is_ours(Oid relid, List **relids)
{
	ListCell   *cell;
	Oid			other = InvalidOid;
	bool		ours = false;

	*relids = find_all_inheritors(relid, AccessShareLock, NULL);
	foreach(cell, *relids)
	{
		Oid			member = lfirst_oid(cell);
		char		kind = get_rel_relkind(member);

		if (kind == RELKIND_PARTITIONED_TABLE)
			continue;
		if (kind == RELKIND_FOREIGN_TABLE &&
			shuttle_server_routine_is_ours(GetFdwRoutineByRelId(member)))
			ours = true;
		else
			other = member;
	}
	if (ours && OidIsValid(other))
		refuse(relid, psprintf("Partition \"%s\" is not a foreign table of the wrapper shuttle.",
							   get_rel_name(other)), name_partition);
	return ours;
}

static bool
has_name(const List *names, const char *name)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/* A node sees only its own partitions' rows. So, as in core, the clause's
 * columns (names) must include all partition keys. */
static void
check_partition_keys(Oid relid, const List *relids, const List *names)
{
	ListCell   *cell;

	foreach(cell, relids)
	{
		Relation	rel;
		PartitionKey key;

		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			continue;
		rel = table_open(lfirst_oid(cell), NoLock);
		key = RelationGetPartitionKey(rel);
		for (int i = 0; i < key->partnatts; i++)
		{
			AttrNumber	number = key->partattrs[i];

			if (number == 0)
				refuse(relid, "A partition key has expressions.", name_partition);
			if (has_name(names, get_attname(RelationGetRelid(rel), number, false)))
				continue;
			if (shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED && shuttle_global_indexes_exist(relid))
				refuse(relid, "A unique index without the distribution column cannot say which rows are in conflict.", two_statements);
			if (shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED)
				refuse_missing_index(relid, get_attname(RelationGetRelid(rel), number, false));
			if (shuttle_table_kind(relid) == SHUTTLE_TABLE_PARTITIONED)
				refuse_missing_column(relid, get_attname(RelationGetRelid(rel), number, false));
			refuse(relid, psprintf("Column \"%s\" of a partition key is not among those of ON CONFLICT.",
								   get_attname(RelationGetRelid(rel), number, false)),
				   name_all_columns);
		}
		table_close(rel, NoLock);
	}
}

/*
 * The columns that the clause may change, as attributes of table (relid: the
 * clause's target). A column set to EXCLUDED's own value does not change if it
 * is an arbiter.
 */
static Bitmapset *
changed_columns(Oid table, const OnConflictExpr *clause, Oid relid)
{
	Bitmapset  *columns = NULL;
	ListCell   *cell;

	foreach(cell, clause->onConflictSet)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const Var  *value = (const Var *) entry->expr;
		AttrNumber	number;

		if (entry->resjunk)
			continue;
		if (IsA(value, Var) && value->varno == clause->exclRelIndex &&
			value->varattno == entry->resno)
			continue;
		number = get_attnum(table, get_attname(relid, entry->resno, false));
		columns = bms_add_member(columns, number - FirstLowInvalidHeapAttributeNumber);
	}
	return columns;
}

/* The UPDATE on the node must not move a row out of its partition: the node may
 * not know of partitions. */
static void
check_moves(Oid relid, const OnConflictExpr *clause, const List *relids)
{
	List	   *tables = list_copy(relids);
	ListCell   *cell;

	if (get_rel_relispartition(relid))
		tables = list_concat(tables, get_partition_ancestors(relid));
	foreach(cell, tables)
	{
		Relation	rel;
		bool		in_expression;

		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			continue;
		rel = table_open(lfirst_oid(cell), AccessShareLock);
		if (has_partition_attrs(rel, changed_columns(lfirst_oid(cell), clause, relid),
								&in_expression))
			refuse(relid, psprintf("It sets a column of the partition key of \"%s\" to another value than EXCLUDED has there.",
								   RelationGetRelationName(rel)), compute_here);
		table_close(rel, NoLock);
	}
}

/* ---- arbiters */

/* by_operators: equal keys alone do not count. */
static bool
keeps_rows_out(Oid indexid, bool by_operators)
{
	Relation	index = index_open(indexid, AccessShareLock);
	bool		keeps_out = index->rd_index->indisexclusion || (index->rd_index->indisunique && !by_operators);

	index_close(index, AccessShareLock);
	return keeps_out;
}

bool
shuttle_on_conflict_is_exclusion(Oid constraint)
{
	Oid			index = get_constraint_index(constraint);

	return OidIsValid(index) && keeps_rows_out(index, true);
}

List *
shuttle_on_conflict_key_columns(Oid constraint, Index target)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	Bitmapset  *attributes = NULL;
	List	   *elements = NIL;
	Oid			found;
	int			member = -1;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	if (form->contype == CONSTRAINT_PRIMARY || form->contype == CONSTRAINT_UNIQUE)
		attributes = get_relation_constraint_attnos(form->conrelid, NameStr(form->conname),
													false, &found);
	while ((member = bms_next_member(attributes, member)) >= 0)
	{
		AttrNumber	number = member + FirstLowInvalidHeapAttributeNumber;
		InferenceElem *element = makeNode(InferenceElem);
		Oid			type;
		int32		typmod;
		Oid			collation;

		get_atttypetypmodcoll(form->conrelid, number, &type, &typmod, &collation);
		element->expr = (Node *) makeVar(target, number, type, typmod, collation, 0);
		elements = lappend(elements, element);
	}
	ReleaseSysCache(tuple);
	return elements;
}

/*
 * Converts the arbiters to columns and expressions; returns the columns' names.
 */
static List *
ship_arbiters(OnConflictExpr *clause, ShuttleConflictValues *context)
{
	List	   *names = NIL;
	ListCell   *cell;

	if (OidIsValid(clause->constraint))
	{
		clause->arbiterElems = shuttle_on_conflict_key_columns(clause->constraint, context->target);
		if (clause->arbiterElems == NIL)
			context->reason = psprintf("Constraint \"%s\" is neither a primary key nor unique.",
									   get_constraint_name(clause->constraint));
		clause->constraint = InvalidOid;
	}
	foreach(cell, clause->arbiterElems)
	{
		InferenceElem *element = lfirst_node(InferenceElem, cell);

		if (element->infercollid >= FirstGenbkiObjectId ||
			element->inferopclass >= FirstGenbkiObjectId)
			context->reason = "It names a collation or an operator class that is not built in.";
		element->expr = shuttle_conflict_values_ship(context, element->expr);
		if (context->reason == NULL && IsA(element->expr, Var))
			names = lappend(names, get_attname(RelationGetRelid(context->rel),
											   ((Var *) element->expr)->varattno, false));
	}
	clause->arbiterWhere = shuttle_conflict_values_ship(context, clause->arbiterWhere);
	if (context->reason == NULL && context->parameters != NIL)
		context->reason = "What is to be unique depends on parameters.";
	context->hint = name_columns;
	return names;
}

/* ---- statements */

/* True if this server must see the rows that are updated: to check them by a view or a policy, or
 * to return what they were. */
static bool
needs_updated_rows(const Query *query)
{
	return query->withCheckOptions != NIL || shuttle_expression_has_old_or_new(query->returningList);
}

/* Returns the clause with its update converted for nodes; if that is not possible, as it is, for this
 * server (*here). A reason is set if neither is possible. */
static OnConflictExpr *
ship_update(Query *query, OnConflictExpr *clause, ShuttleConflictValues *values, const List *relids, bool *here)
{
	OnConflictExpr *shipped = copyObject(clause);
	ShuttleConflictValues computed = *values;

	if (!*here)
		shuttle_conflict_values_ship_update(values, shipped);
	if (!*here && values->reason == NULL)
		return shipped;
	computed.writes_before |= shuttle_conflict_here_writes_before(query, relids);
	shuttle_conflict_here_evaluate_first(query, clause);
	shuttle_conflict_here_check(&computed, clause);
	*values = computed;
	*here = true;
	return clause;
}

/* Keeps DO UPDATE for this server, and leaves DO NOTHING to nodes. Returns what core is to plan. */
static OnConflictExpr *
keep_update(OnConflictExpr *clause, List *excluded_columns)
{
	OnConflictExpr *kept = shuttle_conflict_here_keep(clause, excluded_columns);

	clause->action = ONCONFLICT_NOTHING;
	clause->onConflictSet = NIL;
	clause->onConflictWhere = NULL;
	return kept;
}

/*
 * Columns do not name the index of a key WITHOUT OVERLAPS, and a tablet's constraint has another
 * name. If a row can be in conflict with no other one, DO NOTHING need not name it.
 */
static void
leave_constraint_out(Query *query, Oid relid)
{
	OnConflictExpr *clause = query->onConflict;
	Relation	rel;
	List	   *indexes;
	ListCell   *cell;

	if (clause->action == ONCONFLICT_UPDATE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("ON CONFLICT DO UPDATE not supported with exclusion constraints")));
	rel = table_open(relid, NoLock);
	indexes = list_delete_oid(RelationGetIndexList(rel), get_constraint_index(clause->constraint));
	table_close(rel, NoLock);
	foreach(cell, indexes)
	{
		if (keeps_rows_out(lfirst_oid(cell), false))
			refuse(relid, psprintf("Index \"%s\" is unique, too, and constraint \"%s\" cannot be named by its columns.",
								   get_rel_name(lfirst_oid(cell)), get_constraint_name(clause->constraint)),
				   "Say ON CONFLICT DO NOTHING.");
	}
	query->onConflict = copyObject(clause);
	query->onConflict->constraint = InvalidOid;
}

/* DO NOTHING without columns is about all unique indexes, and nodes do not have these. */
static void
refuse_any_index(Oid relid)
{
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE &&
		shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED && shuttle_global_indexes_exist(relid))
		refuse(relid, "A unique index without the distribution column cannot say which rows are in conflict.", two_statements);
}

/* Removes the clause from an INSERT into our tables. */
static void
take_clause(Query *query, TakenClause *taken)
{
	OnConflictExpr *clause = query->onConflict;
	ShuttleConflictValues *values = &taken->values;
	List	   *names;
	bool		here;

	if (query->commandType == CMD_INSERT && clause != NULL && clause->arbiterElems == NIL &&
		!OidIsValid(clause->constraint))
		refuse_any_index(rt_fetch(query->resultRelation, query->rtable)->relid);
	if (query->commandType != CMD_INSERT || clause == NULL ||
		(clause->arbiterElems == NIL && !OidIsValid(clause->constraint)))
		return;
	taken->relid = rt_fetch(query->resultRelation, query->rtable)->relid;
	if (!is_ours(taken->relid, &taken->relids))
		return;
	if (OidIsValid(clause->constraint) && shuttle_on_conflict_is_exclusion(clause->constraint))
	{
		leave_constraint_out(query, taken->relid);
		return;
	}

	/* DO SELECT is new in 19 */
	if (clause->action != ONCONFLICT_UPDATE && clause->action != ONCONFLICT_NOTHING)
		refuse(taken->relid, "It returns rows that it does not write.", select_after);
	clause = copyObject(clause);
	clause->exclRelTlist = NIL;
	here = clause->action == ONCONFLICT_UPDATE &&
		(shuttle_conflict_here_is_needed(taken->relid, taken->relids) || needs_updated_rows(query));
	values->target = query->resultRelation;
	values->excluded = clause->exclRelIndex;
	values->rel = table_open(taken->relid, NoLock);
	names = ship_arbiters(clause, values);
	if (values->reason == NULL)
	{
		values->hint = compute_here;
		if (clause->action == ONCONFLICT_UPDATE)
			clause = ship_update(query, clause, values, taken->relids, &here);
	}
	table_close(values->rel, NoLock);
	values->rel = NULL;
	if (values->reason != NULL)
		refuse(taken->relid, values->reason, values->hint);
	check_partition_keys(taken->relid, taken->relids, names);
	if (clause->action == ONCONFLICT_UPDATE)
		check_moves(taken->relid, clause, taken->relids);
	query->onConflict = here ? keep_update(clause, query->onConflict->exclRelTlist) : NULL;
	taken->clause = clause;
}

static void
give_clause(Plan *plan, PlannedStmt *statement, const TakenClause *taken)
{
	ModifyTable *modify = (ModifyTable *) plan;
	ListCell   *cell;

	if (taken->clause == NULL)
		return;
	if (!IsA(plan, ModifyTable) || modify->operation != CMD_INSERT ||
		rt_fetch(linitial_int(modify->resultRelations), statement->rtable)->relid !=
		taken->relid)
		elog(ERROR, "unexpected plan of an INSERT with ON CONFLICT");
	shuttle_on_conflict_attach(modify, taken->clause, taken->values.target,
							   taken->values.parameters, taken->values.row_values);
	statement->invalItems = list_concat(statement->invalItems, taken->values.invalid_by);

	/* new partitions at any level must invalidate the plan */
	foreach(cell, taken->relids)
		statement->relationOids = list_append_unique_oid(statement->relationOids,
														 lfirst_oid(cell));
}

/* Removes the clauses of all statements that write. */
static TakenClause *
take_clauses(List *queries)
{
	TakenClause *taken = palloc0_array(TakenClause, list_length(queries));
	ListCell   *cell;

	foreach(cell, queries)
	{
		TakenClause *own = &taken[foreach_current_index(cell)];

		own->values.writes_before = list_length(queries) > 1;
		take_clause(lfirst_node(Query, cell), own);
	}
	return taken;
}

static void
give_clauses(PlannedStmt *statement, const TakenClause *taken)
{
	ListCell   *cell;

	foreach(cell, shuttle_writing_plans(statement))
		give_clause(lfirst(cell), statement, &taken[foreach_current_index(cell)]);
}

static bool
has_clause(const List *queries)
{
	ListCell   *cell;

	foreach(cell, queries)
	{
		if (lfirst_node(Query, cell)->onConflict != NULL)
			return true;
	}
	return false;
}

PlannedStmt *
shuttle_on_conflict_plan(Query *query, ShuttlePlanCall call)
{
	List	   *queries;
	TakenClause *taken;
	PlannedStmt *statement;

	if (!shuttle_query_writes(query))
		return shuttle_plan_rest(query, call);
	queries = shuttle_writing_queries(query);
	taken = has_clause(queries) ? take_clauses(queries) : NULL;
	statement = shuttle_plan_rest(query, call);
	if (taken != NULL)
		give_clauses(statement, taken);
	return statement;
}
