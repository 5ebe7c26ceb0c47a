/*-------------------------------------------------------------------------
 * check.c
 *	  shuttle.check(): compares what nodes have with what they should have.
 *
 * Of each table a node must have the same definition (check_definitions.c). Of a
 * distributed table it must have its tablets, with rows that belong to them; of a
 * reference table the same rows: their number, and the sum of their texts' hashes,
 * do not depend on an order.
 *
 * A reference table is locked against writers, here and on the node: the lock
 * there waits until prepared transactions have ended.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_inherits.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_subtransaction.h"
#include "storage/shuttle_storage.h"
#include "tablets/check/check.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/places.h"
#include "tablets/common/problems.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/distribute/distribute.h"
#include "tablets/distribute/partition.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/move/move.h"
#include "tablets/needs/needs.h"
#include "tablets/needs/routines.h"
#include "tablets/placement/tend.h"
#include "tablets/reference/copies.h"
#include "tablets/rights/authors.h"
#include "tablets/rights/hidden_tables.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/reach.h"
#include "tablets/rights/user_code.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_check);

static const char *const tables_query =
"SELECT relation::oid::text FROM shuttle.tables WHERE $1 IS NOT NULL ORDER BY relation::regclass::text";

/* A foreign key, as the query's columns. */
enum
{
	KEY_NAME,					/* quoted */
	KEY_DEFINITION,
	KEY_NCOLUMNS
};

static const char *const has_table_query = "SELECT 1 WHERE $1 IS NOT NULL";

/* They exist on nodes only. */
static const char *const foreign_keys_query =
"SELECT pg_catalog.quote_ident(conname), pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint"
" WHERE contype = 'f' AND conparentid = 0 AND conrelid = $1 ORDER BY conname";

/* Not more than one row is needed to know. */
static const char *const strays_query =
"SELECT pg_catalog.format('SELECT %L WHERE EXISTS (SELECT FROM ONLY %s WHERE NOT (%s))', c.relname, c.oid::pg_catalog.regclass,"
" pg_catalog.pg_get_partition_constraintdef(c.oid))"
" FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid"
" WHERE i.inhparent = $1 ORDER BY c.relname";

static const char *const names_query =
"SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
" WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = ''";

/* The distribution column. */
static const char *const key_query =
"SELECT attname::text FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]"
" WHERE partrelid = $1";

/* A problem that repair mends. */
static void
put_repairable(const ShuttleCheck *check, const char *problem)
{
	shuttle_problem_put(check, problem,
						check->repair ? NULL : "SELECT * FROM shuttle.check(repair => true) mends it.");
}

/* The first column of a query's rows on the node, without NULLs. */
static List *
node_texts(const ShuttleCheck *check, const char *sql, Oid relid)
{
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_node_rows_with_nulls(check->node, sql, 1, 0, relid))
	{
		char	   *text = ((char **) lfirst(cell))[0];

		if (text !=NULL)
			texts = lappend(texts, text);
	}
	return texts;
}

/* The rows of a query of the node's catalogs, in which $1 is the table. */
static List *
catalog_texts(const ShuttleCheck *check, const char *sql)
{
	return node_texts(check, sql, check->relid);
}

/* Waits for writers, also for prepared transactions. */
static void
lock_copy(const ShuttleCheck *check)
{
	ShuttleStatement statement = {
		.sql = psprintf("LOCK TABLE %s IN SHARE MODE", shuttle_local_name(check->relid)),
		.effect = SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.tag_only = true,
	};
	ShuttleRequest *request = shuttle_request_send(check->node, &statement, CurrentMemoryContext);

	(void) shuttle_request_finish(request);
	shuttle_request_close(request);
}

static const char *
node_text(const ShuttleCheck *check, const char *sql)
{
	List	   *texts = node_texts(check, sql, InvalidOid);

	return texts == NIL ? "" : linitial(texts);
}

static const char *
local_text(const ShuttleCheck *check, const char *sql)
{
	char	   *text = shuttle_local_text(sql, check->relid);

	return text == NULL ? "" : text;
}

static bool
has_foreign_key(const List *keys, char **key)
{
	ListCell   *cell;

	foreach(cell, keys)
	{
		if (strcmp(((char **) lfirst(cell))[KEY_NAME], key[KEY_NAME]) == 0)
			return true;
	}
	return false;
}

/* ---- reference tables */

static char *
rows_query(const ShuttleCheck *check)
{
	return psprintf("SELECT pg_catalog.format('%%s %%s', pg_catalog.count(*),"
					" pg_catalog.sum(pg_catalog.hashtextextended(ROW(%s)::text, 0)::numeric)) FROM ONLY %s",
					local_text(check, names_query), shuttle_local_name(check->relid));
}

/* Texts of values have to be those that the node makes. */
static const char *
local_rows(const ShuttleCheck *check)
{
	int			level = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);
	char	  **row;

	(void) set_config_option("TimeZone", "GMT", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	(void) set_config_option("bytea_output", "hex", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	(void) shuttle_local_read_as_owner(check->relid, rows_query(check), &row);
	shuttle_row_transmission_end(level);
	return row[0];
}

static void
repair_rows(const ShuttleCheck *check, Relation rel)
{
	ShuttleCopies *copies = shuttle_copies_open(rel, list_make1_oid(check->serverid));

	shuttle_copies_delete_others(copies);
	(void) shuttle_copies_put_all(copies);
}

static bool
has_table(const ShuttleCheck *check)
{
	return catalog_texts(check, has_table_query) != NIL;
}

static void
check_copy(const ShuttleCheck *check)
{
	Relation	rel = table_open(check->relid, ShareLock);

	if (!has_table(check))
	{
		if (check->repair)
			(void) shuttle_reference_make_copies(rel, list_make1_oid(check->serverid));
		put_repairable(check, "has no copy");
	}
	else if (shuttle_check_definition(check))
	{
		lock_copy(check);
		if (strcmp(local_rows(check), node_text(check, rows_query(check))) != 0)
		{
			if (check->repair)
				repair_rows(check, rel);
			put_repairable(check, "has other rows");
		}
	}
	table_close(rel, NoLock);
}

/* ---- distributed tables */

/* As after a dump was restored beside empty nodes. Foreign keys are in no dump. */
static void
make_tablets(const ShuttleCheck *check)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ShuttleLayout *layout = shuttle_layout_of(check->relid);
	List	   *texts = list_concat(shuttle_needed_objects_texts(check->relid, list_make1_oid(check->serverid)),
									shuttle_node_owners_schema_texts(get_rel_namespace(check->relid)));
	ListCell   *cell;

	texts = list_concat(texts, shuttle_table_text_parent(check->relid, local_text(check, key_query)));
	for (int i = 0; i < layout->ntablets; i++)
	{
		if (layout->tablets[i].serverid == check->serverid)
			texts = lappend(texts, shuttle_table_text_tablet(check->relid, &layout->tablets[i],
															 shuttle_tablet_qualified_name(check->relid, layout->tablets[i].number)));
	}
	if (shuttle_table_has_traps(check->relid))
		texts = list_concat(texts, shuttle_routine_traps_texts(check->relid, layout, check->serverid));
	texts = list_concat(texts, shuttle_table_text_indexes(check->relid, NULL));
	foreach(cell, list_concat(texts, shuttle_table_text_unchecked(check->relid)))
		shuttle_node_statements_add(statements, check->serverid, lfirst(cell));
	shuttle_node_statements_run(statements);
}

static List *
foreign_keys(const ShuttleCheck *check)
{
	return shuttle_node_rows(check->node, foreign_keys_query, KEY_NCOLUMNS, check->relid);
}

static void
find_lost_foreign_keys(const ShuttleCheck *check)
{
	List	   *there = foreign_keys(check);
	ListCell   *cell;

	foreach(cell, check->foreign_keys)
	{
		char	  **key = lfirst(cell);

		if (!has_foreign_key(there, key))
			shuttle_problem_put(check, psprintf("has lost foreign key %s", key[KEY_NAME]),
								psprintf("Run on the node: ALTER TABLE %s ADD CONSTRAINT %s %s;",
										 shuttle_local_name(check->relid), key[KEY_NAME], key[KEY_DEFINITION]));
	}
}

static void
find_strays(const ShuttleCheck *check)
{
	ListCell   *cell;

	foreach(cell, catalog_texts(check, strays_query))
	{
		const char *tablet = node_text(check, lfirst(cell));

		if (*tablet != '\0')
			shuttle_problem_put(check, psprintf("has rows in tablet \"%s\" that do not belong there", tablet),
								"Delete these rows on the node, and insert them into the table here.");
	}
}

static List *
tablets_of_node(const ShuttleCheck *check)
{
	List	   *tablets = NIL;
	ListCell   *cell;

	foreach(cell, find_inheritance_children(check->relid, NoLock))
	{
		if (GetForeignServerIdByRelId(lfirst_oid(cell)) == check->serverid)
			tablets = lappend_oid(tablets, lfirst_oid(cell));
	}
	return tablets;
}

/* Nodes do not know the bound of a table that is a partition here. */
static void
find_strays_of_partition(const ShuttleCheck *check)
{
	if (shuttle_partition_has_strays(check->relid, tablets_of_node(check)))
		shuttle_problem_put(check, "has rows that do not belong to this partition of its parent",
							"Delete these rows on the node, and insert them into the parent here.");
}

/* Others would read and write past the privileges and policies of the table. */
static void
check_rights(const ShuttleCheck *check)
{
	ListCell   *cell;

	foreach(cell, tablets_of_node(check))
	{
		Oid			tablet = lfirst_oid(cell);
		const char *opened = shuttle_hidden_table_opened(tablet);

		if (opened == NULL)
			continue;
		if (check->repair)
			shuttle_hidden_table_close(tablet);
		put_repairable(check, psprintf("has tablet \"%s\", %s", get_rel_name(tablet), opened));
	}
}

static void
check_tablets(const ShuttleCheck *check)
{
	check_rights(check);
	if (!has_table(check))
	{
		if (check->repair)
			make_tablets(check);
		put_repairable(check, check->repair ? "has no table; an empty one was made" : "has no table");
	}
	else
	{
		find_lost_foreign_keys(check);
		shuttle_check_added(check);
		if (shuttle_check_definition(check))
		{
			shuttle_check_bounds(check);
			find_strays_of_partition(check);
		}
	}
	find_strays(check);
}

/* The remote user can have been given more since the table was made there. */
static void
check_user_code(const ShuttleCheck *check)
{
	const List *authors = shuttle_authors_of_table(check->relid);
	const char *power = authors == NIL ? "" : node_text(check, "SELECT " SHUTTLE_REMOTE_POWER);

	if (*power != '\0')
		shuttle_problem_put(check, psprintf("has code of role \"%s\", and the remote user there: %s",
											GetUserNameFromId(linitial_oid(authors), false), power),
							SHUTTLE_REMOTE_POWER_HINT);
}

/* What the node had before we looked at owners, or has got since. */
static void
check_owners(const ShuttleCheck *check)
{
	List	   *objects = lcons(shuttle_node_owners_schema(get_rel_namespace(check->relid)), shuttle_needed_objects_names(check->relid));
	ListCell   *cell;

	if (shuttle_table_has_traps(check->relid))
		objects = lappend(objects, shuttle_routine_trap_object());
	foreach(cell, shuttle_node_rows(check->node, shuttle_node_owners_query(objects), 2, InvalidOid))
	{
		char	  **object = lfirst(cell);

		shuttle_problem_put(check, psprintf("has %s, which role \"%s\" can replace", object[0], object[1]), SHUTTLE_NODE_OWNERS_HINT);
	}
}

static List *
authors_of(const ShuttleReach *reach, Oid relid)
{
	List	   *authors = NIL;
	ListCell   *cell;

	foreach(cell, reach->tables)
	{
		const ShuttleTableAuthor *table = lfirst(cell);

		if (table->relid == relid && OidIsValid(table->author))
			authors = list_append_unique_oid(authors, table->author);
	}
	return authors;
}

/* Roles can have lost privileges since, or functions have got other owners. */
static void
check_reach(ShuttleCheck *check)
{
	ListCell   *server;
	ListCell   *cell;

	foreach(server, list_difference_oid(shuttle_layout_nodes(), check->away))
	{
		ShuttleReach *reach = shuttle_reach_look(lfirst_oid(server));

		check->serverid = reach->serverid;
		check->node = shuttle_connection_get(check->serverid, GetUserId());
		check->relid = InvalidOid;
		foreach(cell, reach->tables)
		{
			const ShuttleTableAuthor *table = lfirst(cell);
			ShuttleRefusal *refusal;

			if (table->relid == check->relid || get_rel_name(table->relid) == NULL)
				continue;
			check->relid = table->relid;
			refusal = shuttle_reach_find(reach, table->relid, table->owner, authors_of(reach, table->relid));
			if (refusal != NULL)
				shuttle_problem_put(check, psprintf("shares a node with code of others: %s", refusal->detail), refusal->hint);
		}
	}
}

/* ---- nodes that are away */

static void
ask_node(void *arg)
{
	(void) node_text(arg, "SELECT 1");
}

/* The servers that cannot be connected to, each with a row. To repair takes all of them. */
static List *
find_away(ShuttleCheck *check)
{
	List	   *away = NIL;
	ListCell   *cell;

	foreach(cell, check->repair ? NIL : shuttle_layout_nodes())
	{
		ErrorData  *error;

		check->serverid = lfirst_oid(cell);
		check->node = shuttle_connection_get(check->serverid, GetUserId());
		error = shuttle_subtransaction_run(ask_node, check);
		if (error == NULL)
			continue;
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_CONNECTION_EXCEPTION)
			ThrowErrorData(error);
		shuttle_problem_put(check, "cannot be reached, and was not checked", error->message);
		away = lappend_oid(away, check->serverid);
	}
	return away;
}

/* ---- all of it */

static void
find_foreign_keys(ShuttleCheck *check)
{
	ListCell   *cell;

	foreach(cell, list_difference_oid(shuttle_table_servers(check->relid), check->away))
	{
		ListCell   *inner;

		check->node = shuttle_connection_get(lfirst_oid(cell), GetUserId());
		foreach(inner, foreign_keys(check))
		{
			if (!has_foreign_key(check->foreign_keys, lfirst(inner)))
				check->foreign_keys = lappend(check->foreign_keys, lfirst(inner));
		}
	}
}

static void
check_rules(const ShuttleCheck *check)
{
	char	   *rule = shuttle_places_broken(shuttle_places_of_group(shuttle_layout_group(check->relid)), check->serverid);

	if (rule != NULL)
		shuttle_problem_put(check, psprintf("has tablets that may not lie there by %s", rule),
							"CALL shuttle.rebalance() brings them to nodes that the rule allows.");
}

/* Rules by age are given by a call. */
static void
check_age(ShuttleCheck *check)
{
	ShuttleRule *rule;

	if (!shuttle_tend_find(check->relid, &rule))
		return;
	check->serverid = linitial_oid(shuttle_table_servers(check->relid));
	shuttle_problem_put(check, rule == NULL ? "has a placement rule by age that does not hold any more" :
						psprintf("is old enough for placement rule \"%s\"", shuttle_rule_text(rule)),
						"CALL shuttle.tend() gives it the rule, and moves it.");
}

static void
check_table(ShuttleCheck *check)
{
	bool		is_copied = shuttle_table_kind(check->relid) == SHUTTLE_TABLE_REFERENCE;
	List	   *servers = is_copied ? shuttle_layout_nodes() : shuttle_table_servers(check->relid);
	ListCell   *cell;

	if (is_copied && check->repair)
		shuttle_copy_table_make(check->relid, shuttle_layout_nodes());
	if (!is_copied)
	{
		find_foreign_keys(check);
		check_age(check);
	}

	foreach(cell, list_difference_oid(servers, check->away))
	{
		check->serverid = lfirst_oid(cell);
		check->node = shuttle_connection_get(check->serverid, GetUserId());
		check_user_code(check);
		check_owners(check);
		if (!is_copied)
			check_rules(check);
		if (is_copied)
			check_copy(check);
		else
			check_tablets(check);
	}
}

/* Rows of keys that this server checks; of those of tables that are not ours with the table
 * that they refer to. */
static void
find_orphans(ShuttleCheck *check)
{
	ListCell   *cell;

	check->node = NULL;
	foreach(cell, shuttle_foreign_keys_of(check->relid))
	{
		const ShuttleForeignKey *key = shuttle_foreign_key_load(lfirst_oid(cell));
		char	   *orphan;

		if (key->child != check->relid && shuttle_table_kind(key->child) != SHUTTLE_TABLE_OTHER)
			continue;
		orphan = shuttle_foreign_key_orphan(key);
		if (orphan != NULL)
			shuttle_problem_put(check, psprintf("has rows that refer to nothing by foreign key \"%s\" of table \"%s\", one with (%s)",
												key->name, get_rel_name(key->child), orphan),
								"Delete the rows, or insert those that they refer to.");
	}
}

/* Runs a check of each table of ours that has not been dropped since they were listed. */
static void
check_each(const ShuttleCheck *all, const List *relids, void (*check_one) (ShuttleCheck *check))
{
	const ListCell *cell;

	foreach(cell, relids)
	{
		ShuttleCheck check = *all;
		Relation	rel;

		check.relid = atooid(lfirst(cell));
		rel = try_table_open(check.relid, AccessShareLock);
		if (rel == NULL)
			continue;
		if (shuttle_table_kind(check.relid) == SHUTTLE_TABLE_DISTRIBUTED ||
			shuttle_table_kind(check.relid) == SHUTTLE_TABLE_REFERENCE)
			check_one(&check);
		table_close(rel, NoLock);
	}
}

/* Entries are compared when nodes have all tables. */
static void
check_all(ReturnSetInfo *result, bool repair)
{
	ShuttleCheck all = {.result = result,.repair = repair};
	List	   *relids;

	all.away = find_away(&all);
	shuttle_move_check_remains(&all);
	shuttle_move_check_left_tables(&all);
	all.node = NULL;
	relids = shuttle_local_texts(tables_query, InvalidOid);
	check_each(&all, relids, check_table);
	check_each(&all, relids, shuttle_check_entries);
	if (all.away == NIL)
		check_each(&all, relids, find_orphans);
	check_reach(&all);
}

/* shuttle.check(repair): all rows count, also those that a policy hides */
Datum
shuttle_check(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			level = NewGUCNestLevel();
	Oid			userid;
	int			flags;

	InitMaterializedSRF(fcinfo, 0);
	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE);

	/* names and definitions are compared with those that nodes print */
	(void) set_config_option("quote_all_identifiers", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	check_all(result, PG_GETARG_BOOL(0));
	AtEOXact_GUC(true, level);
	SetUserIdAndSecContext(userid, flags);
	return (Datum) 0;
}
