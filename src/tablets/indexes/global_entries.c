/*-------------------------------------------------------------------------
 * global_entries.c
 *	  The tables with entries of global indexes, and the triggers that keep them.
 *
 * Entries are a distributed table in schema shuttle_indexes, which belongs to the superuser and
 * to which nobody else has rights. shuttle.global_indexes says which index it is of. All follows
 * from the indexes that a table has: after each statement that changed the table, entries of
 * new indexes are made and filled, those of indexes that are gone are dropped.
 *
 * Memory: that of the caller.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_settings.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/distribute/distribute.h"
#include "tablets/indexes/global.h"
#include "tablets/rights/hidden_tables.h"
#include "tablets/rights/owner_rights.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

#define ROWS_AT_ONCE 1000

/* ---- triggers */

static const struct
{
	const char *name;
	const char *when;
	int16		type;
}			triggers[] =

{
	{"00_shuttle_index", "AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW",
	TRIGGER_TYPE_ROW | TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE},
	{"00_shuttle_index_begin", "BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT",
	TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE},
	{"00_shuttle_index_end", "AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT",
	TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE | TRIGGER_TYPE_TRUNCATE},
};

bool
shuttle_global_trigger_has_name(const char *name)
{
	for (int i = 0; i < lengthof(triggers); i++)
	{
		if (strcmp(triggers[i].name, name) == 0)
			return true;
	}
	return false;
}

/* True of a trigger that whoever knew our names has made otherwise. */
static bool
is_other(Oid relid, const char *name, int16 type)
{
	Relation	rel = table_open(relid, AccessShareLock);
	bool		is_other = false;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		is_other |= strcmp(trigger->tgname, name) == 0 &&
			(trigger->tgtype != type || trigger->tgnattr > 0 || trigger->tgqual != NULL);
	}
	table_close(rel, NoLock);
	return is_other;
}

/* Whatever a statement on all triggers has made of them, they fire. */
static void
follow_triggers(Oid relid, bool are_needed)
{
	const char *name = shuttle_local_name(relid);

	for (int i = 0; i < lengthof(triggers); i++)
	{
		const char *trigger = quote_identifier(triggers[i].name);
		bool		exists = OidIsValid(get_trigger_oid(relid, triggers[i].name, true));

		if (exists && (!are_needed || is_other(relid, triggers[i].name, triggers[i].type)))
		{
			(void) shuttle_local_run_as_superuser(psprintf("DROP TRIGGER %s ON %s", trigger, name));
			exists = false;
		}
		if (!are_needed)
			continue;
		if (!exists)
			(void) shuttle_local_run_as_superuser(psprintf("CREATE TRIGGER %s %s EXECUTE FUNCTION shuttle.index_row()",
														   trigger, psprintf(triggers[i].when, name)));
		(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", name, trigger));
	}
}

/* ---- what is refused */

/* A table that is new in a transaction cannot be distributed then (surgery.c). */
static void
refuse_minimal(Oid indexid)
{
	if (!XLogIsNeeded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("unique index \"%s\" lacks the distribution column, and cannot be global while \"wal_level\" is \"minimal\"",
						get_rel_name(indexid)),
				 errhint("Set it higher, or add the distribution column to the key.")));
}

/* Nodes do what foreign keys say, and do not know of entries. */
static void
refuse_cascades(Oid relid)
{
	static const char *const query =
		"SELECT conname FROM pg_catalog.pg_constraint WHERE conrelid = $1 AND contype = 'f'"
		" AND (confdeltype IN ('c', 'n') OR confupdtype IN ('c', 'n'))";
	List	   *rows = shuttle_node_rows(shuttle_connection_get(linitial_oid(shuttle_table_servers(relid)), GetUserId()),
										 query, 1, relid);

	if (rows != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a unique index without the distribution column is not possible beside foreign key \"%s\" of table \"%s\", which changes rows",
						((char **) linitial(rows))[0], get_rel_name(relid)),
				 errdetail("Storage nodes do what foreign keys say, and keep no entries of such an index."),
				 errhint("Drop the foreign key, and add it again behind the index.")));
}

/* Entries are written over the superuser's connections, and filled from what the owner's see. */
static void
refuse_mappings(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_table_servers(relid))
	{
		Oid			ours = GetUserMapping(BOOTSTRAP_SUPERUSERID, lfirst_oid(cell))->umid;

		if (GetUserMapping(shuttle_local_owner(relid), lfirst_oid(cell))->umid != ours ||
			GetUserMapping(GetUserId(), lfirst_oid(cell))->umid != ours)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a unique index without the distribution column needs one user mapping for all, but server \"%s\" has several",
							GetForeignServer(lfirst_oid(cell))->servername),
					 errhint("Make one user mapping for PUBLIC.")));
	}
}

/* ---- filling */

/* Waits for rows that have been committed here and are still prepared on a node. */
static void
lock_on_nodes(Oid relid)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	shuttle_node_statements_add_all(statements, shuttle_table_servers(relid),
									psprintf("LOCK TABLE %s IN SHARE MODE", shuttle_local_name(relid)));
	shuttle_node_statements_run(statements);
}

static const char *
type_text(const ShuttleGlobalColumn *column)
{
	return format_type_extended(column->type, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

/* The query of all entries that an index should have. */
static char *
entries_query(Oid relid, const ShuttleGlobalIndex *index)
{
	static const char *const texts_query =
		"SELECT pg_get_indexdef(indexrelid, n, false), pg_get_expr(indpred, indrelid)"
		" FROM pg_index, generate_series(1, indnkeyatts) AS n WHERE indexrelid = $1 ORDER BY n";
	Relation	rel = table_open(relid, AccessShareLock);
	StringInfoData text;
	StringInfoData condition;
	ListCell   *cell;

	initStringInfo(&text);
	initStringInfo(&condition);
	foreach(cell, shuttle_local_rows(texts_query, index->indexid))
	{
		int			i = foreach_current_index(cell);
		char	  **row = lfirst(cell);

		appendStringInfo(&text, "%s(%s)::%s", i == 0 ? "SELECT " : ", ", row[0], type_text(&index->columns[i]));
		if (i == 0)
			appendStringInfo(&condition, " WHERE (%s)", row[1] != NULL ? row[1] : "true");
		if (!index->nulls_equal)
			appendStringInfo(&condition, " AND (%s) IS NOT NULL", row[0]);
	}
	appendStringInfo(&text, ", %s::%s FROM %s%s",
					 quote_identifier(get_attname(relid, shuttle_global_index_key(rel), false)),
					 type_text(&index->columns[index->ncolumns - 1]), shuttle_local_name(relid), condition.data);
	table_close(rel, NoLock);
	return text.data;
}

/* Passes on all entries that an index should have, while nobody writes to its table. Rows are read with the
 * rights of the table's owner, whose functions compute values. */
void
shuttle_global_entries_read(Oid relid, ShuttleGlobalIndex *index, ShuttleGlobalTakeRows take, void *arg)
{
	char	   *query = entries_query(relid, index);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle entries", ALLOCSET_DEFAULT_SIZES);
	ShuttleRights caller;
	int			level;
	Portal		portal;

	shuttle_refusal_raise_if_snapshot_is_old();
	lock_on_nodes(relid);
	caller = shuttle_owner_rights_take(relid);
	level = shuttle_owner_rights_all_rows();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	portal = SPI_cursor_open_with_args(NULL, query, 0, NULL, NULL, NULL, false, 0);
	for (;;)
	{
		SPITupleTable *table;
		MemoryContext old_cxt;

		SPI_cursor_fetch(portal, true, ROWS_AT_ONCE);
		table = SPI_tuptable;
		if (SPI_processed == 0)
			break;
		old_cxt = MemoryContextSwitchTo(cxt);
		take(index, shuttle_global_send_fetched(index->ncolumns), arg);
		MemoryContextSwitchTo(old_cxt);
		MemoryContextReset(cxt);
		SPI_freetuptable(table);
		CHECK_FOR_INTERRUPTS();
	}
	SPI_cursor_close(portal);
	SPI_finish();
	AtEOXact_GUC(true, level);
	shuttle_owner_rights_end(caller);
	MemoryContextDelete(cxt);
}

static void
add_rows(ShuttleGlobalIndex *index, List *rows, void *arg)
{
	shuttle_global_send_new(index, rows);
}

static bool
is_deferred(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	bool		is_deferred;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	is_deferred = ((Form_pg_constraint) GETSTRUCT(tuple))->condeferred;
	ReleaseSysCache(tuple);
	return is_deferred;
}

char *
shuttle_global_entries_constraint(Oid constraint, Oid *entries)
{
	static const char *const query =
		"SELECT g.entries::oid::text, format('%I.%I', n.nspname, e.conname) FROM pg_constraint AS c"
		" JOIN shuttle.global_indexes AS g ON g.index_oid = c.conindid"
		" JOIN pg_constraint AS e ON e.conrelid = g.entries::oid AND e.contype = 'u'"
		" JOIN pg_namespace AS n ON n.oid = e.connamespace WHERE c.oid = $1";
	List	   *rows = shuttle_local_rows(query, constraint);

	if (rows == NIL)
		return NULL;
	*entries = atooid(((char **) linitial(rows))[0]);
	return ((char **) linitial(rows))[1];
}

/* Entries that were just made are checked at once, those to come when they are said to be. */
static void
check_deferred(const ShuttleGlobalIndex *index)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	Oid			constraint = get_index_constraint(index->indexid);
	Oid			entries;
	char	   *name = shuttle_global_entries_constraint(constraint, &entries);

	if (name == NULL || !is_deferred(constraint))
		return;
	shuttle_node_statements_add_all(statements, shuttle_table_servers(entries), psprintf("SET CONSTRAINTS %s IMMEDIATE", name));
	shuttle_node_statements_run(statements);
	shuttle_node_statements_add_all(statements, shuttle_table_servers(entries), psprintf("SET CONSTRAINTS %s DEFERRED", name));
	shuttle_node_statements_run(statements);
}

/* Nodes are asked for the entries at the end, so that all errors are those of an index that is made. */
void
shuttle_global_entries_fill(Oid relid, ShuttleGlobalIndex *index)
{
	shuttle_global_send_begin_new();
	PG_TRY();					/* the mark outlives the transaction */
	{
		shuttle_global_entries_read(relid, index, add_rows, NULL);
		(void) shuttle_local_run_as_superuser(psprintf("SELECT count(*) FROM %s", shuttle_local_name(index->entries)));
		if (index->deferrable)
			check_deferred(index);
	}
	PG_FINALLY();
	{
		shuttle_global_send_end_new();
	}
	PG_END_TRY();
}

/* ---- making and dropping */

static char *
opclass_text(const ShuttleGlobalColumn *column)
{
	HeapTuple	tuple;
	Form_pg_opclass form;
	char	   *text;

	if (!OidIsValid(column->opclass))
		return "";
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(column->opclass));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", column->opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	text = psprintf(" %s", quote_qualified_identifier(get_namespace_name(form->opcnamespace), NameStr(form->opcname)));

	ReleaseSysCache(tuple);
	return text;
}

/* Nodes check entries when they would check the constraint. */
static char *
deferrable_text(const ShuttleGlobalIndex *index, const char *table, const char *keys)
{
	return psprintf("ALTER TABLE %s ADD UNIQUE %s(%s) DEFERRABLE INITIALLY %s", table,
					index->nulls_equal ? "NULLS NOT DISTINCT " : "", keys,
					is_deferred(get_index_constraint(index->indexid)) ? "DEFERRED" : "IMMEDIATE");
}

/* The empty table, not distributed yet. */
static Oid
create_table(const ShuttleGlobalIndex *index)
{
	Oid			schema = get_namespace_oid(SHUTTLE_INDEXES_SCHEMA, false);
	char	   *name = ChooseRelationName(get_rel_name(index->indexid), NULL, "entries", schema, false);
	char	   *table = quote_qualified_identifier(SHUTTLE_INDEXES_SCHEMA, name);
	StringInfoData columns;
	StringInfoData keys;

	initStringInfo(&columns);
	initStringInfo(&keys);
	for (int i = 0; i < index->ncolumns; i++)
	{
		const char *column = shuttle_global_column_name(index, i);

		appendStringInfo(&columns, "%s%s %s%s%s", i == 0 ? "" : ", ", column, type_text(&index->columns[i]),
						 shuttle_global_collation_text(&index->columns[i]), i < index->ncolumns - 1 && !index->nulls_equal ? " NOT NULL" : "");
		if (i < index->ncolumns - 1)
			appendStringInfo(&keys, "%s%s%s", i == 0 ? "" : ", ", column, opclass_text(&index->columns[i]));
	}
	(void) shuttle_local_run_as_superuser(psprintf("CREATE TABLE %s (%s)", table, columns.data));
	(void) shuttle_local_run_as_superuser(index->deferrable ? deferrable_text(index, table, keys.data) :
										  psprintf("CREATE UNIQUE INDEX ON %s (%s)%s", table, keys.data,
												   index->nulls_equal ? " NULLS NOT DISTINCT" : ""));
	CommandCounterIncrement();
	return get_relname_relid(name, schema);
}

/* Over the nodes that the table is on. */
static void
distribute(Oid relid, const ShuttleGlobalIndex *index)
{
	List	   *servers = shuttle_table_servers(relid);
	bool		on_all = list_difference_oid(shuttle_layout_nodes(), servers) == NIL;
	Oid			userid;
	int			flags;

	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE);
	LockRelationOid(index->entries, AccessExclusiveLock);
	shuttle_distribute_over(index->entries, shuttle_global_column_name(index, shuttle_global_index_spread(index)),
							shuttle_layout_of(relid)->tablets[0].modulus, on_all ? NIL : servers, relid);
	shuttle_hidden_table_close(index->entries);
	SetUserIdAndSecContext(userid, flags);
}

static void
make(Oid relid, ShuttleGlobalIndex *index)
{
	Relation	rel = table_open(relid, AccessShareLock);
	Relation	declared = index_open(index->indexid, AccessShareLock);

	shuttle_refusal_raise(shuttle_global_index_refuse(declared, shuttle_global_index_key(rel)));
	index_close(declared, NoLock);
	table_close(rel, NoLock);
	refuse_minimal(index->indexid);
	refuse_mappings(relid);
	refuse_cascades(relid);
	index->entries = create_table(index);
	distribute(relid, index);
	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.global_indexes VALUES (%u, %u, %s, %u)",
												   index->entries, relid, quote_literal_cstr(get_rel_name(index->indexid)),
												   index->indexid));
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
	shuttle_global_entries_fill(relid, index);
}

static void
drop(Oid entries)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	char	   *name = shuttle_local_name(entries);

	LockRelationOid(entries, AccessExclusiveLock);
	if (shuttle_settings.enable_ddl)
		shuttle_node_statements_add_all(statements, shuttle_table_servers(entries), psprintf("DROP TABLE IF EXISTS %s", name));
	shuttle_node_statements_run(statements);
	(void) shuttle_local_run_as_superuser(psprintf("DROP TABLE %s", name));
	shuttle_layout_forget_table(entries);
	(void) shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.global_indexes WHERE entries = %u", entries));
}

/* ---- following a table */

static bool
is_of_index(const List *indexes, Oid indexid)
{
	const ListCell *cell;

	foreach(cell, indexes)
	{
		if (((const ShuttleGlobalIndex *) lfirst(cell))->indexid == indexid)
			return true;
	}
	return false;
}

/* Entries of a table, with the index and the name that they were made for. */
static List *
entries_of(Oid relid)
{
	return shuttle_local_rows("SELECT entries::oid::text, index_oid::text, name::text FROM shuttle.global_indexes"
							  " WHERE relation::oid = $1 ORDER BY 1", relid);
}

static void
follow_old(Oid relid, const List *indexes)
{
	ListCell   *cell;

	foreach(cell, entries_of(relid))
	{
		char	  **row = lfirst(cell);
		Oid			indexid = atooid(row[1]);

		if (!is_of_index(indexes, indexid))
			drop(atooid(row[0]));
		else if (strcmp(get_rel_name(indexid), row[2]) != 0)
			(void) shuttle_local_run_as_superuser(psprintf("UPDATE shuttle.global_indexes SET name = %s WHERE index_oid = %u",
														   quote_literal_cstr(get_rel_name(indexid)), indexid));
	}
}

void
shuttle_global_entries_follow(Oid relid)
{
	List	   *indexes = shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED ? shuttle_global_indexes(relid) : NIL;
	ListCell   *cell;

	follow_old(relid, indexes);
	foreach(cell, indexes)
	{
		ShuttleGlobalIndex *index = lfirst(cell);

		if (!OidIsValid(index->entries))
			make(relid, index);
	}
	follow_triggers(relid, indexes != NIL);
}

void
shuttle_global_entries_drop_all(Oid relid)
{
	ListCell   *cell;

	foreach(cell, entries_of(relid))
		drop(atooid(((char **) lfirst(cell))[0]));
}

void
shuttle_global_entries_find_again(Oid relid, Oid indexid)
{
	(void) shuttle_local_run_as_superuser(psprintf("UPDATE shuttle.global_indexes SET index_oid = %u"
												   " WHERE relation = %u AND name = %s", indexid, relid,
												   quote_literal_cstr(get_rel_name(indexid))));
	CacheInvalidateRelcacheByRelid(relid);
}
