/*-------------------------------------------------------------------------
 * conflict_rows.c
 *	  Values of ON CONFLICT DO UPDATE that are computed here for each row.
 *
 * A node's DO UPDATE can refer to EXCLUDED and to parameters, but to nothing
 * else of the INSERT's source. So a row whose values are computed here is a
 * request of its own, and its values are parameters (planner/write/
 * conflict_values.c says which values these are).
 *
 * Rule: EXCLUDED on the node is the row that values were computed of. Columns
 * that are left to the node's defaults are refused. All others are compared on
 * the node, bit by bit, before a row is updated: a trigger there may have
 * changed them, or their type may be another one.
 * Memory: the struct lives in the query's context, the texts in its own
 * expression context until the next row.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "executor/facts/parameters.h"
#include "executor/fdw/fdw.h"
#include "executor/write/conflict/conflict_rows.h"
#include "executor/write/write_buffer.h"

struct ShuttleConflictRows
{
	ShuttleParameters *parameters;
	ExprContext *econtext;
	const char *const *values;	/* of the row computed last */
	const char *same;			/* SQL that compares EXCLUDED */
};

/* The columns of a table that expressions of EXCLUDED use. */
typedef struct ExcludedColumns
{
	Relation	root;			/* the statement's table */
	Relation	table;			/* the table written to */
	Index		excluded;
	Bitmapset  *numbers;		/* attributes of table */
} ExcludedColumns;

/* Makes Vars of the statement's table those of the table written to, and notes
 * them. */
static Node *
map_columns(Node *node, void *context)
{
	ExcludedColumns *columns = context;
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, map_columns, context);
	var = copyObject((Var *) node);
	Assert(var->varno == columns->excluded && var->varattno > 0);
	if (columns->root != columns->table)
		var->varattno = get_attnum(RelationGetRelid(columns->table),
								   get_attname(RelationGetRelid(columns->root),
											   var->varattno, false));
	columns->numbers = bms_add_member(columns->numbers, var->varattno);
	return (Node *) var;
}

void
shuttle_conflict_rows_refuse_default(const ShuttleWrite *write, AttrNumber number)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("ON CONFLICT of an INSERT into \"%s\" cannot be left to storage nodes",
					RelationGetRelationName(write->rel)),
			 errdetail("A value that is computed here depends on column \"%s\" of EXCLUDED, which the node computes.",
					   get_attname(RelationGetRelid(write->rel), number, false)),
			 errhint("Give the column a value in the INSERT.")));
}

/* The number of the parameter that a row's value is sent as; 0: none. */
static int
find_parameter(const ShuttleWrite *write, AttrNumber number)
{
	int			parameter = 0;
	ListCell   *cell;

	foreach(cell, write->postgres_fdw.target_attributes)
	{
		bool		generated = TupleDescAttr(RelationGetDescr(write->rel),
											  lfirst_int(cell) - 1)->attgenerated != '\0';

		parameter += generated ? 0 : 1;
		if (lfirst_int(cell) == number)
			return generated ? 0 : parameter;
	}
	return 0;
}

/* A function of the server compares rows as they are stored, whatever the types
 * say is equal. */
static const char *
make_comparison(const ShuttleWrite *write, const Bitmapset *numbers)
{
	StringInfoData columns;
	StringInfoData parameters;
	int			number = -1;

	initStringInfo(&columns);
	initStringInfo(&parameters);
	while ((number = bms_next_member(numbers, number)) >= 0)
	{
		const char *separator = columns.len == 0 ? "" : ", ";
		int			parameter = find_parameter(write, number);

		if (parameter == 0)
			shuttle_conflict_rows_refuse_default(write, number);
		appendStringInfo(&columns, "%sexcluded.", separator);
		shuttle_remote_append_column(&columns, write->rel, number);
		appendStringInfo(&parameters, "%s$%d", separator, parameter);
	}
	return psprintf("pg_catalog.record_image_eq(ROW(%s), ROW(%s))", columns.data, parameters.data);
}

ShuttleConflictRows *
shuttle_conflict_rows_create(const ShuttleWrite *write, Index excluded, List *expressions)
{
	ExcludedColumns columns = {
		.root = write->node->rootResultRelInfo->ri_RelationDesc,
		.table = write->rel,
		.excluded = excluded,
	};
	ShuttleConflictRows *rows;

	if (expressions == NIL)
		return NULL;
	rows = palloc0_object(ShuttleConflictRows);
	expressions = (List *) map_columns((Node *) expressions, &columns);

	/* without a parent, which says what its own rows are like */
	rows->parameters = shuttle_parameters_create(expressions, NULL);
	rows->econtext = CreateExprContext(write->estate);
	rows->same = make_comparison(write, columns.numbers);
	return rows;
}

int
shuttle_conflict_rows_count(const ShuttleConflictRows *rows)
{
	return rows == NULL ? 0 : shuttle_parameters_count(rows->parameters);
}

void
shuttle_conflict_rows_compute(ShuttleConflictRows *rows, TupleTableSlot *slot)
{
	ResetExprContext(rows->econtext);
	rows->econtext->ecxt_scantuple = slot;
	rows->values = shuttle_parameters_evaluate(rows->parameters, rows->econtext);
}

const char *const *
shuttle_conflict_rows_values(const ShuttleConflictRows *rows)
{
	return rows->values;
}

const char *
shuttle_conflict_rows_same(const ShuttleConflictRows *rows)
{
	return rows->same;
}
