/*-------------------------------------------------------------------------
 * option_cache.c
 *	  Cache of the options of foreign tables and their servers.
 *
 * Planning needs some of them for each partition, and reading the catalogs
 * takes a good part of the time that core needs to plan a scan. Entries are
 * valid until either catalog changes. The invalidation callback only sets a
 * flag, so that nothing is freed while somebody reads it.
 *
 * Memory: "shuttle options" in CacheMemoryContext, reset after a change.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "cluster/commit/workers.h"
#include "cluster/options/options.h"
#include "cluster/shuttle_cluster.h"

typedef struct OptionsKey
{
	Oid			serverid;
	Oid			relid;			/* InvalidOid: the server's options only */
} OptionsKey;

typedef struct KnownOptions
{
	OptionsKey	key;
	List	   *options;		/* the table's, then the server's */
	ShuttleTableOptions own;	/* the same, parsed */
} KnownOptions;

static MemoryContext known_cxt = NULL;
static HTAB *known = NULL;
static const KnownOptions *last = NULL; /* the last entry returned */
static bool changed = false;

static void
options_changed(Datum argument, int cache, uint32 hash)
{
	changed = true;
}

/* Empties the cache, at first use and after a change. Its use tells that the
 * database has servers of ours. */
static void
forget_options(void)
{
	HASHCTL		control = {
		.keysize = sizeof(OptionsKey),
		.entrysize = sizeof(KnownOptions),
	};

	if (known_cxt == NULL)
	{
		known_cxt = AllocSetContextCreate(CacheMemoryContext, "shuttle options",
										  ALLOCSET_DEFAULT_SIZES);
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, options_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(FOREIGNTABLEREL, options_changed, (Datum) 0);
	}
	known = NULL;
	last = NULL;
	MemoryContextReset(known_cxt);
	changed = false;
	shuttle_statistics_want();
	control.hcxt = known_cxt;
	known = hash_create("shuttle options", 64, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

DefElem *
shuttle_option_find(const List *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, name) == 0)
			return option;
	}
	return NULL;
}

const char *
shuttle_option_text(const List *options, const char *name)
{
	DefElem    *option = shuttle_option_find(options, name);

	return option == NULL ? NULL : defGetString(option);
}

/* Parses a table's options, of which the first nown are its own. */
static void
split_options(ShuttleTableOptions *own, const List *options, int nown)
{
	const char *estimate = shuttle_option_text(options, SHUTTLE_OUR_ESTIMATE);

	memset(own, 0, sizeof(ShuttleTableOptions));
	own->fetch_size = shuttle_option_text(options, "fetch_size");
	if (estimate != NULL)
		(void) parse_bool(estimate, &own->remote_estimate);
	for (int i = 0; i < nown; i++)
	{
		DefElem    *option = list_nth_node(DefElem, options, i);

		if (strcmp(option->defname, "schema_name") == 0)
			own->schema_name = defGetString(option);
		else if (strcmp(option->defname, "table_name") == 0)
			own->table_name = defGetString(option);
		else
			own->others = lappend(own->others, option);
	}

	/* quoting depends on this setting, which may change */
	if (own->schema_name != NULL && own->table_name != NULL && !quote_all_identifiers)
		own->qualified_name = quote_qualified_identifier(own->schema_name,
														 own->table_name);
}

static const KnownOptions *
find_entry(Oid serverid, Oid relid)
{
	OptionsKey	key = {
		.serverid = serverid,
		.relid = relid,
	};
	KnownOptions *entry;
	List	   *options;
	int			nown;
	MemoryContext old;

	if (known == NULL || changed)
		forget_options();
	if (last != NULL && last->key.serverid == serverid && last->key.relid == relid)
		return last;
	entry = hash_search(known, &key, HASH_FIND, NULL);
	if (entry != NULL)
		return last = entry;

	/*
	 * reading the catalogs may process invalidations: a change noticed now
	 * may be missing in what we read
	 */
	options = OidIsValid(relid) ? GetForeignTable(relid)->options : NIL;
	nown = list_length(options);
	options = list_concat_copy(options, GetForeignServer(serverid)->options);
	old = MemoryContextSwitchTo(known_cxt);
	options = copyObject(options);
	entry = hash_search(known, &key, HASH_ENTER, NULL);
	entry->options = options;
	split_options(&entry->own, options, nown);
	MemoryContextSwitchTo(old);
	return entry;
}

const List *
shuttle_option_cache_list(Oid serverid, Oid relid)
{
	return find_entry(serverid, relid)->options;
}

const ShuttleTableOptions *
shuttle_option_cache_parsed(Oid serverid, Oid relid)
{
	return &find_entry(serverid, relid)->own;
}
