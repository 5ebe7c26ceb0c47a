/*-------------------------------------------------------------------------
 * remote_table.c
 *	  What a storage node says of a table that rows are written to: the types
 *	  of its columns, and whether a write can write other rows than it says.
 *
 * A foreign table may give a column another type than the node does (a text
 * for an enum).  Single values travel without a type and become what the node
 * wants; an array has to say what its elements are.  So the node is asked
 * once, ahead of the first rows or beside them.
 *
 * Rules:
 * - Nothing here decides an answer.  Where the node's table was changed since,
 *	 the write fails by the node's own error, and the next one asks again.
 * - An answer that nobody waited for is kept until the next statement looks for
 *	 it, also behind the end of its transaction: it came in front of that of the
 *	 COMMIT.  One that has not come until then is void, and so is one whose
 *	 foreign table was changed meanwhile.
 *
 * Memory: one entry for each table and node in a context of its own, for the
 * session; an entry that is not valid any more is freed when it is next looked
 * for.  So is the request of an answer, which is in the same context.
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
	REMOTE_PLAIN
};

typedef struct TableKey
{
	uint64		relid;			/* an Oid would leave padding, which is hashed */
	ShuttleNode *node;
} TableKey;

typedef struct TableEntry
{
	TableKey	key;
	MemoryContext cxt;			/* of what table points to, and of asked */
	ShuttleRequest *asked;		/* its answer was not read yet; else NULL */
	uint64		transaction;	/* in which it was asked for */
	ShuttleRemoteTable table;	/* valid: or will be when the answer was read */
} TableEntry;

static HTAB *entries = NULL;
static uint64 transaction_number = 0;

static void read_answer(TableEntry *entry, Relation rel);

/* The foreign table's definition changed; InvalidOid: any may have. */
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

/* A server's or a mapping's options changed: it may be another node now. */
static void
forget_tables(Datum arg, int cache, uint32 hash)
{
	forget_table(arg, InvalidOid);
}

static void
count_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
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
	RegisterXactCallback(count_transaction, NULL);
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

/* True while the entry's answer is on its way. */
static bool
is_to_come(const TableEntry *entry)
{
	return entry->table.valid && entry->asked != NULL &&
		entry->transaction == transaction_number &&
		shuttle_request_look(entry->asked) == SHUTTLE_PENDING;
}

/* The entry, if something is known or on its way; frees one that is void. */
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

/* The question for the columns of a foreign table's table; in the current
 * context. */
static char *
make_question(Relation rel)
{
	StringInfoData name;
	StringInfoData sql;

	initStringInfo(&name);
	shuttle_append_remote_table(&name, rel);
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
					 " WHERE f.relkind = 'f')"
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
		.ncolumns = REMOTE_PLAIN + 1,
		.counters = &shuttle_own_counters,
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

/* Finds the attribute whose column has that name on the node; 0: none. */
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
		shuttle_append_remote_column(&name, rel, i);
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

/* Reads the answer of an entry, waits for it, and frees its request. */
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
