/*-------------------------------------------------------------------------
 * balance_read.c
 *	  How large the tablets are on their nodes.
 *
 * One query a node. Bytes are those of files, with indexes and TOAST. Rows are estimated
 * as a node's planner does: the density that its last ANALYZE found, times the size that
 * the tablet has now; or what its statistics counted.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/places.h"
#include "tablets/move/balance.h"
#include "tablets/move/move.h"
#include "tablets/move/settle.h"
#include "tablets/shuttle_tablets.h"

static const char *const tables_query =
"SELECT group_id::text, relation::oid::text FROM shuttle.tables AS t WHERE kind = 'distributed' AND"
" ($1 = 0 OR group_id = (SELECT group_id FROM shuttle.tables WHERE relation = $1)) ORDER BY t.group_id, t.relation";

/* With the names of the tables. Traps have other numbers than the node's tablets. */
static const char *const sizes_query =
"SELECT t.place, pg_catalog.substring(pg_catalog.pg_get_expr(c.relpartbound, c.oid), 'remainder (\\d+)'),"
" pg_catalog.pg_total_relation_size(c.oid), (CASE WHEN c.reltuples >= 0 AND c.relpages > 0 THEN"
" c.reltuples / c.relpages * pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int8"
" ELSE pg_catalog.pg_stat_get_live_tuples(c.oid) END)::int8"
" FROM pg_catalog.unnest(ARRAY[%s]::text[]) WITH ORDINALITY AS t (name, place)"
" JOIN pg_catalog.pg_inherits ON inhparent = pg_catalog.to_regclass(t.name) JOIN pg_catalog.pg_class AS c ON c.oid = inhrelid";

/* A table, and the first unit of its group. */
typedef struct BalanceTable
{
	Oid			relid;
	const ShuttleLayout *layout;
	ShuttleBalanceUnit *units;
} BalanceTable;

static int
node_of(const ShuttleBalance *balance, Oid serverid)
{
	for (int i = 0; i < balance->nnodes; i++)
	{
		if (balance->servers[i] == serverid)
			return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("server \"%s\" has tablets but is not a storage node",
					GetForeignServer(serverid)->servername),
			 errhint("Make it one with shuttle.use_node().")));
}

static void
add_group(ShuttleBalance *balance, const ShuttleLayout *layout, Oid relid)
{
	ShuttleBalanceUnit *units;

	balance->units = balance->nunits == 0 ? palloc_array(ShuttleBalanceUnit, layout->ntablets) :
		repalloc_array(balance->units, ShuttleBalanceUnit, balance->nunits + layout->ntablets);
	units = balance->units + balance->nunits;
	for (int i = 0; i < layout->ntablets; i++)
	{
		int			node = node_of(balance, layout->tablets[i].serverid);

		units[i] = (ShuttleBalanceUnit)
		{
			.tablet = shuttle_tablet_find(relid, layout->tablets[i].number),
				.group = balance->ngroups,
				.number = layout->tablets[i].number,
				.source = node,
				.target = node,
				.follows = -1,
		};
	}
	balance->nunits += layout->ntablets;
	balance->members[balance->ngroups++] = NIL;
}

/* Returns the tables, groups one after the other. */
static List *
read_tables(ShuttleBalance *balance, Oid relid)
{
	List	   *rows = shuttle_local_rows(tables_query, relid);
	const ShuttleLayout *layout = NULL;
	List	   *tables = NIL;
	List	   *firsts = NIL;
	char	   *group = NULL;
	ListCell   *cell;
	ListCell   *first;

	balance->members = palloc0_array(List *, list_length(rows) + 1);
	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);
		BalanceTable *table = palloc0_object(BalanceTable);

		table->relid = atooid(row[1]);
		if (group == NULL || strcmp(group, row[0]) != 0)
		{
			layout = shuttle_layout_of(table->relid);
			add_group(balance, layout, table->relid);
		}
		group = row[0];
		table->layout = layout;
		balance->members[balance->ngroups - 1] = lappend_oid(balance->members[balance->ngroups - 1], table->relid);
		tables = lappend(tables, table);
		firsts = lappend_int(firsts, balance->nunits - layout->ntablets);
	}
	forboth(cell, tables, first, firsts)
		((BalanceTable *) lfirst(cell))->units = balance->units + lfirst_int(first);
	return tables;
}

static void
read_sizes(ShuttleBalance *balance, Oid serverid, const List *tables)
{
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, tables)
		appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ",
						 quote_literal_cstr(shuttle_local_name(((BalanceTable *) lfirst(cell))->relid)));
	foreach(cell, shuttle_node_rows_with_nulls(shuttle_connection_get(serverid, GetUserId()),
											   psprintf(sizes_query, names.data), 4, 1, InvalidOid))
	{
		char	  **row = lfirst(cell);
		int			place = pg_strtoint32(row[0]) - 1;
		BalanceTable *table = place < 0 || place >= list_length(tables) ? NULL : list_nth(tables, place);
		const ShuttleTablet *tablet = table == NULL || row[1] == NULL ? NULL :
			shuttle_layout_tablet(table->layout, pg_strtoint32(row[1]));
		ShuttleBalanceUnit *unit;

		if (tablet == NULL || tablet->serverid != serverid || row[2] == NULL || row[3] == NULL)
			continue;
		unit = &table->units[tablet - table->layout->tablets];
		unit->bytes += pg_strtoint64(row[2]);
		unit->rows += pg_strtoint64(row[3]);
	}
}

/* Empty tablets count, too, so that they are spread. */
static double
size_by(const ShuttleBalanceUnit *unit, ShuttleBalanceBy by)
{
	switch (by)
	{
		case SHUTTLE_BALANCE_BYTES:
			return 1.0 + unit->bytes;
		case SHUTTLE_BALANCE_ROWS:
			return 1.0 + unit->rows;
		case SHUTTLE_BALANCE_TABLETS:
			break;
	}
	return 1;
}

/* ---- placement rules */

static void
read_rules(ShuttleBalance *balance)
{
	balance->places = palloc0_array(ShuttlePlaces *, balance->ngroups + 1);
	balance->allowed = palloc0_array(bool, balance->ngroups * balance->nnodes + 1);
	for (int i = 0; i < balance->ngroups; i++)
	{
		ShuttlePlaces *places = shuttle_places_of_group(shuttle_layout_group(linitial_oid(balance->members[i])));

		balance->places[i] = places;
		for (int j = 0; j < balance->nnodes; j++)
			balance->allowed[i * balance->nnodes + j] = shuttle_places_allow(places, balance->servers[j]);
	}
}

/* The place among the units of that number of the group of a table; -1: it is not read. */
static int
find_unit(const ShuttleBalance *balance, Oid relid, int number)
{
	for (int i = 0; i < balance->nunits; i++)
	{
		if (balance->units[i].number == number && list_member_oid(balance->members[balance->units[i].group], relid))
			return i;
	}
	return -1;
}

/* Groups that left one group for the same rules go where the first of them is. */
static void
follow_leaders(ShuttleBalance *balance)
{
	for (int group = 0; group < balance->ngroups; group++)
	{
		int			leader = shuttle_settle_leader(shuttle_layout_group(linitial_oid(balance->members[group])));
		List	   *members = leader == 0 ? NIL : shuttle_move_members(leader);

		for (int i = 0; i < balance->nunits && members != NIL; i++)
		{
			ShuttleBalanceUnit *unit = &balance->units[i];

			if (unit->group != group)
				continue;
			unit->follows = find_unit(balance, linitial_oid(members), unit->number);
			if (unit->follows >= 0)
				balance->units[unit->follows].size += unit->size;
		}
	}
}

ShuttleBalance *
shuttle_balance_read(ShuttleBalanceBy by, Oid relid)
{
	ShuttleBalance *balance = palloc0_object(ShuttleBalance);
	List	   *nodes = shuttle_layout_nodes_needed();
	List	   *tables;
	ListCell   *cell;

	if (OidIsValid(relid))
		(void) shuttle_layout_of(relid);	/* raises the error */
	balance->servers = palloc_array(Oid, list_length(nodes));
	balance->weights = palloc_array(double, list_length(nodes));
	foreach(cell, nodes)
	{
		balance->servers[balance->nnodes] = lfirst_oid(cell);
		balance->weights[balance->nnodes++] = 1;
	}
	tables = read_tables(balance, relid);
	foreach(cell, tables != NIL ? nodes : NIL)
		read_sizes(balance, lfirst_oid(cell), tables);
	for (int i = 0; i < balance->nunits; i++)
		balance->units[i].size = size_by(&balance->units[i], by);
	read_rules(balance);
	follow_leaders(balance);
	return balance;
}
