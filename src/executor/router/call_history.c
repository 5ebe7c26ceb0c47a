/*-------------------------------------------------------------------------
 * call_history.c
 *	  Calls that came back from nodes lately.
 *
 * A call that comes back is executed twice. Whether the next one will is guessed from
 * those before it in this session that had arguments of the same shape: which are NULL,
 * and which, taken as keys, lead to the node of the call. One that came back counts 1, and
 * one that did not takes 2 away: at 4 the next calls run here without a try. Now and then
 * one is sent, to see whether that has changed.
 *
 * Memory: a hash table in CacheMemoryContext, of limited size.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "executor/router/call.h"
#include "executor/router/call_history.h"
#include "executor/router/routed.h"

#define MOST_SHAPES 1024
#define MOST_RETURNED 4
#define FEWEST_KEPT 8
#define MOST_KEPT 1024

typedef struct ShapeKey
{
	Oid			routine;
	uint32		arguments;		/* hash of their shape */
} ShapeKey;

struct ShuttleCallHistory
{
	ShapeKey	key;			/* hash key */
	int			nreturned;		/* less those that did not */
	int			nkept;			/* kept here since the last one was sent, */
	int			most_kept;		/* until one is sent again; 0: all are sent */
};

static HTAB *shapes = NULL;

static uint32
shape_of_argument(const ShuttleCall *call, const ShuttleCallBody *body, int number, Oid server)
{
	Oid			type = exprType(list_nth(call->plan->values, number));
	bool		is_null;
	Datum		value = ExecEvalExprSwitchContext(list_nth(call->arguments, number), call->econtext, &is_null);
	int			tablet;

	if (is_null)
		return 1;
	if (!shuttle_routed_key_fits(body->distributed, type))
		return 2;
	return shuttle_routed_server_of(body->distributed, type, value, &tablet) == server ? 3 : 4;
}

ShuttleCallHistory *
shuttle_call_history_find(const ShuttleCall *call, const ShuttleCallBody *body, Oid server)
{
	ShapeKey	key = {.routine = call->routine};
	ShuttleCallHistory *history;
	bool		found;

	if (shapes == NULL)
	{
		HASHCTL		control = {
			.keysize = sizeof(ShapeKey),
			.entrysize = sizeof(ShuttleCallHistory),
			.hcxt = CacheMemoryContext,
		};

		shapes = hash_create("pg_shuttle calls that came back", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	for (int i = 0; i < list_length(call->arguments); i++)
		key.arguments = hash_combine(key.arguments, shape_of_argument(call, body, i, server));
	history = hash_search(shapes, &key, HASH_FIND, NULL);
	if (history != NULL || hash_get_num_entries(shapes) >= MOST_SHAPES)
		return history;
	history = hash_search(shapes, &key, HASH_ENTER, &found);
	history->nreturned = history->nkept = history->most_kept = 0;
	return history;
}

bool
shuttle_call_history_keeps(ShuttleCallHistory *history)
{
	if (history == NULL || history->nkept >= history->most_kept)
		return false;
	history->nkept++;
	return true;
}

void
shuttle_call_history_note(ShuttleCallHistory *history, bool returned)
{
	if (history == NULL)
		return;
	history->nkept = 0;
	if (!returned)
	{
		history->nreturned = Max(0, history->nreturned - 2);
		history->most_kept = 0;
	}
	else if (++history->nreturned >= MOST_RETURNED)
	{
		history->nreturned = MOST_RETURNED;
		history->most_kept = Min(Max(FEWEST_KEPT, 2 * history->most_kept), MOST_KEPT);
	}
}
