/*-------------------------------------------------------------------------
 * move_nodes.c
 *	  How rows get from the old to the new node.
 *
 * Rows are copied by logical replication: a publication and a slot on the old node, a
 * subscription on the new one. move_tablets.c and move_table.c make the tables there.
 *
 * The slot is made before the subscription: a subscription to a database of the same
 * server would wait for itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <inttypes.h>

#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/tablet_names.h"
#include "tablets/move/move.h"

/* of an error's code */
#define SQLSTATE_LENGTH 5

static const char *
server_name(Oid serverid)
{
	return GetForeignServer(serverid)->servername;
}

static void
add_name(StringInfo text, const char *name, bool literals)
{
	appendStringInfo(text, "%s%s", text->len == 0 ? "" : ", ", literals ? quote_literal_cstr(name) : name);
}

char *
shuttle_move_tablet_name(const ShuttleMove *move, Oid relid)
{
	ListCell   *cell;
	ListCell   *name;

	forboth(cell, move->relids, name, move->names)
	{
		if (lfirst_oid(cell) == relid)
			return lfirst(name);
	}
	return shuttle_tablet_qualified_name(relid, move->number);
}

char *
shuttle_move_parents(const ShuttleMove *move)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, move->relids)
		add_name(&text, shuttle_local_name(lfirst_oid(cell)), true);
	return text.data;
}

char *
shuttle_move_names(const ShuttleMove *move, bool literals)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, move->relids)
		add_name(&text, move->remote != NULL ? move->remote : shuttle_move_tablet_name(move, lfirst_oid(cell)),
				 literals);
	return text.data;
}

char *
shuttle_move_new_name(const ShuttleMove *move, Oid relid, int part)
{
	return shuttle_split_is(move) ? shuttle_tablet_half_name(relid, move->parts->tablets[part].number) :
		shuttle_move_tablet_name(move, relid);
}

char *
shuttle_move_new_names(const ShuttleMove *move, bool literals)
{
	StringInfoData text;
	ListCell   *cell;

	if (move->parts == NULL)
		return shuttle_move_names(move, literals);
	initStringInfo(&text);
	foreach(cell, move->relids)
	{
		for (int i = 0; i < move->parts->ntablets; i++)
			add_name(&text, shuttle_move_new_name(move, lfirst_oid(cell), i), literals);
	}
	return text.data;
}

typedef struct Answer
{
	List	   *rows;
	MemoryContext cxt;
} Answer;

static void
take_row(void *arg, const ShuttleRow *row)
{
	Answer	   *answer = arg;
	MemoryContext old_cxt = MemoryContextSwitchTo(answer->cxt);
	char	  **values = palloc0_array(char *, row->ncolumns);

	for (int i = 0; i < row->ncolumns; i++)
		values[i] = pstrdup(row->values[i] == NULL ? "" : row->values[i]);
	answer->rows = lappend(answer->rows, values);
	MemoryContextSwitchTo(old_cxt);
}

static void
look(void *arg)
{
	shuttle_move_find_deadlock(arg);
}

/* Runs one statement outside of the transaction and returns its rows, arrays of strings.
 * side: its connection; NULL: one of its own. parameter: the run's, or NULL. waiting: the move, if the
 * statement waits for others' transactions; or NULL. */
static List *
ask_with(ShuttleSide *side, Oid serverid, const char *sql, const char *parameter, ShuttleMove *waiting, int ncolumns)
{
	Answer		answer = {.cxt = CurrentMemoryContext};
	ShuttleOutsideRun run = {.serverid = serverid,.name = server_name(serverid),.ok = true,.sql = psprintf(SHUTTLE_RUN_SAFELY "%s", sql),.parameter = parameter,.side = side,.nrows = -1};

	if (waiting != NULL)
	{
		run.look = look;
		run.look_arg = waiting;
	}
	if (ncolumns > 0)
	{
		run.row = take_row;
		run.row_arg = &answer;
		run.ncolumns = ncolumns;
	}
	shuttle_outside_run(NULL, GetUserId(), &run, 1, 0);
	if (!run.ok)
		ereport(ERROR,
				(errcode(shuttle_outside_sqlstate(&run)),
				 errmsg("could not move rows, storage node \"%s\": %s", run.name, run.error)));
	return answer.rows;
}

static char *
first_value(List *rows)
{
	return rows == NIL ? NULL : ((char **) linitial(rows))[0];
}

/* A query that has one row. */
static char **
only_row(List *rows, Oid serverid)
{
	if (list_length(rows) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("storage node \"%s\" gave an answer that was not expected", server_name(serverid)),
				 errdetail("It has %d rows.", list_length(rows))));
	return linitial(rows);
}

char *
shuttle_move_ask(Oid serverid, const char *sql)
{
	return only_row(ask_with(NULL, serverid, sql, NULL, NULL, 1), serverid)[0];
}

static List *
ask(const ShuttleMove *move, Oid serverid, const char *sql, int ncolumns)
{
	return ask_with(serverid == move->target ? move->target_side : move->source_side, serverid, sql, NULL, NULL, ncolumns);
}

char *
shuttle_move_ask_side(const ShuttleMove *move, Oid serverid, const char *sql)
{
	return first_value(ask(move, serverid, sql, 1));
}

char *
shuttle_move_need_side(const ShuttleMove *move, Oid serverid, const char *sql)
{
	return only_row(ask(move, serverid, sql, 1), serverid)[0];
}

/* ---- copying */

/* How the new node reaches the old one: as this server does, or with a wrong password. */
static char *
connection_text(Oid serverid, bool is_wrong)
{
	static const char *const used[] = {"host", "hostaddr", "port", "dbname", "sslmode", "sslrootcert",
	"target_session_attrs", "connect_timeout", "user", "password"};
	ForeignServer *server = GetForeignServer(serverid);
	UserMapping *mapping = GetUserMapping(GetUserId(), serverid);
	List	   *options = list_concat_copy(server->options, mapping->options);
	StringInfoData text;

	initStringInfo(&text);
	if (shuttle_option_find(options, "user") == NULL)
		appendStringInfo(&text, "user=%s ", GetUserNameFromId(GetUserId(), false));
	for (int i = 0; i < lengthof(used); i++)
	{
		const char *value = shuttle_option_text(options, used[i]);

		if (strcmp(used[i], "dbname") == 0 &&
			shuttle_option_get_bool(serverid, InvalidOid, "shuttle_same_database", false))
			value = get_database_name(MyDatabaseId);
		if (value == NULL)
			continue;
		if (strcmp(used[i], "password") == 0 && is_wrong)
			value = "wrong";
		appendStringInfo(&text, "%s='", used[i]);
		for (; *value != '\0'; value++)
		{
			if (*value == '\'' || *value == '\\')
				appendStringInfoChar(&text, '\\');
			appendStringInfoChar(&text, *value);
		}
		appendStringInfoString(&text, "' ");
	}
	return text.data;
}

/* Creates a subscription on a node, after which the other statements run there. connection: how its user reaches
 * the old node, with a password, which no text may show. Returns the error of the node, its SQLSTATE in front, or
 * an empty string: a statement that fails would come into the log. */
static const char *
subscribe(ShuttleSide *side, Oid serverid, const char *connection, const char *name, const char *options,
		  const char *after)
{
	char	   *body = psprintf("DECLARE connection text := " SHUTTLE_RUN_PARAMETER ";"
								" BEGIN PERFORM pg_catalog.set_config('pg_shuttle.parameter', '', true), pg_catalog.set_config('subscribe.error', '', true);"
								" EXECUTE pg_catalog.concat('CREATE SUBSCRIPTION %s CONNECTION ', pg_catalog.quote_literal(connection),"
								" ' PUBLICATION %s WITH (', %s, ')'); %s"
								" EXCEPTION WHEN OTHERS OR query_canceled THEN"
								" PERFORM pg_catalog.set_config('subscribe.error', pg_catalog.concat(SQLSTATE, SQLERRM), true); END",
								name, name, quote_literal_cstr(options), after);
	char	   *sql = psprintf("SET LOCAL client_min_messages = error; DO %s;"
							   " SELECT pg_catalog.current_setting('subscribe.error')", quote_literal_cstr(body));
	const char *error;

	error = only_row(ask_with(side, serverid, sql, connection, NULL, 1), serverid)[0];
	if (error[0] != '\0' && strlen(error) < SQLSTATE_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("storage node \"%s\" gave an error without a code: %s", server_name(serverid), error)));
	return error;
}

/* Creates a subscription of nothing, as the move would make one: it connects. That its publication is
 * missing may come into the node's log, with the statement, so its password is a wrong one. */
static const char *
probe(Oid source, Oid target)
{
	char	   *name = psprintf("shuttle_probe_%d", MyProcPid);

	return subscribe(NULL, target, connection_text(source, true), name,
					 "create_slot = false, enabled = false, slot_name = NONE",
					 psprintf("DROP SUBSCRIPTION %s;", name));
}

/* True if the old node has asked for the password, or cannot be reached. */
static bool
has_not_connected(Oid source, const char *error)
{
	return strncmp(error, "08", 2) == 0 &&
		shuttle_option_find(GetUserMapping(GetUserId(), source)->options, "password") != NULL;
}

/* Who is no superuser on the new node must give a password there, and the old node must ask for it. */
void
shuttle_move_check_subscription(Oid source, Oid target)
{
	const char *error = probe(source, target);

	if (error[0] == '\0' || has_not_connected(source, error))
		return;
	shuttle_move_refuse_node(target, psprintf("Its user cannot subscribe to storage node \"%s\": %s.", server_name(source), error + SQLSTATE_LENGTH),
							 psprintf("Let the user mapping of \"%s\" have a password, for which its pg_hba.conf asks connections from \"%s\", or let that of \"%s\" lead to a superuser.",
									  server_name(source), server_name(target), server_name(target)));
}

/* A query of the tables that are published. For a split that are all partitions on the node:
 * which rows are published is known by the topmost table only. */
static char *
published_query(const ShuttleMove *move)
{
	if (!shuttle_split_is(move))
		return psprintf("SELECT n FROM pg_catalog.unnest(ARRAY[%s]) AS n", shuttle_move_names(move, true));
	return psprintf("SELECT relid::pg_catalog.regclass::text FROM pg_catalog.unnest(ARRAY[%s]) AS n,"
					" pg_catalog.pg_partition_tree(pg_catalog.to_regclass(n))", shuttle_move_parents(move));
}

/* An UPDATE or DELETE of a table without a primary key, or with a deferrable one, sends the
 * whole old row. The publication's comment has the replica identity that was changed. */
static char *
publish_text(const ShuttleMove *move)
{
	char	   *body = psprintf("DECLARE t text; had text; was text; BEGIN SET LOCAL lock_timeout = '300ms'; FOR t IN %s LOOP"
								" SELECT CASE WHEN relreplident = 'n' OR relreplident = 'd' AND NOT EXISTS ("
								"SELECT FROM pg_catalog.pg_index WHERE indrelid = c.oid AND indisprimary AND indimmediate) THEN relreplident::text END"
								" INTO had FROM pg_catalog.pg_class AS c WHERE oid = t::pg_catalog.regclass;"
								" IF had IS NOT NULL THEN EXECUTE 'ALTER TABLE ' || t || ' REPLICA IDENTITY FULL'; was := had; END IF; END LOOP;"
								" EXECUTE 'CREATE PUBLICATION %s FOR TABLE ' || %s;"
								" IF was IS NOT NULL THEN EXECUTE 'COMMENT ON PUBLICATION %s IS ' || pg_catalog.quote_literal(was); END IF; END",
								published_query(move), move->name,
								shuttle_split_is(move) ? shuttle_split_published(move) : quote_literal_cstr(shuttle_move_names(move, false)),
								move->name);

	return psprintf("DO %s", quote_literal_cstr(body));
}

void
shuttle_move_publish(ShuttleMove *move)
{
	(void) ask(move, move->source, publish_text(move), 0);
}

/*
 * Has a subscription follow. The rows come with the rights of its owner, before PostgreSQL 16 also to triggers. A schema's
 * owner can put a table of his own in the place of one that was made there: from now on the subscription
 * knows its tables by their OIDs. A split's knows the topmost table only.
 */
static char *
enable_text(const ShuttleMove *move)
{
	const char *mark = move->remote == NULL ? "'shuttle_trap'" : "subname";
	const char *check = shuttle_split_is(move) ? "" :
		psprintf("IF EXISTS (SELECT FROM pg_catalog.pg_subscription AS s JOIN pg_catalog.pg_subscription_rel ON srsubid OPERATOR(pg_catalog.=) s.oid"
				 " JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) srrelid WHERE subname OPERATOR(pg_catalog.=) %s"
				 " AND (pg_catalog.pg_get_userbyid(relowner) OPERATOR(pg_catalog.<>) current_user OR NOT EXISTS (SELECT FROM pg_catalog.pg_constraint"
				 " WHERE conrelid OPERATOR(pg_catalog.=) c.oid AND conname OPERATOR(pg_catalog.=) %s))) THEN"
				 " RAISE insufficient_privilege USING MESSAGE = 'somebody has put another table in the place of the one that the move has made'; END IF; ",
				 quote_literal_cstr(move->name), mark);

	return psprintf("%sALTER SUBSCRIPTION %s ENABLE;", check, move->name);
}

/* The slot is made when all transactions that write there have ended. */
void
shuttle_move_copy(ShuttleMove *move)
{
	char	   *slot = quote_literal_cstr(move->name);
	const char *error;

	(void) ask_with(move->source_side, move->source,
					psprintf("SELECT 1 FROM pg_catalog.pg_create_logical_replication_slot(%s, 'pgoutput')", slot),
					NULL, move, 1);
	error = subscribe(move->target_side, move->target, connection_text(move->source, false), move->name,
					  psprintf("create_slot = false, enabled = false, slot_name = %s", slot), enable_text(move));
	if (error[0] != '\0')
		ereport(ERROR,
				(errcode(MAKE_SQLSTATE(error[0], error[1], error[2], error[3], error[4])),
				 errmsg("could not move rows, storage node \"%s\": %s", server_name(move->target), error + SQLSTATE_LENGTH)));
}

bool
shuttle_move_is_copied(const ShuttleMove *move)
{
	char	  **row = only_row(ask(move, move->target,
								   psprintf("SELECT (SELECT pg_catalog.count(*) FROM pg_catalog.pg_subscription_rel WHERE srsubid = s.oid AND srsubstate <> 'r'),"
											" (SELECT pg_catalog.sum(apply_error_count + sync_error_count) FROM pg_catalog.pg_stat_subscription_stats WHERE subid = s.oid)"
											" FROM pg_catalog.pg_subscription AS s WHERE subname = %s",
											quote_literal_cstr(move->name)), 2), move->target);

	if (row[1][0] != '\0' && strcmp(row[1], "0") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("storage node \"%s\" could not copy the rows", server_name(move->target)),
				 errhint("The log of that node has the reason.")));
	return strcmp(row[0], "0") == 0;
}

void
shuttle_move_analyze(const ShuttleMove *move)
{
	(void) ask(move, move->target, psprintf("ANALYZE %s", shuttle_move_new_names(move, false)), 0);
}

int64
shuttle_move_bytes(const ShuttleMove *move, Oid serverid, const char *names)
{
	return pg_strtoint64(shuttle_move_need_side(move, serverid, psprintf("SELECT COALESCE(pg_catalog.sum(pg_catalog.pg_total_relation_size(pg_catalog.to_regclass(n))), 0)::int8"
																		 " FROM pg_catalog.unnest(ARRAY[%s]) AS n", names)));
}

/* A commit that flushes the node's log: nothing else would for a while. */
#define FLUSHED " FROM pg_catalog.pg_logical_emit_message(true, 'shuttle_move', '')"

char *
shuttle_move_log_end(const ShuttleMove *move)
{
	return shuttle_move_need_side(move, move->source, "SELECT pg_catalog.pg_current_wal_insert_lsn()" FLUSHED);
}

bool
shuttle_move_has_all(const ShuttleMove *move, const char *log_end, int64 except_bytes)
{
	char	   *answer;

	if (except_bytes == 0)
		(void) shuttle_move_ask_side(move, move->target, "SELECT 1" FLUSHED);
	answer = shuttle_move_ask_side(move, move->source,
								   psprintf("SELECT pg_catalog.pg_wal_lsn_diff(%s, confirmed_flush_lsn) <= " INT64_FORMAT
											" FROM pg_catalog.pg_replication_slots WHERE slot_name = %s",
											quote_literal_cstr(log_end), except_bytes, quote_literal_cstr(move->name)));

	if (answer == NULL)
		shuttle_move_refuse_node(move->source, "Its replication slot is gone, as after a failover.",
								 "Repeat the move.");
	return strcmp(answer, "t") == 0;
}

static void
change_subscription(const ShuttleMove *move, const char *statements)
{
	char	   *body = psprintf("BEGIN IF EXISTS (SELECT FROM pg_catalog.pg_subscription WHERE subname = %s) THEN %s END IF; END",
								quote_literal_cstr(move->name), statements);

	(void) ask(move, move->target, psprintf("DO %s", quote_literal_cstr(body)), 0);
}

/* What is deleted on the old node must not be on the new one. A worker of the subscription
 * looks at it again before it applies a transaction. */
void
shuttle_move_follow(const ShuttleMove *move, bool follow)
{
	change_subscription(move, psprintf("ALTER SUBSCRIPTION %s %s;", move->name,
									   follow ? "ENABLE" : "DISABLE"));
}

/* ---- the change of places */

void
shuttle_move_lock_source(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	shuttle_node_statements_add(statements, move->source, SHUTTLE_NODE_READ_AS_MEANT);
	shuttle_node_statements_add(statements, move->target, SHUTTLE_NODE_READ_AS_MEANT);
	shuttle_node_statements_add(statements, move->source, "SET LOCAL lock_timeout = '300ms'");
	shuttle_node_statements_add(statements, move->source,
								psprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", shuttle_move_names(move, false)));
	shuttle_node_statements_add(statements, move->source, "SET LOCAL lock_timeout = '2s'");
	shuttle_node_statements_run(statements);
}

/* ---- the end */

/* Waits for the workers of a subscription that was disabled: one that still copies would
 * make a slot behind those that are dropped. One that ends by itself meanwhile is no
 * reason for a warning. */
static void
end_workers(const ShuttleMove *move)
{
	char	   *body = psprintf("BEGIN SET LOCAL client_min_messages = error; FOR i IN 1 .. 100 LOOP"
								" PERFORM pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_subscription WHERE subname = %s AND pid IS NOT NULL;"
								" EXIT WHEN NOT FOUND; PERFORM pg_catalog.pg_sleep(0.05); END LOOP; END",
								quote_literal_cstr(move->name));

	(void) ask(move, move->target, psprintf("DO %s", quote_literal_cstr(body)), 0);
}

/* The pattern of slots through which the new node's subscription copies tables. What the node
 * tells of it are numbers: the pattern ends processes of the old node. */
static char *
sync_slots(const ShuttleMove *move, const char *numbers)
{
	uint32		subscription;
	uint64		system;
	int			length = 0;

	if (sscanf(numbers, "%" SCNu32 " %" SCNu64 "%n", &subscription, &system, &length) == 2 && numbers[length] == '\0')
		return psprintf("pg\\_%u\\_sync\\_%%\\_" UINT64_FORMAT, subscription, system);
	ereport(WARNING,
			(errmsg("storage node \"%s\" gave no number of a subscription: %s", server_name(move->target), numbers)));
	return NULL;
}

void
shuttle_move_stop_copy(ShuttleMove *move)
{
	char	   *numbers = shuttle_move_ask_side(move, move->target,
												psprintf("SELECT pg_catalog.concat(oid, ' ', (SELECT system_identifier FROM pg_catalog.pg_control_system()))"
														 " FROM pg_catalog.pg_subscription WHERE subname = %s", quote_literal_cstr(move->name)));

	if (numbers != NULL)
		move->sync_slots = sync_slots(move, numbers);
	change_subscription(move, psprintf("ALTER SUBSCRIPTION %s DISABLE;", move->name));
	end_workers(move);
}

/* Whoever sends the log for a worker bears the name of its slot, also before the slot is made.
 * An update of a published table fails without an identity: both are changed at once. */
static void
drop_published(const ShuttleMove *move)
{
	char	   *name = quote_literal_cstr(move->name);
	char	   *sync = quote_literal_cstr(move->sync_slots == NULL ? move->name : move->sync_slots);
	char	   *slots = psprintf("pg_catalog.pg_replication_slots WHERE (slot_name = %s OR slot_name LIKE %s)", name, sync);
	char	   *body;

	body = psprintf("DECLARE t text; had text; BEGIN SET LOCAL client_min_messages = error;"
					" FOR i IN 1 .. 100 LOOP PERFORM pg_catalog.pg_stat_clear_snapshot();"
					" PERFORM pg_catalog.pg_terminate_backend(pid) FROM (SELECT active_pid AS pid FROM %s AND active"
					" UNION SELECT pid FROM pg_catalog.pg_stat_replication WHERE application_name = %s OR application_name LIKE %s) AS senders;"
					" EXIT WHEN NOT FOUND; PERFORM pg_catalog.pg_sleep(0.05); END LOOP;"
					" PERFORM pg_catalog.pg_drop_replication_slot(slot_name) FROM %s;"
					" SELECT pg_catalog.obj_description(oid, 'pg_publication') INTO had FROM pg_catalog.pg_publication WHERE pubname = %s;"
					" DROP PUBLICATION IF EXISTS %s; SET LOCAL lock_timeout = '300ms';"
					" FOR t IN %s LOOP IF had IN ('d', 'n') AND EXISTS ("
					"SELECT FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass(t) AND relreplident = 'f') THEN"
					" EXECUTE 'ALTER TABLE ' || t || ' REPLICA IDENTITY ' || CASE had WHEN 'd' THEN 'DEFAULT' ELSE 'NOTHING' END; END IF; END LOOP; END",
					slots, name, sync, slots, name, move->name, published_query(move));
	(void) ask(move, move->source, psprintf("DO %s", quote_literal_cstr(body)), 0);
}

/* The subscription goes last: it tells the names of the other slots. */
void
shuttle_move_end_copy(ShuttleMove *move)
{
	if (OidIsValid(move->target))
		shuttle_move_stop_copy(move);
	if (OidIsValid(move->source))
		drop_published(move);
	if (OidIsValid(move->target))
		change_subscription(move, psprintf("ALTER SUBSCRIPTION %s SET (slot_name = NONE); DROP SUBSCRIPTION %s;",
										   move->name, move->name));
}

/* What a split of the same tablet has left goes, too: it is no other's. */
void
shuttle_move_undo(ShuttleMove *move)
{
	if (move->remote == NULL)
		move->parts = shuttle_split_parts(shuttle_layout_tablet(move->layout, move->number), move->target);
	shuttle_move_end_copy(move);
	if (OidIsValid(move->target))
		move->kind->drop_half(move);
}
