/*-------------------------------------------------------------------------
 * move_tablets.c
 *	  Tablets on the new and the old node, while they move.
 *
 * The tablets on the new node are partitions from the beginning, before they have rows, so
 * that keys and foreign keys need no check later. Until the move is done each has a check
 * named as that of a trap (routines.c), so that a call on that node does not read half of
 * the rows. It is true, unlike that of a trap.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/distribute/distribute.h"
#include "tablets/move/move.h"
#include "tablets/needs/needs.h"
#include "tablets/needs/routines.h"
#include "tablets/rights/authors.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/node_texts.h"
#include "tablets/rights/reach.h"
#include "tablets/rights/user_code.h"
#include "tablets/shuttle_tablets.h"

static const char *const members_query =
"SELECT relation::oid::text FROM shuttle.tables AS t WHERE kind = 'distributed' AND group_id = $1::int8 ORDER BY t.relation";

static const char *const key_query =
"SELECT attname::text FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]"
" WHERE partrelid = $1";

/* Our own text: it follows the names of the tables on the node. */
static const char *const foreign_keys_query =
"SELECT pg_catalog.format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::pg_catalog.regclass, conname, pg_catalog.pg_get_constraintdef(oid))"
" FROM pg_catalog.pg_constraint WHERE conrelid OPERATOR(pg_catalog.=) $1 AND contype OPERATOR(pg_catalog.=) 'f'"
" AND conparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid ORDER BY conname";

/* Referring tablets have to go before those they refer to. If tables refer to each other,
 * or to themselves, rows are deleted first: a tablet is detached only if none refers to it. */
static const char *const drop_body =
"DECLARE todo text[] := ARRAY[%s]; parents text[] := ARRAY[%s]; gone bool[] := array_fill(false, ARRAY[array_length(todo, 1)]);"
" next int; BEGIN FOR step IN 1 .. array_length(todo, 1) LOOP"
" SELECT i INTO next FROM generate_series(1, array_length(todo, 1)) AS i WHERE NOT gone[i] AND NOT EXISTS ("
"SELECT FROM pg_catalog.pg_constraint, generate_series(1, array_length(todo, 1)) AS j WHERE contype = 'f' AND conparentid = 0 AND NOT gone[j]"
" AND conrelid = to_regclass(parents[j]) AND confrelid = to_regclass(parents[i])) ORDER BY i LIMIT 1;"
" IF next IS NULL THEN SET LOCAL session_replication_role = replica;"
" FOR i IN 1 .. array_length(todo, 1) LOOP IF NOT gone[i] AND EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(todo[i]) AND inhparent = to_regclass(parents[i])) THEN EXECUTE 'DELETE FROM ' || todo[i]; END IF; END LOOP;"
" SET LOCAL session_replication_role = origin;"
" SELECT i INTO next FROM generate_series(1, array_length(todo, 1)) AS i WHERE NOT gone[i] ORDER BY i LIMIT 1; END IF;"
" IF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(todo[next]) AND inhparent = to_regclass(parents[next])) THEN"
" EXECUTE 'ALTER TABLE ' || parents[next] || ' DETACH PARTITION ' || todo[next]; EXECUTE 'DROP TABLE ' || todo[next]; END IF;"
" gone[next] := true; END LOOP; END";

List *
shuttle_move_members(int group)
{
	List	   *relids = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(members_query, (Oid) group))
		relids = lappend_oid(relids, atooid(lfirst(cell)));
	return relids;
}

/* Slots of all databases and query nodes have one list on a node. */
char *
shuttle_move_name(int group, int number)
{
	return psprintf(SHUTTLE_MOVE_PREFIX "%016llx_%u_%d_%d",
					(unsigned long long) GetSystemIdentifier(), MyDatabaseId, group, number);
}

char *
shuttle_move_key(Oid relid)
{
	return pstrdup(quote_identifier(shuttle_local_text(key_query, relid)));
}

/* ---- the tablets on the new node */

/* A node that never had a table of the group gets them as all others have them. */
static void
add_tables(const ShuttleMove *move, ShuttleNodeStatements *statements)
{
	ShuttleNode *source = shuttle_connection_get(move->source, GetUserId());
	List	   *texts = NIL;
	ListCell   *cell;

	shuttle_refusal_raise(shuttle_reach_refuse_tables(move->relids, list_make1_oid(move->target)));
	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		texts = list_concat(texts, shuttle_needed_objects_texts(relid, list_make1_oid(move->target)));
		texts = list_concat(texts, shuttle_table_text_parent(relid, shuttle_local_text(key_query, relid)));
		texts = list_concat(texts, shuttle_table_text_indexes(relid, NULL));
		texts = list_concat(texts, shuttle_table_text_unchecked(relid));
		if (move->layout->traps)
			texts = list_concat(texts, shuttle_routine_traps_texts(relid, move->layout, move->target));
	}
	foreach(cell, move->relids)
	{
		ListCell   *key;

		foreach(key, shuttle_node_rows(source, foreign_keys_query, 1, lfirst_oid(cell)))
			texts = lappend(texts, shuttle_node_text_check_key(lfirst_oid(cell), move->relids, ((char **) lfirst(key))[0]));
	}
	foreach(cell, texts)
		shuttle_node_statements_add(statements, move->target, lfirst(cell));
}

static bool
has_tablets(const ShuttleMove *move, Oid serverid, int except)
{
	for (int i = 0; i < move->layout->ntablets; i++)
	{
		if (move->layout->tablets[i].serverid == serverid && move->layout->tablets[i].number != except)
			return true;
	}
	return false;
}

static void
add_literal(StringInfo list, const char *text)
{
	appendStringInfo(list, "%s%s", list->len == 0 ? "" : ", ", quote_literal_cstr(text));
}

/* half: what a move or split has left on the new node; else the tablets of the number, or
 * the traps for them. What is not there is left out. */
static void
add_drop(const ShuttleMove *move, ShuttleNodeStatements *statements, Oid serverid, bool half)
{
	StringInfoData names;
	StringInfoData tables;
	char	   *body;
	ListCell   *cell;

	initStringInfo(&names);
	initStringInfo(&tables);
	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		if (move->layout->traps)
			shuttle_node_statements_add(statements, serverid, shuttle_tablet_trap_text_names(relid, move->layout));
		add_literal(&names, shuttle_move_tablet_name(move, relid));
		add_literal(&tables, shuttle_local_name(relid));
		for (int i = 0; i < (half ? 2 : 1); i++)
		{
			add_literal(&names, half ? shuttle_tablet_half_name(relid, move->parts->tablets[i].number) :
						shuttle_tablet_trap_name(relid, move->number));
			add_literal(&tables, shuttle_local_name(relid));
		}
	}
	body = psprintf(drop_body, names.data, tables.data);

	shuttle_node_statements_add(statements, serverid, psprintf("DO %s", quote_literal_cstr(body)));
}

/* Names indexes of some tablets, and constraints of keys to them. */
static void
add_names(Oid relid, const ShuttleLayout *tablets, ShuttleNodeStatements *statements, Oid serverid)
{
	char	   *text = shuttle_tablet_text_name_indexes(relid, tablets);

	if (text !=NULL)
		shuttle_node_statements_add(statements, serverid, text);
	shuttle_node_statements_add(statements, serverid, shuttle_tablet_text_name_keys(relid));
}

/* The traps of some tablets; others exist. */
static void
add_traps(const ShuttleMove *move, const ShuttleLayout *tablets, ShuttleNodeStatements *statements, Oid serverid)
{
	ListCell   *cell;

	foreach(cell, move->relids)
	{
		for (int i = 0; i < tablets->ntablets; i++)
			shuttle_node_statements_add(statements, serverid,
										shuttle_routine_trap_of_tablet(lfirst_oid(cell), &tablets->tablets[i]));
	}
}

/* Writers use tables of the group in any order: without the limit there were deadlocks. */
static void
add_locks(const ShuttleMove *move, ShuttleNodeStatements *statements)
{
	shuttle_node_statements_add(statements, move->target, "SET LOCAL lock_timeout = '300ms'");
	if (has_tablets(move, move->target, -1))
		shuttle_node_statements_add(statements, move->target,
									psprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", shuttle_local_names(move->relids)));
}

/* What users wrote for the tables runs on the new node with the rights that its remote user has now. */
static void
add_guards(const ShuttleMove *move, ShuttleNodeStatements *statements)
{
	ListCell   *cell;
	ListCell   *text;

	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		foreach(text, shuttle_user_code_guard(shuttle_authors_of_table(relid), list_make1_oid(move->target), relid))
			shuttle_node_statements_add(statements, move->target, lfirst(text));
	}
}

static void
make_tablets(ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ShuttleLayout none = {.ntablets = 0};
	ListCell   *cell;

	add_locks(move, statements);
	foreach(cell, move->relids)
		shuttle_node_statements_add_texts(statements, list_make1_oid(move->target),
										  shuttle_node_owners_schema_texts(get_rel_namespace(lfirst_oid(cell))));
	if (has_tablets(move, move->target, -1))
		add_guards(move, statements);
	else
		add_tables(move, statements);
	if (move->layout->traps)
		add_drop(move, statements, move->target, false);
	foreach(cell, shuttle_routine_traps_texts(linitial_oid(move->relids), &none, move->target))
		shuttle_node_statements_add(statements, move->target, lfirst(cell));
	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		for (int i = 0; i < move->parts->ntablets; i++)
		{
			const char *name = shuttle_move_new_name(move, relid, i);

			shuttle_node_statements_add(statements, move->target,
										shuttle_table_text_tablet(relid, &move->parts->tablets[i], name));
			shuttle_node_statements_add(statements, move->target,
										psprintf("ALTER TABLE %s ADD CONSTRAINT shuttle_trap CHECK (shuttle_node.trap())", name));
		}
		if (!shuttle_split_is(move))
			add_names(relid, move->parts, statements, move->target);
	}
	shuttle_node_statements_run(statements);
}

/* ---- the change of places */

/* Nodes that have traps get one for each half. */
static void
split_traps(const ShuttleMove *move, ShuttleNodeStatements *statements)
{
	ListCell   *cell;

	foreach(cell, shuttle_table_servers(linitial_oid(move->relids)))
	{
		if (lfirst_oid(cell) == move->source || lfirst_oid(cell) == move->target)
			continue;
		shuttle_node_statements_add(statements, lfirst_oid(cell), "SET LOCAL lock_timeout = '2s'");
		add_drop(move, statements, lfirst_oid(cell), false);
		add_traps(move, move->parts, statements, lfirst_oid(cell));
	}
}

/* The new tablets are complete; halves get the names that they have from now on. */
static void
end_half(const ShuttleMove *move, ShuttleNodeStatements *statements)
{
	ListCell   *cell;

	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		for (int i = 0; i < move->parts->ntablets; i++)
		{
			const char *name = shuttle_move_new_name(move, relid, i);

			shuttle_node_statements_add(statements, move->target,
										psprintf("ALTER TABLE %s DROP CONSTRAINT shuttle_trap", name));
			if (shuttle_split_is(move))
				shuttle_node_statements_add(statements, move->target,
											psprintf("ALTER TABLE %s RENAME TO %s", name,
													 quote_identifier(shuttle_tablet_next_name(relid, move->parts->tablets[i].number))));
		}
	}
}

/* A node without tablets keeps no tables of the group: DDL would not follow there. */
static void
change_nodes(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	shuttle_node_statements_add(statements, move->target, "SET LOCAL lock_timeout = '2s'");
	end_half(move, statements);
	if (!has_tablets(move, move->source, move->number))
		shuttle_node_statements_add(statements, move->source,
									psprintf("DROP TABLE %s", shuttle_local_names(move->relids)));
	else
	{
		add_drop(move, statements, move->source, false);
		if (move->layout->traps)
			add_traps(move, move->parts, statements, move->source);
	}
	if (move->layout->traps && shuttle_split_is(move))
		split_traps(move, statements);
	shuttle_node_statements_run(statements);
}

/* The OIDs of the tablets here. */
static List *
tablets_here(const ShuttleMove *move)
{
	List	   *tablets = NIL;
	ListCell   *cell;

	foreach(cell, move->relids)
		tablets = lappend_oid(tablets, shuttle_tablet_find(lfirst_oid(cell), move->number));
	return tablets;
}

/* The indexes of halves, and the keys to them, are named after the halves. */
static void
name_halves(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ListCell   *cell;

	foreach(cell, move->relids)
	{
		add_names(lfirst_oid(cell), move->parts, statements, move->target);
		shuttle_tablet_names_used(lfirst_oid(cell));
	}
	shuttle_node_statements_run(statements);
}

static void
change_tablets(const ShuttleMove *move)
{
	ListCell   *cell;

	change_nodes(move);
	foreach(cell, tablets_here(move))
		shuttle_surgery_move(lfirst_oid(cell), move->target);
	if (shuttle_split_is(move))
	{
		shuttle_split_here(move);
		name_halves(move);
	}
	foreach(cell, move->relids)
		CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
}

/* ---- the end */

/* Names, as literals, of what a move or split may have left. */
static char *
half_names(const ShuttleMove *move)
{
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, move->relids)
	{
		add_literal(&names, shuttle_move_tablet_name(move, lfirst_oid(cell)));
		for (int i = 0; i < 2; i++)
			add_literal(&names, shuttle_tablet_half_name(lfirst_oid(cell), move->parts->tablets[i].number));
	}
	return names.data;
}

/* Half copied tablets have a check that is true. Tables of others that have the names are no partitions of ours. */
static bool
has_half(const ShuttleMove *move)
{
	return strcmp(shuttle_move_need_side(move, move->target,
										 psprintf("SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_inherits ON inhrelid = conrelid"
												  " WHERE conname = 'shuttle_trap' AND pg_catalog.pg_get_constraintdef(pg_constraint.oid) NOT LIKE '%%false%%'"
												  " AND conrelid = ANY (ARRAY(SELECT pg_catalog.to_regclass(n) FROM pg_catalog.unnest(ARRAY[%s]) AS n))"
												  " AND inhparent = ANY (ARRAY(SELECT pg_catalog.to_regclass(n) FROM pg_catalog.unnest(ARRAY[%s]) AS n))",
												  half_names(move), shuttle_move_parents(move))), "0") != 0;
}

/* Drops the tables, if all have only tablets that a move has made and has not finished, and traps. */
static char *
drop_tables_text(const ShuttleMove *move)
{
	char	   *body = psprintf("DECLARE tables text := (SELECT string_agg(n, ', ') FROM unnest(ARRAY[%s]) AS n JOIN pg_class AS c ON c.oid = to_regclass(n)"
								" HAVING bool_and(relkind = 'p' AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid"
								" AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = inhrelid AND conname = 'shuttle_trap'))));"
								" BEGIN IF tables IS NOT NULL THEN EXECUTE 'DROP TABLE ' || tables; END IF; END", shuttle_move_parents(move));

	return psprintf("DO %s", quote_literal_cstr(body));
}

static void
drop_half_tablets(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ShuttleTablet *tablet = shuttle_layout_tablet(move->layout, move->number);
	ShuttleLayout trap = {.ntablets = 1,.tablets = tablet};

	if (move->target == tablet->serverid || !has_half(move))
		return;
	add_locks(move, statements);
	if (!has_tablets(move, move->target, -1))
		shuttle_node_statements_add(statements, move->target, drop_tables_text(move));
	else
	{
		add_drop(move, statements, move->target, true);
		if (move->layout->traps)
			add_traps(move, &trap, statements, move->target);
	}
	shuttle_node_statements_run(statements);
}

const ShuttleMoveKind shuttle_move_tablets = {
	.make = make_tablets,
	.change = change_tablets,
	.drop_half = drop_half_tablets,
};
