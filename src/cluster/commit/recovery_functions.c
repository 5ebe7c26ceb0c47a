/*-------------------------------------------------------------------------
 * recovery_functions.c
 *	  shuttle.recover(), and the function of the view shuttle.transactions.
 *
 * Both use all users' mappings: only the role that prepared a transaction, or
 * a superuser of the node, may finish it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "cluster/commit/commit.h"

SHUTTLE_SQL_FUNCTION(shuttle_recover);
SHUTTLE_SQL_FUNCTION(shuttle_prepared_transactions);

static const char *const states[] = {
	[FATE_COMMIT] = "to be committed",
	[FATE_UNREPLICATED] = "waits for a standby of this server",
	[FATE_ROLL_BACK] = "to be rolled back",
	[FATE_LIVE] = "in progress",
	[FATE_CLIENT] = "prepared by a client",
	[FATE_UNCONFIRMED] = "waits for shuttle.confirm_identity() or shuttle.new_identity()",
	[FATE_LATER] = "of a server that has replaced this one",
	[FATE_OTHER] = "of another cluster or database",
};

/* True for a server's first entry; the others are for other mappings. */
static bool
is_first(List *nodes, const RecoveryNode *node)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *earlier = lfirst(cell);

		if (earlier == node)
			break;
		if (earlier->serverid == node->serverid)
			return false;
	}
	return true;
}

static void
refuse_on_standby(void)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("recovery of transactions is for the primary server"),
				 errhint("Call the function there.")));
}

/* Why a transaction was not finished; NULL: unknown. */
static const char *
reason(const PreparedTransaction *prepared, List *nodes)
{
	if (prepared->fate == FATE_UNCONFIRMED || prepared->fate == FATE_UNREPLICATED ||
		prepared->fate == FATE_LATER)
		return states[prepared->fate];
	if (!shuttle_recovery_is_decided(prepared))
		return NULL;
	if (prepared->error != NULL || shuttle_recovery_has_role(prepared->gid, nodes))
		return prepared->error;
	if (prepared->owner[0] == '\0')
		return "a role that was dropped has prepared it, and no user mapping that was asked leads to a superuser";
	return psprintf("role \"%s\" has prepared it, and no user mapping that was asked leads to that role or to a superuser",
					prepared->owner);
}

/* Adds a result row for a server, summed over its mappings. */
static void
put_server(ReturnSetInfo *result, List *nodes, const RecoveryNode *first)
{
	NameData	name;
	Datum		values[5];
	bool		nulls[5] = {false};
	List	   *unfinished = NIL;
	const char *error = NULL;
	const char *refusal = NULL;
	int			ncommitted = 0;
	int			nrolled_back = 0;
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);
		ListCell   *inner;

		if (node->serverid != first->serverid)
			continue;
		ncommitted += node->ncommitted;
		nrolled_back += node->nrolled_back;
		error = node->error != NULL ? node->error : error;
		foreach(inner, node->prepared)
		{
			const PreparedTransaction *prepared = lfirst(inner);

			if (prepared->fate == FATE_OTHER ||
				shuttle_recovery_is_others(prepared, node, nodes) ||
				shuttle_recovery_is_finished(prepared->gid, nodes))
				continue;
			unfinished = list_append_unique(unfinished, makeString(prepared->gid));
			if (refusal == NULL)
				refusal = reason(prepared, nodes);
		}
	}
	if (shuttle_recovery_has_answered(first->serverid, nodes))
		error = refusal;
	namestrcpy(&name, first->name);
	values[0] = NameGetDatum(&name);
	values[1] = Int32GetDatum(ncommitted);
	values[2] = Int32GetDatum(nrolled_back);
	values[3] = Int32GetDatum(list_length(unfinished));
	nulls[4] = error == NULL;
	if (!nulls[4])
		values[4] = CStringGetTextDatum(error);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* shuttle.recover() */
Datum
shuttle_recover(PG_FUNCTION_ARGS)
{
	List	   *nodes;
	ListCell   *cell;

	refuse_on_standby();
	InitMaterializedSRF(fcinfo, 0);
	nodes = shuttle_recovery_nodes();
	(void) shuttle_recovery_run(nodes, 0);
	foreach(cell, nodes)
	{
		if (is_first(nodes, lfirst(cell)))
			put_server((ReturnSetInfo *) fcinfo->resultinfo, nodes, lfirst(cell));
	}
	return (Datum) 0;
}

static void
put_transaction(ReturnSetInfo *result, const RecoveryNode *node,
				const PreparedTransaction *prepared)
{
	NameData	name;
	Datum		values[5];
	bool		nulls[5] = {false};

	namestrcpy(&name, node->name);
	values[0] = NameGetDatum(&name);
	if (prepared != NULL)
	{
		values[1] = CStringGetTextDatum(prepared->gid);
		nulls[2] = prepared->owner[0] == '\0';
		values[2] = CStringGetTextDatum(prepared->owner);
		values[3] = TimestampTzGetDatum(prepared->since);
		values[4] = CStringGetTextDatum(states[prepared->fate]);
	}
	else
	{
		nulls[1] = nulls[2] = nulls[3] = true;
		values[4] = CStringGetTextDatum(psprintf("not known: %s", node->error));
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The first mapping by which a server has answered, else first. */
static const RecoveryNode *
speaker(List *nodes, const RecoveryNode *first)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);

		if (node->serverid == first->serverid && node->answered)
			return node;
	}
	return first;
}

/* shuttle.prepared_transactions() */
Datum
shuttle_prepared_transactions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *nodes;
	ListCell   *cell;

	refuse_on_standby();
	InitMaterializedSRF(fcinfo, 0);
	nodes = shuttle_recovery_nodes();
	shuttle_recovery_ask(nodes, SHUTTLE_RECOVERY_WAIT_MS);
	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);
		ListCell   *inner;

		if (!is_first(nodes, node))
			continue;
		node = speaker(nodes, node);
		if (!node->answered)
			put_transaction(result, node, NULL);
		foreach(inner, node->prepared)
		{
			const PreparedTransaction *prepared = lfirst(inner);

			if (prepared->fate == FATE_OTHER ||
				!shuttle_recovery_is_others(prepared, node, nodes))
				put_transaction(result, node, prepared);
		}
	}
	return (Datum) 0;
}
