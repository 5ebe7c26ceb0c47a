/*-------------------------------------------------------------------------
 * move_table.c
 *	  CALL shuttle.move_table(): moves an ordinary foreign table to another server.
 *
 * The steps are those of a tablet (move.c). The table on the new node has the same schema
 * and name, since the options of the foreign table stay as they are. Until the move is done
 * it has a check, always true, with the name of the move: it is half copied.
 *
 * shuttle.table_moves has a row from the first commit of a move to its end. A row of which
 * no session holds the lock on the foreign table is of a move that was interrupted.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_server.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/problems.h"
#include "tablets/common/table_text.h"
#include "tablets/distribute/distribute.h"
#include "tablets/move/move.h"
#include "tablets/move/move_table.h"
#include "tablets/rights/node_owners.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_move_table);

/* Others that would not find their rows any more. */
static const char *const twin_query =
"WITH named AS (SELECT ftrelid, ftserver, COALESCE((SELECT option_value FROM pg_options_to_table(ftoptions) WHERE option_name = 'schema_name'), nspname) AS schema,"
" COALESCE((SELECT option_value FROM pg_options_to_table(ftoptions) WHERE option_name = 'table_name'), relname) AS name"
" FROM pg_foreign_table JOIN pg_class AS c ON c.oid = ftrelid JOIN pg_namespace AS n ON n.oid = relnamespace)"
" SELECT b.ftrelid::regclass::text FROM named AS a JOIN named AS b USING (ftserver, schema, name) WHERE a.ftrelid = $1 AND b.ftrelid <> $1 ORDER BY 1 LIMIT 1";

/* Users of the table who have a mapping for its server, and none for server %u. */
static const char *const user_query =
"SELECT usename::text FROM pg_foreign_table JOIN pg_user_mappings AS m ON srvid = ftserver JOIN pg_foreign_server AS target ON target.oid = %u"
" WHERE ftrelid = $1 AND umuser <> 0 AND has_table_privilege(umuser, ftrelid, 'SELECT, INSERT, UPDATE, DELETE')"
" AND NOT EXISTS (SELECT FROM pg_user_mappings AS n WHERE n.srvid = target.oid AND n.umuser IN (0, m.umuser)) ORDER BY 1 LIMIT 1";

static const char *const left_query =
"SELECT relation::text, CASE WHEN EXISTS (SELECT FROM pg_foreign_server WHERE oid = source) THEN source ELSE 0::oid END::text,"
" CASE WHEN EXISTS (SELECT FROM pg_foreign_server WHERE oid = target) THEN target ELSE 0::oid END::text, remote_name"
" FROM shuttle.table_moves WHERE $1 IS NOT NULL ORDER BY relation";

static char *
move_name(Oid relid)
{
	return psprintf(SHUTTLE_MOVE_PREFIX "%016llx_%u_t%u",
					(unsigned long long) GetSystemIdentifier(), MyDatabaseId, relid);
}

/* InvalidOid: it is no foreign table, or not any more. */
static Oid
server_of(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE ? GetForeignTable(relid)->serverid : InvalidOid;
}

static char *
remote_schema(Oid relid)
{
	const char *schema = shuttle_option_text(GetForeignTable(relid)->options, "schema_name");

	return schema != NULL ? pstrdup(schema) : get_namespace_name(get_rel_namespace(relid));
}

static char *
remote_table(Oid relid)
{
	const char *name = shuttle_option_text(GetForeignTable(relid)->options, "table_name");

	return name != NULL ? pstrdup(name) : get_rel_name(relid);
}

/* ---- what is made and changed */

static void
forget(const ShuttleMove *move)
{
	(void) shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.table_moves WHERE relation = %u",
												   linitial_oid(move->relids)));
}

static List *
last_texts(const ShuttleMove *move)
{
	List	   *texts = shuttle_move_last_texts(move);

	shuttle_move_check_last_texts(move, texts);
	return texts;
}

/* Roles that the new node lacks are found before rows are copied. */
static char *
tried_last(const ShuttleMove *move)
{
	StringInfoData body;
	ListCell   *cell;

	initStringInfo(&body);
	foreach(cell, last_texts(move))
		appendStringInfo(&body, "EXECUTE %s; ", quote_literal_cstr(lfirst(cell)));
	return psprintf("DO %s", quote_literal_cstr(psprintf("BEGIN %s RAISE SQLSTATE 'SHMOV'; EXCEPTION WHEN SQLSTATE 'SHMOV' THEN NULL; END",
														 body.data)));
}

/* What is checked of the definition is what is made. The lock holds up DDL alone, and autovacuum lets it go after a second. */
static void
keep_definition(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	shuttle_node_statements_add(statements, move->source, SHUTTLE_NODE_READ_AS_MEANT);
	shuttle_node_statements_add(statements, move->source, "SET LOCAL lock_timeout = '3s'");
	shuttle_node_statements_add(statements, move->source,
								psprintf("LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE", move->remote));
	shuttle_node_statements_run(statements);
}

static void
make_table(ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	List	   *texts;
	ListCell   *cell;

	keep_definition(move);
	texts = shuttle_move_table_texts(move);
	shuttle_node_statements_add(statements, move->target, SHUTTLE_NODE_READ_AS_MEANT);
	shuttle_node_statements_run(statements);
	move->sequences = shuttle_move_check_texts(move, texts);
	shuttle_node_statements_add(statements, move->target, shuttle_table_text_schema(move->remote_schema));
	shuttle_node_statements_add(statements, move->target,
								shuttle_node_owners_place_text(move->remote_schema, shuttle_move_table_owner(move)));
	foreach(cell, texts)
		shuttle_node_statements_add(statements, move->target, lfirst(cell));
	shuttle_node_statements_add(statements, move->target,
								psprintf("ALTER TABLE %s ADD CONSTRAINT %s CHECK (true)", move->remote, move->name));
	shuttle_node_statements_add(statements, move->target, tried_last(move));
	shuttle_node_statements_run(statements);
	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.table_moves VALUES (%u, %u, %u, %s)",
												   linitial_oid(move->relids), move->source, move->target,
												   quote_literal_cstr(move->remote)));
}

static void
change_table(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	Oid			relid = linitial_oid(move->relids);
	ListCell   *cell;

	shuttle_move_check_remote(move, true);	/* nobody changes it any more */
	shuttle_node_statements_add(statements, move->target, "SET LOCAL lock_timeout = '2s'");
	foreach(cell, shuttle_move_sequence_texts(move))
		shuttle_node_statements_add(statements, move->target, lfirst(cell));
	shuttle_node_statements_add(statements, move->target,
								psprintf("ALTER TABLE %s DROP CONSTRAINT %s", move->remote, move->name));
	foreach(cell, last_texts(move))
		shuttle_node_statements_add(statements, move->target, lfirst(cell));
	shuttle_node_statements_add(statements, move->source, psprintf("DROP TABLE %s", move->remote));
	shuttle_node_statements_run(statements);
	shuttle_surgery_move(relid, move->target);
	if (get_rel_relispartition(relid))
	{
		foreach(cell, get_partition_ancestors(relid))
			CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
	}
}

static bool
has_half(const ShuttleMove *move)
{
	return shuttle_move_ask_side(move, move->target,
								 psprintf("SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = pg_catalog.to_regclass(%s) AND conname = %s",
										  quote_literal_cstr(move->remote), quote_literal_cstr(move->name))) != NULL;
}

static void
drop_half_table(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	if (server_of(linitial_oid(move->relids)) != move->target && has_half(move))
	{
		shuttle_node_statements_add(statements, move->target, "SET LOCAL lock_timeout = '300ms'");
		shuttle_node_statements_add(statements, move->target, psprintf("DROP TABLE %s", move->remote));
		shuttle_node_statements_run(statements);
	}
	forget(move);
}

static const ShuttleMoveKind foreign_table = {
	.make = make_table,
	.change = change_table,
	.drop_half = drop_half_table,
};

/* ---- what forbids it */

/* Errors: it is not a foreign table that the caller may move to that server. */
static void
check_caller(Oid relid, Oid target)
{
	const char *name = get_rel_name(relid);
	AclResult	may_use = object_aclcheck(ForeignServerRelationId, target, GetUserId(), ACL_USAGE);

	if (!OidIsValid(server_of(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a foreign table", name == NULL ? "?" : name)));
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE, name);
	if (may_use != ACLCHECK_OK)
		aclcheck_error(may_use, OBJECT_FOREIGN_SERVER, GetForeignServer(target)->servername);
	if (shuttle_table_kind(relid) == SHUTTLE_TABLE_TABLET)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a tablet of a distributed table", name),
				 errhint("Move it with shuttle.move_tablet().")));
}

/* What the transaction asks the old node next means what it says. */
static void
keep_path(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	shuttle_node_statements_add(statements, move->source, SHUTTLE_NODE_READ_AS_MEANT);
	shuttle_node_statements_run(statements);
}

static void
check_table(const ShuttleMove *move)
{
	Oid			relid = linitial_oid(move->relids);
	char	   *twin = shuttle_local_text(twin_query, relid);
	char	   *user = shuttle_local_text(psprintf(user_query, move->target), relid);

	(void) shuttle_server_find(GetForeignServer(move->source)->servername);
	if (shuttle_option_find(GetForeignTable(relid)->options, "shuttle_replicated_on") != NULL)
		shuttle_move_refuse_table(relid, "Its option \"shuttle_replicated_on\" says that other servers have it, too.",
								  "Drop the option first.");
	if (twin != NULL)
		shuttle_move_refuse_table(relid, psprintf("Foreign table \"%s\" has the same rows.", twin),
								  "Drop the other foreign table first.");
	if (user != NULL)
		shuttle_move_refuse_table(relid, psprintf("User \"%s\" may use it, and has no mapping for the new server.", user),
								  "Make a mapping with CREATE USER MAPPING.");
	keep_path(move);
	shuttle_move_check_remote(move, false);
	shuttle_move_check_owner(move);
	shuttle_move_check_nodes(move->source, move->target);
}

/* ---- the procedure */

static void
move_locked(ShuttleMove *move, Oid relid)
{
	move->source = server_of(relid);
	if (!OidIsValid(move->source) || move->source == move->target)
		return;
	move->name = move_name(relid);
	move->remote_schema = remote_schema(relid);
	move->remote_table = remote_table(relid);
	move->remote = quote_qualified_identifier(move->remote_schema, move->remote_table);
	check_table(move);
	shuttle_move_steps(move);
	forget(move);
}

static void
run_move(Oid relid, Oid target)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "pg_shuttle move", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleMove move = {
		.kind = &foreign_table,
		.target = target,
		.source_side = shuttle_outside_side_create(),
		.target_side = shuttle_outside_side_create(),
		.progress = {.tablet = relid,.number = 1,.nmoves = 1},
	};

	move.relids = shuttle_move_lock(list_make1_oid(relid));
	if (move.relids != NIL)
		move_locked(&move, relid);
	shuttle_move_unlock(move.is_unlocked ? NIL : move.relids);
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);	/* closes the connections */
}

/* CALL shuttle.move_table(relation, server) */
Datum
shuttle_move_table(PG_FUNCTION_ARGS)
{
	Oid			target;

	shuttle_move_check_call(fcinfo, "move_table");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("table and server must not be null")));
	target = shuttle_server_find(NameStr(*PG_GETARG_NAME(1)));
	check_caller(PG_GETARG_OID(0), target);
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	run_move(PG_GETARG_OID(0), target);
	SPI_finish();
	PG_RETURN_VOID();
}

/* ---- what is left */

static void
check_move(ShuttleCheck *check, char **row)
{
	Oid			servers[] = {atooid(row[1]), atooid(row[2])};
	ShuttleMove move = {
		.kind = &foreign_table,
		.relids = list_make1_oid(check->relid),
		.remote = row[3],
		.name = move_name(check->relid),
		.source = servers[0],
		.target = servers[1],
	};

	for (int i = 0; i < lengthof(servers); i++)
	{
		if (!OidIsValid(servers[i]))
			continue;
		check->serverid = servers[i];
		check->node = shuttle_connection_get(check->serverid, GetUserId());
		shuttle_problem_put(check, psprintf("may have what is left of moving table %s", row[3]),
							check->repair ? NULL : "SELECT * FROM shuttle.check(repair => true) removes it.");
	}
	if (!check->repair)
		return;
	shuttle_move_undo(&move);
	forget(&move);
}

void
shuttle_move_check_left_tables(ShuttleCheck *check)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_rows(left_query, InvalidOid))
	{
		char	  **row = lfirst(cell);

		check->relid = atooid(row[0]);
		if (ConditionalLockRelationOid(check->relid, ShareUpdateExclusiveLock))
			check_move(check, row);
	}
}
