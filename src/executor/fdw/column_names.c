/*-------------------------------------------------------------------------
 * column_names.c
 *	  Whether foreign tables have the same column names on their nodes.
 *
 * The planner asks this for each partition, and each column takes two catalog
 * look-ups. So the SHA-256 of a table's column names is cached until the table
 * changes. It covers attribute numbers and dropped columns.
 *
 * Memory: "shuttle columns" in CacheMemoryContext, an entry per table.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "common/cryptohash.h"
#include "common/sha2.h"
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
	uint8		digest[SHUTTLE_DIGEST_BYTES];
} KnownColumns;

StaticAssertDecl(SHUTTLE_DIGEST_BYTES == PG_SHA256_DIGEST_LENGTH,
				 "a digest is one of SHA-256");

static HTAB *known = NULL;
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

	control.hcxt = AllocSetContextCreate(CacheMemoryContext, "shuttle columns",
										 ALLOCSET_DEFAULT_SIZES);
	known = hash_create("shuttle columns", 64, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(table_changed, (Datum) 0);
}

static void
digest_columns(Oid relid, uint8 *digest)
{
	pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA256);
	Relation	rel = table_open(relid, NoLock);
	TupleDesc	columns = RelationGetDescr(rel);
	bool		failed = hash == NULL || pg_cryptohash_init(hash) < 0;

	for (int i = 0; i < columns->natts && !failed; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		const char *name = "";

		if (!column->attisdropped)
			name = shuttle_remote_column_name(rel, column->attnum);
		failed = pg_cryptohash_update(hash, (const uint8 *) name,
									  strlen(name) + 1) < 0 ||
			pg_cryptohash_update(hash, (const uint8 *) &column->attgenerated, 1) < 0;
	}
	failed = failed || pg_cryptohash_final(hash, digest, SHUTTLE_DIGEST_BYTES) < 0;
	table_close(rel, NoLock);
	pg_cryptohash_free(hash);
	if (failed)
		elog(ERROR, "could not compute SHA-256");
}

const uint8 *
shuttle_columns_digest(Oid relid)
{
	KnownColumns *columns;
	uint64		changes_before;
	uint8		digest[SHUTTLE_DIGEST_BYTES];

	if (known == NULL)
		prepare();
	columns = hash_search(known, &relid, HASH_FIND, NULL);
	if (columns != NULL && columns->valid && columns->all_changed == all_changed)
		return columns->digest;

	/*
	 * reading the catalogs may process invalidations: a change noticed now
	 * may be missing in what we read
	 */
	changes_before = changes;
	digest_columns(relid, digest);
	columns = hash_search(known, &relid, HASH_ENTER, NULL);
	memcpy(columns->digest, digest, sizeof(digest));
	columns->all_changed = all_changed;
	columns->valid = changes == changes_before;
	return columns->digest;
}
