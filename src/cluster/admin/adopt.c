/*-------------------------------------------------------------------------
 * adopt.c
 *	  Moves a server between postgres_fdw's wrapper and ours, in place.
 *
 * A transaction must not use two connections to a node, postgres_fdw's and
 * ours. So a table's FdwRoutine may change only between transactions:
 *
 * 1. The function is the client's whole statement, outside of a transaction
 * 	  block, and this transaction has locked no table of the server yet.
 * 2. AccessExclusiveLock on every foreign table of the server waits for all
 * 	  other transactions that used one.
 * 3. No table is created meanwhile (server_tables.c).
 * 4. The commit invalidates each table's relcache entry, which holds the
 * 	  routine, and by the server's row all plans.
 *
 * postgres_fdw would act on use_remote_estimate and open its own connection,
 * so the option has another name on our wrapper.
 *
 * Memory: all of it lives as long as the call.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/common/servers.h"
#include "cluster/options/options.h"
#include "storage/shuttle_storage.h"

/* One of the two directions. */
typedef struct Direction
{
	const char *function;		/* for messages */
	const char *from;			/* names of wrappers */
	const char *to;
	const char *old_estimate;	/* option that is renamed */
	const char *new_estimate;
	bool		drops_ours;		/* also drops our other options */
} Direction;

typedef struct Move
{
	const Direction *direction;
	Oid			serverid;
	ForeignDataWrapper *target;
	ReturnSetInfo *result;		/* gets a row for each change */
	const char *object;			/* description of the current object */
} Move;

static const Direction adoption = {
	.function = "shuttle.adopt_server()",
	.from = "postgres_fdw",
	.to = "shuttle",
	.old_estimate = SHUTTLE_THEIR_ESTIMATE,
	.new_estimate = SHUTTLE_OUR_ESTIMATE,
	.drops_ours = false,
};

static const Direction release = {
	.function = "shuttle.release_server()",
	.from = "shuttle",
	.to = "postgres_fdw",
	.old_estimate = SHUTTLE_OUR_ESTIMATE,
	.new_estimate = SHUTTLE_THEIR_ESTIMATE,
	.drops_ours = true,
};

SHUTTLE_SQL_FUNCTION(shuttle_adopt_server);
SHUTTLE_SQL_FUNCTION(shuttle_release_server);

static void move_server(FunctionCallInfo fcinfo, const Direction *direction);
static void check_statement(FunctionCallInfo fcinfo, const char *function);
static bool is_whole_statement(ReturnSetInfo *result);
static Oid	lock_server(const char *name, const Direction *direction);
static void check_owner(Oid serverid, const char *name);
static ForeignDataWrapper *find_target(const Direction *direction);
static void close_connection(Oid serverid);
static void look_at(Move *move, Oid catalog, Oid objectid, int column);
static void move_server_row(Move *move);
static void move_table(Move *move, Oid relid);
static void move_columns(Move *move, Oid relid);
static void check_mappings(Move *move);
static bool move_options(Move *move, Oid catalog, Datum *options, bool *isnull);
static List *changed_options(Move *move, List *options);
static void report_change(Move *move, const char *what, const char *before,
						  const char *after);
static char *option_text(const char *name, DefElem *option);
static void add_context(void *arg);

Datum
shuttle_adopt_server(PG_FUNCTION_ARGS)
{
	move_server(fcinfo, &adoption);
	return (Datum) 0;
}

Datum
shuttle_release_server(PG_FUNCTION_ARGS)
{
	move_server(fcinfo, &release);
	return (Datum) 0;
}

static void
move_server(FunctionCallInfo fcinfo, const Direction *direction)
{
	const char *name = NameStr(*PG_GETARG_NAME(0));
	Move		move = {
		.direction = direction,
		.result = (ReturnSetInfo *) fcinfo->resultinfo,
	};
	ErrorContextCallback context = {
		.callback = add_context,
		.arg = &move,
	};
	List	   *tables;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	check_statement(fcinfo, direction->function);
	move.serverid = lock_server(name, direction);
	move.target = find_target(direction);
	tables = shuttle_server_tables_lock(move.serverid);
	close_connection(move.serverid);

	context.previous = error_context_stack;
	error_context_stack = &context;
	move_server_row(&move);
	check_mappings(&move);
	foreach(cell, tables)
	{
		move_table(&move, lfirst_oid(cell));
		move_columns(&move, lfirst_oid(cell));
	}
	error_context_stack = context.previous;
}

/*
 * Requires to be the client's whole statement, as VACUUM does: a transaction
 * that uses the server before or after would have two connections to the node.
 */
static void
check_statement(FunctionCallInfo fcinfo, const char *function)
{
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
	PreventInTransactionBlock(true, function);
	if (!is_whole_statement((ReturnSetInfo *) fcinfo->resultinfo))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot be executed from a function or another statement",
						function),
				 errhint("Call it by a statement of its own: SELECT * FROM %.*s('server').",
						 (int) strlen(function) - 2, function)));
}

/*
 * True if the function is called by the plan of the client's own statement. A
 * query inside a function has another EState; a cursor of a function has a
 * portal with another source text.
 */
static bool
is_whole_statement(ReturnSetInfo *result)
{
	return ActivePortal != NULL && ActivePortal->queryDesc != NULL &&
		(ActivePortal->cursorOptions & CURSOR_OPT_HOLD) == 0 &&
		ActivePortal->queryDesc->estate == result->econtext->ecxt_estate &&
		debug_query_string != NULL &&
		strcmp(ActivePortal->sourceText, debug_query_string) == 0;
}

/* Finds and locks the server, and checks it again after the lock. */
static Oid
lock_server(const char *name, const Direction *direction)
{
	Oid			serverid = get_foreign_server_oid(name, false);
	ForeignServer *server;
	ForeignDataWrapper *wrapper;

	check_owner(serverid, name);
	LockDatabaseObject(ForeignServerRelationId, serverid, 0,
					   AccessExclusiveLock);

	/* it may have been dropped or renamed while we waited */
	server = GetForeignServerExtended(serverid, FSV_MISSING_OK);
	if (server == NULL || strcmp(server->servername, name) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("server \"%s\" does not exist", name)));
	check_owner(serverid, name);

	wrapper = GetForeignDataWrapper(server->fdwid);
	if (strcmp(wrapper->fdwname, direction->from) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("server \"%s\" belongs to foreign-data wrapper \"%s\"",
						name, wrapper->fdwname),
				 errhint("%s takes servers of \"%s\" only.",
						 direction->function, direction->from)));
	return serverid;
}

static void
check_owner(Oid serverid, const char *name)
{
	if (!object_ownercheck(ForeignServerRelationId, serverid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_SERVER, name);
}

static ForeignDataWrapper *
find_target(const Direction *direction)
{
	ForeignDataWrapper *target = GetForeignDataWrapperByName(direction->to,
															 false);
	AclResult	result = object_aclcheck(ForeignDataWrapperRelationId,
										 target->fdwid, GetUserId(),
										 ACL_USAGE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FDW, target->fdwname);
	return target;
}

/* Our connection must not outlive the move; postgres_fdw closes its own. */
static void
close_connection(Oid serverid)
{
	if (shuttle_node_in_use(serverid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot move server \"%s\" because it is being used by this statement",
						GetForeignServer(serverid)->servername)));
	shuttle_connection_end_idle(serverid);
}

/* Describes the current object, for result rows and error contexts. */
static void
look_at(Move *move, Oid catalog, Oid objectid, int column)
{
	ObjectAddress object;

	ObjectAddressSubSet(object, catalog, objectid, column);
	move->object = getObjectDescription(&object, false);
}

static void
move_server_row(Move *move)
{
	Relation	catalog = table_open(ForeignServerRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(FOREIGNSERVEROID,
											ObjectIdGetDatum(move->serverid));
	Datum		values[Natts_pg_foreign_server] = {0};
	bool		nulls[Natts_pg_foreign_server] = {false};
	bool		changed[Natts_pg_foreign_server] = {false};
	Oid			old_wrapper;
	const int	fdw = Anum_pg_foreign_server_srvfdw - 1;
	const int	options = Anum_pg_foreign_server_srvoptions - 1;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for foreign server %u", move->serverid);
	old_wrapper = ((Form_pg_foreign_server) GETSTRUCT(tuple))->srvfdw;

	look_at(move, ForeignServerRelationId, move->serverid, 0);
	report_change(move, "wrapper", move->direction->from, move->direction->to);
	values[fdw] = ObjectIdGetDatum(move->target->fdwid);
	changed[fdw] = true;
	values[options] = SysCacheGetAttr(FOREIGNSERVEROID, tuple,
									  Anum_pg_foreign_server_srvoptions,
									  &nulls[options]);
	changed[options] = move_options(move, ForeignServerRelationId,
									&values[options], &nulls[options]);

	tuple = heap_modify_tuple(tuple, RelationGetDescr(catalog), values, nulls,
							  changed);
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	if (changeDependencyFor(ForeignServerRelationId, move->serverid,
							ForeignDataWrapperRelationId, old_wrapper,
							move->target->fdwid) != 1)
		elog(ERROR, "could not change the dependency of foreign server %u",
			 move->serverid);
	InvokeObjectPostAlterHook(ForeignServerRelationId, move->serverid, 0);
	table_close(catalog, RowExclusiveLock);
}

static void
move_table(Move *move, Oid relid)
{
	Relation	catalog = table_open(ForeignTableRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(FOREIGNTABLEREL,
											ObjectIdGetDatum(relid));
	Datum		values[Natts_pg_foreign_table] = {0};
	bool		nulls[Natts_pg_foreign_table] = {false};
	bool		changed[Natts_pg_foreign_table] = {false};
	const int	options = Anum_pg_foreign_table_ftoptions - 1;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for foreign table %u", relid);

	look_at(move, RelationRelationId, relid, 0);
	values[options] = SysCacheGetAttr(FOREIGNTABLEREL, tuple,
									  Anum_pg_foreign_table_ftoptions,
									  &nulls[options]);
	changed[options] = move_options(move, ForeignTableRelationId,
									&values[options], &nulls[options]);
	if (changed[options])
	{
		tuple = heap_modify_tuple(tuple, RelationGetDescr(catalog), values,
								  nulls, changed);
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
		InvokeObjectPostAlterHook(ForeignTableRelationId, relid, 0);
	}

	/* relcache entries of all sessions hold the old wrapper's routine */
	CacheInvalidateRelcacheByRelid(relid);
	table_close(catalog, RowExclusiveLock);
}

static void
move_columns(Move *move, Oid relid)
{
	Relation	catalog = table_open(AttributeRelationId, RowExclusiveLock);
	const int	options = Anum_pg_attribute_attfdwoptions - 1;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, AttributeRelidNumIndexId, true, NULL,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attribute column = (Form_pg_attribute) GETSTRUCT(tuple);
		Datum		values[Natts_pg_attribute] = {0};
		bool		nulls[Natts_pg_attribute] = {false};
		bool		changed[Natts_pg_attribute] = {false};

		values[options] = heap_getattr(tuple, Anum_pg_attribute_attfdwoptions,
									   RelationGetDescr(catalog),
									   &nulls[options]);
		if (column->attisdropped || nulls[options])
			continue;
		look_at(move, RelationRelationId, relid, column->attnum);
		changed[options] = move_options(move, AttributeRelationId,
										&values[options], &nulls[options]);
		if (!changed[options])
			continue;
		tuple = heap_modify_tuple(tuple, RelationGetDescr(catalog), values,
								  nulls, changed);
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
		InvokeObjectPostAlterHook(RelationRelationId, relid,
								  ((Form_pg_attribute) GETSTRUCT(tuple))->attnum);
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

/* User mappings have no options to change; the validator checks them. */
static void
check_mappings(Move *move)
{
	Relation	catalog = table_open(UserMappingRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_user_mapping_umserver, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(move->serverid));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		options = heap_getattr(tuple, Anum_pg_user_mapping_umoptions,
										   RelationGetDescr(catalog), &isnull);

		look_at(move, UserMappingRelationId,
				((Form_pg_user_mapping) GETSTRUCT(tuple))->oid, 0);
		if (move_options(move, UserMappingRelationId, &options, &isnull))
			elog(ERROR, "a user mapping has an option of ours");
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/* Converts an object's options for the new wrapper and validates them. Returns
 * false if nothing changed. */
static bool
move_options(Move *move, Oid catalog, Datum *options, bool *isnull)
{
	List	   *before = *isnull ? NIL : untransformRelOptions(*options);
	List	   *after = changed_options(move, before);
	Datum		array = transformRelOptions((Datum) 0, after, NULL, NULL, false,
											false);
	bool		empty = DatumGetPointer(array) == NULL;

	if (OidIsValid(move->target->fdwvalidator))
		OidFunctionCall2(move->target->fdwvalidator,
						 empty ? PointerGetDatum(construct_empty_array(TEXTOID)) : array,
						 ObjectIdGetDatum(catalog));
	if (after == before)
		return false;
	*options = array;
	*isnull = empty;
	return true;
}

/* Returns the same list if nothing changes. */
static List *
changed_options(Move *move, List *options)
{
	const Direction *direction = move->direction;
	List	   *after = NIL;
	bool		changed = false;
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = (DefElem *) lfirst(cell);
		const char *name = option->defname;

		if (strcmp(name, direction->old_estimate) == 0)
		{
			name = direction->new_estimate;
			report_change(move, "option", option_text(option->defname, option),
						  option_text(name, option));
			option = makeDefElem(pstrdup(name), option->arg, -1);
			changed = true;
		}
		else if (direction->drops_ours && shuttle_option_is_ours(name))
		{
			report_change(move, "option", option_text(name, option), NULL);
			changed = true;
			continue;
		}
		after = lappend(after, option);
	}
	return changed ? after : options;
}

/* Adds a row to the function's result; after is NULL if dropped. */
static void
report_change(Move *move, const char *what, const char *before,
			  const char *after)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = CStringGetTextDatum(move->object);
	values[1] = CStringGetTextDatum(what);
	values[2] = CStringGetTextDatum(before);
	values[3] = after != NULL ? CStringGetTextDatum(after) : (Datum) 0;
	nulls[3] = after == NULL;
	tuplestore_putvalues(move->result->setResult, move->result->setDesc,
						 values, nulls);
}

/* As in OPTIONS (...). */
static char *
option_text(const char *name, DefElem *option)
{
	return psprintf("%s %s", quote_identifier(name),
					quote_literal_cstr(defGetString(option)));
}

static void
add_context(void *arg)
{
	Move	   *move = (Move *) arg;

	if (move->object != NULL)
		errcontext("options of %s", move->object);
}
