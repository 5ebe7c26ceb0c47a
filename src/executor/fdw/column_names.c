/*-------------------------------------------------------------------------
 * column_names.c
 *	  Whether foreign tables have the same column names on their nodes.
 *
 * The planner asks this for each partition, and each column takes two catalog
 * look-ups. So the names of a table's columns are cached, as one text, until the
 * table changes.
 *
 * Memory: "shuttle columns" in CacheMemoryContext, an entry per table.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "lib/stringinfo.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "executor/fdw/fdw.h"
#include "executor/shuttle_executor.h"

typedef struct KnownColumns
{
	Oid			relid;			/* must be first: the key */
	bool		valid;
	uint64		all_changed;	/* all_changed when it was read */
	char	   *names;			/* in known_context */
} KnownColumns;

static HTAB *known = NULL;
static MemoryContext known_context = NULL;
static uint64 changes = 0;		/* number of relcache invalidations */
static uint64 all_changed = 0;	/* those for all tables */

static void
table_changed(Datum argument, Oid relid)
{
	KnownColumns *columns;

	changes++;
	if (!OidIsValid(relid))
	{
		all_changed++;
		return;
	}
	columns = hash_search(known, &relid, HASH_FIND, NULL);
	if (columns != NULL)
		columns->valid = false;
}

static void
prepare(void)
{
	HASHCTL		control = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(KnownColumns),
	};

	known_context = AllocSetContextCreate(CacheMemoryContext, "shuttle columns",
										  ALLOCSET_DEFAULT_SIZES);
	control.hcxt = known_context;
	known = hash_create("shuttle columns", 64, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(table_changed, (Datum) 0);
}

/* The columns by attribute number, dropped ones included; each name behind its
 * length, so that no two lists of names give one text. */
static char *
read_names(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	TupleDesc	columns = RelationGetDescr(rel);
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		const char *name = column->attisdropped ? "" :
			shuttle_remote_column_name(rel, column->attnum);

		appendStringInfo(&names, "%zu:%s%s", strlen(name), name,
						 column->attgenerated != '\0' ? " generated " : " ");
	}
	table_close(rel, NoLock);
	return names.data;
}

const char *
shuttle_column_names(Oid relid)
{
	KnownColumns *columns;
	uint64		changes_before;
	char	   *names;
	bool		found;

	if (known == NULL)
		prepare();
	columns = hash_search(known, &relid, HASH_FIND, NULL);
	if (columns != NULL && columns->valid && columns->all_changed == all_changed)
		return columns->names;

	/*
	 * reading the catalogs may process invalidations: a change noticed now
	 * may be missing in what we read
	 */
	changes_before = changes;
	names = MemoryContextStrdup(known_context, read_names(relid));
	columns = hash_search(known, &relid, HASH_ENTER, &found);
	if (found)
		pfree(columns->names);
	columns->names = names;
	columns->all_changed = all_changed;
	columns->valid = changes == changes_before;
	return columns->names;
}
