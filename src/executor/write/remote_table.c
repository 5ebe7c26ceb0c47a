/*-------------------------------------------------------------------------
 * remote_table.c
 *	  What a storage node says of a table that rows are written to: the
 *	  types of its columns, and whether a write may change other rows than
 *	  it says.
 *
 * A foreign table's column may have another type than the node's (text for an
 * enum). Single values are sent without a type and become what the node wants;
 * an array needs its element type. So the node is asked once, before or
 * together with the first rows.
 *
 * Rules:
 * - A wrong description never changes a result. If the node's table has changed
 *	 since, the write fails with the node's own error, and the next one asks again.
 * - An answer that nobody waited for is kept until the next statement looks for
 *	 it, also after the end of its transaction: it comes before the answer to
 *	 COMMIT. If it has not come by then it is void; so it is if the foreign table
 *	 has changed meanwhile.
 *
 * Memory: for the session, one entry for each table and node, in its own
 * context, which also owns the request; an invalid entry is freed when it is
 * next looked for.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_counters.h"
#include "executor/executor_types.h"
#include "executor/fdw/fdw.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_storage.h"

/* Columns of the answer. */
enum RemoteColumn
{
	REMOTE_NAME,
	REMOTE_TYPE_SCHEMA,
	REMOTE_TYPE,
	REMOTE_DELIMITER,
	REMOTE_HAS_ARRAY,
	REMOTE_PLAIN,
	REMOTE_CASCADES,
	REMOTE_NCOLUMNS
};

typedef struct TableKey
{
	uint64		relid;			/* wider than Oid: no padding, which would be
								 * hashed */
	ShuttleNode *node;
} TableKey;

typedef struct TableEntry
{
	TableKey	key;
	MemoryContext cxt;			/* of what table points to, and of the request */
	ShuttleRequest *asked;		/* request whose answer was not read yet; or
								 * NULL */
	uint64		transaction;	/* transaction_number when it was sent */
	ShuttleRemoteTable table;	/* valid: also while the answer is under way */
} TableEntry;

static HTAB *entries = NULL;
static uint64 transaction_number = 0;

static void read_answer(TableEntry *entry, Relation rel);

/* The foreign table's definition has changed; InvalidOid: any may have. */
static void
forget_table(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	TableEntry *entry;

	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (!OidIsValid(relid) || entry->key.relid == relid)
			entry->table.valid = false;
	}
}

/*
 * The options of a server or user mapping have changed: it may be another node.
 */
static void
forget_tables(Datum arg, int cache, uint32 hash)
{
	forget_table(arg, InvalidOid);
}

void
shuttle_remote_table_end_transaction(void)
{
	transaction_number++;
}

static void
create_entries(void)
{
	HASHCTL		control = {
		.keysize = sizeof(TableKey),
		.entrysize = sizeof(TableEntry),
		.hcxt = TopMemoryContext,
	};

	entries = hash_create("shuttle remote tables", 32, &control,
						  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(forget_table, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, forget_tables, (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, forget_tables, (Datum) 0);
}

static TableEntry *
find_entry(Oid relid, ShuttleNode *node)
{
	TableKey	key = {
		.relid = relid,
		.node = node,
	};

	if (entries == NULL)
		create_entries();
	return hash_search(entries, &key, HASH_FIND, NULL);
}

/* True while the entry's answer is under way. */
static bool
is_to_come(const TableEntry *entry)
{
	return entry->table.valid && entry->asked != NULL &&
		entry->transaction == transaction_number &&
		shuttle_request_look(entry->asked) == SHUTTLE_PENDING;
}

/* The entry, if it is valid or its answer is under way; else frees it. */
static TableEntry *
valid_entry(Relation rel, ShuttleNode *node)
{
	TableEntry *entry = find_entry(RelationGetRelid(rel), node);

	if (entry == NULL)
		return NULL;
	if (entry->table.valid &&
		(entry->asked == NULL || is_to_come(entry) ||
		 shuttle_request_look(entry->asked) == SHUTTLE_END))
		return entry;
	MemoryContextDelete(entry->cxt);
	hash_search(entries, &entry->key, HASH_REMOVE, NULL);
	return NULL;
}

bool
shuttle_remote_table_is_asked(Relation rel, ShuttleNode *node)
{
	return valid_entry(rel, node) != NULL;
}

void
shuttle_remote_table_forget(Oid relid, ShuttleNode *node)
{
	TableEntry *entry = find_entry(relid, node);

	if (entry != NULL)
		entry->table.valid = false;
}

/* The query for a remote table's columns, in the current context. */
static char *
make_question(Relation rel)
{
	StringInfoData name;
	StringInfoData sql;

	initStringInfo(&name);
	shuttle_remote_append_table(&name, rel);
	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "SELECT a.attname, n.nspname, t.typname, t.typdelim,"
					 " t.typarray <> 0 AND t.typcategory NOT IN ('A', 'C'),"
					 " c.relkind IN ('r', 'p') AND NOT c.relrowsecurity"
					 " AND NOT c.relhasrules"
					 " AND (c.relkind = 'p' OR NOT c.relhassubclass)"
					 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger g"
					 " WHERE NOT g.tgisinternal AND g.tgtype & 2 <> 0"
					 " AND (g.tgrelid = c.oid OR g.tgrelid IN"
					 " (SELECT p.relid FROM pg_catalog.pg_partition_tree(c.oid) p)))"
					 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_partition_tree(c.oid) p"
					 " JOIN pg_catalog.pg_class f ON f.oid = p.relid"
					 " WHERE f.relkind = 'f'),"
					 " c.oid IN (" SHUTTLE_CASCADING_TABLES ")"
					 " FROM pg_catalog.pg_class c"
					 " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid"
					 " JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
					 " JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace"
					 " WHERE c.oid = pg_catalog.to_regclass(%s)"
					 " AND a.attnum > 0 AND NOT a.attisdropped",
					 quote_literal_cstr(name.data));
	pfree(name.data);
	return sql.data;
}

void
shuttle_remote_table_ask(Relation rel, ShuttleNode *node, uint64 snapshot)
{
	ShuttleStatement statement = {
		.effect = SHUTTLE_LOCKS,	/* begins the transaction that will write */
		.size = SHUTTLE_SIZE_CERTAIN,
		.estimated_rows = RelationGetNumberOfAttributes(rel),
		.snapshot = snapshot,
		.ncolumns = REMOTE_NCOLUMNS,
		.counters = &shuttle_counters_own,
	};
	TableKey	key = {
		.relid = RelationGetRelid(rel),
		.node = node,
	};
	MemoryContext cxt;
	ShuttleRequest *asked;
	TableEntry *entry;
	char	   *sql;

	if (valid_entry(rel, node) != NULL)
		return;
	sql = make_question(rel);
	statement.sql = sql;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle remote table",
								ALLOCSET_SMALL_SIZES);
	asked = shuttle_request_send(node, &statement, cxt);
	entry = hash_search(entries, &key, HASH_ENTER, NULL);
	MemoryContextSetParent(cxt, TopMemoryContext);
	entry->cxt = cxt;
	entry->asked = asked;
	entry->transaction = transaction_number;
	entry->table = (ShuttleRemoteTable)
	{
		.valid = true
	};
	pfree(sql);
}

/* The attribute whose column has this name on the node; 0: none. */
static AttrNumber
attribute_of(Relation rel, const char *column)
{
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData name;
	AttrNumber	found = 0;
	const char *quoted = quote_identifier(column);

	initStringInfo(&name);
	for (AttrNumber i = 1; i <= desc->natts && found == 0; i++)
	{
		if (TupleDescAttr(desc, i - 1)->attisdropped)
			continue;
		resetStringInfo(&name);
		shuttle_remote_append_column(&name, rel, i);
		if (strcmp(name.data, quoted) == 0)
			found = i;
	}
	pfree(name.data);
	return found;
}

/* Called in the entry's context. */
static void
keep_column(ShuttleRemoteTable *table, Relation rel, const ShuttleRow *row)
{
	AttrNumber	attribute = attribute_of(rel, shuttle_row_text(row, REMOTE_NAME));

	table->plain = strcmp(shuttle_row_text(row, REMOTE_PLAIN), "t") == 0;
	table->cascades = strcmp(shuttle_row_text(row, REMOTE_CASCADES), "t") == 0;
	if (attribute == 0)
		return;
	table->types[attribute - 1] =
		psprintf("%s.%s", quote_identifier(shuttle_row_text(row, REMOTE_TYPE_SCHEMA)),
				 quote_identifier(shuttle_row_text(row, REMOTE_TYPE)));
	table->as_text[attribute - 1] =
		strcmp(shuttle_row_text(row, REMOTE_HAS_ARRAY), "t") != 0;
	if (!table->as_text[attribute - 1])
		table->delimiters[attribute - 1] = shuttle_row_text(row, REMOTE_DELIMITER)[0];
}

/* Waits for an entry's answer, reads it and frees the request. */
static void
read_answer(TableEntry *entry, Relation rel)
{
	int			natts = Max(1, RelationGetNumberOfAttributes(rel));
	ShuttleRequest *asked = entry->asked;
	ShuttleRemoteTable table = {
		.valid = true,
		.types = MemoryContextAllocZero(entry->cxt, sizeof(char *) * natts),
		.as_text = MemoryContextAlloc(entry->cxt, sizeof(bool) * natts),
		.delimiters = MemoryContextAlloc(entry->cxt, natts),
	};
	ShuttleRow	row;

	memset(table.as_text, true, natts);
	memset(table.delimiters, ',', natts);
	while (shuttle_request_fetch(asked, true, &row) == SHUTTLE_ROW)
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(entry->cxt);

		keep_column(&table, rel, &row);
		MemoryContextSwitchTo(old_cxt);
	}
	entry->asked = NULL;
	table.valid = entry->table.valid;
	entry->table = table;
	shuttle_request_close(asked);
}

const ShuttleRemoteTable *
shuttle_remote_table_look(Relation rel, ShuttleNode *node)
{
	TableEntry *entry = valid_entry(rel, node);

	if (entry == NULL || (entry->asked != NULL && is_to_come(entry)))
		return NULL;
	if (entry->asked != NULL)
		read_answer(entry, rel);
	return entry->table.valid ? &entry->table : NULL;
}

ShuttleRemoteTable *
shuttle_remote_table_read(Relation rel, ShuttleNode *node, uint64 snapshot)
{
	TableEntry *entry;

	shuttle_remote_table_ask(rel, node, snapshot);
	entry = find_entry(RelationGetRelid(rel), node);
	if (entry->asked != NULL)
		read_answer(entry, rel);
	return &entry->table;
}
