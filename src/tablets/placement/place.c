/*-------------------------------------------------------------------------
 * place.c
 *	  shuttle.place() and shuttle.set_labels().
 *
 * A rule is a row of shuttle.placement_rules. It is refused if no node meets it. Partitions and
 * entries of indexes get a group of their own for it (settle.c), and tablets of empty tables are moved at
 * once (at_once.c); a notice says what shuttle.rebalance() has to move.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/partitions.h"
#include "tablets/distribute/distribute.h"
#include "tablets/move/move.h"
#include "tablets/move/settle.h"
#include "tablets/placement/placement.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_place);
SHUTTLE_SQL_FUNCTION(shuttle_set_labels);

static const char *const groups_query =
"SELECT DISTINCT group_id::text FROM shuttle.placements WHERE $1 IS NOT NULL ORDER BY 1";

/* Of tables and partitioned ones, at any level below. */
static const char *const ages_query =
"WITH RECURSIVE below (relid) AS (SELECT $1 UNION ALL SELECT inhrelid FROM pg_inherits JOIN below ON relid = inhparent)"
" SELECT 't' FROM below JOIN pg_partitioned_table ON partrelid = relid"
" JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]"
" WHERE partstrat = 'r' AND atttypid IN ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype) LIMIT 1";

/* ---- what is refused */

pg_noreturn static void
refuse(Oid relid, int code, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(code),
			 errmsg("table \"%s\" cannot get a placement rule", get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static void
check_kind(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE && relkind != RELKIND_FOREIGN_TABLE)
		refuse(relid, ERRCODE_WRONG_OBJECT_TYPE, "It is no table.", "Name a table.");
	switch (shuttle_table_kind(relid))
	{
		case SHUTTLE_TABLE_REFERENCE:
			refuse(relid, ERRCODE_FEATURE_NOT_SUPPORTED, "All storage nodes have copies of a reference table.",
				   "Distribute the table instead, with one tablet if it is small.");
			break;
		case SHUTTLE_TABLE_TABLET:
			refuse(relid, ERRCODE_WRONG_OBJECT_TYPE, "It is a tablet.", "Name its table, or a partition of the table.");
			break;
		default:
			if (relkind == RELKIND_FOREIGN_TABLE)
				refuse(relid, ERRCODE_WRONG_OBJECT_TYPE, "It is a foreign table.", "Move it with shuttle.move_table().");
			break;
	}
}

static void
check_rule(Oid relid, const ShuttleRule *rule)
{
	List	   *nodes = shuttle_layout_nodes();
	ListCell   *cell;

	if (shuttle_rule_has_ages(rule) &&
		(shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED || shuttle_local_text(ages_query, relid) == NULL))
		refuse(relid, ERRCODE_INVALID_PARAMETER_VALUE, "Its rule has an age, and the table has no partitions by ranges of dates or timestamps.",
			   "Leave \"older than\" out, or name a table that is PARTITION BY RANGE of a column of type date, timestamp or timestamptz.");
	foreach(cell, rule->clauses)
	{
		ShuttlePlacesRule one = {.source = relid,.clause = lfirst(cell)};
		ShuttlePlaces places = {.rules = list_make1(&one)};

		if (nodes != NIL && shuttle_places_choose(&places, nodes) == NIL)
			shuttle_places_refuse_all(&places, InvalidOid);
	}
}

/* ---- rules */

static void
note_rule(Oid relid, const ShuttleRule *rule, bool by_age)
{
	(void) shuttle_local_run_as_superuser("DELETE FROM shuttle.placement_rules WHERE NOT EXISTS"
										  " (SELECT FROM pg_class WHERE oid = relation::oid)");
	(void) shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.placement_rules WHERE relation = %u::regclass", relid));
	if (rule != NULL)
		(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.placement_rules VALUES (%u, %s, %s)", relid,
													   quote_literal_cstr(shuttle_rule_text(rule)), by_age ? "true" : "false"));
	CommandCounterIncrement();
}

/* With the entries of their indexes that are in other groups. */
static List *
with_entries(const List *relids)
{
	List	   *tables = list_copy(relids);
	const ListCell *cell;

	foreach(cell, relids)
	{
		ListCell   *entries;

		foreach(entries, shuttle_local_texts("SELECT entries::oid::text FROM shuttle.global_indexes WHERE relation = $1", lfirst_oid(cell)))
		{
			Oid			table = atooid(lfirst(entries));

			if (shuttle_layout_group(table) != shuttle_layout_group(lfirst_oid(cell)))
				tables = lappend_oid(tables, table);
		}
	}
	return tables;
}

static void
add_groups(List **groups, const List *relids)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		int			group = shuttle_layout_group(lfirst_oid(cell));

		if (group != 0)			/* brought back meanwhile */
			*groups = list_append_unique_int(*groups, group);
	}
}

static int
place_groups(const List *groups, Oid relid)
{
	int			nelsewhere = 0;
	const ListCell *cell;

	foreach(cell, groups)
	{
		ShuttlePlaces *places = shuttle_places_of_group(lfirst_int(cell));

		if (shuttle_places_choose(places, shuttle_layout_nodes_needed()) == NIL)
			shuttle_places_refuse_all(places, relid);
		nelsewhere += shuttle_at_once_place(lfirst_int(cell));
		shuttle_settle_join(lfirst_int(cell));
	}
	return nelsewhere;
}

/* The groups of the tables, those that these may leave them for, and those that follow. */
static List *
find_families(Oid relid)
{
	List	   *groups = NIL;
	List	   *families = NIL;
	ListCell   *cell;

	add_groups(&groups, with_entries(shuttle_partitions_distributed(relid)));
	foreach(cell, groups)
		families = list_concat_unique_int(families, shuttle_settle_family(lfirst_int(cell)));
	list_sort(families, list_int_cmp);
	return families;
}

static void
unlock_tables(const List *relids, int nlocked)
{
	for (int i = 0; i < nlocked; i++)
		UnlockRelationOid(list_nth_oid(relids, i), ShareUpdateExclusiveLock);
}

/* True if all are locked at once; else the one that another session has, and none is locked. */
static bool
lock_tables(const List *relids, Oid *taken)
{
	for (int i = 0; i < list_length(relids); i++)
	{
		*taken = list_nth_oid(relids, i);
		if (!ConditionalLockRelationOid(*taken, ShareUpdateExclusiveLock))
		{
			unlock_tables(relids, i);
			return false;
		}
	}
	return true;
}

/* With the tables that it is a partition of, from above. */
static List *
with_ancestors(Oid relid)
{
	List	   *relids = list_make1_oid(relid);
	ListCell   *cell;

	foreach(cell, get_rel_relispartition(relid) ? get_partition_ancestors(relid) : NIL)
		relids = lcons_oid(lfirst_oid(cell), relids);
	return relids;
}

/*
 * Two rules of one group have to know of each other, and its tables stay together: so nobody moves them,
 * joins them or gives them another rule until we commit. Groups come in front of tables, as
 * moves lock them; but who makes a partition has its parent when he joins a group, so
 * we wait for tables without groups, and begin again. Then what the table is stays so.
 */
static void
lock_families(Oid relid)
{
	List	   *relids = with_ancestors(relid);
	List	   *claimed = NIL;

	for (;;)
	{
		List	   *more = list_difference_int(find_families(relid), claimed);
		ListCell   *cell;
		Oid			taken;

		foreach(cell, more)
			shuttle_layout_claim(lfirst_int(cell));
		claimed = list_concat(claimed, more);
		if (more != NIL)
			continue;
		if (lock_tables(relids, &taken))
		{
			if (list_difference_int(find_families(relid), claimed) == NIL)
				return;
			unlock_tables(relids, list_length(relids));
			continue;
		}
		foreach(cell, claimed)
			shuttle_layout_unclaim(lfirst_int(cell));
		claimed = NIL;
		LockRelationOid(taken, ShareUpdateExclusiveLock);
		UnlockRelationOid(taken, ShareUpdateExclusiveLock);
	}
}

void
shuttle_place_set(Oid relid, const ShuttleRule *rule, bool by_age, bool alone)
{
	List	   *tables = NIL;
	List	   *groups = NIL;
	int			nelsewhere;

	lock_families(relid);
	note_rule(relid, rule, by_age);
	tables = with_entries(shuttle_settle_tables(relid));
	if (tables == NIL)
		return;
	shuttle_settle(tables, alone);
	add_groups(&groups, tables);
	nelsewhere = place_groups(groups, relid);
	if (nelsewhere > 0 && !by_age)
		ereport(NOTICE,
				(errmsg_plural("%d tablet for table \"%s\" lies elsewhere", "%d tablets for table \"%s\" lie elsewhere", nelsewhere,
							   nelsewhere, get_rel_name(relid)),
				 errhint("CALL shuttle.rebalance() brings them where they should be.")));
}

/* Others that lie with them are bound, too. */
static void
tell_of_group(Oid relid)
{
	StringInfoData names;
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_settle_tables(relid))
		others = list_concat_unique_oid(others, shuttle_move_members(shuttle_layout_group(lfirst_oid(cell))));
	initStringInfo(&names);
	foreach(cell, others)
	{
		if (strcmp(shuttle_places_of_table(lfirst_oid(cell))->text, shuttle_places_of_table(relid)->text) != 0)
			appendStringInfo(&names, "%s\"%s\"", names.len == 0 ? "" : ", ", get_rel_name(lfirst_oid(cell)));
	}
	if (names.len > 0)
		ereport(NOTICE,
				(errmsg("the rule holds for the tables of its group, too: %s", names.data),
				 errhint("With alone => true the table leaves its group.")));
}

/* shuttle.place(relation, rule, alone) */
Datum
shuttle_place(PG_FUNCTION_ARGS)
{
	Oid			relid;
	ShuttleRule *rule;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("table and alone must not be null")));
	relid = PG_GETARG_OID(0);
	rule = PG_ARGISNULL(1) ? NULL : shuttle_rule_parse(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	check_kind(relid);
	if (rule != NULL)
		check_rule(relid, rule);
	shuttle_place_set(relid, rule, false, PG_GETARG_BOOL(2));
	if (rule != NULL)
		tell_of_group(relid);
	PG_RETURN_VOID();
}

/* ---- labels */

/* Rules that no node meets any more are refused, others told of. */
static void
check_rules(void)
{
	int			nelsewhere = 0;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(groups_query, InvalidOid))
	{
		int			group = pg_strtoint32(lfirst(cell));
		ShuttlePlaces *places = shuttle_places_of_group(group);
		List	   *members = shuttle_move_members(group);
		ShuttleLayout *layout;

		if (members == NIL)
			continue;
		layout = shuttle_layout_of(linitial_oid(members));
		if (shuttle_places_choose(places, shuttle_layout_nodes()) == NIL)
			shuttle_places_refuse_all(places, InvalidOid);
		for (int i = 0; i < layout->ntablets; i++)
			nelsewhere += !shuttle_places_allow(places, layout->tablets[i].serverid);
	}
	if (nelsewhere > 0)
		ereport(NOTICE,
				(errmsg_plural("%d tablet is where its rule does not allow it", "%d tablets are where their rules do not allow them",
							   nelsewhere, nelsewhere),
				 errhint("CALL shuttle.rebalance() brings them where they should be.")));
}

/* shuttle.set_labels(server, labels) */
Datum
shuttle_set_labels(PG_FUNCTION_ARGS)
{
	const char *name;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("server and labels must not be null"),
				 errhint("A node without labels has '{}'.")));
	name = NameStr(*PG_GETARG_NAME(0));
	(void) shuttle_node_find(name);
	shuttle_node_set_labels(name, PG_GETARG_DATUM(1));
	CommandCounterIncrement();
	check_rules();
	PG_RETURN_VOID();
}
