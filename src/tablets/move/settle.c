/*-------------------------------------------------------------------------
 * settle.c
 *	  Tables leave their group for one with the rules that they have, and come back.
 *
 * A group's tablets lie together, so a partition with a rule of its own cannot stay in the
 * group of the other partitions. The group that it gets has the same layout at first, and
 * notes which group it left (shuttle.groups.origin); partitions, of other tables too, that leave
 * the same group for the same rules share it if they lie alike. Else their groups follow
 * the oldest of them, their leader: tablets are moved to where it has those of the same number, and then
 * they are one group.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/partitions.h"
#include "tablets/common/places.h"
#include "tablets/common/table_facts.h"
#include "tablets/move/move.h"
#include "tablets/move/settle.h"
#include "tablets/shuttle_global.h"

static const char *const origin_query =
"SELECT coalesce(origin, id)::text FROM shuttle.groups WHERE id = $1::int8";

static const char *const relatives_query =
"SELECT id::text FROM shuttle.groups AS g WHERE (id = %1$d OR origin = %1$d) AND $1 IS NOT NULL"
" AND EXISTS (SELECT FROM shuttle.tables WHERE group_id = id AND kind = 'distributed') ORDER BY g.id";

static const char *const left_query =
"SELECT id::text FROM shuttle.groups AS g WHERE origin IS NOT NULL AND $1 IS NOT NULL"
" AND EXISTS (SELECT FROM shuttle.tables WHERE group_id = id AND kind = 'distributed') ORDER BY g.id DESC";

/* On a node: keys that relate the table to others. */
static const char *const keys_query =
"SELECT pg_catalog.quote_ident(conname), CASE WHEN conrelid = $1 THEN confrelid ELSE conrelid END::pg_catalog.regclass::text"
" FROM pg_catalog.pg_constraint WHERE contype = 'f' AND conparentid = 0 AND $1 IN (conrelid, confrelid) AND conrelid <> confrelid";

/* ---- groups */

static int
origin_of(int group)
{
	char	   *origin = shuttle_local_text(origin_query, (Oid) group);

	return origin == NULL ? group : pg_strtoint32(origin);	/* it may have gone */
}

List *
shuttle_settle_family(int group)
{
	int			origin = origin_of(group);
	List	   *family = list_append_unique_int(list_make1_int(origin), group);
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf(relatives_query, origin), InvalidOid))
		family = list_append_unique_int(family, pg_strtoint32(lfirst(cell)));
	return family;
}

static bool
is_same_layout(const ShuttleLayout *a, const ShuttleLayout *b, bool with_servers)
{
	if (a == NULL || b == NULL || a->ntablets != b->ntablets)
		return false;
	for (int i = 0; i < a->ntablets; i++)
	{
		if (a->tablets[i].modulus != b->tablets[i].modulus || a->tablets[i].number != b->tablets[i].number ||
			(with_servers && a->tablets[i].serverid != b->tablets[i].serverid))
			return false;
	}
	return true;
}

/* NULL: the group has no tables any more. */
static ShuttleLayout *
group_layout(int group)
{
	List	   *members = shuttle_move_members(group);

	return members == NIL ? NULL : shuttle_layout_of(linitial_oid(members));
}

/* The first group with the rules and the form that left the same group as this one, or that is the
 * one that was left. itself: this one counts, too. */
static int
find_relative(int group, const ShuttleLayout *layout, const char *rules, bool with_servers, bool itself)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf(relatives_query, origin_of(group)), InvalidOid))
	{
		int			other = pg_strtoint32(lfirst(cell));
		ShuttleLayout *other_layout;

		if ((other == group && !itself) || strcmp(shuttle_places_of_group(other)->text, rules) != 0)
			continue;
		other_layout = group_layout(other);
		if (is_same_layout(layout, other_layout, with_servers) && !other_layout->traps)
			return other;
	}
	return 0;
}

int
shuttle_settle_leader(int group)
{
	int			leader = find_relative(group, group_layout(group), shuttle_places_of_group(group)->text, false, true);

	return leader == group ? 0 : leader;
}

static void
join(const List *relids, int group)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		(void) shuttle_local_run_as_superuser(psprintf("UPDATE shuttle.tables SET group_id = %d WHERE relation = %u::regclass",
													   group, lfirst_oid(cell)));
		CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
	}
	CommandCounterIncrement();
}

/* ---- leaving */

static void
refuse(Oid relid, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot leave its group for a rule of its own", get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* Nodes check keys between tables of one group, since their rows lie together. */
static void
check_keys(Oid relid, const List *stay)
{
	ShuttleNode *node = shuttle_connection_get(linitial_oid(shuttle_table_servers(relid)), GetUserId());
	ListCell   *cell;

	foreach(cell, shuttle_node_rows(node, keys_query, 2, relid))
	{
		char	  **key = lfirst(cell);
		const ListCell *other;

		foreach(other, stay)
		{
			if (strcmp(shuttle_local_name(lfirst_oid(other)), key[1]) == 0)
				refuse(relid, psprintf("Foreign key %s relates it to table \"%s\".", key[0], get_rel_name(lfirst_oid(other))),
					   "Drop the key and add it again behind the rule: then the query node checks it.");
		}
	}
}

static void
leave(const List *relids, int group, const char *rules)
{
	List	   *stay = list_difference_oid(shuttle_move_members(group), relids);
	ShuttleLayout *layout = shuttle_layout_of(linitial_oid(relids));
	int			target;
	const ListCell *cell;

	if (layout->traps)
		refuse(linitial_oid(relids), "Storage nodes have functions of the group.",
			   "Bring them back with shuttle.local_function() first.");
	foreach(cell, relids)
		check_keys(lfirst_oid(cell), stay);
	target = find_relative(group, layout, rules, true, false);
	if (target == 0)
	{
		(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.groups (origin) VALUES (%d)", origin_of(group)));
		target = pg_strtoint32(shuttle_local_text("SELECT currval('shuttle.groups_id_seq')::text WHERE $1 IS NOT NULL", InvalidOid));
	}
	join(relids, target);
}

/* True of tables that have the rules for themselves. */
static bool
is_separate(Oid relid)
{
	return OidIsValid(shuttle_partitions_parent(relid)) || shuttle_global_index_has_entries(relid);
}

/* Tables of one group, and one text of rules, leave together. */
static void
settle_alike(const List *relids, int group, const char *rules)
{
	const ListCell *cell;

	foreach(cell, list_difference_oid(shuttle_move_members(group), relids))
	{
		if (strcmp(shuttle_places_of_table(lfirst_oid(cell))->text, rules) != 0)
		{
			leave(relids, group, rules);
			return;
		}
	}
}

void
shuttle_settle(const List *relids, bool alone)
{
	List	   *todo = NIL;
	const ListCell *cell;

	foreach(cell, relids)
	{
		if (alone || is_separate(lfirst_oid(cell)))
			todo = lappend_oid(todo, lfirst_oid(cell));
	}
	while (todo != NIL)
	{
		int			group = shuttle_layout_group(linitial_oid(todo));
		const char *rules = shuttle_places_of_table(linitial_oid(todo))->text;
		List	   *alike = NIL;

		foreach(cell, todo)
		{
			if (shuttle_layout_group(lfirst_oid(cell)) == group &&
				strcmp(shuttle_places_of_table(lfirst_oid(cell))->text, rules) == 0)
				alike = lappend_oid(alike, lfirst_oid(cell));
		}
		settle_alike(alike, group, rules);
		todo = list_difference_oid(todo, alike);
	}
}

List *
shuttle_settle_tables(Oid relid)
{
	List	   *tables = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_partitions_distributed(relid))
	{
		Oid			source = shuttle_places_source(lfirst_oid(cell));

		if (source == relid || !OidIsValid(source) || source == shuttle_places_source(relid))
			tables = lappend_oid(tables, lfirst_oid(cell));
	}
	return tables;
}

/* ---- coming together */

void
shuttle_settle_join(int group)
{
	int			leader = shuttle_settle_leader(group);

	if (leader == 0)
		return;
	shuttle_layout_join(leader);
	if (is_same_layout(group_layout(group), group_layout(leader), true))
		join(shuttle_move_members(group), leader);
}

/* Locks are those of a move, so that nobody moves or joins meanwhile. */
static void
join_leader(int group)
{
	List	   *members = shuttle_move_members(group);
	int			leader = shuttle_settle_leader(group);

	if (leader == 0 || !is_same_layout(group_layout(group), group_layout(leader), true))
		return;
	shuttle_layout_lock_places(Min(group, leader));
	shuttle_layout_lock_places(Max(group, leader));
	if (equal(members, shuttle_move_members(group)) && leader == shuttle_settle_leader(group) &&
		is_same_layout(group_layout(group), group_layout(leader), true))
		join(members, leader);
	shuttle_move_commit();
	shuttle_layout_unlock_places(Max(group, leader));
	shuttle_layout_unlock_places(Min(group, leader));
}

void
shuttle_settle_join_all(void)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(left_query, InvalidOid))
		join_leader(pg_strtoint32(lfirst(cell)));
}
