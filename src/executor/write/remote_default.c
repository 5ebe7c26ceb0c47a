/*-------------------------------------------------------------------------
 * remote_default.c
 *	  Columns that an INSERT leaves to the node (shuttle_remote_default).
 *
 * postgres_fdw's INSERT sets all columns; those that the statement does not
 * name, to the foreign table's default or to NULL. Here the latter are removed
 * from it. The planner knows which: the rewriter has given each column with a
 * local default an entry in the target list, and has removed DEFAULT for
 * columns without one.
 *
 * Rule: a value that something local has looked at is sent. So no column is
 * left out if a BEFORE trigger here may have changed the row, nor a column of
 * the partition constraint.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write_table.h"

#define OPTION_NAME "shuttle_remote_default"

/* True if the column's option, or else the table's, says so. */
static bool
is_left_to_node(Relation rel, AttrNumber attribute)
{
	Oid			relid = RelationGetRelid(rel);
	bool		of_table = shuttle_remote_option_bool(GetForeignTable(relid)->options,
													  OPTION_NAME, false);

	return shuttle_remote_option_bool(GetForeignColumnOptions(relid, attribute),
									  OPTION_NAME, of_table);
}

/* The attributes of the partition constraint, offset as by pull_varattnos(). */
static Bitmapset *
find_partition_attributes(Relation rel)
{
	Bitmapset  *attributes = NULL;

	if (rel->rd_rel->relispartition)
		pull_varattnos((Node *) RelationGetPartitionQual(rel), 1, &attributes);
	return attributes;
}

/* The attributes that the INSERT is to set; *leaves: some are left out. */
static List *
choose_attributes(const ShuttlePostgresFdwModify *postgres_fdw, Relation rel,
				  const Bitmapset *named, bool *leaves)
{
	Bitmapset  *kept = find_partition_attributes(rel);
	List	   *chosen = NIL;
	ListCell   *lc;

	*leaves = false;
	foreach(lc, postgres_fdw->target_attributes)
	{
		AttrNumber	attribute = lfirst_int(lc);

		if (bms_is_member(attribute, named) ||
			bms_is_member(attribute - FirstLowInvalidHeapAttributeNumber, kept) ||
			TupleDescAttr(RelationGetDescr(rel), attribute - 1)->attgenerated ||
			!is_left_to_node(rel, attribute))
			chosen = lappend_int(chosen, attribute);
		else
			*leaves = true;
	}
	return chosen;
}

/* The INSERT of one row, up to the end of its VALUES. */
static void
append_insert(StringInfo sql, Relation rel, List *attributes)
{
	const char *separator = "(";
	int			parameter = 0;
	ListCell   *lc;

	appendStringInfoString(sql, "INSERT INTO ");
	shuttle_remote_append_table(sql, rel);
	if (attributes == NIL)
	{
		appendStringInfoString(sql, " DEFAULT VALUES");
		return;
	}
	foreach(lc, attributes)
	{
		appendStringInfoString(sql, separator);
		shuttle_remote_append_column(sql, rel, lfirst_int(lc));
		separator = ", ";
	}
	separator = ") VALUES (";
	foreach(lc, attributes)
	{
		appendStringInfoString(sql, separator);
		if (TupleDescAttr(RelationGetDescr(rel), lfirst_int(lc) - 1)->attgenerated)
			appendStringInfoString(sql, "DEFAULT");
		else
			appendStringInfo(sql, "$%d", ++parameter);
		separator = ", ";
	}
	appendStringInfoChar(sql, ')');
}

List *
shuttle_remote_default_omit(List *fdw_private, Relation rel, const Bitmapset *named)
{
	ShuttlePostgresFdwModify postgres_fdw;
	List	   *attributes;
	bool		leaves;
	StringInfoData sql;
	int			values_end;

	if (rel->trigdesc != NULL && rel->trigdesc->trig_insert_before_row)
		return fdw_private;
	if (!shuttle_postgres_fdw_read_modify(fdw_private, &postgres_fdw))
		elog(ERROR, "unexpected plan of a modification");
	attributes = choose_attributes(&postgres_fdw, rel, named, &leaves);
	if (!leaves)
		return fdw_private;

	initStringInfo(&sql);
	append_insert(&sql, rel, attributes);
	values_end = sql.len;
	appendStringInfoString(&sql, postgres_fdw.sql + postgres_fdw.values_end);
	return shuttle_postgres_fdw_replace_insert(fdw_private, sql.data, attributes, values_end);
}

/* Core has a private list for each table of the plan, and looks only at those
 * of foreign tables: that of the partitioned table is free. */
void
shuttle_remote_default_attach(ModifyTable *plan, List *named)
{
	Assert(list_length(plan->fdwPrivLists) >= 1);
	linitial(plan->fdwPrivLists) = list_make1(named);
}

/* The columns of root that COPY sets. */
static Bitmapset *
find_copied(ResultRelInfo *root, EState *estate)
{
	Bitmapset  *listed = ExecGetInsertedCols(root, estate);
	Relation	rel = root->ri_RelationDesc;
	Bitmapset  *copied = NULL;

	for (AttrNumber i = 1; i <= RelationGetDescr(rel)->natts; i++)
	{
		if (TupleDescAttr(RelationGetDescr(rel), i - 1)->attisdropped)
			continue;
		if (bms_is_member(i - FirstLowInvalidHeapAttributeNumber, listed) ||
			build_column_default(rel, i) != NULL)
			copied = bms_add_member(copied, i);
	}
	return copied;
}

List *
shuttle_remote_default_omit_routed(List *fdw_private, const ModifyTableState *node,
								   ResultRelInfo *target)
{
	const ModifyTable *plan = (const ModifyTable *) node->ps.plan;
	ResultRelInfo *root = target->ri_RootResultRelInfo != NULL ?
		target->ri_RootResultRelInfo : target;
	Relation	rel = target->ri_RelationDesc;
	Bitmapset  *of_root = NULL;
	Bitmapset  *named = NULL;
	int			attribute = -1;

	if (plan == NULL)
		of_root = find_copied(root, node->ps.state);
	else
	{
		List	   *private = linitial(plan->fdwPrivLists);
		ListCell   *lc;

		/* Another library may have planned without us. */
		if (private == NIL)
			return fdw_private;
		foreach(lc, (List *) linitial(private))
			of_root = bms_add_member(of_root, lfirst_int(lc));
	}

	while ((attribute = bms_next_member(of_root, attribute)) >= 0)
	{
		char	   *name = get_attname(RelationGetRelid(root->ri_RelationDesc),
									   attribute, false);

		named = bms_add_member(named, get_attnum(RelationGetRelid(rel), name));
	}
	return shuttle_remote_default_omit(fdw_private, rel, named);
}
