/*-------------------------------------------------------------------------
 * key_partners.c
 *	  Locks the tables at the other end of foreign keys that are dropped.
 *
 * Core locks both tables of a foreign key that it drops. Those of distributed
 * tables exist on nodes only: a session that used the other table could then wait
 * for us on one of its partitions there, while we wait for the session on another
 * one. With the same lock taken here first, nodes find both tables free.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

#include "storage/shuttle_storage.h"
#include "tablets/common/node_statements.h"
#include "tablets/distribute/key_partners.h"
#include "tablets/shuttle_tablets.h"

char *
shuttle_key_tables(const List *names)
{
	StringInfoData text;
	const ListCell *cell;

	initStringInfo(&text);
	foreach(cell, names)
		appendStringInfo(&text, "%spg_catalog.to_regclass(%s)", text.len == 0 ? "" : ", ",
						 quote_literal_cstr(lfirst(cell)));
	return text.data;
}

/* A query of the tables at the other end. keys: further conditions on a key. */
static char *
partners_query(const List *names, const char *keys)
{
	return psprintf("WITH t (relid) AS (SELECT unnest(ARRAY[%s])::oid)"
					" SELECT DISTINCT n.nspname, c.relname FROM pg_constraint AS k"
					" JOIN pg_class AS c ON c.oid IN (k.conrelid, k.confrelid) AND c.oid NOT IN (SELECT relid FROM t WHERE relid IS NOT NULL)"
					" JOIN pg_namespace AS n ON n.oid = c.relnamespace"
					" WHERE k.contype = 'f' AND k.conparentid = 0%s"
					" AND (k.conrelid IN (SELECT relid FROM t) OR k.confrelid IN (SELECT relid FROM t)) ORDER BY 1, 2",
					shuttle_key_tables(names), keys);
}

static void
lock_table(char **names)
{
	Oid			relid = RangeVarGetRelid(makeRangeVar(names[0], names[1], -1), NoLock, true);
	ShuttleTableKind kind = OidIsValid(relid) ? shuttle_table_kind(relid) : SHUTTLE_TABLE_OTHER;

	if (kind == SHUTTLE_TABLE_DISTRIBUTED || kind == SHUTTLE_TABLE_REFERENCE)
		LockRelationOid(relid, AccessExclusiveLock);
}

void
shuttle_key_partners_lock(const List *names, Oid serverid, const char *key)
{
	char	   *keys = key == NULL ? "" : psprintf(" AND k.conname = %s", quote_literal_cstr(key));
	ListCell   *cell;

	foreach(cell, shuttle_node_rows(shuttle_connection_get(serverid, GetUserId()),
									partners_query(names, keys), 2, InvalidOid))
		lock_table(lfirst(cell));
}
