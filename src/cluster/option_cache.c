/*-------------------------------------------------------------------------
 * option_cache.c
 *	  The options of foreign tables and their servers, as they were last read.
 *
 * Planning asks for some of them for each partition of a table, and reading
 * them from the catalogs takes a good part of the time that core needs to plan
 * its scan.  What was read holds until either catalog changes: the callback
 * only notes that, so that nothing is freed under whoever reads it.
 * Memory: "shuttle options" below CacheMemoryContext, emptied by a change.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "cluster/cluster_internal.h"

typedef struct OptionsKey
{
	Oid			serverid;
	Oid			relid;			/* InvalidOid: of the server alone */
} OptionsKey;

typedef struct KnownOptions
{
	OptionsKey	key;
	List	   *options;		/* the table's in front of the server's */
} KnownOptions;

static MemoryContext known_cxt = NULL;
static HTAB *known = NULL;
static bool changed = false;

static void
options_changed(Datum argument, int cache, uint32 hash)
{
	changed = true;
}

/* Begins with nothing known: at first, and after a change. */
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
	MemoryContextReset(known_cxt);
	changed = false;
	control.hcxt = known_cxt;
	known = hash_create("shuttle options", 64, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

const List *
shuttle_options_find(Oid serverid, Oid relid)
{
	OptionsKey	key = {
		.serverid = serverid,
		.relid = relid,
	};
	KnownOptions *entry;
	List	   *options;
	MemoryContext old;

	if (known == NULL || changed)
		forget_options();
	entry = hash_search(known, &key, HASH_FIND, NULL);
	if (entry != NULL)
		return entry->options;

	/* a change that is noticed here is one that may not be in what is read */
	options = OidIsValid(relid) ? GetForeignTable(relid)->options : NIL;
	options = list_concat_copy(options, GetForeignServer(serverid)->options);
	old = MemoryContextSwitchTo(known_cxt);
	options = copyObject(options);
	MemoryContextSwitchTo(old);
	entry = hash_search(known, &key, HASH_ENTER, NULL);
	entry->options = options;
	return options;
}
