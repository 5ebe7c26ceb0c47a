/*-------------------------------------------------------------------------
 * node_error.c
 *	  Errors of nodes: keeps, shares and raises them; results that end a
 *	  connection.
 *
 * Memory: malloc'd and reference-counted, because the pump may not allocate
 * from the server; holders release them in reset callbacks.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"

#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_read_only.h"
#include "storage/shuttle_shown_request.h"
#include "storage/shuttle_storage.h"
#include "storage/shuttle_unawaited.h"
#include "storage/storage_types.h"

ShuttleStorageCalls shuttle_storage_calls;

/* Takes the result. Returns NULL if out of memory: the caller then only knows
 * that there was an error. */
ShuttleNodeError *
shuttle_node_error_create(PGresult *result, const char *sql)
{
	ShuttleNodeError *error = malloc(sizeof(ShuttleNodeError));

	if (error == NULL)
	{
		PQclear(result);
		return NULL;
	}
	error->nholders = 1;
	error->result = result;
	error->sql = sql != NULL ? strdup(sql) : NULL;
	error->userid = InvalidOid;
	error->origin = NULL;
	error->level = 0;
	error->nraised_inside = 0;
	return error;
}

ShuttleNodeError *
shuttle_node_error_hold(ShuttleNodeError *error)
{
	if (error != NULL)
		error->nholders++;
	return error;
}

void
shuttle_node_error_release(ShuttleNodeError **error)
{
	ShuttleNodeError *old = *error;

	*error = NULL;
	if (old == NULL || --old->nholders > 0)
		return;
	PQclear(old->result);
	free(old->sql);
	free(old->origin);
	free(old);
}

int
shuttle_node_error_result_sqlstate(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (state == NULL || strlen(state) != 5)
		return 0;
	return MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
}

bool
shuttle_node_error_ends_connection(const PGresult *result)
{
	const char *severity;

	switch (PQresultStatus(result))
	{
		case PGRES_FATAL_ERROR:
			severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
			return severity == NULL || strcmp(severity, "ERROR") != 0;

		case PGRES_COPY_IN:
		case PGRES_COPY_OUT:
		case PGRES_COPY_BOTH:
			return true;

		default:
			return false;
	}
}

const char *
shuttle_node_error_reason_of_end(const ShuttleNode *node, const PGresult *result, bool *said)
{
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	*said = message != NULL;
	if (message != NULL)
		return message;
	if (PQresultStatus(result) == PGRES_FATAL_ERROR)
		return PQerrorMessage(node->connection.conn);
	return SHUTTLE_NO_ANSWER;
}

/* Adds a name, if there is one. */
static int
add_name(int field, const char *name)
{
	return name == NULL ? 0 : err_generic_string(field, name);
}

int
shuttle_node_error_add_request(const ShuttleNode *node, const char *sql)
{
	if (sql != NULL)
		return errcontext("storage node \"%s\", request: %s", node->name, shuttle_shown_request(sql));
	return errcontext("storage node \"%s\"", node->name);
}

/* True of " $1 = ". */
static bool
is_parameter(const char *at)
{
	size_t		ndigits = strncmp(at, " $", 2) == 0 ? strspn(at + 2, "0123456789") : 0;

	return ndigits > 0 && strncmp(at + 2 + ndigits, " = ", 3) == 0;
}

int
shuttle_node_error_context_length(const char *context)
{
	const char *line = context;

	for (const char *at = context; at != NULL && *at != '\0'; at++)
	{
		if (*at == '\n')
			line = at;
		if (is_parameter(at))
			return line - context;
	}
	return context == NULL ? 0 : strlen(context);
}

void
shuttle_node_error_place(ShuttleNodeError *error, const ShuttleRequest *request)
{
	if (error == NULL)
		return;
	error->userid = request->userid;
	if (request->origin == NULL)
		return;
	error->origin = strdup(request->origin);
	error->level = request->sent_level;
}

/* True if an error of an outer level was already raised at an inner level and
 * caught there. Code that retries until another error comes would never end. */
static bool
is_met_again_inside(ShuttleNodeError *error)
{
	return error != NULL && error->origin != NULL &&
		GetCurrentTransactionNestLevel() > error->level &&
		error->nraised_inside++ > 0;
}

/* A statement of ours met other names or types than the definition here has.
 * Errors with a context come from code on the node. */
static bool
is_of_definition(int sqlstate, const char *context)
{
	switch (sqlstate)
	{
		case ERRCODE_UNDEFINED_TABLE:
		case ERRCODE_UNDEFINED_COLUMN:
		case ERRCODE_UNDEFINED_FUNCTION:	/* operators, too */
		case ERRCODE_DATATYPE_MISMATCH:
		case ERRCODE_CANNOT_COERCE:
			return context == NULL;
		default:
			return false;
	}
}

void
shuttle_node_error_raise(ShuttleNode *node, ShuttleNodeError *error,
						 const char *sql)
{
	const char *origin = error != NULL ? error->origin : NULL;
	const PGresult *result = error != NULL ? error->result : NULL;
	ShuttleErrorNames names = {
		.sqlstate = shuttle_node_error_result_sqlstate(result),
		.message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
		.schema = PQresultErrorField(result, PG_DIAG_SCHEMA_NAME),
		.table = PQresultErrorField(result, PG_DIAG_TABLE_NAME),
		.constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME),
		.detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL),
		.hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT),
		.node = node->name,
		.userid = error != NULL ? error->userid : InvalidOid,
	};
	const char *context = PQresultErrorField(result, PG_DIAG_CONTEXT);
	int			context_length = shuttle_node_error_context_length(context);
	const char *hint;
	int			sqlstate;

	if (error != NULL && error->sql != NULL)
		sql = error->sql;
	if (shuttle_storage_calls.translate_error != NULL)
		shuttle_storage_calls.translate_error(&names, sql);
	sqlstate = names.sqlstate;
	hint = names.hint;
	if (context_length == 0)
		context = NULL;
	if (sqlstate == 0)
		sqlstate = ERRCODE_FDW_ERROR;
	if (sqlstate == ERRCODE_READ_ONLY_SQL_TRANSACTION && hint == NULL &&
		!shuttle_read_only_applies() && node->transaction.kind == TRANSACTION_CLEAN)
		hint = "Set the option shuttle_volatile of the foreign table if reading it writes.";
	if (is_of_definition(sqlstate, context) && RecoveryInProgress())
	{
		sqlstate = ERRCODE_T_R_SERIALIZATION_FAILURE;
		names.detail = names.message;
		names.message = "a table has been changed on the primary server";
		hint = "Repeat the transaction when this standby has caught up. If the error stays, the table on the storage node was changed otherwise: run \"pgshuttle doctor\".";
	}
	else if (is_of_definition(sqlstate, context))
		hint = psprintf("%s%sThe table on the storage node may differ from its definition here: compare them, or run \"pgshuttle doctor\".",
						hint == NULL ? "" : hint, hint == NULL ? "" : " ");
	if (sqlstate == ERRCODE_UNDEFINED_OBJECT && hint == NULL && context == NULL &&
		names.message != NULL && strncmp(names.message, "type \"", strlen("type \"")) == 0)
		hint = "Create the type on the storage nodes, for example with shuttle.run_on_nodes().";
	if (sqlstate == ERRCODE_DUPLICATE_TABLE && hint == NULL && context == NULL)
		hint = "Drop or rename the relation on the storage node, or rename the table here.";
	if (is_met_again_inside(error))
		sqlstate = ERRCODE_IN_FAILED_SQL_TRANSACTION;

	if (shuttle_storage_calls.name_objects != NULL)
		shuttle_storage_calls.name_objects(&names);

	/* The statement that runs now is not the cause. */
	if (origin != NULL)
		error_context_stack = NULL;

	ereport(ERROR,
			(errcode(sqlstate),
			 names.message != NULL && names.message[0] != '\0' ?
			 errmsg_internal("%s", names.message) :
			 errmsg("storage node \"%s\" failed without a message", node->name),
			 names.detail != NULL ? errdetail_internal("%s", names.detail) : 0,
			 hint != NULL ? errhint("%s", hint) : 0,
			 context != NULL ? errcontext("%.*s", context_length, context) : 0,
			 add_name(PG_DIAG_SCHEMA_NAME, names.schema),
			 add_name(PG_DIAG_TABLE_NAME, names.table),
			 add_name(PG_DIAG_COLUMN_NAME, PQresultErrorField(result, PG_DIAG_COLUMN_NAME)),
			 add_name(PG_DIAG_DATATYPE_NAME, PQresultErrorField(result, PG_DIAG_DATATYPE_NAME)),
			 add_name(PG_DIAG_CONSTRAINT_NAME, names.constraint),
			 shuttle_node_error_add_request(node, sql),
			 origin != NULL ? errcontext("%s", origin) : 0));
}

void
shuttle_node_error_raise_lost(ShuttleNode *node)
{
	const NodeFailure *failure = &node->connection.failure;

	ereport(ERROR,
			(errcode(failure->sqlstate),
			 errmsg_internal("%s", failure->message),
			 failure->detail[0] != '\0' ?
			 errdetail_internal("%s", failure->detail) : 0,
			 failure->hint[0] != '\0' ?
			 errhint("%s", failure->hint) : 0));
}

/* ---- errors of writes that nobody waited for */

int
shuttle_node_error_sqlstate(const ShuttleNodeError *error)
{
	return shuttle_node_error_result_sqlstate(error->result);
}

void
shuttle_node_error_release_unawaited(ShuttleNodeError **error)
{
	shuttle_node_error_release(error);
}

void
shuttle_node_error_raise_unawaited(ShuttleNode *node, ShuttleNodeError *error)
{
	if (error == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not learn from storage node \"%s\" whether rows had been written before an error",
						node->name),
				 errhint("Repeat the transaction.")));
	PG_TRY();
	{
		shuttle_node_error_raise(node, error, NULL);
	}
	PG_FINALLY();
	{
		shuttle_node_error_release(&error);
	}
	PG_END_TRY();
	pg_unreachable();
}
