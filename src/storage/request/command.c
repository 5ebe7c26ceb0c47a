/*-------------------------------------------------------------------------
 * command.c
 *	  One command to a node: hands it to libpq, and looks at its result.
 *
 * Knows nothing of the node's other commands; pipeline.c decides what is sent
 * when, and what an answer means for the transaction.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_counters.h"
#include "explain/shuttle_explain.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"

static bool hand_over(ShuttleNode *node, ShuttleCommand *command);
static bool send_statement(PGconn *conn, ShuttleCommand *command);
static void count_bytes_sent(ShuttleCommand *command);

/* ---- sending */

bool
shuttle_command_send(ShuttleNode *node, ShuttleCommand *command)
{
	if (!hand_over(node, command))
		return false;
	count_bytes_sent(command);
	return true;
}

/* Hands a command to libpq. */
static bool
hand_over(ShuttleNode *node, ShuttleCommand *command)
{
	PGconn	   *conn = node->connection.conn;

	switch (command->kind)
	{
		case COMMAND_SYNC:
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
			return PQsendPipelineSync(conn) == 1;
#else
			return PQpipelineSync(conn) == 1;
#endif

		case COMMAND_PREPARE:
			return PQsendPrepare(conn,
								 shuttle_prepared_name(command->prepared),
								 shuttle_prepared_sql(command->prepared),
								 0, NULL) == 1;

		case COMMAND_CLOSE_PREPARED:
#ifdef LIBPQ_HAS_CLOSE_PREPARED
			return PQsendClosePrepared(conn,
									   shuttle_prepared_name(command->prepared)) == 1;
#else
			return PQsendQueryParams(conn, command->sql, 0,
									 NULL, NULL, NULL, NULL, 0) == 1;
#endif

		case COMMAND_STATEMENT:
		case COMMAND_DECLARE:
			return send_statement(conn, command);

		default:

			/*
			 * Flush: the early answer to a savepoint tells that a cancel can
			 * no longer hit it, however long the next statement takes. A
			 * snapshot is judged while the node works, as is an identifier in
			 * front of a write.
			 */
			return PQsendQueryParams(conn, command->sql, 0,
									 NULL, NULL, NULL, NULL,
									 command->in_binary) == 1 &&
				((command->spared_level <= 1 && command->kind != COMMAND_SNAPSHOT &&
				  (command->kind != COMMAND_XID || node->commit.two_phase != TWO_PHASE_NONE)) ||
				 PQsendFlushRequest(conn) == 1);
	}
}

static bool
send_statement(PGconn *conn, ShuttleCommand *command)
{
	ShuttleRequest *request = command->request;
	const char *const *values = (const char *const *) request->values;

	if (command->prepared != NULL)
		return PQsendQueryPrepared(conn,
								   shuttle_prepared_name(command->prepared),
								   request->nparams, values, request->lengths,
								   request->formats, command->in_binary) == 1;
	return PQsendQueryParams(conn, request->sent_sql, request->nparams,
							 NULL, values, request->lengths, request->formats,
							 command->in_binary) == 1;
}

/* Message sizes as in the protocol's documentation. */
static void
count_bytes_sent(ShuttleCommand *command)
{
	ShuttleRequest *request = command->request;
	int64		bytes;

	if (command->kind == COMMAND_SYNC || request == NULL)
		return;

	/* Bind with empty names, Describe portal, Execute */
	bytes = 5 + 2 + 2 + 2 + 4 + 7 + 10;
	if (command->kind == COMMAND_STATEMENT || command->kind == COMMAND_DECLARE)
	{
		for (int i = 0; i < request->nparams; i++)
			bytes += 4 + (request->values[i] == NULL ? 0 : request->lengths != NULL ?
						  request->lengths[i] : strlen(request->values[i]));
	}
	if (command->prepared != NULL)
		bytes += strlen(shuttle_prepared_name(command->prepared));
	else						/* Parse */
		bytes += 5 + 1 + 1 + 2 +
			strlen(command->sql ? command->sql : request->sent_sql);
	shuttle_count(request->counters, SHUTTLE_BYTES_SENT, bytes);
	shuttle_node_count(request->node, SHUTTLE_NODE_BYTES_SENT, bytes);
	shuttle_answer_pages_note_message(request->node, bytes);
}

/* ---- its result */

bool
shuttle_command_fits(const ShuttleCommand *command, const PGresult *result)
{
	ShuttleRequest *request = command->request;

	if (command->result != NULL)
		return false;
	if (PQresultStatus(result) != PGRES_COMMAND_OK &&
		PQresultStatus(result) != PGRES_EMPTY_QUERY)
		return true;
	if (command->kind == COMMAND_STATEMENT)
		return request == NULL || request->effect == SHUTTLE_WRITES ||
			request->tag_only;
	return command->kind != COMMAND_FETCH;
}

bool
shuttle_command_failed(const ShuttleCommand *command)
{
	switch (PQresultStatus(command->result))
	{
		case PGRES_COMMAND_OK:
		case PGRES_TUPLES_OK:
		case PGRES_EMPTY_QUERY:
			return false;
		default:
			return true;
	}
}

bool
shuttle_command_ended_transaction(const ShuttleCommand *command)
{
	const char *tag = PQcmdStatus(command->result);

	return strcmp(tag, "ROLLBACK") == 0 || strcmp(tag, "RELEASE") == 0;
}
