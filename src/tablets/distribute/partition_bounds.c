/*-------------------------------------------------------------------------
 * partition_bounds.c
 *	  Rows of distributed partitions, and the bounds of new ones.
 *
 * Core does not look at rows of foreign tables. So rows of a distributed table that is
 * attached, and those of a distributed default partition that could belong to a new one,
 * are held against the bound here: nodes are asked for one that is in the wrong place.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "lib/stringinfo.h"
#include "partitioning/partdesc.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "tablets/common/local_sql.h"
#include "tablets/common/partitions.h"
#include "tablets/distribute/distribute.h"
#include "tablets/distribute/partition.h"
#include "tablets/rights/owner_rights.h"

/* The default partition, if nodes have rows of it; or InvalidOid. */
static Oid
default_on_nodes(Oid parent)
{
	Relation	rel = table_open(parent, AccessShareLock);
	Oid			partition = get_default_oid_from_partdesc(RelationGetPartitionDesc(rel, true));

	table_close(rel, NoLock);
	return OidIsValid(partition) && shuttle_partitions_distributed(partition) != NIL ? partition : InvalidOid;
}

int
shuttle_partition_begin_quiet(Oid parent)
{
	int			level = NewGUCNestLevel();

	if (OidIsValid(default_on_nodes(parent)))
	{
		(void) set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
		(void) set_config_option("log_min_messages", "error", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	}
	return level;
}

void
shuttle_partition_bounds_changed(Oid parent)
{
	Oid			other = get_default_partition_oid(parent);
	ListCell   *cell;

	foreach(cell, OidIsValid(other) ? find_all_inheritors(other, NoLock, NULL) : NIL)
		CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
}

/* Nodes show the rows that were there when the transaction began. */
static void
refuse_old_snapshot(Oid relid)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot check rows of distributed table \"%s\" against the bounds of partitions in a REPEATABLE READ or SERIALIZABLE transaction",
						get_rel_name(relid)),
				 errdetail("Rows that others have committed since it began would not be checked."),
				 errhint("Use a READ COMMITTED transaction.")));
}

/* A hash bound has the OID of a table of this server: nodes must not compute it. */
static bool
is_hash_bound(const char *bound)
{
	return strstr(bound, "satisfies_hash_partition") != NULL;
}

/*
 * True if a distributed table has a row for which the bound of a partition is true, or is not.
 * rows: a query of its rows, or of some. What nodes compute of the bound is up to the planner; the
 * rest is computed here, with the rights of the table's owner.
 */
static bool
has_row(Oid relid, const char *rows, const char *bound, bool meets)
{
	ShuttleRights caller = shuttle_owner_rights_take(relid);
	int			level = shuttle_owner_rights_all_rows();
	bool		found;

	(void) set_config_option("constraint_exclusion", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	found = shuttle_local_text(psprintf("WITH t AS %sMATERIALIZED (%s) SELECT '' FROM t WHERE (%s) IS %s LIMIT 1",
										is_hash_bound(bound) ? "" : "NOT ", rows, bound, meets ? "TRUE" : "FALSE"),
							   relid) != NULL;
	AtEOXact_GUC(true, level);
	shuttle_owner_rights_end(caller);
	return found;
}

static bool
table_has_row(Oid relid, const char *bound, bool meets)
{
	refuse_old_snapshot(relid);
	return has_row(relid, psprintf("SELECT * FROM %s", shuttle_local_name(relid)), bound, meets);
}

/* Has core compute what is constant in the keys of the tables above, each as its owner: their bounds
 * are read by these. The locks keep the keys as they are. */
static void
compute_keys(Oid partition)
{
	ListCell   *cell;

	foreach(cell, get_partition_ancestors(partition))
	{
		ShuttleRights caller = shuttle_owner_rights_take(lfirst_oid(cell));
		Relation	rel = table_open(lfirst_oid(cell), AccessShareLock);

		(void) RelationGetPartitionKey(rel);
		table_close(rel, NoLock);
		shuttle_owner_rights_end(caller);
	}
}

/* The bound with those of the tables above; NULL: all rows belong there. */
static char *
bound_of(Oid partition)
{
	compute_keys(partition);
	return shuttle_local_text("SELECT pg_get_partition_constraintdef($1)", partition);
}

void
shuttle_partition_check_default(Oid partition)
{
	Oid			other = default_on_nodes(get_partition_parent(partition, false));
	char	   *bound = bound_of(partition);
	ListCell   *cell;

	if (!OidIsValid(other) || other == partition || bound == NULL)
		return;
	foreach(cell, shuttle_partitions_distributed(other))
	{
		if (table_has_row(lfirst_oid(cell), bound, true))
			ereport(ERROR,
					(errcode(ERRCODE_CHECK_VIOLATION),
					 errmsg("updated partition constraint for default partition \"%s\" would be violated by some row",
							get_rel_name(lfirst_oid(cell)))));
	}
}

void
shuttle_partition_check_rows(Oid partition)
{
	ListCell   *cell;

	foreach(cell, shuttle_partitions_distributed(partition))
	{
		char	   *bound = bound_of(lfirst_oid(cell));

		if (bound != NULL && table_has_row(lfirst_oid(cell), bound, false))
			ereport(ERROR,
					(errcode(ERRCODE_CHECK_VIOLATION),
					 errmsg("partition constraint of relation \"%s\" is violated by some row", get_rel_name(lfirst_oid(cell)))));
	}
}

bool
shuttle_partition_has_strays(Oid partition, const List *tablets)
{
	char	   *bound = bound_of(partition);
	const char *columns;
	StringInfoData rows;
	const ListCell *cell;

	if (bound == NULL || tablets == NIL || is_hash_bound(bound))
		return false;
	columns = shuttle_load_columns(partition);
	initStringInfo(&rows);
	foreach(cell, tablets)
		appendStringInfo(&rows, "%sSELECT %s FROM %s", rows.len == 0 ? "" : " UNION ALL ", columns,
						 shuttle_local_name(lfirst_oid(cell)));
	return has_row(partition, rows.data, bound, false);
}
