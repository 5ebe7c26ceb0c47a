/*-------------------------------------------------------------------------
 * outbox.c
 *	  Owns what the session has begun and not sent, and sends it before
 *	  requests that must not overtake it.
 *
 * There are three lists. The files that fill them do not call each other:
 *
 * - Unsent scans (remote_scan.c). A scan must see its node as it was before its
 *	 statement (trap 24), but is sent when it is first read, perhaps after the
 *	 statement's first write. So a write first sends the unsent scans of its
 *	 node that have no executor parameters. If a function writes, the scans of
 *	 the outer statements are sent, too: their snapshots are older. Scans that
 *	 lock rows are not sent, except those of a table that is changed while
 *	 another part of WITH writes: the node's later pages leave out what that
 *	 part has changed.
 * - Unsent rows (modify_table.c). A read or write of another statement must find
 *	 them on the node: they are flushed before. A savepoint's rollback must not
 *	 undo them: they are sent before it.
 * - Unanswered INSERTs (write_behind.c), which were sent. A node answers
 *	 requests in order, so no request has to wait for them.
 *
 * The function that makes us send may run with the rights of another role (SECURITY DEFINER). Sending
 * can evaluate expressions and note triggers, so what is listed is sent with the role of its own
 * statement. That role decides, too, what an error may show.
 *
 * Memory: items live in their owners' memory and leave their list in its reset
 * callback. If a cursor fails in a savepoint, the rollback releases its
 * snapshot and tables before its memory: scans leave with their resource owner,
 * too.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"

#include "base/shuttle_compat.h"
#include "executor/outbox.h"

static dlist_head scans = DLIST_STATIC_INIT(scans);
static dlist_head rows_lists = DLIST_STATIC_INIT(rows_lists);
static dlist_head inserts = DLIST_STATIC_INIT(inserts);
static dlist_head *const lists[] = {
	[SHUTTLE_UNSENT_SCANS] = &scans,
	[SHUTTLE_UNSENT_ROWS] = &rows_lists,
	[SHUTTLE_UNANSWERED_WRITES] = &inserts,
};

static uint64 latest_scan = 0;	/* number of the scan listed last */
static int64 listed_bytes = 0;

/* ---- the lists */

static void
remove_at_reset(void *arg)
{
	shuttle_outbox_remove(arg);
}

void
shuttle_outbox_add(ShuttleOutboxList list, ShuttleOutboxItem *item,
				   MemoryContext cxt)
{
	Assert(!item->listed);
	if (list == SHUTTLE_UNSENT_SCANS)
		latest_scan++;
	item->number = latest_scan;
	item->nest_level = GetCurrentTransactionNestLevel();
	GetUserIdAndSecContext(&item->userid, &item->security);
	item->owner = CurrentResourceOwner;
	item->cxt = cxt;
	item->at_reset.func = remove_at_reset;
	item->at_reset.arg = item;
	MemoryContextRegisterResetCallback(cxt, &item->at_reset);
	dlist_push_head(lists[list], &item->link);
	item->listed = true;
	listed_bytes += item->nbytes;
}

void
shuttle_outbox_remove(ShuttleOutboxItem *item)
{
	if (!item->listed)
		return;
	dlist_delete(&item->link);
	item->listed = false;
	listed_bytes -= item->nbytes;
}

void
shuttle_outbox_put_back(ShuttleOutboxItem *item)
{
	dlist_push_tail(&inserts, &item->link);
	item->listed = true;
	listed_bytes += item->nbytes;
}

ShuttleOutboxItem *
shuttle_outbox_oldest(int level)
{
	dlist_iter	iter;

	dlist_reverse_foreach(iter, &inserts)
	{
		ShuttleOutboxItem *item = dlist_container(ShuttleOutboxItem, link, iter.cur);

		if (item->nest_level >= level)
			return item;
	}
	return NULL;
}

int64
shuttle_outbox_bytes(void)
{
	return listed_bytes;
}

ShuttleUnsentRows *
shuttle_outbox_next_rows(ShuttleUnsentRows *rows)
{
	dlist_node *next = (rows == NULL ? &rows_lists.head : &rows->item.link)->next;

	return next == &rows_lists.head ? NULL :
		dlist_container(ShuttleUnsentRows, item.link, next);
}

void
shuttle_outbox_end_level(int level, bool is_rollback)
{
	for (int i = 0; i < lengthof(lists); i++)
	{
		dlist_mutable_iter iter;

		dlist_foreach_modify(iter, lists[i])
		{
			ShuttleOutboxItem *item = dlist_container(ShuttleOutboxItem, link, iter.cur);

			if (item->nest_level < level)
				continue;
			if (is_rollback)
				shuttle_outbox_remove(item);
			else
				item->nest_level = level - 1;
		}
	}
}

/* While an owner is released it is CurrentResourceOwner. */
void
shuttle_outbox_release(ResourceReleasePhase phase, bool isCommit,
					   bool isTopLevel, void *arg)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &scans)
	{
		ShuttleOutboxItem *item = dlist_container(ShuttleOutboxItem, link, iter.cur);

		if (item->owner == CurrentResourceOwner)
			shuttle_outbox_remove(item);
	}
}

/* ---- sending */

/* The role whose rights code has, and its security context. */
typedef struct Role
{
	Oid			userid;
	int			security;
} Role;

/* What follows is done for an item's statement. Returns the current role, which has to be given back behind an error,
 * too: not all that catch one end a savepoint (read_ahead.c). */
static Role
take_role(const ShuttleOutboxItem *item)
{
	Role		current;

	GetUserIdAndSecContext(&current.userid, &current.security);
	SetUserIdAndSecContext(item->userid, item->security);
	return current;
}

static void
give_back_role(Role role)
{
	SetUserIdAndSecContext(role.userid, role.security);
}

static bool
send_scan(ShuttleUnsentScan *unsent, bool only_target)
{
	Role		role = take_role(&unsent->item);
	volatile bool is_sent = false;

	PG_TRY();
	{
		is_sent = unsent->send(unsent, only_target);
	}
	PG_FINALLY();
	{
		give_back_role(role);
	}
	PG_END_TRY();
	return is_sent;
}

/* Sends a node's scans that were listed before a write began: those that
 * functions began since then see it. */
static void
send_older_scans(const ShuttleNode *node, uint64 begun)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &scans)
	{
		ShuttleUnsentScan *unsent = dlist_container(ShuttleUnsentScan, item.link, iter.cur);

		if (unsent->item.node == node && unsent->item.number <= begun)
			(void) send_scan(unsent, false);
	}
}

static bool
send_target(const EState *estate)
{
	dlist_iter	iter;

	dlist_foreach(iter, &scans)
	{
		ShuttleUnsentScan *unsent = dlist_container(ShuttleUnsentScan, item.link, iter.cur);

		if (unsent->item.estate == estate && send_scan(unsent, true))
			return true;
	}
	return false;
}

/* Sends a statement's scans that lock the rows it is to change. Each leaves the
 * list, and others may do so meanwhile. */
static void
send_targets(const EState *estate)
{
	while (send_target(estate))
		;
}

/* What is made for the rows, such as slots of their triggers, lives as long as their
 * statement, not as the one that makes us flush. */
static void
flush_for_others(ShuttleUnsentRows *rows)
{
	ResourceOwner owner = CurrentResourceOwner;
	Role		role = take_role(&rows->item);

	CurrentResourceOwner = rows->item.owner;
	PG_TRY();
	{
		rows->flush(rows);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = owner;
		give_back_role(role);
	}
	PG_END_TRY();
}

/* Flushes rows of statements other than estate's, the outermost first. until:
 * only those listed before it; NULL: all. */
static void
flush_rows(const ShuttleNode *node, const EState *estate, const ShuttleUnsentRows *until)
{
	dlist_iter	iter;

	dlist_reverse_foreach(iter, &rows_lists)
	{
		ShuttleUnsentRows *rows = dlist_container(ShuttleUnsentRows, item.link, iter.cur);

		if (rows == until)
			return;
		if (rows->item.estate != estate && rows->has_rows(rows, node))
			flush_for_others(rows);
	}
}

void
shuttle_outbox_before_read(ShuttleNode *node, const EState *estate)
{
	flush_rows(node, estate, NULL);
}

void
shuttle_outbox_before_write(ShuttleNode *node, const EState *estate)
{
	flush_rows(node, estate, NULL);
	send_older_scans(node, latest_scan);
}

void
shuttle_outbox_before_rows(const ShuttleUnsentRows *rows, ShuttleNode *node, bool moved)
{
	/* Moved rows make scans of any node be sent. */
	flush_rows(moved ? NULL : node, rows->item.estate, rows);
	shuttle_outbox_send_scans(rows, node, moved);
}

/* Scans of the statement's targets would change moved rows again. */
void
shuttle_outbox_send_scans(const ShuttleUnsentRows *rows, ShuttleNode *node, bool moved)
{
	send_older_scans(node, rows->item.number);
	if (moved)
		send_targets(rows->item.estate);
}

/*
 * The questions and reads that the rows need are sent before the savepoint,
 * too, and scans whose locks its rollback would undo if a write in it sent
 * them.
 *
 * An error here would leave the savepoint half begun, so it is raised later.
 * Core makes any error FATAL while an internal subtransaction begins; those
 * caught here must not be.
 */
void
shuttle_outbox_before_savepoint(void)
{
	bool		exits = ExitOnAnyError;
	dlist_iter	iter;

	ExitOnAnyError = false;
	dlist_reverse_foreach(iter, &rows_lists)
	{
		ShuttleUnsentRows *rows = dlist_container(ShuttleUnsentRows, item.link, iter.cur);
		const PlannedStmt *statement = rows->item.estate->es_plannedstmt;	/* NULL: COPY */
		MemoryContext cxt = CurrentMemoryContext;
		Role		role;

		if (rows->error != NULL)
			continue;
		role = take_role(&rows->item);
		PG_TRY();
		{
			shuttle_transaction_set_level(GetCurrentTransactionNestLevel() - 1);
			if (statement != NULL && statement->hasModifyingCTE)
				send_targets(rows->item.estate);
			rows->send_ahead(rows);
		}
		PG_CATCH();
		{
			shuttle_transaction_set_level(0);
			MemoryContextSwitchTo(rows->item.cxt);
			rows->error = CopyErrorData();
			FlushErrorState();
			MemoryContextSwitchTo(cxt);
		}
		PG_END_TRY();
		give_back_role(role);
		shuttle_transaction_set_level(0);
	}
	ExitOnAnyError = exits;
}
