/*-------------------------------------------------------------------------
 * partition_sample.c
 *	  TABLESAMPLE of partitioned and inherited tables with foreign children.
 *
 * Core rejects TABLESAMPLE of a foreign table but not of its parent, and
 * postgres_fdw ignores the clause: a sample of one percent is then the whole
 * table (trap 21). We insert the clause after the table's name in the SELECT
 * that postgres_fdw made.
 *
 * Only BERNOULLI and SYSTEM are supported. Their arguments are sent as
 * constants or parameters; foreign_sample.c has the executor's part.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "executor/shuttle_executor.h"
#include "planner/facts/partition_sample.h"

static const char *method_name(Oid handler);
static void append_argument(StringInfo sql, ForeignScan *scan, Node *argument,
							const char *type);
static void refuse(const RangeTblEntry *rte, const char *detail);

bool
shuttle_partition_is_sampled(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->relid > 0 &&
		planner_rt_fetch(rel->relid, root)->tablesample != NULL;
}

/* The clause for one table; its parameters are added to the scan's. */
static char *
sample_clause(const RangeTblEntry *rte, ForeignScan *scan)
{
	const TableSampleClause *sample = rte->tablesample;
	const char *method = method_name(sample->tsmhandler);
	StringInfoData sql;

	if (method == NULL)
		refuse(rte, "Storage nodes are asked for the methods BERNOULLI and SYSTEM only.");
	if (contain_var_clause((Node *) sample->args) ||
		contain_var_clause((Node *) sample->repeatable))
		refuse(rte, "Its arguments depend on rows of other tables.");

	initStringInfo(&sql);
	appendStringInfo(&sql, "TABLESAMPLE %s (", method);
	append_argument(&sql, scan, linitial(sample->args), "float4");
	if (sample->repeatable != NULL)
	{
		appendStringInfoString(&sql, ") REPEATABLE (");
		append_argument(&sql, scan, (Node *) sample->repeatable, "float8");
	}
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/* NULL: a method of an extension. */
static const char *
method_name(Oid handler)
{
	switch (handler)
	{
		case F_BERNOULLI:
			return "BERNOULLI";
		case F_SYSTEM:
			return "SYSTEM";
	}
	return NULL;
}

static void
append_argument(StringInfo sql, ForeignScan *scan, Node *argument,
				const char *type)
{
	if (IsA(argument, Const) && !((Const *) argument)->constisnull)
	{
		Const	   *value = (Const *) argument;
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(value->consttype, &output, &is_varlena);
		appendStringInfo(sql, "'%s'::pg_catalog.%s",
						 OidOutputFunctionCall(output, value->constvalue), type);
		return;
	}
	scan->fdw_exprs = lappend(scan->fdw_exprs, copyObject(argument));
	appendStringInfo(sql, "$%d::pg_catalog.%s", list_length(scan->fdw_exprs), type);
}

static void
refuse(const RangeTblEntry *rte, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot take this sample of foreign table \"%s\"",
					get_rel_name(rte->relid)),
			 errdetail_internal("%s", detail),
			 errhint("Use BERNOULLI or SYSTEM with constants, or a condition like random() < 0.01.")));
}

void
shuttle_partition_sample_add(PlannerInfo *root, const RelOptInfo *rel, ForeignScan *scan)
{
	bool		is_single = bms_membership(rel->relids) == BMS_SINGLETON;
	int			rtindex = -1;

	while ((rtindex = bms_next_member(rel->relids, rtindex)) >= 0)
	{
		RangeTblEntry *rte;

		/* relids of outer joins have no RelOptInfo */
		if (rtindex >= root->simple_rel_array_size ||
			root->simple_rel_array[rtindex] == NULL)
			continue;
		rte = planner_rt_fetch(rtindex, root);
		if (rte->tablesample != NULL &&
			!shuttle_foreign_sample_add(scan, is_single ? 0 : rtindex,
										sample_clause(rte, scan)))
			refuse(rte, "The request that reads it is of an unknown form.");
	}
}
