/*-------------------------------------------------------------------------
 * at_once.c
 *	  Tablets of empty tables change places in the transaction that gives a rule.
 *
 * A partition that is made and placed in one transaction never has a row elsewhere. It is a
 * move without rows: the tables on both nodes and here change as at the end of
 * a move (move_tablets.c). Tables with rows are moved by shuttle.rebalance().
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/tablet_names.h"
#include "tablets/move/move.h"
#include "tablets/move/settle.h"
#include "tablets/placement/placement.h"
#include "tablets/rights/owner_rights.h"

typedef struct Wanted
{
	const ShuttleLayout *layout;
	Oid		   *servers;		/* of each tablet; its own: it stays */
	int			nmoves;
} Wanted;

/* ---- where tablets should be */

static int
count_at(const Wanted *wanted, int ntablets, Oid serverid)
{
	int			count = 0;

	for (int i = 0; i < ntablets; i++)
		count += wanted->servers[i] == serverid;
	return count;
}

/* The node with the fewest tablets. */
static Oid
choose_server(const Wanted *wanted, const List *allowed)
{
	Oid			best = linitial_oid(allowed);
	const ListCell *cell;

	foreach(cell, allowed)
	{
		if (count_at(wanted, wanted->layout->ntablets, lfirst_oid(cell)) < count_at(wanted, wanted->layout->ntablets, best))
			best = lfirst_oid(cell);
	}
	return best;
}

static Wanted
find_wanted(int group, const ShuttleLayout *layout)
{
	Wanted		wanted = {.layout = layout};
	ShuttlePlaces *places = shuttle_places_of_group(group);
	int			leader = shuttle_settle_leader(group);
	ShuttleLayout *other = leader == 0 ? NULL : shuttle_layout_of(linitial_oid(shuttle_move_members(leader)));
	List	   *allowed = shuttle_places_nodes(places);

	wanted.servers = palloc0_array(Oid, layout->ntablets);
	for (int i = 0; i < layout->ntablets; i++)
	{
		Oid			own = other == NULL ? layout->tablets[i].serverid : other->tablets[i].serverid;

		if (list_member_oid(allowed, own))
			wanted.servers[i] = own;
	}
	for (int i = 0; i < layout->ntablets; i++)
	{
		if (!OidIsValid(wanted.servers[i]))
			wanted.servers[i] = choose_server(&wanted, allowed);
		wanted.nmoves += wanted.servers[i] != layout->tablets[i].serverid;
	}
	return wanted;
}

/* ---- the change */

/* Also rows that policies hide from the caller. */
static bool
has_rows(Oid relid)
{
	ShuttleRights caller = shuttle_owner_rights_take(relid);
	int			level = shuttle_owner_rights_all_rows();
	bool		found = shuttle_local_text(psprintf("SELECT '' FROM (SELECT FROM %s LIMIT 1) AS t WHERE $1 IS NOT NULL",
													shuttle_local_name(relid)), InvalidOid) != NULL;

	AtEOXact_GUC(true, level);
	shuttle_owner_rights_end(caller);
	return found;
}

static bool
are_empty(const List *relids)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		if (has_rows(lfirst_oid(cell)))
			return false;
	}
	return true;
}

static ShuttleMove
make_move(const List *relids, const ShuttleTablet *tablet, Oid target)
{
	ShuttleMove move = {
		.kind = &shuttle_move_tablets,
		.relids = (List *) relids,
		.layout = shuttle_layout_of(linitial_oid(relids)),
		.number = tablet->number,
		.source = tablet->serverid,
		.target = target,
		.parts = shuttle_split_parts(tablet, target),
	};

	move.parts->ntablets = 1;
	move.parts->tablets[0].modulus = tablet->modulus;
	return move;
}

static void
lock_all(const List *relids, const Wanted *wanted)
{
	const ListCell *cell;

	foreach(cell, relids)
		shuttle_move_lock_table(lfirst_oid(cell));
	for (int i = 0; i < wanted->layout->ntablets; i++)
	{
		const ShuttleTablet *tablet = &wanted->layout->tablets[i];
		ShuttleMove move;

		if (wanted->servers[i] == tablet->serverid)
			continue;
		move = make_move(relids, tablet, wanted->servers[i]);
		shuttle_move_lock_source(&move);
	}
}

/* Later statements of the transaction wait as long as the nodes' settings say. */
static void
forget_timeouts(const Wanted *wanted)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	List	   *servers = NIL;

	for (int i = 0; i < wanted->layout->ntablets; i++)
	{
		if (wanted->servers[i] == wanted->layout->tablets[i].serverid)
			continue;
		servers = list_append_unique_oid(servers, wanted->servers[i]);
		servers = list_append_unique_oid(servers, wanted->layout->tablets[i].serverid);
	}
	shuttle_node_statements_add_all(statements, servers, "SET LOCAL lock_timeout TO DEFAULT");
	shuttle_node_statements_run(statements);
}

static void
move_empty(const List *relids, const Wanted *wanted)
{
	for (int i = 0; i < wanted->layout->ntablets; i++)
	{
		const ShuttleTablet *tablet = &wanted->layout->tablets[i];
		ShuttleMove move;

		if (wanted->servers[i] == tablet->serverid)
			continue;
		move = make_move(relids, tablet, wanted->servers[i]);
		move.kind->make(&move);
		move.kind->change(&move);
		CommandCounterIncrement();
	}
	forget_timeouts(wanted);
}

int
shuttle_at_once_place(int group)
{
	List	   *relids = shuttle_move_members(group);
	Wanted		wanted;

	if (relids == NIL)
		return 0;
	wanted = find_wanted(group, shuttle_layout_of(linitial_oid(relids)));

	/* an older snapshot may not see rows */
	if (wanted.nmoves == 0 || IsolationUsesXactSnapshot() || !are_empty(relids))
		return wanted.nmoves;
	lock_all(relids, &wanted);
	/* others may have joined, or written, before they let us in */
	if (list_difference_oid(shuttle_move_members(group), relids) != NIL || !are_empty(relids))
		return wanted.nmoves;
	move_empty(relids, &wanted);
	return 0;
}
