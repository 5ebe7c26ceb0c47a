/*-------------------------------------------------------------------------
 * remote_table.c
 *	  What a storage node says of a table that rows are written to: the types
 *	  of its columns, and whether a write can write other rows than it says.
 *
 * A foreign table may give a column another type than the node does (a text
 * for an enum).  Single values travel without a type and become what the node
 * wants; an array has to say what its elements are.  So the node is asked
 * once, ahead of the first rows.
 *
 * Rule: nothing here decides an answer.  Where the node's table was changed
 * since, the write fails by the node's own error, and the next one asks again.
 *
 * Memory: one entry for each table and node in a context of its own, for the
 * session; an entry that is not valid any more is freed when it is next looked
 * for.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "executor/write_internal.h"

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
	MemoryContext cxt;			/* of what table points to */
	ShuttleRemoteTable table;
} TableEntry;

static HTAB *entries = NULL;

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

static TableKey
key_of(Relation rel, ShuttleNode *node)
{
	TableKey	key = {
		.relid = RelationGetRelid(rel),
		.node = node,
	};

	return key;
}

ShuttleRemoteTable *
shuttle_remote_table_find(Relation rel, ShuttleNode *node)
{
	TableKey	key = key_of(rel, node);
	TableEntry *entry;

	if (entries == NULL)
		create_entries();
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	if (entry == NULL)
		return NULL;
	if (entry->table.valid)
		return &entry->table;
	if (entry->cxt != NULL)
		MemoryContextDelete(entry->cxt);
	hash_search(entries, &key, HASH_REMOVE, NULL);
	return NULL;
}

void
shuttle_remote_table_forget(Relation rel, ShuttleNode *node)
{
	ShuttleRemoteTable *table = shuttle_remote_table_find(rel, node);

	if (table != NULL)
		table->valid = false;
}

ShuttleRequest *
shuttle_remote_table_ask(Relation rel, ShuttleNode *node, uint64 snapshot,
						 MemoryContext owner)
{
	ShuttleStatement statement = {
		.effect = SHUTTLE_LOCKS,	/* begins the transaction that will write */
		.size = SHUTTLE_SIZE_CERTAIN,
		.estimated_rows = RelationGetNumberOfAttributes(rel),
		.snapshot = snapshot,
		.ncolumns = REMOTE_PLAIN + 1,
		.counters = &shuttle_own_counters,
	};
	StringInfoData name;
	StringInfoData sql;
	ShuttleRequest *request;

	if (shuttle_remote_table_find(rel, node) != NULL)
		return NULL;
	initStringInfo(&name);
	shuttle_append_remote_table(&name, rel);
	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "SELECT a.attname, n.nspname, t.typname, t.typdelim,"
					 " t.typarray <> 0 AND t.typtype NOT IN ('c', 'd'),"
					 " c.relkind IN ('r', 'p') AND NOT c.relrowsecurity"
					 " AND NOT c.relhasrules"
					 " AND (c.relkind = 'p' OR NOT c.relhassubclass)"
					 " AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger g"
					 " WHERE NOT g.tgisinternal AND g.tgtype & 2 <> 0"
					 " AND (g.tgrelid = c.oid OR g.tgrelid IN"
					 " (SELECT p.relid FROM pg_catalog.pg_partition_tree(c.oid) p)))"
					 " FROM pg_catalog.pg_class c"
					 " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid"
					 " JOIN pg_catalog.pg_type t ON t.oid = a.atttypid"
					 " JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace"
					 " WHERE c.oid = pg_catalog.to_regclass(%s)"
					 " AND a.attnum > 0 AND NOT a.attisdropped",
					 quote_literal_cstr(name.data));
	statement.sql = sql.data;
	request = shuttle_request_send(node, &statement, owner);
	pfree(name.data);
	pfree(sql.data);
	return request;
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

/* Name of a type, without a length; in the current context. */
static char *
local_type_name(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	name = psprintf("%s.%s", quote_identifier(get_namespace_name(form->typnamespace)),
					quote_identifier(NameStr(form->typname)));
	ReleaseSysCache(tuple);
	return name;
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
	table->as_declared[attribute - 1] =
		strcmp(table->types[attribute - 1],
			   local_type_name(TupleDescAttr(RelationGetDescr(rel),
											 attribute - 1)->atttypid)) == 0;
	table->as_text[attribute - 1] =
		strcmp(shuttle_row_text(row, REMOTE_HAS_ARRAY), "t") != 0;
	if (!table->as_text[attribute - 1])
		table->delimiters[attribute - 1] = shuttle_row_text(row, REMOTE_DELIMITER)[0];
}

ShuttleRemoteTable *
shuttle_remote_table_read(ShuttleRequest *request, Relation rel, ShuttleNode *node)
{
	int			natts = RelationGetNumberOfAttributes(rel);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext,
											  "shuttle remote table",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleRemoteTable table = {
		.valid = true,
		.types = palloc0(sizeof(char *) * Max(natts, 1)),
		.as_declared = palloc0(sizeof(bool) * Max(natts, 1)),
		.as_text = palloc(sizeof(bool) * Max(natts, 1)),
		.delimiters = palloc(Max(natts, 1)),
	};
	TableKey	key = key_of(rel, node);
	TableEntry *entry;
	ShuttleRow	row;

	memset(table.as_text, true, natts);
	memset(table.delimiters, ',', natts);
	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
		keep_column(&table, rel, &row);
	MemoryContextSwitchTo(old_cxt);

	(void) shuttle_remote_table_find(rel, node);	/* drops an old one */
	entry = hash_search(entries, &key, HASH_ENTER, NULL);
	MemoryContextSetParent(cxt, TopMemoryContext);
	entry->cxt = cxt;
	entry->table = table;
	return &entry->table;
}
