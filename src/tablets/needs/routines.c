/*-------------------------------------------------------------------------
 * routines.c
 *	  Functions and procedures that nodes have, and traps.
 *
 * shuttle.distribute_function() copies a routine to all nodes, and makes traps in
 * the group of its tables: on each node the tablets that other nodes have, empty,
 * with a check that raises an error when a routine needs to read or write them
 * (executor/router). Statements that are no calls plan as if they were not there.
 *
 * shuttle.routines names routines by their texts: pg_upgrade does not keep their
 * OIDs. It is read once, and again when it or a routine has changed.
 *
 * Memory: the list of routines is in CacheMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "commands/proclang.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/needs/routines.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/user_code.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_distribute_function);
SHUTTLE_SQL_FUNCTION(shuttle_local_function);

/* columns of shuttle.routines */
enum
{
	COLUMN_ROUTINE = 1,
	COLUMN_ARGUMENT
};

/* IN and INOUT arguments are numbered from 1. */
static const char *const argument_query =
"SELECT number::text FROM pg_proc AS p, LATERAL (SELECT a.name, row_number() OVER (ORDER BY a.place) AS number"
" FROM unnest(coalesce(p.proargnames, '{}'), coalesce(p.proargmodes, '{}'), p.proargtypes::oid[]) WITH ORDINALITY AS a(name, mode, type, place)"
" WHERE coalesce(a.mode, 'i') IN ('i', 'b', 'v')) AS a WHERE p.oid = $1 AND a.number <= p.pronargs"
" AND (a.name = %s OR '$' || a.number = %s)";

static const char *const text_query =
"SELECT format('DO %L', format('BEGIN IF NOT EXISTS (SELECT FROM pg_proc WHERE oid = to_regprocedure(%L) AND pg_get_functiondef(oid) = %L)"
" THEN IF to_regnamespace(%L) IS NULL THEN CREATE SCHEMA %I; END IF; PERFORM set_config(''check_function_bodies'', ''off'', true); %s; END IF; END',"
" p.oid::regprocedure, pg_get_functiondef(p.oid), quote_ident(n.nspname), n.nspname, pg_get_functiondef(p.oid)))"
" FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace WHERE p.oid = $1";

static const char *const groups_query =
"SELECT min(relation::oid)::text FROM shuttle.tables WHERE kind = 'distributed' AND $1 IS NOT NULL GROUP BY group_id ORDER BY 1";

static const char *const members_query =
"SELECT relation::oid::text FROM shuttle.tables WHERE kind = 'distributed' AND NOT traps AND group_id ="
" (SELECT group_id FROM shuttle.tables WHERE relation = $1) ORDER BY relation";

/* For each node that may lack what a trap needs. */
static const char *const trap_function =
"DO $do$BEGIN IF to_regprocedure('shuttle_node.trap()') IS NULL THEN"
" CREATE FUNCTION shuttle_node.trap() RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS"
" $f$BEGIN IF current_setting('shuttle_node.call', true) = 'on' THEN"
" RAISE assert_failure USING MESSAGE = 'rows of another node are needed'; END IF; RETURN true; END$f$; END IF; END$do$";

/*
 * to_regprocedure() raises an error where the user has no USAGE on the schema, so names are
 * made of OIDs.
 */
#define ROUTINES \
"shuttle.routines CROSS JOIN LATERAL parse_ident(routine, false) AS parts" \
" JOIN pg_proc AS p ON proname = parts[cardinality(parts)]::name AND p.oid::regprocedure::text = routine"

static const char *const known_query = "SELECT p.oid::text, argument::text FROM " ROUTINES " WHERE $1 IS NOT NULL";

static const char *const named_query =
"SELECT p.oid::text FROM " ROUTINES " WHERE $1 IS NOT NULL AND proname = %s ORDER BY p.oid";

static const char *const in_schema_query = "SELECT routine FROM " ROUTINES " WHERE pronamespace = $1 LIMIT 1";

typedef struct KnownRoutine
{
	Oid			oid;
	int			key;			/* number of its argument; 0: none */
} KnownRoutine;

static Oid	routines_table = InvalidOid;
static List *known = NIL;		/* in CacheMemoryContext */
static bool is_known = false;
static bool has_changed = false;	/* while they are read */

/* ---- which routines nodes have */

static void
forget_routines(Datum arg, int cacheid, uint32 hash)
{
	is_known = false;
	has_changed = true;
}

static void
forget_table(Datum arg, Oid relid)
{
	if (!OidIsValid(relid) || relid == routines_table)
		forget_routines(arg, 0, 0);
}

static void
read_routines(void)
{
	List	   *rows;
	ListCell   *cell;
	MemoryContext old_cxt;

	has_changed = false;
	rows = shuttle_local_rows(known_query, InvalidOid);
	list_free_deep(known);
	known = NIL;
	old_cxt = MemoryContextSwitchTo(CacheMemoryContext);
	foreach(cell, rows)
	{
		char	  **row = lfirst(cell);
		KnownRoutine *routine = palloc_object(KnownRoutine);

		routine->oid = atooid(row[0]);
		routine->key = row[1] == NULL ? 0 : pg_strtoint32(row[1]);
		known = lappend(known, routine);
	}
	MemoryContextSwitchTo(old_cxt);
	is_known = !has_changed;
}

/* Each statement that only calls a function asks, so the answer is cached. */
int
shuttle_routine_key(Oid routine)
{
	static bool is_registered = false;
	ListCell   *cell;

	if (creating_extension)
		return -1;
	if (!is_registered)
	{
		CacheRegisterSyscacheCallback(PROCOID, forget_routines, (Datum) 0);
		CacheRegisterRelcacheCallback(forget_table, (Datum) 0);
	}
	is_registered = true;
	if (!is_known)
	{
		routines_table = shuttle_extension_table(SHUTTLE_TABLE_ROUTINES);
		if (!OidIsValid(routines_table))
			return -1;
		read_routines();
	}
	foreach(cell, known)
	{
		const KnownRoutine *entry = lfirst(cell);

		if (entry->oid == routine)
			return entry->key;
	}
	return -1;
}

/* ---- their texts */

char *
shuttle_routine_name(Oid routine)
{
	int			level = shuttle_local_qualify_names();
	char	   *name = format_procedure(routine);

	AtEOXact_GUC(true, level);
	return name;
}

/* Adds what makes a routine on nodes that do not have the same one. */
static void
add_routine(ShuttleNodeStatements *statements, Oid routine, const List *servers)
{
	List	   *texts = shuttle_user_code_guard(shuttle_user_code_author(routine), servers, InvalidOid);

	texts = lappend(texts, shuttle_local_text(text_query, routine));
	texts = lappend(texts, shuttle_node_owners_text(list_make1(shuttle_node_owners_object("function", get_namespace_name(get_func_namespace(routine)),
																						  shuttle_routine_name(routine)))));
	shuttle_node_statements_add_texts(statements, servers, texts);
}

/* Routines of that name that nodes have, and that the current user may change. */
static List *
find_named(const char *name)
{
	return shuttle_local_texts(psprintf(named_query, psprintf("%s AND pg_has_role(proowner, 'USAGE')",
															  quote_literal_cstr(name))), InvalidOid);
}

char *
shuttle_routine_in(Oid classid, Oid objectid)
{
	if (classid == ProcedureRelationId)
		return shuttle_routine_key(objectid) >= 0 ? shuttle_routine_name(objectid) : NULL;
	return classid == NamespaceRelationId ? shuttle_local_text(in_schema_query, objectid) : NULL;
}

void
shuttle_routines_follow(const char *name)
{
	ShuttleNodeStatements *statements = shuttle_node_definitions_create();
	ListCell   *cell;

	foreach(cell, find_named(name))
		add_routine(statements, atooid(lfirst(cell)), shuttle_layout_nodes());
	shuttle_node_statements_run(statements);
}

void
shuttle_routines_make(Oid serverid)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(psprintf(named_query, "proname"), InvalidOid))
		add_routine(statements, atooid(lfirst(cell)), list_make1_oid(serverid));
	shuttle_node_statements_run(statements);
}

/* ---- traps */

char *
shuttle_routine_trap_of_tablet(Oid relid, const ShuttleTablet *tablet)
{
	return psprintf("CREATE TABLE %s PARTITION OF %s (CONSTRAINT shuttle_trap CHECK (shuttle_node.trap() AND false)) %s",
					shuttle_tablet_trap_name(relid, tablet->number), shuttle_local_name(relid),
					shuttle_tablet_text_bound(tablet));
}

char *
shuttle_routine_trap_object(void)
{
	return shuttle_node_owners_object("function", "shuttle_node", "shuttle_node.trap()");
}

List *
shuttle_routine_traps_texts(Oid relid, const ShuttleLayout *layout, Oid serverid)
{
	List	   *texts = list_make3(shuttle_table_text_schema("shuttle_node"), pstrdup(trap_function),
								   shuttle_node_owners_text(list_make1(shuttle_routine_trap_object())));

	for (int i = 0; i < layout->ntablets; i++)
	{
		if (layout->tablets[i].serverid != serverid)
			texts = lappend(texts, shuttle_routine_trap_of_tablet(relid, &layout->tablets[i]));
	}
	return texts;
}

void
shuttle_routine_traps_make(Oid relid, const ShuttleLayout *layout, List *servers)
{
	ShuttleNodeStatements *statements = shuttle_node_definitions_create();
	ListCell   *server;
	ListCell   *text;

	foreach(server, servers)
	{
		foreach(text, shuttle_routine_traps_texts(relid, layout, lfirst_oid(server)))
			shuttle_node_statements_add(statements, lfirst_oid(server), lfirst(text));
	}
	shuttle_node_statements_run(statements);
	(void) shuttle_local_run_as_superuser(psprintf("UPDATE shuttle.tables SET traps = true WHERE relation = %u::regclass",
												   relid));
	CacheInvalidateRelcacheByRelid(relid);
}

/* Of all tables of a group that have none. */
static void
make_traps(Oid member)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(members_query, member))
	{
		Oid			relid = atooid(lfirst(cell));

		LockRelationOid(relid, ShareUpdateExclusiveLock);
		shuttle_routine_traps_make(relid, shuttle_layout_of(relid), shuttle_table_servers(relid));
	}
}

/* ---- distribute_function() */

static void
check_owner(Oid routine)
{
	if (!object_ownercheck(ProcedureRelationId, routine, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_ROUTINE, get_func_name(routine));
}

/* Nodes are sent the text of routines in these languages only. */
static void
check_language(Oid routine)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(routine));
	const FormData_pg_proc *form;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", routine)));
	form = (const FormData_pg_proc *) GETSTRUCT(tuple);
	if ((form->prolang != SQLlanguageId && form->prolang != get_language_oid("plpgsql", true)) ||
		(form->prokind != PROKIND_FUNCTION && form->prokind != PROKIND_PROCEDURE))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("\"%s\" cannot be distributed", NameStr(form->proname)),
				 errdetail("It is not a function or procedure in SQL or PL/pgSQL."),
				 errhint("It runs on this server, and its statements on the storage nodes.")));
	ReleaseSysCache(tuple);
}

/* The number of an argument, named or as $1; its type. */
static int
find_argument(Oid routine, const char *name, Oid *type)
{
	char	   *number = shuttle_local_text(psprintf(argument_query, quote_literal_cstr(name),
													 quote_literal_cstr(name)), routine);
	Oid		   *types;
	int			ntypes;

	if (number == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_PARAMETER),
				 errmsg("function \"%s\" has no argument \"%s\"", get_func_name(routine), name),
				 errhint("Name an IN or INOUT argument, or its number as $1.")));
	(void) get_func_signature(routine, &types, &ntypes);
	*type = types[pg_strtoint32(number) - 1];
	return pg_strtoint32(number);
}

static bool
has_key_of_type(Oid relid, Oid type)
{
	Relation	rel = table_open(relid, AccessShareLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	bool		has = OidIsValid(shuttle_table_hash_function(key, type));

	table_close(rel, NoLock);
	return has;
}

/* A table of the group whose keys have the argument's type. */
static Oid
find_group(Oid routine, const char *argument, Oid type)
{
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(groups_query, InvalidOid))
	{
		Oid			member = atooid(lfirst(cell));

		if (!has_key_of_type(member, type))
			continue;
		if (OidIsValid(found))
			ereport(ERROR,
					(errcode(ERRCODE_AMBIGUOUS_PARAMETER),
					 errmsg("several groups of tables have keys of the type of argument \"%s\"", argument),
					 errhint("Name one of the function's tables with colocate_with.")));
		found = member;
	}
	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("no distributed table has a key of type %s", format_type_be(type)),
				 errhint("Distribute the tables of function \"%s\" first.", get_func_name(routine))));
	return found;
}

static Oid
check_group(Oid member, Oid type)
{
	if (shuttle_table_kind(member) != SHUTTLE_TABLE_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is not distributed", get_rel_name(member))));
	if (!has_key_of_type(member, type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the key of table \"%s\" has another type than the argument, %s",
						get_rel_name(member), format_type_be(type))));
	return member;
}

static void
note_routine(Oid routine, int argument)
{
	char	   *name = quote_literal_cstr(shuttle_routine_name(routine));

	(void) shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.routines WHERE routine = %s", name));
	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.routines VALUES (%s, %s)", name,
												   argument == 0 ? "NULL" : psprintf("%d", argument)));
	CacheInvalidateRelcacheByRelid(shuttle_extension_table(SHUTTLE_TABLE_ROUTINES));
}

/* shuttle.distribute_function(routine, argument, colocate_with) */
Datum
shuttle_distribute_function(PG_FUNCTION_ARGS)
{
	ShuttleNodeStatements *statements = shuttle_node_definitions_create();
	Oid			routine;
	int			argument = 0;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("function must not be null")));
	routine = PG_GETARG_OID(0);
	check_language(routine);
	check_owner(routine);
	if (!PG_ARGISNULL(1))
	{
		char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
		Oid			type;
		Oid			member;

		argument = find_argument(routine, name, &type);
		member = PG_ARGISNULL(2) ? find_group(routine, name, type) : check_group(PG_GETARG_OID(2), type);
		shuttle_table_lock_owned(member);
		make_traps(member);
	}
	add_routine(statements, routine, shuttle_layout_nodes_needed());
	shuttle_node_statements_run(statements);
	note_routine(routine, argument);
	PG_RETURN_VOID();
}

void
shuttle_routine_drop(const char *name)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	if (shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.routines WHERE routine = %s",
												quote_literal_cstr(name))) == 0)
		return;
	CacheInvalidateRelcacheByRelid(shuttle_extension_table(SHUTTLE_TABLE_ROUTINES));
	shuttle_node_statements_add_all(statements, shuttle_layout_nodes(),
									psprintf("DROP ROUTINE IF EXISTS %s", name));
	shuttle_node_statements_run(statements);
}

/* shuttle.local_function(routine) */
Datum
shuttle_local_function(PG_FUNCTION_ARGS)
{
	Oid			routine = PG_GETARG_OID(0);

	check_owner(routine);
	if (shuttle_routine_key(routine) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("function \"%s\" is not distributed", get_func_name(routine))));
	shuttle_routine_drop(shuttle_routine_name(routine));
	PG_RETURN_VOID();
}
