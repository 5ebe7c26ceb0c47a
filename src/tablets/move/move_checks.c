/*-------------------------------------------------------------------------
 * move_checks.c
 *	  What forbids to move tables: settings and privileges of nodes, and tables whose
 *	  changes cannot be followed on another node.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/move/move.h"

/* A primary key that is deferrable tells a subscriber nothing. */
#define OWN_KEY "FROM pg_constraint WHERE conrelid = $1 AND contype = 'p' AND NOT condeferrable"

static const char *const has_key_query = "SELECT 't' " OWN_KEY;

static const char *const generated_key_query =
"SELECT attname::text FROM pg_attribute WHERE attrelid = $1 AND attgenerated <> '' AND attnum = ANY ((SELECT conkey " OWN_KEY ")::int2[])";

static const char *const generated_query =
"SELECT attname::text FROM pg_attribute WHERE attrelid = $1 AND attgenerated <> '' AND NOT attisdropped ORDER BY attnum LIMIT 1";

static const char *const types_query =
"SELECT attname::text, atttypid::oid::text FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum";

void
shuttle_move_refuse_node(Oid serverid, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("tables of storage node \"%s\" cannot be moved", GetForeignServer(serverid)->servername),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

void
shuttle_move_check_nodes(Oid source, Oid target)
{
	if (strcmp(shuttle_move_ask(source, "SELECT current_setting('wal_level')"), "logical") != 0)
		shuttle_move_refuse_node(source, "Rows are moved by logical replication, and its setting \"wal_level\" is not \"logical\".",
								 "Set \"wal_level\" to \"logical\" there, and restart the node.");
	if (strcmp(shuttle_move_ask(source, "SELECT current_setting('max_wal_senders')::int > 0 AND current_setting('max_replication_slots')::int > 0"), "t") != 0)
		shuttle_move_refuse_node(source, "Its setting \"max_wal_senders\" or \"max_replication_slots\" is 0.",
								 "Set both to 10, and restart the node.");
	if (strcmp(shuttle_move_ask(source, "SELECT rolsuper OR rolreplication FROM pg_catalog.pg_roles WHERE rolname = current_user"), "t") != 0)
		shuttle_move_refuse_node(source, "The remote user may not make replication slots.",
								 "Give the remote user the attribute REPLICATION.");
	if (strcmp(shuttle_move_ask(target, "SELECT rolsuper OR current_setting('server_version_num')::int >= 160000 AND"
								" pg_catalog.pg_has_role(rolname, (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = 'pg_create_subscription'), 'member')"
								" FROM pg_catalog.pg_roles WHERE rolname = current_user"), "t") != 0)
		shuttle_move_refuse_node(target, "The remote user may not make subscriptions.",
								 "Make it a superuser, or from version 16 on grant it \"pg_create_subscription\".");
	if (strcmp(shuttle_move_ask(target, "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user"), "t") != 0)
		shuttle_move_check_subscription(source, target);
}

void
shuttle_move_refuse_table(Oid relid, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE ? "foreign table \"%s\" cannot be moved" :
					"tablets of table \"%s\" cannot be moved", get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* The old row tells which one was changed: the new node compares each column. */
void
shuttle_move_check_whole_rows(Oid relid, Oid source, const char *generated)
{
	ListCell   *cell;

	if (generated != NULL && strcmp(shuttle_move_ask(source, "SELECT current_setting('server_version_num')::int >= 180000"), "t") == 0)
		shuttle_move_refuse_table(relid, psprintf("It has no primary key, and PostgreSQL 18 does not replicate whole rows with generated column \"%s\".", generated),
								  "Add a primary key that is not deferrable.");
	foreach(cell, shuttle_local_rows(types_query, relid))
	{
		char	  **row = lfirst(cell);
		Oid			type = atooid(row[1]);

		if (!OidIsValid(lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr))
			shuttle_move_refuse_table(relid, psprintf("It has no primary key, and column \"%s\" of type %s has no equality operator, so that the new node cannot find changed rows.",
													  row[0], format_type_be(type)),
									  "Add a primary key that is not deferrable.");
	}
}

void
shuttle_move_check_tables(const List *relids, Oid source)
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		Oid			relid = lfirst_oid(cell);
		char	   *generated = shuttle_local_text(generated_key_query, relid);

		if (generated != NULL)
			shuttle_move_refuse_table(relid, psprintf("Its primary key has generated column \"%s\", which is not replicated.", generated),
									  "Bring the table back with shuttle.local_table(), and distribute it over other nodes.");
		if (shuttle_local_text(has_key_query, relid) == NULL)
			shuttle_move_check_whole_rows(relid, source, shuttle_local_text(generated_query, relid));
	}
}
