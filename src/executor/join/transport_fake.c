/*-------------------------------------------------------------------------
 * transport_fake.c
 *	  Answers that are made up here, to measure what a batched join costs on
 *	  this side (shuttle.debug_fake_answers).
 *
 * Each key without a NULL has one row: the columns of the type of the key's
 * first column are the key, all others are NULL.  No node is asked, and keys
 * are not written as texts.
 * Memory: a channel lives in the query's context, an answer in its key set's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/join/transport.h"
#include "storage/shuttle_storage.h"

struct ShuttleChannel
{
	TupleDesc	desc;
	bool	   *is_key;			/* for each column of a row */
	Datum	   *values;			/* of the row that is made */
	bool	   *nulls;
};

struct ShuttleAnswer
{
	ShuttleChannel *channel;
	const ShuttleKeySet *set;
	int			first;
	int			nkeys;
	int			key;			/* of the next row */
};

static ShuttleChannel *
open_channel(ShuttleServedScan *scan)
{
	ShuttleChannel *channel = palloc0(sizeof(ShuttleChannel));
	int			natts;
	ListCell   *lc;

	if (scan->locks)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rows that are locked or changed cannot be made up"),
				 errhint("Set shuttle.debug_fake_answers to off.")));
	channel->desc = scan->node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	natts = channel->desc->natts;
	channel->is_key = palloc0_array(bool, natts);
	channel->values = palloc0_array(Datum, natts);
	channel->nulls = palloc_array(bool, natts);
	memset(channel->nulls, true, natts);
	foreach(lc, scan->attributes)
	{
		int			i = lfirst_int(lc) - 1;

		if (i < 0 || TupleDescAttr(channel->desc, i)->atttypid !=
			scan->key.columns[0].type)
			continue;
		channel->is_key[i] = true;
		channel->nulls[i] = false;
	}
	return channel;
}

static ShuttleAnswer *
send_keys(ShuttleChannel *channel, ShuttleKeySet *set, int first, int nkeys,
		  bool ahead)
{
	ShuttleAnswer *answer = palloc(sizeof(ShuttleAnswer));

	answer->channel = channel;
	answer->set = set;
	answer->first = first;
	answer->nkeys = nkeys;
	answer->key = 0;
	return answer;
}

static ShuttleStatus
next_row(ShuttleAnswer *answer, bool wait, int *ordinal, HeapTuple *tuple)
{
	ShuttleChannel *channel = answer->channel;
	const ShuttleKeySet *set = answer->set;

	while (answer->key < answer->nkeys &&
		   set->nulls[0][answer->first + answer->key])
		answer->key++;
	if (answer->key == answer->nkeys)
		return SHUTTLE_END;
	for (int i = 0; i < channel->desc->natts; i++)
	{
		if (channel->is_key[i])
			channel->values[i] = set->values[0][answer->first + answer->key];
	}
	*ordinal = answer->key++;
	*tuple = heap_form_tuple(channel->desc, channel->values, channel->nulls);
	return SHUTTLE_ROW;
}

static void
close_answer(ShuttleAnswer *answer)
{
	pfree(answer);
}

static void
close_channel(ShuttleChannel *channel)
{
	pfree(channel->is_key);
	pfree(channel->values);
	pfree(channel->nulls);
	pfree(channel);
}

const ShuttleTransport shuttle_fake_transport = {
	.open = open_channel,
	.send = send_keys,
	.next = next_row,
	.close_answer = close_answer,
	.close = close_channel,
};
