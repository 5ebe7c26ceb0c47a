/*-------------------------------------------------------------------------
 * move_remains.c
 *	  What is left of moves that were interrupted, for shuttle.check().
 *
 * A session that ended in the middle of a move or split leaves publications, slots,
 * subscriptions and half copied tablets, whose names tell the group and the number of
 * the tablets. A session that still moves holds a lock on all tables of the group.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/problems.h"
#include "tablets/common/tablet_names.h"
#include "tablets/move/move.h"
#include "tablets/shuttle_tablets.h"

static const char *const groups_query =
"SELECT min(relation::oid)::text FROM shuttle.tables WHERE kind = 'distributed' AND $1 IS NOT NULL GROUP BY group_id ORDER BY 1";

/* Numbers of tablets, of which a node has something; and whatever else follows the prefix in a name there. */
static char *
left_query(const ShuttleMove *move)
{
	char	   *prefix = shuttle_move_name(move->layout->group, 0);
	StringInfoData text;
	ListCell   *cell;

	prefix[strlen(prefix) - 1] = '\0';
	initStringInfo(&text);
	appendStringInfo(&text, "SELECT pg_catalog.substr(name, %d) FROM (SELECT pubname::text AS name FROM pg_catalog.pg_publication"
					 " UNION SELECT slot_name::text FROM pg_catalog.pg_replication_slots"
					 " UNION SELECT subname::text FROM pg_catalog.pg_subscription) AS n WHERE pg_catalog.starts_with(name, %s)"
					 " UNION SELECT number::text FROM (VALUES ",
					 (int) strlen(prefix) + 1, quote_literal_cstr(prefix));
	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		for (int i = 0; i < move->layout->ntablets; i++)
		{
			const ShuttleTablet *tablet = &move->layout->tablets[i];
			int			number = tablet->number;

			appendStringInfo(&text, "%1$s(%2$s, %5$s, %6$d), (%3$s, %5$s, %6$d), (%4$s, %5$s, %6$d)", foreach_current_index(cell) + i == 0 ? "" : ", ",
							 quote_literal_cstr(shuttle_tablet_qualified_name(relid, number)),
							 quote_literal_cstr(shuttle_tablet_half_name(relid, number)),
							 quote_literal_cstr(shuttle_tablet_half_name(relid, number + tablet->modulus)),
							 quote_literal_cstr(shuttle_local_name(relid)), number);
		}
	}
	appendStringInfoString(&text, ") AS t (name, parent, number) JOIN pg_catalog.pg_constraint ON conrelid = pg_catalog.to_regclass(t.name)"
						   " JOIN pg_catalog.pg_inherits ON inhrelid = conrelid AND inhparent = pg_catalog.to_regclass(parent)"
						   " WHERE conname = 'shuttle_trap' AND pg_catalog.pg_get_constraintdef(pg_constraint.oid) NOT LIKE '%false%'");
	return text.data;
}

/* Subscriptions are stopped first, since they would open slots again, and dropped last,
 * since they tell the names of slots. */
static void
remove_left(ShuttleMove *move)
{
	List	   *servers = shuttle_layout_nodes();
	ListCell   *cell;

	move->name = shuttle_move_name(move->layout->group, move->number);
	move->sync_slots = NULL;
	foreach(cell, servers)
	{
		move->target = lfirst_oid(cell);
		shuttle_move_stop_copy(move);
	}
	foreach(cell, servers)
	{
		move->source = lfirst_oid(cell);
		move->target = InvalidOid;
		shuttle_move_undo(move);
	}
	foreach(cell, servers)
	{
		move->source = InvalidOid;
		move->target = lfirst_oid(cell);
		shuttle_move_undo(move);
	}
}

/* Whoever may make a publication on a node chooses its name. Returns -1 if a name has no tablet's number. */
static int
number_of(const ShuttleMove *move, const char *text)
{
	int			number = atoi(text);

	return strcmp(psprintf("%d", number), text) == 0 && shuttle_layout_tablet(move->layout, number) != NULL ? number : -1;
}

static void
check_group(ShuttleCheck *check)
{
	ShuttleMove move = {
		.kind = &shuttle_move_tablets,
		.relids = shuttle_move_members(shuttle_layout_group(check->relid)),
		.layout = shuttle_layout_of(check->relid),
	};
	char	   *query = left_query(&move);
	List	   *numbers = NIL;
	ListCell   *cell;

	foreach(cell, list_difference_oid(shuttle_layout_nodes(), check->away))
	{
		ListCell   *inner;

		check->serverid = lfirst_oid(cell);
		check->node = shuttle_connection_get(check->serverid, GetUserId());
		foreach(inner, shuttle_node_rows(check->node, query, 1, InvalidOid))
		{
			int			number = number_of(&move, ((char **) lfirst(inner))[0]);

			if (number < 0)
				continue;
			shuttle_problem_put(check, psprintf("has what is left of moving tablet \"%s\"",
												shuttle_tablet_name(check->relid, number)),
								check->repair ? NULL : "SELECT * FROM shuttle.check(repair => true) removes it.");
			numbers = list_append_unique_int(numbers, number);
		}
	}
	foreach(cell, check->repair ? numbers : NIL)
	{
		move.number = lfirst_int(cell);
		remove_left(&move);
	}
}

void
shuttle_move_check_remains(ShuttleCheck *check)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(groups_query, InvalidOid))
	{
		check->relid = atooid(lfirst(cell));
		if (ConditionalLockRelationOid(check->relid, ShareUpdateExclusiveLock))
			check_group(check);
	}
}
