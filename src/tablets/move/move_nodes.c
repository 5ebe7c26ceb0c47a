/*-------------------------------------------------------------------------
 * move_nodes.c
 *	  What a move of tablets does on the old and the new node.
 *
 * Rows are copied by logical replication: a publication and a slot on the old node, a
 * subscription on the new one. The tablets on the new node are partitions from the
 * beginning, before they have rows, so that keys and foreign keys need no check later.
 * Until the move is done each has a check named as that of a trap (routines.c), so that a
 * call on that node does not read half of the rows. It is true, unlike that of a trap.
 *
 * The slot is made before the subscription: a subscription to a database of the same
 * server would wait for itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"
#include "tablets/move/move.h"
#include "tablets/routines.h"

static const char *const members_query =
"SELECT relation::oid::text FROM shuttle.tables AS t WHERE kind = 'distributed' AND group_id = $1::int8 ORDER BY t.relation";

static const char *const key_query =
"SELECT attname::text FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]"
" WHERE partrelid = $1";

/* Our own text: it follows the names of the tables on the node. */
static const char *const foreign_keys_query =
"SELECT pg_catalog.format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::pg_catalog.regclass, conname, pg_catalog.pg_get_constraintdef(oid))"
" FROM pg_catalog.pg_constraint WHERE conrelid = $1 AND contype = 'f' AND conparentid = 0 ORDER BY conname";

/* Referring tablets have to go before those they refer to. If tables refer to each other,
 * or to themselves, rows are deleted first: a tablet is detached only if none refers to it. */
static const char *const drop_body =
"DECLARE todo text[] := ARRAY[%s]; parents text[] := ARRAY[%s]; gone bool[] := array_fill(false, ARRAY[array_length(todo, 1)]);"
" next int; BEGIN FOR step IN 1 .. array_length(todo, 1) LOOP"
" SELECT i INTO next FROM generate_series(1, array_length(todo, 1)) AS i WHERE NOT gone[i] AND NOT EXISTS ("
"SELECT FROM pg_catalog.pg_constraint, generate_series(1, array_length(todo, 1)) AS j WHERE contype = 'f' AND conparentid = 0 AND NOT gone[j]"
" AND conrelid = to_regclass(parents[j]) AND confrelid = to_regclass(parents[i])) ORDER BY i LIMIT 1;"
" IF next IS NULL THEN SET LOCAL session_replication_role = replica;"
" FOR i IN 1 .. array_length(todo, 1) LOOP IF NOT gone[i] AND to_regclass(todo[i]) IS NOT NULL THEN EXECUTE 'DELETE FROM ' || todo[i]; END IF; END LOOP;"
" SET LOCAL session_replication_role = origin;"
" SELECT i INTO next FROM generate_series(1, array_length(todo, 1)) AS i WHERE NOT gone[i] ORDER BY i LIMIT 1; END IF;"
" IF to_regclass(todo[next]) IS NOT NULL THEN"
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

static const char *
server_name(Oid serverid)
{
	return GetForeignServer(serverid)->servername;
}

static char *
tablet(const ShuttleMove *move, Oid relid)
{
	return shuttle_tablet_qualified_name(relid, move->number);
}

/* Names of the tablets, or of their tables, separated by commas. */
static char *
names(const ShuttleMove *move, bool tablets, bool literals)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, move->relids)
	{
		char	   *name = tablets ? tablet(move, lfirst_oid(cell)) : shuttle_local_name(lfirst_oid(cell));

		appendStringInfo(&text, "%s%s", text.len == 0 ? "" : ", ",
						 literals ? quote_literal_cstr(name) : name);
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

/* Runs one statement outside of the transaction and returns its rows, arrays of strings.
 * side: its connection; NULL: one of its own. */
static List *
ask_on(ShuttleSide *side, Oid serverid, const char *sql, int ncolumns)
{
	Answer		answer = {.cxt = CurrentMemoryContext};
	ShuttleOutsideRun run = {.serverid = serverid,.name = server_name(serverid),.ok = true,.side = side,.nrows = -1};

	if (ncolumns > 0)
	{
		run.row = take_row;
		run.row_arg = &answer;
		run.ncolumns = ncolumns;
	}
	shuttle_outside_run(sql, GetUserId(), &run, 1, 0);
	if (!run.ok)
		ereport(ERROR,
				(errcode(MAKE_SQLSTATE(run.sqlstate[0], run.sqlstate[1], run.sqlstate[2],
									   run.sqlstate[3], run.sqlstate[4])),
				 errmsg("could not move tablets, storage node \"%s\": %s", run.name, run.error)));
	return answer.rows;
}

static char *
first_value(List *rows)
{
	return rows == NIL ? NULL : ((char **) linitial(rows))[0];
}

char *
shuttle_move_ask(Oid serverid, const char *sql)
{
	return first_value(ask_on(NULL, serverid, sql, 1));
}

static List *
ask(const ShuttleMove *move, Oid serverid, const char *sql, int ncolumns)
{
	return ask_on(serverid == move->target ? move->target_side : move->source_side, serverid, sql, ncolumns);
}

/* The only column of the first row; NULL: there is none. */
static char *
ask_one(const ShuttleMove *move, Oid serverid, const char *sql)
{
	return first_value(ask(move, serverid, sql, 1));
}

/* ---- the tablets on the new node */

/* A node that never had a table of the group gets them as all others have them. */
static void
add_tables(const ShuttleMove *move, ShuttleNodeStatements *statements)
{
	ShuttleNode *source = shuttle_node_get(move->source, GetUserId());
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		texts = list_concat(texts, shuttle_table_text_needed(relid));
		texts = list_concat(texts, shuttle_table_text_parent(relid, shuttle_local_text(key_query, relid)));
		texts = list_concat(texts, shuttle_table_text_indexes(relid));
		if (move->layout->traps)
			texts = list_concat(texts, shuttle_traps_texts(relid, move->layout, move->target));
	}
	foreach(cell, move->relids)
	{
		ListCell   *key;

		foreach(key, shuttle_node_rows(source, foreign_keys_query, 1, lfirst_oid(cell)))
			texts = lappend(texts, ((char **) lfirst(key))[0]);
	}
	foreach(cell, texts)
		shuttle_node_statements_add(statements, move->target, lfirst(cell));
}

static bool
has_tablets(const ShuttleMove *move, Oid serverid, int except)
{
	for (int i = 0; i < move->layout->ntablets; i++)
	{
		if (move->layout->servers[i] == serverid && i != except)
			return true;
	}
	return false;
}

static void
add_drop(const ShuttleMove *move, ShuttleNodeStatements *statements, Oid serverid)
{
	char	   *body = psprintf(drop_body, names(move, true, true), names(move, false, true));

	shuttle_node_statements_add(statements, serverid, psprintf("DO %s", quote_literal_cstr(body)));
}

static void
add_names(Oid relid, const ShuttleMove *move, ShuttleNodeStatements *statements, Oid serverid)
{
	char	   *text = shuttle_tablet_text_name_indexes(relid, move->layout->ntablets);

	if (text !=NULL)
		shuttle_node_statements_add(statements, serverid, text);
}

/* The trap of one number; others exist. */
static void
add_trap(const ShuttleMove *move, ShuttleNodeStatements *statements, Oid serverid)
{
	ListCell   *cell;

	foreach(cell, move->relids)
	{
		shuttle_node_statements_add(statements, serverid,
									psprintf("CREATE TABLE %s PARTITION OF %s (CONSTRAINT shuttle_trap"
											 " CHECK (shuttle_node.trap() AND false)) FOR VALUES WITH (MODULUS %d, REMAINDER %d)",
											 tablet(move, lfirst_oid(cell)), shuttle_local_name(lfirst_oid(cell)),
											 move->layout->ntablets, move->number));
		add_names(lfirst_oid(cell), move, statements, serverid);
	}
}

/* Writers use tables of the group in any order: without the limit there were deadlocks. */
static void
add_locks(const ShuttleMove *move, ShuttleNodeStatements *statements)
{
	shuttle_node_statements_add(statements, move->target, "SET LOCAL lock_timeout = '300ms'");
	if (has_tablets(move, move->target, -1))
		shuttle_node_statements_add(statements, move->target,
									psprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", names(move, false, false)));
}

void
shuttle_move_make(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ShuttleLayout none = {.ntablets = 0};
	ListCell   *cell;

	add_locks(move, statements);
	if (!has_tablets(move, move->target, -1))
		add_tables(move, statements);
	if (move->layout->traps)
		add_drop(move, statements, move->target);
	foreach(cell, shuttle_traps_texts(linitial_oid(move->relids), &none, move->target))
		shuttle_node_statements_add(statements, move->target, lfirst(cell));
	foreach(cell, move->relids)
	{
		Oid			relid = lfirst_oid(cell);

		shuttle_node_statements_add(statements, move->target,
									shuttle_table_text_tablet(relid, move->layout->ntablets, move->number));
		shuttle_node_statements_add(statements, move->target,
									psprintf("ALTER TABLE %s ADD CONSTRAINT shuttle_trap CHECK (shuttle_node.trap())",
											 tablet(move, relid)));
		add_names(relid, move, statements, move->target);
	}
	shuttle_node_statements_run(statements);
}

/* ---- copying */

/* How the new node reaches the old one: as this server does. */
static char *
connection_text(Oid serverid)
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

		if (value == NULL)
			continue;
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

/* An UPDATE or DELETE of a table without a primary key, or with a deferrable one, sends the
 * whole old row. */
static char *
identity_text(const ShuttleMove *move)
{
	char	   *body = psprintf("DECLARE t text; BEGIN SET LOCAL lock_timeout = '300ms'; FOREACH t IN ARRAY ARRAY[%s] LOOP"
								" IF NOT EXISTS (SELECT FROM pg_catalog.pg_index WHERE indrelid = t::pg_catalog.regclass AND indisprimary AND indimmediate) THEN"
								" EXECUTE 'ALTER TABLE ' || t || ' REPLICA IDENTITY FULL'; END IF; END LOOP; END",
								names(move, true, true));

	return psprintf("DO %s", quote_literal_cstr(body));
}

void
shuttle_move_identify(ShuttleMove *move)
{
	(void) ask(move, move->source, identity_text(move), 0);
}

void
shuttle_move_copy(const ShuttleMove *move)
{
	char	   *slot = quote_literal_cstr(move->name);

	(void) ask(move, move->source, psprintf("CREATE PUBLICATION %s FOR TABLE %s", move->name,
											names(move, true, false)), 0);
	(void) ask(move, move->source, psprintf("SELECT 1 FROM pg_catalog.pg_create_logical_replication_slot(%s, 'pgoutput')",
											slot), 1);
	(void) ask(move, move->target, psprintf("CREATE SUBSCRIPTION %s CONNECTION %s PUBLICATION %s"
											" WITH (create_slot = false, slot_name = %s)",
											move->name, quote_literal_cstr(connection_text(move->source)),
											move->name, slot), 0);
}

bool
shuttle_move_is_copied(const ShuttleMove *move)
{
	char	  **row = linitial(ask(move, move->target,
								   psprintf("SELECT (SELECT pg_catalog.count(*) FROM pg_catalog.pg_subscription_rel WHERE srsubid = s.oid AND srsubstate <> 'r'),"
											" (SELECT pg_catalog.sum(apply_error_count + sync_error_count) FROM pg_catalog.pg_stat_subscription_stats WHERE subid = s.oid)"
											" FROM pg_catalog.pg_subscription AS s WHERE subname = %s",
											quote_literal_cstr(move->name)), 2));

	if (row[1][0] != '\0' && strcmp(row[1], "0") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("storage node \"%s\" could not copy the tablets", server_name(move->target)),
				 errhint("The log of that node has the reason.")));
	return strcmp(row[0], "0") == 0;
}

int64
shuttle_move_bytes(const ShuttleMove *move, Oid serverid)
{
	return pg_strtoint64(ask_one(move, serverid, psprintf("SELECT COALESCE(pg_catalog.sum(pg_catalog.pg_total_relation_size(pg_catalog.to_regclass(n))), 0)::int8"
														  " FROM pg_catalog.unnest(ARRAY[%s]) AS n", names(move, true, true))));
}

/* A commit that flushes the node's log: nothing else would for a while. */
#define FLUSHED " FROM pg_catalog.pg_logical_emit_message(true, 'shuttle_move', '')"

char *
shuttle_move_log_end(const ShuttleMove *move)
{
	return ask_one(move, move->source, "SELECT pg_catalog.pg_current_wal_insert_lsn()" FLUSHED);
}

bool
shuttle_move_has_all(const ShuttleMove *move, const char *log_end, int64 except_bytes)
{
	char	   *answer;

	if (except_bytes == 0)
		(void) ask_one(move, move->target, "SELECT 1" FLUSHED);
	answer = ask_one(move, move->source,
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

	shuttle_node_statements_add(statements, move->source, "SET LOCAL lock_timeout = '300ms'");
	shuttle_node_statements_add(statements, move->source,
								psprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", names(move, true, false)));
	shuttle_node_statements_add(statements, move->source, "SET LOCAL lock_timeout = '2s'");
	shuttle_node_statements_run(statements);
}

/* A node without tablets keeps no tables of the group: DDL would not follow there. */
void
shuttle_move_change_nodes(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ListCell   *cell;

	shuttle_node_statements_add(statements, move->target, "SET LOCAL lock_timeout = '2s'");
	foreach(cell, move->relids)
		shuttle_node_statements_add(statements, move->target,
									psprintf("ALTER TABLE %s DROP CONSTRAINT shuttle_trap",
											 tablet(move, lfirst_oid(cell))));
	if (!has_tablets(move, move->source, move->number))
		shuttle_node_statements_add(statements, move->source,
									psprintf("DROP TABLE %s", names(move, false, false)));
	else
	{
		add_drop(move, statements, move->source);
		if (move->layout->traps)
			add_trap(move, statements, move->source);
	}
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

void
shuttle_move_stop_copy(ShuttleMove *move)
{
	char	   *slots = ask_one(move, move->target,
								psprintf("SELECT pg_catalog.format('pg_%%s_sync_%%%%_%%s', oid, (SELECT system_identifier FROM pg_catalog.pg_control_system()))"
										 " FROM pg_catalog.pg_subscription WHERE subname = %s", quote_literal_cstr(move->name)));

	if (slots != NULL)
		move->sync_slots = slots;
	change_subscription(move, psprintf("ALTER SUBSCRIPTION %s DISABLE;", move->name));
	end_workers(move);
}

/* Whoever sends the log for a worker bears the name of its slot, also before the slot is made. */
static void
drop_slots(const ShuttleMove *move)
{
	char	   *name = quote_literal_cstr(move->name);
	char	   *sync = quote_literal_cstr(move->sync_slots == NULL ? move->name : move->sync_slots);
	char	   *slots = psprintf("pg_catalog.pg_replication_slots WHERE (slot_name = %s OR slot_name LIKE %s)", name, sync);
	char	   *body;

	body = psprintf("BEGIN SET LOCAL client_min_messages = error;"
					" FOR i IN 1 .. 100 LOOP PERFORM pg_catalog.pg_stat_clear_snapshot();"
					" PERFORM pg_catalog.pg_terminate_backend(pid) FROM (SELECT active_pid AS pid FROM %s AND active"
					" UNION SELECT pid FROM pg_catalog.pg_stat_replication WHERE application_name = %s OR application_name LIKE %s) AS senders;"
					" EXIT WHEN NOT FOUND; PERFORM pg_catalog.pg_sleep(0.05); END LOOP;"
					" PERFORM pg_catalog.pg_drop_replication_slot(slot_name) FROM %s;"
					" DROP PUBLICATION IF EXISTS %s; END", slots, name, sync, slots, move->name);
	(void) ask(move, move->source, psprintf("DO %s", quote_literal_cstr(body)), 0);
}

/* The subscription goes last: it tells the names of the other slots. */
void
shuttle_move_end_copy(ShuttleMove *move)
{
	if (OidIsValid(move->target))
		shuttle_move_stop_copy(move);
	if (OidIsValid(move->source))
		drop_slots(move);
	if (OidIsValid(move->target))
		change_subscription(move, psprintf("ALTER SUBSCRIPTION %s SET (slot_name = NONE); DROP SUBSCRIPTION %s;",
										   move->name, move->name));
}

static void
reset_identity(const ShuttleMove *move)
{
	char	   *body = psprintf("DECLARE t text; BEGIN SET LOCAL lock_timeout = '300ms'; FOREACH t IN ARRAY ARRAY[%s] LOOP"
								" IF EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass(t) AND relreplident = 'f') THEN"
								" EXECUTE 'ALTER TABLE ' || t || ' REPLICA IDENTITY DEFAULT'; END IF; END LOOP; END",
								names(move, true, true));

	(void) ask(move, move->source, psprintf("DO %s", quote_literal_cstr(body)), 0);
}

/* Half copied tablets have a check that is true. */
static bool
has_half(const ShuttleMove *move)
{
	return strcmp(ask_one(move, move->target,
						  psprintf("SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint WHERE conname = 'shuttle_trap'"
								   " AND pg_catalog.pg_get_constraintdef(oid) NOT LIKE '%%false%%'"
								   " AND conrelid = ANY (ARRAY(SELECT pg_catalog.to_regclass(n) FROM pg_catalog.unnest(ARRAY[%s]) AS n))",
								   names(move, true, true))), "0") != 0;
}

static void
drop_half(const ShuttleMove *move)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	add_locks(move, statements);
	if (!has_tablets(move, move->target, -1))
		shuttle_node_statements_add(statements, move->target,
									psprintf("DROP TABLE %s", names(move, false, false)));
	else
	{
		add_drop(move, statements, move->target);
		if (move->layout->traps)
			add_trap(move, statements, move->target);
	}
	shuttle_node_statements_run(statements);
}

void
shuttle_move_undo(ShuttleMove *move)
{
	shuttle_move_end_copy(move);
	if (OidIsValid(move->source))
		reset_identity(move);
	if (OidIsValid(move->target) && move->target != move->layout->servers[move->number] && has_half(move))
		drop_half(move);
}
