/*-------------------------------------------------------------------------
 * on_conflict.c
 *	  INSERT ... ON CONFLICT into foreign tables: the clause as SQL for a
 *	  node.
 *
 * The planner takes the clause out of the statement (on_conflict.c) and
 * appends it to ModifyTable's private lists: core uses one list for each table
 * and ignores one more. Its text is made for each table (conflict_clause.c); the
 * rest of the statement, which is different from request to request, here.
 *
 * Rule: no row is updated twice by one statement. A node ensures this within a
 * request. If a statement needs several, the first that writes a row returns
 * xmin and cmin of its rows, the mark; in later ones the condition of the
 * UPDATE raises an error for rows with that xmin, and that cmin or a later one
 * (trap 34c).
 * Memory: everything lives in the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/heap.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/parameters.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/shuttle_executor.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/conflict_clause.h"
#include "executor/write/conflict/conflict_rows.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/write_buffer.h"
#include "storage/shuttle_sql_tokens.h"
#include "storage/shuttle_storage.h"

/* Starts of error texts of the node; users see other messages. The first: a row
 * was written before; the other: EXCLUDED there is not the row that was sent. */
#define SECOND_TIME "pg_shuttle: this row was written before by "
#define OTHER_ROW "pg_shuttle: the row to be inserted was changed before "

/* Fields of the list appended to a ModifyTable's private lists. */
enum ConflictPrivate
{
	CONFLICT_CLAUSE,
	CONFLICT_TARGET,
	CONFLICT_PARAMETERS,
	CONFLICT_ROW_VALUES,
	CONFLICT_LENGTH
};

struct ShuttleOnConflict
{
	bool		updates;		/* the node updates rows */
	bool		is_here;		/* rows are updated here (upsert.c) */
	List	   *arbiters;		/* ints: attributes, if is_here */
	ShuttleConflictClause clause;
	ShuttleParameters *parameters;
	ExprContext *econtext;
	const char *const *values;	/* NULL: not evaluated */
	ShuttleConflictRows *rows;	/* values of each row; NULL: there are none */

	bool		returns_xmax;	/* RETURNING uses xmax */
	bool		wants_mark;		/* the next request returns the mark */
	char	   *mark[SHUTTLE_MARK_COLUMNS]; /* xmin and cmin; NULL: unknown */
};

/* ---- the clause in a plan */

void
shuttle_on_conflict_attach(ModifyTable *plan, OnConflictExpr *clause, Index target,
						   List *parameters, List *row_values)
{
	List	   *private = list_make4(clause, makeInteger(target), parameters, row_values);

	Assert(list_length(private) == CONFLICT_LENGTH);
	Assert(list_length(plan->fdwPrivLists) == list_length(plan->resultRelations));
	plan->fdwPrivLists = lappend(plan->fdwPrivLists, private);
}

/* NULL: the plan has none. */
static List *
find_private(const ModifyTable *plan)
{
	if (plan == NULL ||
		list_length(plan->fdwPrivLists) <= list_length(plan->resultRelations))
		return NIL;
	return (List *) list_nth(plan->fdwPrivLists, list_length(plan->resultRelations));
}

bool
shuttle_on_conflict_is_in(const ModifyTable *plan)
{
	return find_private(plan) != NIL;
}

/* The plan is made anew when triggers are, but for those of a partition that is
 * attached meanwhile. */
static void
check_triggers(const ShuttleWrite *write)
{
	const TriggerDesc *triggers = write->target->ri_TrigDesc;

	if (triggers != NULL &&
		(triggers->trig_insert_after_row || triggers->trig_update_before_row ||
		 triggers->trig_update_after_row))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("partition \"%s\" got triggers while ON CONFLICT was executed",
						RelationGetRelationName(write->rel)),
				 errhint("Repeat the transaction.")));
}

/* Gives the table of postgres_fdw's INSERT the alias that the clause uses. */
static void
name_table(ShuttleWrite *write)
{
	ShuttlePostgresFdwModify *postgres_fdw = &write->postgres_fdw;
	StringInfoData head;
	int			length;

	initStringInfo(&head);
	appendStringInfoString(&head, "INSERT INTO ");
	shuttle_remote_append_table(&head, write->rel);
	length = head.len;
	if (strncmp(postgres_fdw->sql, head.data, length) != 0)
		elog(ERROR, "unexpected INSERT of postgres_fdw");
	appendStringInfoString(&head, " AS " SHUTTLE_TABLE_ALIAS);
	postgres_fdw->values_end += head.len - length;
	appendStringInfoString(&head, postgres_fdw->sql + length);
	postgres_fdw->sql = head.data;
}

/* Has the INSERT return the arbiters and the mark, for upsert.c. */
static void
return_keys(ShuttleWrite *write, ShuttleOnConflict *conflict, const OnConflictExpr *clause,
			Relation root)
{
	ShuttlePostgresFdwModify *postgres_fdw = &write->postgres_fdw;
	ListCell   *cell;

	conflict->wants_mark = true;
	foreach(cell, clause->arbiterElems)
	{
		const InferenceElem *element = lfirst_node(InferenceElem, cell);
		AttrNumber	number = castNode(Var, element->expr)->varattno;

		if (root != write->rel)
			number = get_attnum(RelationGetRelid(write->rel),
								get_attname(RelationGetRelid(root), number, false));
		conflict->arbiters = lappend_int(conflict->arbiters, number);
	}
	postgres_fdw->has_returning = true;
	postgres_fdw->attributes = list_concat_unique_int(list_copy(postgres_fdw->attributes),
													  conflict->arbiters);
}

ShuttleOnConflict *
shuttle_on_conflict_create(ShuttleWrite *write)
{
	List	   *private = find_private(castNode(ModifyTable, write->node->ps.plan));
	ShuttleOnConflict *conflict;
	const OnConflictExpr *clause;
	Relation	root = write->node->rootResultRelInfo->ri_RelationDesc;

	if (private == NIL)
		return NULL;
	clause = list_nth_node(OnConflictExpr, private, CONFLICT_CLAUSE);
	conflict = palloc0_object(ShuttleOnConflict);
	conflict->updates = clause->action == ONCONFLICT_UPDATE;
	conflict->is_here = shuttle_upsert_is_in((ModifyTable *) write->node->ps.plan);
	conflict->returns_xmax = conflict->updates &&
		shuttle_expression_has(((ModifyTable *) write->node->ps.plan)->returningLists, SHUTTLE_HAS_XMAX);
	if (conflict->updates)
		check_triggers(write);
	conflict->parameters =
		shuttle_parameters_create((List *) list_nth(private, CONFLICT_PARAMETERS),
								  (PlanState *) write->node);
	conflict->econtext = CreateExprContext(write->estate);
	conflict->rows = shuttle_conflict_rows_create(write, clause->exclRelIndex,
												  (List *) list_nth(private, CONFLICT_ROW_VALUES));
	shuttle_conflict_clause_print(&conflict->clause, clause,
								  intVal(list_nth(private, CONFLICT_TARGET)), root, write->rel);
	if (shuttle_settings.debug_prove_texts)
		shuttle_conflict_prove(&conflict->clause, clause,
							   intVal(list_nth(private, CONFLICT_TARGET)), root, write->rel,
							   list_concat_copy(list_nth(private, CONFLICT_PARAMETERS),
												list_nth(private, CONFLICT_ROW_VALUES)));
	name_table(write);
	if (conflict->is_here)
		return_keys(write, conflict, clause, root);
	return conflict;
}

bool
shuttle_on_conflict_updates(const ShuttleWrite *write)
{
	return write->conflict != NULL && write->conflict->updates;
}

/* ---- requests */

/* A literal that means the same with any standard_conforming_strings. */
static void
append_literal(StringInfo sql, const char *literal, const char *end)
{
	if (memchr(literal, '\\', end - literal) != NULL)
		appendStringInfoChar(sql, 'E');
	for (; literal < end; literal++)
	{
		if (*literal == '\\')
			appendStringInfoChar(sql, '\\');
		appendStringInfoChar(sql, *literal);
	}
}

/* Appends our SQL with its parameter numbers increased by nparams. */
static void
append_shifted(StringInfo sql, const char *shipped, int nparams)
{
	while (*shipped != '\0')
	{
		const char *end = shuttle_sql_skip_token(shipped);

		if (*shipped == '$' && shipped[1] >= '0' && shipped[1] <= '9')
			appendStringInfo(sql, "$%d", atoi(shipped + 1) + nparams);
		else if (*shipped == '\'')
			append_literal(sql, shipped, end);
		else
			appendBinaryStringInfo(sql, shipped, end - shipped);
		shipped = end;
	}
}

static bool
has_mark(const ShuttleOnConflict *conflict)
{
	return conflict->mark[0] != NULL;
}

void
shuttle_on_conflict_expect(ShuttleWrite *write, bool more)
{
	if (write->conflict != NULL && !write->conflict->is_here)
		write->conflict->wants_mark = more && shuttle_on_conflict_needs_mark(write);
}

bool
shuttle_on_conflict_wants_mark(const ShuttleWrite *write)
{
	return write->conflict != NULL && write->conflict->wants_mark;
}

bool
shuttle_on_conflict_needs_mark(const ShuttleWrite *write)
{
	return shuttle_on_conflict_updates(write) && !has_mark(write->conflict);
}

void
shuttle_on_conflict_take_mark(ShuttleWrite *write, const ShuttleRow *row, int column)
{
	MemoryContext old_cxt;

	if (has_mark(write->conflict))
		return;
	old_cxt = MemoryContextSwitchTo(write->estate->es_query_cxt);
	for (int i = 0; i < lengthof(write->conflict->mark); i++)
		write->conflict->mark[i] = pstrdup(shuttle_row_text(row, column + i));
	MemoryContextSwitchTo(old_cxt);
}

bool
shuttle_on_conflict_mark(const ShuttleWrite *write, uint64 *command)
{
	if (write->conflict == NULL || !has_mark(write->conflict))
		return false;
	*command = strtoul(write->conflict->mark[1], NULL, 10);
	return true;
}

List *
shuttle_on_conflict_arbiters(const ShuttleWrite *write)
{
	return write->conflict->arbiters;
}

const char *
shuttle_on_conflict_arbiter_condition(const ShuttleWrite *write)
{
	return write->conflict->clause.arbiter_condition;
}

int
shuttle_on_conflict_front_columns(const ShuttleWrite *write, bool marked)
{
	if (write->conflict == NULL)
		return 0;
	return (marked ? lengthof(write->conflict->mark) : 0) + write->conflict->returns_xmax;
}

bool
shuttle_on_conflict_returns_xmax(const ShuttleWrite *write)
{
	return write->conflict != NULL && write->conflict->returns_xmax;
}

void
shuttle_on_conflict_show_xmax(const ShuttleWrite *write, HeapTuple tuple,
							  const ShuttleRow *row, bool marked)
{
	int			column = shuttle_on_conflict_front_columns(write, marked) - 1;

	if (!shuttle_on_conflict_returns_xmax(write))
		return;
	HeapTupleHeaderSetXmax(tuple->t_data,
						   (TransactionId) strtoul(shuttle_row_text(row, column), NULL, 10));
}

/* Appends a WHEN of a CASE that raises an error of this text. */
#define RAISE(text) \
	" THEN pg_catalog.concat('" text "', " SHUTTLE_TABLE_ALIAS ".xmin)::pg_catalog.bool"

/*
 * The condition of an UPDATE. It raises an error for rows of earlier requests,
 * and if EXCLUDED is not what values were computed of here.
 */
static void
append_condition(StringInfo sql, const ShuttleOnConflict *conflict, int nparams)
{
	int			mark = nparams + shuttle_parameters_count(conflict->parameters) +
		shuttle_conflict_rows_count(conflict->rows);
	bool		guards = conflict->updates && (has_mark(conflict) || conflict->rows != NULL);

	if (guards)
		appendStringInfoString(sql, " WHERE CASE");
	else if (conflict->clause.condition != NULL)
		appendStringInfoString(sql, " WHERE ");
	if (guards && has_mark(conflict))
		appendStringInfo(sql, " WHEN " SHUTTLE_TABLE_ALIAS ".xmin = $%d::pg_catalog.xid"
						 " AND " SHUTTLE_TABLE_ALIAS ".cmin::pg_catalog.text::pg_catalog.int8 >= $%d::pg_catalog.int8"
						 RAISE(SECOND_TIME), mark + 1, mark + 2);
	if (guards && conflict->rows != NULL)
		appendStringInfo(sql, " WHEN NOT %s" RAISE(OTHER_ROW),
						 shuttle_conflict_rows_same(conflict->rows));
	if (guards)
		appendStringInfoString(sql, " ELSE ");
	if (conflict->clause.condition != NULL)
		append_shifted(sql, conflict->clause.condition, nparams);
	else if (guards)
		appendStringInfoString(sql, "true");
	if (guards)
		appendStringInfoString(sql, " END");
}

/* RETURNING with our leading columns. */
static void
append_returning(StringInfo sql, const ShuttleWrite *write)
{
	const char *separator = " RETURNING ";
	ListCell   *cell;

	if (write->conflict->wants_mark)
	{
		appendStringInfoString(sql, " RETURNING xmin, cmin");
		separator = ", ";
	}
	if (write->conflict->returns_xmax)
	{
		appendStringInfo(sql, "%sxmax", separator);
		separator = ", ";
	}
	foreach(cell, write->postgres_fdw.attributes)
	{
		appendStringInfoString(sql, separator);
		if (lfirst_int(cell) < 0)
			appendStringInfoString(sql,
								   NameStr(SystemAttributeDefinition(lfirst_int(cell))->attname));
		else
			shuttle_remote_append_column(sql, write->rel, lfirst_int(cell));
		separator = ", ";
	}
}

void
shuttle_on_conflict_append_tail(StringInfo sql, const ShuttleWrite *write, int nparams)
{
	const ShuttleOnConflict *conflict = write->conflict;

	append_shifted(sql, conflict->clause.sql, nparams);
	append_condition(sql, conflict, nparams);
	if (!conflict->wants_mark && !conflict->returns_xmax)
		appendStringInfoString(sql, write->postgres_fdw.sql + write->postgres_fdw.values_end);
	else
		append_returning(sql, write);
}

bool
shuttle_on_conflict_computes_rows(const ShuttleWrite *write)
{
	return write->conflict != NULL && write->conflict->rows != NULL;
}

void
shuttle_on_conflict_compute_row(const ShuttleWrite *write, TupleTableSlot *slot)
{
	shuttle_conflict_rows_compute(write->conflict->rows, slot);
}

int
shuttle_on_conflict_count_values(const ShuttleWrite *write)
{
	const ShuttleOnConflict *conflict = write->conflict;

	if (conflict == NULL)
		return 0;
	return shuttle_parameters_count(conflict->parameters) +
		shuttle_conflict_rows_count(conflict->rows) +
		(conflict->updates && has_mark(conflict) ? lengthof(conflict->mark) : 0);
}

void
shuttle_on_conflict_evaluate(const ShuttleWrite *write, const char *const **values)
{
	ShuttleOnConflict *conflict = write->conflict;

	if (conflict != NULL && conflict->is_here)
		shuttle_write_source_evaluate_stable(write->node);
	if (conflict == NULL || shuttle_parameters_count(conflict->parameters) == 0)
		return;
	if (*values == NULL)
		*values = shuttle_parameters_evaluate(conflict->parameters, conflict->econtext);
	conflict->values = *values;
}

void
shuttle_on_conflict_add_values(const ShuttleWrite *write, const char **values)
{
	ShuttleOnConflict *conflict = write->conflict;
	int			n;

	if (conflict == NULL)
		return;
	n = shuttle_parameters_count(conflict->parameters);
	if (conflict->values == NULL && n > 0)
		conflict->values = shuttle_parameters_evaluate(conflict->parameters,
													   conflict->econtext);
	for (int i = 0; i < n; i++)
		*values++ = conflict->values[i];
	n = shuttle_conflict_rows_count(conflict->rows);
	if (n > 0)
		memcpy(values, shuttle_conflict_rows_values(conflict->rows), sizeof(char *) * n);
	if (conflict->updates && has_mark(conflict))
		memcpy(values + n, conflict->mark, sizeof(conflict->mark));
}

/* True if the request has the check, and the node's error is the check's. */
static bool
is_raised_by(const char *check, const ShuttleErrorNames *names, const char *sql)
{
	return strstr(sql, check) != NULL && strstr(names->message, check) != NULL;
}

void
shuttle_on_conflict_translate_error(ShuttleErrorNames *names, const char *sql)
{
	if (names->sqlstate != ERRCODE_INVALID_TEXT_REPRESENTATION || names->message == NULL ||
		sql == NULL)
		return;
	if (is_raised_by(SECOND_TIME, names, sql))
	{
		names->sqlstate = ERRCODE_CARDINALITY_VIOLATION;
		names->message = _("ON CONFLICT DO UPDATE command cannot affect row a second time");
		names->hint = _("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.");
	}
	else if (is_raised_by(OTHER_ROW, names, sql))
	{
		names->sqlstate = ERRCODE_FEATURE_NOT_SUPPORTED;
		names->message = _("ON CONFLICT of an INSERT cannot be left to storage nodes");
		names->detail = psprintf(_("Values were computed here of a row that storage node \"%s\" has changed before it updated the stored one, by a trigger or because a column's type is another one there."),
								 names->node);
		names->hint = _("Compute values in the INSERT's source and refer to them by EXCLUDED, or insert and update in two statements.");
	}
}

/* ---- partitions */

void
shuttle_on_conflict_check_partitions(const ModifyTableState *node)
{
	ListCell   *cell;

	if (find_private(castNode(ModifyTable, node->ps.plan)) == NIL)
		return;
	foreach(cell, node->ps.state->es_tuple_routing_result_relations)
	{
		ResultRelInfo *target = lfirst(cell);

		if (target->ri_RootResultRelInfo == node->rootResultRelInfo &&
			(target->ri_FdwRoutine == NULL ||
			 !shuttle_server_routine_is_ours(target->ri_FdwRoutine)))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("partition \"%s\" was attached while ON CONFLICT was executed",
							RelationGetRelationName(target->ri_RelationDesc)),
					 errhint("Repeat the transaction.")));
	}
}

/* ---- EXPLAIN */

const char *
shuttle_on_conflict_shown_sql(const ShuttleWrite *write)
{
	ShuttleWrite shown = *write;
	ShuttleOnConflict first;
	StringInfoData sql;

	if (write->conflict == NULL)
		return write->postgres_fdw.sql;

	/* as if it were the only request */
	first = *write->conflict;
	first.wants_mark = first.is_here;
	memset(first.mark, 0, sizeof(first.mark));
	shown.conflict = &first;
	initStringInfo(&sql);
	appendBinaryStringInfo(&sql, write->postgres_fdw.sql, write->postgres_fdw.values_end);
	shuttle_on_conflict_append_tail(&sql, &shown, write->nattributes);
	return sql.data;
}

List *
shuttle_on_conflict_explained(ModifyTableState *node, ResultRelInfo *target,
							  List *fdw_private)
{
	ShuttleWrite write = {
		.node = node,
		.target = target,
		.rel = target->ri_RelationDesc,
		.estate = node->ps.state,
		.operation = CMD_INSERT,
	};
	StringInfoData sql;

	if (find_private(castNode(ModifyTable, node->ps.plan)) == NIL ||
		!shuttle_postgres_fdw_read_modify(fdw_private, &write.postgres_fdw))
		return fdw_private;
	write.conflict = shuttle_on_conflict_create(&write);
	initStringInfo(&sql);
	appendBinaryStringInfo(&sql, write.postgres_fdw.sql, write.postgres_fdw.values_end);
	shuttle_on_conflict_append_tail(&sql, &write, list_length(write.postgres_fdw.target_attributes));
	return shuttle_postgres_fdw_replace_modify_sql(fdw_private, sql.data);
}
