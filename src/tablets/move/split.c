/*-------------------------------------------------------------------------
 * split.c
 *	  Splits tablets in two while they are used; CALL shuttle.split_tablet().
 *
 * It is a move of a tablet to another node, which makes two halves of it: the remainders of
 * twice the modulus. The first half has the number of the tablet, the second one the number
 * that its modulus is added to. Both are partitions there from the beginning, with names of
 * their own, and get new names at the end: the tablet's name meant more rows.
 *
 * What is published on the old node are the tables, with a condition that only the tablet's
 * rows meet. So the rows arrive as those of the table, and the new node finds their half. A
 * TRUNCATE of a tablet is not sent then: it shows as another file.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/tablet_names.h"
#include "tablets/distribute/distribute.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/move/move.h"
#include "tablets/rights/owner_rights.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_split_tablet);

/* Conditions of publications came with it. */
#define LEAST_VERSION "150000"

ShuttleLayout *
shuttle_split_parts(const ShuttleTablet *tablet, Oid target)
{
	ShuttleLayout *parts = palloc0_object(ShuttleLayout);

	parts->ntablets = 2;
	parts->tablets = palloc_array(ShuttleTablet, 2);
	for (int i = 0; i < 2; i++)
	{
		parts->tablets[i].modulus = 2 * tablet->modulus;
		parts->tablets[i].number = tablet->number + i * tablet->modulus;
		parts->tablets[i].serverid = target;
	}
	return parts;
}

bool
shuttle_split_is(const ShuttleMove *move)
{
	return move->parts != NULL && move->parts->ntablets > 1;
}

/* ---- what forbids it */

pg_noreturn static void
refuse(const ShuttleMove *move, int code, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(code),
			 errmsg("tablet \"%s\" cannot be split", shuttle_tablet_name(linitial_oid(move->relids), move->number)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* Conditions of publications have built-in types and collations only. */
static void
check_key(const ShuttleMove *move, Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	bool		fits = key->parttypid[0] < FirstNormalObjectId && key->partcollation[0] < FirstNormalObjectId;

	table_close(rel, NoLock);
	if (!fits)
		refuse(move, ERRCODE_FEATURE_NOT_SUPPORTED,
			   psprintf("The distribution column of table \"%s\" has a type or collation that is not built in, and PostgreSQL publishes no rows by it.",
						get_rel_name(relid)),
			   "Bring the table back with shuttle.local_table(), and distribute it over more tablets.");
}

static void
check_version(const ShuttleMove *move, Oid serverid)
{
	if (strcmp(shuttle_move_ask(serverid, "SELECT pg_catalog.current_setting('server_version_num')::int >= " LEAST_VERSION), "t") != 0)
		refuse(move, ERRCODE_FEATURE_NOT_SUPPORTED,
			   psprintf("Storage node \"%s\" is older than PostgreSQL 15.", GetForeignServer(serverid)->servername),
			   "Upgrade the node.");
}

/* Nodes that have traps get one for the half, and the new one gets the half. */
static void
check_name_on_nodes(const ShuttleMove *move, Oid relid)
{
	int			number = move->parts->tablets[1].number;
	char	   *half = shuttle_tablet_next_name(relid, number);
	List	   *servers = move->layout->traps ? shuttle_table_servers(relid) : NIL;
	ListCell   *cell;

	foreach(cell, list_append_unique_oid(servers, move->target))
	{
		char	   *name = lfirst_oid(cell) == move->target ?
			quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), half) :
			shuttle_tablet_trap_name(relid, number);

		if (strcmp(shuttle_move_ask(lfirst_oid(cell), psprintf("SELECT pg_catalog.to_regclass(%s) IS NULL",
															   quote_literal_cstr(name))), "t") != 0)
			refuse(move, ERRCODE_DUPLICATE_TABLE,
				   psprintf("Storage node \"%s\" has another relation with the name of a half, %s.",
							GetForeignServer(lfirst_oid(cell))->servername, name),
				   "Rename that relation.");
	}
}

void
shuttle_split_check(const ShuttleMove *move)
{
	ListCell   *cell;

	if (move->source == move->target)
		refuse(move, ERRCODE_INVALID_PARAMETER_VALUE,
			   psprintf("It is on storage node \"%s\", and its halves have to be made on another one.",
						GetForeignServer(move->source)->servername),
			   "Name another node; shuttle.move_tablet() can move the halves back.");
	if (move->layout->ntablets == SHUTTLE_MOST_TABLETS || move->parts->tablets[0].modulus > SHUTTLE_MOST_MODULUS)
		refuse(move, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
			   psprintf("A table has at most %d tablets, of a modulus of at most %d.", SHUTTLE_MOST_TABLETS, SHUTTLE_MOST_MODULUS),
			   "Split another tablet, or distribute the table anew.");
	check_version(move, move->source);
	check_version(move, move->target);
	foreach(cell, move->relids)
	{
		check_key(move, lfirst_oid(cell));
		check_name_on_nodes(move, lfirst_oid(cell));
	}
}

/* ---- on the old node */

/* The condition names the table by its OID there. */
char *
shuttle_split_published(const ShuttleMove *move)
{
	const ShuttleTablet *tablet = shuttle_layout_tablet(move->layout, move->number);
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, move->relids)
	{
		char	   *name = shuttle_local_name(lfirst_oid(cell));

		appendStringInfo(&text, "%s || %s::pg_catalog.regclass::pg_catalog.oid || %s || ",
						 quote_literal_cstr(psprintf("%s%s WHERE (pg_catalog.satisfies_hash_partition(", text.len == 0 ? "" : ", ", name)),
						 quote_literal_cstr(name),
						 quote_literal_cstr(psprintf(", %d, %d, %s))", tablet->modulus, tablet->number, shuttle_move_key(lfirst_oid(cell)))));
	}
	appendStringInfoString(&text, "' WITH (publish_via_partition_root = true)'");
	return text.data;
}

void
shuttle_split_check_files(ShuttleMove *move)
{
	char	   *files = shuttle_move_need_side(move, move->source,
											   psprintf("SELECT pg_catalog.array_agg(pg_catalog.pg_relation_filenode(pg_catalog.to_regclass(n)))::text"
														" FROM pg_catalog.unnest(ARRAY[%s]) AS n", shuttle_move_names(move, true)));

	if (move->files != NULL && strcmp(move->files, files) != 0)
		refuse(move, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			   "It was truncated, or written anew, on its storage node meanwhile.", "Repeat the call.");
	move->files = files;
}

/* ---- here */

void
shuttle_split_here(const ShuttleMove *move)
{
	ListCell   *cell;

	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);
		char	   *table = shuttle_local_name(relid);
		Oid			tablet = shuttle_tablet_find(relid, move->number);

		shuttle_surgery_hide_indexes(relid);
		(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s DETACH PARTITION %s", table, shuttle_local_name(tablet)));
		shuttle_tablet_rename(relid, tablet, shuttle_tablet_next_name(relid, move->number));
		CommandCounterIncrement();
		shuttle_owner_attach(relid, shuttle_local_name(tablet), &move->parts->tablets[0]);
		(void) shuttle_load_make_tablet(relid, table, &move->parts->tablets[1]);
		shuttle_surgery_show_indexes(relid);
		shuttle_foreign_key_follow(relid);
	}
}

void
shuttle_split_analyze(const ShuttleMove *move)
{
	List	   *tablets = NIL;
	ListCell   *cell;

	foreach(cell, move->relids)
	{
		for (int i = 0; i < move->parts->ntablets; i++)
			tablets = lappend_oid(tablets, shuttle_tablet_find(lfirst_oid(cell), move->parts->tablets[i].number));
	}
	(void) shuttle_local_run_as_superuser(psprintf("ANALYZE %s", shuttle_local_names(tablets)));
}

/* CALL shuttle.split_tablet(tablet, server) */
Datum
shuttle_split_tablet(PG_FUNCTION_ARGS)
{
	shuttle_move_call(fcinfo, "split_tablet", true);
	PG_RETURN_VOID();
}
