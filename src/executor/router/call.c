/*-------------------------------------------------------------------------
 * call.c
 *	  Has a node execute a call of a function or procedure.
 *
 * One packet with one Sync, so that the node answers once, has a savepoint, the
 * settings that the body depends on, the call, and the settings of before. If the node raises an error, the savepoint is rolled
 * back and the call runs here. So the user gets the answer, or the error, that
 * this server gives, with its names and notices, one round trip later. The node
 * raises an error of its own when the body needs rows of other nodes
 * (call_queries.c). Notices of the node are shown when the call has succeeded.
 *
 * The body names tables, of which the node has some tablets. If another server has moved
 * the rows meanwhile, they would be missing. Traps raise an error then; where they are not
 * needed the packet first locks the tablets by their names, so that they are there.
 *
 * If the call is the whole transaction, COMMIT is in its packet instead of the
 * settings of before. When the node has committed, or may have, no error is taken
 * for one of the call: it would run twice.
 *
 * Memory: requests belong to a context of the call.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_expr.h"
#include "pgtime.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/xml.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_settings.h"
#include "executor/behind/behind.h"
#include "executor/facts/safe_values.h"
#include "executor/outbox.h"
#include "executor/router/call.h"
#include "executor/router/call_history.h"
#include "executor/router/routed.h"
#include "storage/shuttle_commit_behind.h"
#include "storage/shuttle_cut.h"
#include "storage/shuttle_node_session.h"
#include "storage/shuttle_read_only.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

#define SET(name, value) "pg_catalog.set_config('" name "', " value ", true)"

/* What fails on a node is repeated here, and reported here if it fails again. It need not be in
 * the node's log, if its user may say so. */
#define IF_LOG_IS_OURS(value) \
"CASE WHEN pg_catalog.has_parameter_privilege('log_min_messages', 'SET') THEN " SET("log_min_messages", value) " END"

/* Traps look at shuttle_node.call, if keys are needed that are not known here. Then all
 * must be known when the node plans, so it makes custom plans. */
static const char *const enter_sql =
"SELECT pg_catalog.num_nonnulls(" SET("search_path", "$1") ", " SET("TimeZone", "$2") ", " SET("DateStyle", "'ISO, MDY'") ", "
SET("lc_numeric", "$3") ", " SET("lc_time", "$4") ", " SET("lc_monetary", "$5") ", "
SET("constraint_exclusion", "'partition'") ", " SET("plan_cache_mode", "$6") ", "
SET("shuttle_node.call", "$7") ", " IF_LOG_IS_OURS("'log'") ")";

static const char *const leave_sql =
"SELECT pg_catalog.num_nonnulls(" SET("search_path", "'pg_catalog, pg_temp'") ", " SET("TimeZone", "'GMT'") ", "
SET("plan_cache_mode", "'auto'") ", " SET("shuttle_node.call", "'off'") ", " IF_LOG_IS_OURS("NULL") ")";

bool		(*shuttle_nodes_sort_alike) (const List *servers, Oid userid, Oid type, Oid collation) = NULL;

/* A call that is under way. */
typedef struct Shipping
{
	const ShuttleCall *call;
	const ShuttleCallBody *body;
	ShuttleNode *node;
	bool		keys_are_there; /* all that it needs */
	List	   *tablets;		/* that have them */
	ResourceOwner owner;		/* of the rows */
	bool		may_commit;		/* in the packet of the call */
	bool		commit_sent;
} Shipping;

char *
shuttle_call_name(Oid routine)
{
	return quote_qualified_identifier(get_namespace_name(get_func_namespace(routine)),
									  get_func_name(routine));
}

char *
shuttle_call_type_name(Oid type, int32 typmod)
{
	return format_type_extended(type, typmod, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

/* ---- whether */

/* The variables of locales are in a header that wants ICU's own since 16. */
static const char *
option(const char *name)
{
	return GetConfigOption(name, false, false);
}

/* True if values are written as nodes write them for us. */
static bool
has_usual_formats(void)
{
	return DateStyle == USE_ISO_DATES && DateOrder == DATEORDER_MDY &&
		IntervalStyle == INTSTYLE_POSTGRES && extra_float_digits > 0 &&
		bytea_output == BYTEA_OUTPUT_HEX && Array_nulls && !Transform_null_equals && !quote_all_identifiers &&
		xmlbinary == XMLBINARY_BASE64 && xmloption == XMLOPTION_CONTENT &&
		strcmp(option("timezone_abbreviations"), "Default") == 0 &&
		strcmp(option("standard_conforming_strings"), "on") == 0;
}

static Oid
owner_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* Nodes do not check rights. */
static bool
has_all_rights(const ShuttleCallBody *body)
{
	ListCell   *cell;

	foreach(cell, body->relids)
	{
		AclMode		needed = ACL_SELECT;

		if ((body->writes || body->locks) && shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_DISTRIBUTED)
			needed |= ACL_INSERT | ACL_UPDATE | ACL_DELETE;
		if (!has_privs_of_role(GetUserId(), owner_of(lfirst_oid(cell))) ||
			pg_class_aclmask(lfirst_oid(cell), GetUserId(), needed, ACLMASK_ALL) != needed)
			return false;
	}
	foreach(cell, body->routines)
	{
		if (object_aclcheck(ProcedureRelationId, lfirst_oid(cell), GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
			return false;
	}
	return true;
}

static bool
sorts_alike(const ShuttleCallBody *body, Oid server)
{
	ListCell   *cell;

	foreach(cell, body->collations)
	{
		if (!shuttle_nodes_sort_alike(list_make1_oid(server), GetUserId(), TEXTOID, lfirst_oid(cell)))
			return false;
	}
	return true;
}

/* It fails here then. */
static bool
has_cursor_here(const ShuttleCallBody *body)
{
	ListCell   *cell;

	foreach(cell, body->cursors)
	{
		if (PortalIsValid(GetPortalByName(lfirst(cell))))
			return true;
	}
	return false;
}

static const char *
find_reason(const ShuttleCall *call, const ShuttleCallBody *body)
{
	if (body->refusal != NULL)
		return body->refusal;
	if ((RecoveryInProgress() && !shuttle_read_only_is_lifted()) || IsInParallelMode())
		return "it is called on a standby or in a parallel plan";

	/* nobody knows the node's snapshot, by which its reads would be compared */
	if (shuttle_cut_is_wanted() && (IsolationUsesXactSnapshot() || shuttle_cut_is_strict()))
		return "what it reads has to be of one state with what others read";
	if (SessionReplicationRole != SESSION_REPLICATION_ROLE_ORIGIN || !has_usual_formats())
		return "the session has unusual settings";
	if (body->reads_copies && (!shuttle_settings.enable_reference_copies || !shuttle_copied_joins_are_allowed()))
		return "copies of reference tables cannot be read now";
	if (body->uses_clock && !call->outermost)
		return "it asks for the time, in a transaction that has begun here";
	if (body->leaves_cursors && !call->is_transaction)
		return "a cursor of it may stay open in the transaction";
	if (has_cursor_here(body))
		return "a cursor with the name of one of it is open here";
	if (!has_all_rights(body))
		return "the user is not the owner of all tables";
	if (!shuttle_routed_key_fits(body->distributed, exprType(linitial(call->plan->keys))))
		return "the argument has another type than the distribution column";
	return NULL;
}

/*
 * The caller holds locks on the body's tables. Returns the server of the key; InvalidOid
 * if it was not looked for. *reason: why the call runs here; NULL: it does not.
 */
static Oid
find_server(const ShuttleCall *call, const ShuttleCallBody *body, ShuttleCallPlace *place, List **tablets,
			const char **reason)
{
	ShuttleRoutedPlan plan = *call->plan;
	Oid			server;

	*reason = find_reason(call, body);
	if (*reason != NULL)
		return InvalidOid;
	plan.relids = list_make1_oid(body->distributed);
	plan.one_node = true;
	server = shuttle_routed_server(&plan, call->keys, call->econtext, NULL);
	if (!sorts_alike(body, server))
		*reason = "the node sorts text otherwise";
	*place = shuttle_call_place(call, server, tablets);
	if (*place == SHUTTLE_KEYS_ELSEWHERE)
		*reason = "its keys are on several nodes";
	return server;
}

Oid
shuttle_call_server(const ShuttleCall *call, const char **reason)
{
	ShuttleCallPlace place;
	Oid			server;

	*reason = "shuttle.enable_shipped_calls is off";
	if (!shuttle_settings.enable_shipped_calls)
		return InvalidOid;
	server = find_server(call, shuttle_call_body(call->routine), &place, NULL, reason);
	return *reason == NULL ? server : InvalidOid;
}

/* ---- requests */

/* goes_on: the packet. */
static ShuttleRequest *
send_text(const Shipping *shipping, const char *sql, int nparams, const char *const *values, bool goes_on)
{
	ShuttleStatement statement = {
		.sql = sql,
		.nparams = nparams,
		.values = values,
		.effect = SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.estimated_rows = 1,
		.packet_goes_on = goes_on,
	};

	return shuttle_request_send(shipping->node, &statement, CurrentMemoryContext);
}

static ShuttleRequest *
send_call(const Shipping *shipping, const ShuttleDecoder *decoder)
{
	const ShuttleCall *call = shipping->call;
	ShuttleStatement statement = {
		.sql = call->sql,
		.nparams = call->nparams,
		.values = call->values,
		.effect = shipping->body->writes ? SHUTTLE_WRITES : SHUTTLE_LOCKS,
		.size = SHUTTLE_SIZE_CERTAIN,
		.estimated_rows = 1,
		.looks = shipping->body->writes,
		.packet_goes_on = true,
		.decoder = decoder,
		.counters = call->counters,
	};

	return shuttle_request_send(shipping->node, &statement, CurrentMemoryContext);
}

/* Files of the rows outlive the savepoint. */
static void
take_rows(const Shipping *shipping, ShuttleRequest *request, ShuttleDecoder *decoder)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(shipping->call->desc, &TTSOpsVirtual);
	ResourceOwner owner = CurrentResourceOwner;
	ShuttleRow	row;

	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
	{
		ExecClearTuple(slot);
		shuttle_row_decoder_store(decoder, &row, slot);
		CurrentResourceOwner = shipping->owner;
		tuplestore_puttupleslot(shipping->call->rows, slot);
		CurrentResourceOwner = owner;
	}
	ExecDropSingleTupleTableSlot(slot);
}

static void
finish(ShuttleRequest *request)
{
	(void) shuttle_request_finish(request);
	shuttle_request_close(request);
}

/* Only a server that is not older surely knows all that the body has. */
static void
check_version(const ShuttleNode *node)
{
	if (shuttle_connection_version(node) / 10000 < SHUTTLE_MAJOR_VERSION)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg_internal("the node's server is older")));
}

static const char *
plan_mode(const Shipping *shipping)
{
	if (!shipping->keys_are_there)
		return "force_custom_plan";
	return shipping->body->keys.wants_values ? "force_custom_plan" : "force_generic_plan";
}

/* Returns false if COMMIT was not sent. */
static bool
commit_behind(Shipping *shipping, ShuttleRequest *call, const ShuttleDecoder *decoder)
{
	if (!shipping->may_commit || (shipping->body->writes && !shuttle_routed_row_may_follow_commit(decoder)) ||
		!shuttle_node_commit_behind_send(call))
		return false;
	shipping->commit_sent = true;
	(void) shuttle_node_commit_behind_await(call);
	return true;
}

/* In a savepoint. */
static void
ship(void *arg)
{
	Shipping   *shipping = arg;
	const char *const settings[] = {
		shipping->body->path, pg_get_timezone_name(session_timezone),
		option("lc_numeric"), option("lc_time"), option("lc_monetary"), plan_mode(shipping),
		shipping->keys_are_there ? "off" : "on",
	};
	TupleDesc	desc = shipping->call->desc;
	ShuttleDecoder *decoder = desc == NULL ? NULL : shuttle_routed_decoder(desc, CurrentMemoryContext);
	bool		is_known = shuttle_connection_version(shipping->node) != 0;
	ShuttleRequest *enter;
	ShuttleRequest *lock = NULL;
	ShuttleRequest *call;
	ShuttleRequest *leave = NULL;

	if (is_known)
		check_version(shipping->node);
	enter = send_text(shipping, enter_sql, lengthof(settings), settings, is_known);
	if (!is_known)
	{
		finish(enter);			/* it connects */
		enter = NULL;
		check_version(shipping->node);
	}
	if (shipping->keys_are_there && shipping->tablets != NIL)
		lock = shuttle_routed_lock_send(shipping->node, shuttle_routed_lock_text(shipping->tablets),
										SHUTTLE_LOCKS, 0, CurrentMemoryContext);
	call = send_call(shipping, decoder);
	if (!commit_behind(shipping, call, decoder))
		leave = send_text(shipping, leave_sql, 0, NULL, false);
	if (enter != NULL)
		finish(enter);
	if (lock != NULL)
		finish(lock);
	if (decoder != NULL)
		take_rows(shipping, call, decoder);
	finish(call);
	if (leave != NULL)
		finish(leave);
	if (!shuttle_notices_are_kept())
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg_internal("the node sent too many messages")));
}

/* An error of a connection is not one of the call. */
static bool
must_be_raised(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_CONNECTION_EXCEPTION;
}

/* Returns the node's error; NULL: the call has succeeded. */
static ErrorData *
run_on_node(Shipping *shipping)
{
	ErrorData  *error = NULL;

	shuttle_notices_hold();
	PG_TRY();
	{
		error = shuttle_caught_error_run(ship, shipping);
	}
	PG_CATCH();
	{
		shuttle_notices_release(false);
		PG_RE_THROW();
	}
	PG_END_TRY();
	shuttle_notices_release(error == NULL);
	if (error != NULL && (must_be_raised(error) ||
						  (shipping->commit_sent && !shuttle_node_commit_behind_has_failed(shipping->node))))
		ReThrowError(error);
	return error;
}

static void
run_here(const ShuttleCall *call, const char *reason)
{
	ereport(DEBUG1, (errmsg_internal("call of %s() runs here: %s", get_func_name(call->routine), reason)));
}

bool
shuttle_call_ship(const ShuttleCall *call)
{
	const ShuttleCallBody *body;
	const char *reason;
	ShuttleCallPlace place;
	ShuttleCallHistory *history;
	Shipping	shipping = {.call = call,.owner = CurrentResourceOwner};
	Oid			server;
	MemoryContext cxt;
	MemoryContext old_cxt;
	ErrorData  *error;

	if (!shuttle_settings.enable_shipped_calls)
		return false;
	body = shuttle_call_body(call->routine);
	server = find_server(call, body, &place, &shipping.tablets, &reason);
	if (reason != NULL)
	{
		if (OidIsValid(server) && place == SHUTTLE_KEYS_ELSEWHERE)
			shuttle_node_totals_add(server, SHUTTLE_NODE_CALLS_RETURNED, 1);
		run_here(call, reason);
		return false;
	}
	history = place == SHUTTLE_KEYS_UNKNOWN ? shuttle_call_history_find(call, body, server) : NULL;
	if (shuttle_call_history_keeps(history))
	{
		run_here(call, "calls like it have come back");
		return false;
	}
	shipping.body = body;
	shipping.keys_are_there = place == SHUTTLE_KEYS_THERE;
	shipping.node = shuttle_connection_get(server, GetUserId());
	shuttle_outbox_before_write(shipping.node, call->estate);

	/* their errors are not the call's */
	shuttle_write_behind_finish(1);

	/* many rows may not fit into memory or temporary files */
	shipping.may_commit = (!body->writes || !get_func_retset(call->routine)) &&
		shuttle_write_behind_commit_follows() &&
		shuttle_node_commit_behind_is_possible(shipping.node);
	cxt = AllocSetContextCreate(CurrentMemoryContext, "shipped call", ALLOCSET_SMALL_SIZES);
	old_cxt = MemoryContextSwitchTo(cxt);
	error = run_on_node(&shipping);
	MemoryContextSwitchTo(old_cxt);
	shuttle_call_history_note(history, error != NULL);
	if (error != NULL)
	{
		shuttle_node_totals_add(server, SHUTTLE_NODE_CALLS_RETURNED, 1);
		run_here(call, error->message);
		if (call->rows != NULL)
			tuplestore_clear(call->rows);
	}
	else
		shuttle_node_totals_add(server, SHUTTLE_NODE_CALLS, 1);
	MemoryContextDelete(cxt);
	return error == NULL;
}
