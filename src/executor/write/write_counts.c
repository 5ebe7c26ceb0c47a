/*-------------------------------------------------------------------------
 * write_counts.c
 *	  Compares how many rows a node has written with how many were sent.
 *
 * Rules: fewer rows changed than sent is an error, unless something on the
 * node may have intended it (trap 23); more is always an error (trap 22).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"
#include "executor/scan/scan.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_storage.h"

pg_noreturn static void refuse_referred(ShuttleWrite *write);
pg_noreturn static void refuse_triggered(ShuttleWrite *write, int nsent, bool follows,
										 uint64 nwritten);

/* True if rows may be missing because another part of the statement has changed
 * them: core skips such rows, too. */
static bool
was_changed_beside(ShuttleWrite *write)
{
	return write->buffer->by_ctid && !shuttle_write_takes_out(write) && !write->core_follows_up &&
		write->estate->es_plannedstmt->hasModifyingCTE;
}

/* The scan locked the rows, so no other transaction can have removed one; and
 * COPY has already counted its rows. */
void
shuttle_write_check_count(ShuttleWrite *write, int nsent, bool follows, uint64 nwritten)
{
	if (nwritten > nsent)
		shuttle_target_rows_refuse_several(write, nwritten);
	if (nwritten == nsent || was_changed_beside(write))
		return;

	/* What is known may be older than a new trigger. */
	shuttle_remote_table_forget(RelationGetRelid(write->rel), write->storage_node);
	shuttle_write_read_table(write);
	if (shuttle_write_takes_out(write) && write->buffer->table->cascades)
		refuse_referred(write);
	if (write->buffer->table->plain && write->buffer->by_ctid)
		refuse_triggered(write, nsent, follows, nwritten);
	if (!write->buffer->by_ctid)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not write all rows of foreign table \"%s\" due to concurrent changes",
						RelationGetRelationName(write->rel)),
				 errdetail("Storage node \"%s\" wrote " UINT64_FORMAT " of %d rows.",
						   shuttle_node_name(write->storage_node), nwritten, nsent),
				 errhint("Repeat the transaction.")));

	/* The row would exist twice. */
	if (shuttle_write_takes_out(write))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("could not move all rows out of partition \"%s\", which is a foreign table",
						RelationGetRelationName(write->rel)),
				 errdetail("Storage node \"%s\" deleted " UINT64_FORMAT " of %d rows.",
						   shuttle_node_name(write->storage_node), nwritten, nsent),
				 errhint("Look for triggers, rules and policies of the table there.")));
}

static void
refuse_referred(ShuttleWrite *write)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot move a row out of partition \"%s\", which is a foreign table",
					RelationGetRelationName(write->rel)),
			 errdetail("A foreign key on storage node \"%s\" deletes or changes rows that refer to it when the row is deleted there.",
					   shuttle_node_name(write->storage_node)),
			 errhint("Insert the row with its new key, change the rows that refer to it, then delete the old row.")));
}

/*
 * The scan locked these rows, so the statement itself has changed them: by a
 * function or trigger here, or, after an earlier request, by something on the
 * node such as ON DELETE CASCADE to the same table. Within one request such
 * things happen after all rows are changed.
 */
static void
refuse_triggered(ShuttleWrite *write, int nsent, bool follows, uint64 nwritten)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
			 errmsg("rows of foreign table \"%s\" were changed by an operation that the statement triggered",
					RelationGetRelationName(write->rel)),
			 errdetail("Storage node \"%s\" wrote " UINT64_FORMAT " of %d rows of %s request.",
					   shuttle_node_name(write->storage_node), nwritten, nsent,
					   follows ? "a later" : "the first"),
			 follows ?
			 errhint("If a foreign key or a trigger of the node did it, raise %s, so that one request has all rows.",
					 "shuttle.write_buffer_size") :
			 errhint("Change rows of the same table by a statement of its own, or by an AFTER trigger.")));
}
