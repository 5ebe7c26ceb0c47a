/*-------------------------------------------------------------------------
 * outside_answer.c
 *	  Answers to statements outside the session's transaction.
 *
 * Rows are passed to the caller's function, or else the first ones are kept as
 * JSON. Of several errors, the first is reported.
 *
 * Memory: the caller's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/json.h"

#include "base/shuttle_compat.h"
#include "storage/connection/host_race.h"
#include "storage/request/answer.h"
#include "storage/request/outside_transaction.h"
#include "storage/request/pipeline.h"
#include "storage/transaction/two_phase.h"

#define MOST_ROWS 1000
#define MOST_ROWS_BYTES (1024 * 1024)

static void end_answer(OutsideRun *run, PGresult *result);
static void take_epoch(OutsideRun *run, const PGresult *result);
static void add_row(OutsideRun *run, const PGresult *result);
static void hand_rows(ShuttleOutsideRun *told, const PGresult *result);
static void take_error(OutsideRun *run, const PGresult *result);

void
shuttle_outside_take_result(OutsideRun *run, PGresult *result)
{
	ShuttleOutsideRun *told = run->result;
	ExecStatusType status = PQresultStatus(result);

	if (run->step == STEP_EPOCH)
	{
		take_epoch(run, result);
		return;
	}
	if (run->step == STEP_SQL && (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK) &&
		told->row != NULL && PQnfields(result) != told->ncolumns)
	{
		shuttle_outside_fail(run, "08P01", "the answer has other columns than were asked for");
		return;
	}
	switch (status)
	{
		case PGRES_SINGLE_TUPLE:
			add_row(run, result);
			break;

		case PGRES_TUPLES_OK:
		case PGRES_COMMAND_OK:
		case PGRES_EMPTY_QUERY:
			if (run->step != STEP_SQL)
				break;
			end_answer(run, result);
			break;

		case PGRES_COPY_IN:
		case PGRES_COPY_OUT:
		case PGRES_COPY_BOTH:
			shuttle_outside_fail(run, "0A000", "COPY from or to the client is not possible here");
			break;

		default:
			if (run->step != STEP_CHECK_INTERVAL)
				take_error(run, result);
			break;
	}
}

/* Takes the last result of one of the user's statements. */
static void
end_answer(OutsideRun *run, PGresult *result)
{
	ShuttleOutsideRun *told = run->result;
	bool		has_rows = PQresultStatus(result) == PGRES_TUPLES_OK;

	if (has_rows)
	{
		/* begins an answer without rows */
		add_row(run, result);
		if (PQcmdStatus(result)[0] == '\0' ||
			(shuttle_tag_tells_rows(PQcmdStatus(result)) &&
			 strtoll(PQcmdTuples(result), NULL, 10) != told->nrows))
		{
			shuttle_outside_fail(run, "08P01", "rows of the answer are missing");
			return;
		}
		told->result = psprintf("%s]", run->rows.data);
	}
	else
	{
		told->result = NULL;
		told->nrows = PQcmdTuples(result)[0] != '\0' ?
			strtoll(PQcmdTuples(result), NULL, 10) : -1;
	}
	if (PQcmdStatus(result)[0] != '\0')
		told->status = pstrdup(PQcmdStatus(result));
	run->new_answer = true;
	run->answered |= told->row == NULL || has_rows;
}

/* Ignores an error: the role may not be allowed to ask. */
static void
take_epoch(OutsideRun *run, const PGresult *result)
{
	ShuttleNode *node = &run->node;
	bool		is_old = !shuttle_epoch_take(node, result);

	if (is_old)
	{
		char		reason[512];

		shuttle_host_order_note_old(node->key.serverid, node->connection.host);
		shuttle_epoch_explain(node, reason, sizeof(reason));
		shuttle_outside_fail(run, "08006", reason);
		return;
	}
	if (node->epoch.news == EPOCH_NO_NEWS)
		return;
	shuttle_cluster_node_moved();
	shuttle_epoch_log(node);
}

/* Counts all rows and keeps the first ones. */
static void
add_row(OutsideRun *run, const PGresult *result)
{
	ShuttleOutsideRun *told = run->result;
	StringInfo	rows = &run->rows;

	if (run->new_answer)
	{
		resetStringInfo(rows);
		appendStringInfoChar(rows, '[');
		told->nrows = 0;
		run->new_answer = false;
	}
	if (told->row != NULL)
	{
		told->nrows += PQntuples(result);
		hand_rows(told, result);
		return;
	}
	for (int row = 0; row < PQntuples(result); row++)
	{
		if (told->nrows++ >= MOST_ROWS || rows->len >= MOST_ROWS_BYTES)
			continue;
		appendStringInfoString(rows, told->nrows > 1 ? ", {" : "{");
		for (int column = 0; column < PQnfields(result); column++)
		{
			if (column > 0)
				appendStringInfoString(rows, ", ");
			escape_json(rows, PQfname(result, column));
			appendStringInfoString(rows, ": ");
			if (PQgetisnull(result, row, column))
				appendStringInfoString(rows, "null");
			else
				escape_json(rows, PQgetvalue(result, row, column));
		}
		appendStringInfoChar(rows, '}');
	}
}

static void
hand_rows(ShuttleOutsideRun *told, const PGresult *result)
{
	int			ncolumns = PQnfields(result);
	ShuttleRow	row = {
		.ncolumns = ncolumns,
		.values = palloc0_array(char *, ncolumns + 1),
		.lengths = palloc0_array(int, ncolumns + 1),
	};

	for (int i = 0; i < PQntuples(result); i++)
	{
		for (int column = 0; column < ncolumns; column++)
		{
			row.values[column] = PQgetvalue(result, i, column);
			row.lengths[column] = PQgetlength(result, i, column);
		}
		told->row(told->row_arg, &row);
	}
}

/* The node's error, or libpq's for a broken connection. */
static void
take_error(OutsideRun *run, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	ShuttleOutsideRun *told = run->result;
	StringInfoData text;

	/* Later errors are consequences. */
	if (told->error != NULL)
		return;
	if (state == NULL || message == NULL)
	{
		shuttle_outside_fail(run, "08006", PQerrorMessage(run->node.connection.conn));
		return;
	}
	initStringInfo(&text);
	appendStringInfoString(&text, message);
	if (detail != NULL)
		appendStringInfo(&text, "\nDETAIL: %s", detail);
	if (hint != NULL)
		appendStringInfo(&text, "\nHINT: %s", hint);
	told->ok = false;
	told->status = NULL;
	told->result = NULL;
	told->nrows = -1;
	strlcpy(told->sqlstate, state, sizeof(told->sqlstate));
	told->error = text.data;
}

void
shuttle_outside_fail(OutsideRun *run, const char *sqlstate, const char *message)
{
	ShuttleOutsideRun *told = run->result;
	int			length = strlen(message);

	if (told->error != NULL)
	{
		shuttle_outside_end(run);
		return;
	}
	while (length > 0 && message[length - 1] == '\n')
		length--;
	told->ok = false;
	told->status = NULL;
	told->result = NULL;
	told->nrows = -1;
	strlcpy(told->sqlstate, sqlstate, sizeof(told->sqlstate));
	told->error = pnstrdup(message, length);
	shuttle_outside_end(run);
}
