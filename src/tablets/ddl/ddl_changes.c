/*-------------------------------------------------------------------------
 * ddl_changes.c
 *	  What a statement has changed of distributed tables, as statements for
 *	  their nodes.
 *
 * What nodes have of a table (columns, checks, keys, indexes) is read from the
 * catalogs before core runs the statement, and again after it. The differences
 * become statements. So it does not matter how the user wrote it, under which
 * search_path, and what core has changed besides.
 *
 * Indexes and constraints are dropped before columns are changed
 * (ddl_changed_columns.c), and made behind that, as core does within a statement.
 *
 * Things are the same if they have one OID, or, as ALTER TYPE makes constraints
 * and indexes anew, one name and definition.
 *
 * Memory: what was noted lives as long as the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/constraints/constraints.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_changes_internal.h"
#include "tablets/distribute/distribute.h"
#include "tablets/indexes/global.h"
#include "tablets/needs/needs.h"
#include "tablets/reference/copies.h"
#include "tablets/rights/reach.h"
#include "tablets/shuttle_tablets.h"

static ShuttleDdlChanges *noted = NULL; /* of the innermost statement */

void
shuttle_ddl_changes_enter(ShuttleDdlChanges *changes)
{
	changes->cxt = CurrentMemoryContext;
	changes->tables = NIL;
	changes->outer = noted;
	noted = changes;
}

void
shuttle_ddl_changes_leave(void)
{
	noted = noted->outer;
}

static void
read_table(ShuttleNotedTable *table, Oid relid)
{
	table->relid = relid;
	table->name = shuttle_local_name(relid);
	table->short_name = get_rel_name(relid);
	table->owner = shuttle_local_owner(relid);
	table->columns = shuttle_table_text_columns(relid);
	table->parts = shuttle_table_text_parts(relid);
}

static ShuttleNotedTable *
find_noted(Oid relid)
{
	ListCell   *cell;

	foreach(cell, noted->tables)
	{
		if (((ShuttleNotedTable *) lfirst(cell))->relid == relid)
			return lfirst(cell);
	}
	return NULL;
}

void
shuttle_ddl_changes_note(Oid relid)
{
	ShuttleNotedTable *table;
	MemoryContext old_cxt;

	if (noted == NULL || find_noted(relid) != NULL)
		return;
	old_cxt = MemoryContextSwitchTo(noted->cxt);
	table = palloc0_object(ShuttleNotedTable);
	read_table(table, relid);
	noted->tables = lappend(noted->tables, table);
	MemoryContextSwitchTo(old_cxt);
}

const char *
shuttle_ddl_value_of(const List *values, AttrNumber number)
{
	const ListCell *cell;

	foreach(cell, values)
	{
		const ShuttleColumnValue *value = lfirst(cell);

		if (value->number == number)
			return value->expression;
	}
	return NULL;
}

static void
add_value(List **values, Oid relid, const char *column, const char *expression)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(noted->cxt);
	ShuttleColumnValue *value = palloc_object(ShuttleColumnValue);

	value->number = get_attnum(relid, column);
	value->expression = expression == NULL ? NULL : pstrdup(expression);
	*values = lcons(value, *values);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_ddl_changes_convert(Oid relid, const char *column, const char *expression)
{
	add_value(&find_noted(relid)->conversions, relid, column, expression);
}

void
shuttle_ddl_changes_fill(Oid relid, const char *column, const char *expression)
{
	add_value(&find_noted(relid)->fills, relid, column, expression);
}

void
shuttle_ddl_changes_add(ShuttleTableChanges *changes, char *sql)
{
	shuttle_node_statements_add_all(changes->statements, changes->servers, sql);
}

void
shuttle_ddl_changes_add_alter(ShuttleTableChanges *changes, char *action)
{
	shuttle_ddl_changes_add(changes, psprintf("ALTER TABLE %s %s", changes->now.name, action));
}

ShuttleNodeColumn *
shuttle_ddl_changes_column(const ShuttleNotedTable *table, AttrNumber number)
{
	ListCell   *cell;

	foreach(cell, table->columns)
	{
		ShuttleNodeColumn *column = lfirst(cell);

		if (column->number == number)
			return column;
	}
	return NULL;
}

/* An unchecked constraint that has become a checked one stays the same. */
static bool
is_same_definition(const ShuttleNodePart *a, const ShuttleNodePart *b)
{
	size_t		length = strlen(b->definition);

	return strncmp(a->definition, b->definition, length) == 0 &&
		(a->definition[length] == '\0' ||
		 strcmp(a->definition + length, " NOT VALID") == 0);
}

ShuttleNodePart *
shuttle_ddl_changes_part(const ShuttleNotedTable *table, const ShuttleNodePart *other, bool is_before)
{
	ListCell   *cell;

	foreach(cell, table->parts)
	{
		ShuttleNodePart *part = lfirst(cell);
		const ShuttleNodePart *before = is_before ? part : other;
		const ShuttleNodePart *now = is_before ? other : part;

		if (part->kind != other->kind)
			continue;
		if (part->oid == other->oid)
			return part;
		if (strcmp(part->name, other->name) == 0 && is_same_definition(before, now))
			return part;
	}
	return NULL;
}

static char *
index_name(Oid relid, const ShuttleNodePart *index)
{
	return psprintf("%s.%s", quote_identifier(get_namespace_name(get_rel_namespace(relid))),
					index->name);
}

static void
give_tablets(ShuttleTableChanges *changes)
{
	Relation	rel = table_open(changes->now.relid, NoLock);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);

	for (int i = 0; i < partitions->nparts; i++)
		(void) shuttle_local_run_as_superuser(psprintf("ALTER FOREIGN TABLE %s OWNER TO %s",
													   shuttle_local_name(partitions->oids[i]),
													   quote_identifier(GetUserNameFromId(changes->now.owner, false))));
	table_close(rel, NoLock);
}

static void
change_table(ShuttleTableChanges *changes)
{
	bool		is_renamed = strcmp(changes->before->short_name, changes->now.short_name) != 0;

	if (is_renamed)
		shuttle_ddl_changes_add(changes, psprintf("ALTER TABLE %s RENAME TO %s", changes->before->name,
												  quote_identifier(changes->now.short_name)));
	shuttle_ddl_columns_rename(changes);
	if (!changes->are_copies && (is_renamed || shuttle_ddl_columns_are_rewritten(changes)))
		shuttle_tablet_names_give(changes->now.relid, changes->statements);
	if (changes->before->owner != changes->now.owner)
		shuttle_refusal_raise(shuttle_reach_refuse_tables(list_make1_oid(changes->now.relid), changes->servers));
	if (changes->before->owner != changes->now.owner && !changes->are_copies)
		give_tablets(changes);
}

static void
drop_parts(ShuttleTableChanges *changes)
{
	ListCell   *cell;

	foreach(cell, changes->before->parts)
	{
		const ShuttleNodePart *part = lfirst(cell);

		if (part->kind == SHUTTLE_PART_CHECK_HERE || shuttle_ddl_changes_part(&changes->now, part, false) != NULL)
			continue;
		if (part->kind == SHUTTLE_PART_INDEX)
			shuttle_ddl_changes_add(changes, psprintf("DROP INDEX %s%s", index_name(changes->now.relid, part),
													  changes->cascade));
		else
			shuttle_ddl_changes_add_alter(changes, psprintf("DROP CONSTRAINT %s%s", part->name, changes->cascade));
	}
}

/* Types and functions of new columns and parts. */
static void
add_needed(ShuttleTableChanges *changes)
{
	bool		is_new = shuttle_ddl_columns_new(changes) != NIL;
	ListCell   *cell;

	foreach(cell, changes->now.parts)
		is_new |= shuttle_ddl_changes_part(changes->before, lfirst(cell), true) == NULL;
	if (is_new)
	{
		foreach(cell, shuttle_needed_objects_texts(changes->now.relid, changes->servers))
			shuttle_ddl_changes_add(changes, lfirst(cell));
	}
}

static void
change_part(ShuttleTableChanges *changes, const ShuttleNodePart *before, const ShuttleNodePart *now)
{
	if (strcmp(before->name, now->name) != 0)
	{
		if (now->kind == SHUTTLE_PART_INDEX)
			shuttle_ddl_changes_add(changes, psprintf("ALTER INDEX %s RENAME TO %s",
													  index_name(changes->now.relid, before), now->name));
		else
			shuttle_ddl_changes_add_alter(changes, psprintf("RENAME CONSTRAINT %s TO %s", before->name, now->name));
	}
	if (now->kind == SHUTTLE_PART_CHECK && strlen(before->definition) > strlen(now->definition) &&
		is_same_definition(before, now))
		shuttle_ddl_changes_add_alter(changes, psprintf("VALIDATE CONSTRAINT %s", now->name));
}

/* The tablets' unique indexes are named after the table's. */
static void
name_indexes(ShuttleTableChanges *changes)
{
	char	   *text = shuttle_tablet_text_name_indexes(changes->now.relid, shuttle_layout_of(changes->now.relid));

	if (text !=NULL)
		shuttle_ddl_changes_add(changes, text);
}

static void
refuse_check(const ShuttleTableChanges *changes, const ShuttleNodePart *part)
{
	Relation	rel = table_open(changes->now.relid, AccessShareLock);

	shuttle_refusal_raise(shuttle_session_checks_refuse(rel, part->name));
	table_close(rel, NoLock);
}

/* Core does not look at rows of foreign partitions. */
static void
change_check_here(ShuttleTableChanges *changes, const ShuttleNodePart *before, const ShuttleNodePart *now)
{
	if (!shuttle_table_part_is_unchecked(now) &&
		(before == NULL || shuttle_table_part_is_unchecked(before) || changes->are_converted))
		changes->verified = lappend(changes->verified, now->name);
}

/* Reference tables have their rows here. */
static void
check_rows(const ShuttleTableChanges *changes)
{
	ListCell   *cell;

	if (changes->are_copies)
		return;
	foreach(cell, changes->verified)
		shuttle_row_checks_verify(changes->now.relid, lfirst(cell));
	shuttle_row_checks_follow(changes->now.relid);
	shuttle_global_entries_follow(changes->now.relid);
}

static void
change_parts(ShuttleTableChanges *changes)
{
	bool		is_named_anew = false;
	ListCell   *cell;

	foreach(cell, changes->now.parts)
	{
		const ShuttleNodePart *now = lfirst(cell);
		const ShuttleNodePart *before = shuttle_ddl_changes_part(changes->before, now, true);

		if (before == NULL && (now->kind == SHUTTLE_PART_CHECK || now->kind == SHUTTLE_PART_CHECK_HERE))
			refuse_check(changes, now);
		if (now->kind == SHUTTLE_PART_CHECK_HERE)
		{
			change_check_here(changes, before, now);
			continue;
		}
		if (now->kind != SHUTTLE_PART_CHECK &&
			(before == NULL || strcmp(before->name, now->name) != 0))
			is_named_anew = true;
		if (before == NULL)
			shuttle_ddl_changes_add(changes, shuttle_table_text_add_part(changes->now.relid, now));
		else
			change_part(changes, before, now);
	}
	if (is_named_anew && !changes->are_copies)
		name_indexes(changes);
}

static void
send_table(const ShuttleNotedTable *before, const char *cascade)
{
	ShuttleTableChanges changes = {
		.before = before,
		.are_copies = shuttle_table_kind(before->relid) == SHUTTLE_TABLE_REFERENCE,
		.statements = shuttle_node_definitions_create(),
		.cascade = cascade,
	};

	changes.servers = changes.are_copies ? shuttle_layout_nodes() : shuttle_table_servers(before->relid);
	read_table(&changes.now, before->relid);
	change_table(&changes);
	drop_parts(&changes);
	add_needed(&changes);
	shuttle_ddl_columns_refuse(&changes);
	shuttle_ddl_columns_change(&changes);
	change_parts(&changes);
	shuttle_node_statements_run(changes.statements);
	check_rows(&changes);
	if (changes.are_copies)
		shuttle_copy_table_make(before->relid, changes.servers);
}

void
shuttle_ddl_changes_send(bool cascade)
{
	ListCell   *cell;

	if (noted->tables != NIL)
		CommandCounterIncrement();
	foreach(cell, noted->tables)
	{
		const ShuttleNotedTable *table = lfirst(cell);

		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table->relid)))
			send_table(table, cascade ? " CASCADE" : "");
	}
	noted->tables = NIL;
}
