/*-------------------------------------------------------------------------
 * outbox.h
 *	  What the session has begun and not sent, and when it is sent (outbox.c).
 *
 * In: items that other files embed in their state and list here. Out: calls of
 * the items' callbacks before a read, a write or a savepoint.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_OUTBOX_H
#define SHUTTLE_EXECUTOR_OUTBOX_H

#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "utils/resowner.h"

#include "storage/shuttle_storage.h"

typedef enum ShuttleOutboxList
{
	SHUTTLE_UNSENT_SCANS,
	SHUTTLE_UNSENT_ROWS,
	SHUTTLE_UNANSWERED_WRITES
} ShuttleOutboxList;

/* The caller sets node, estate and nbytes where they apply. */
typedef struct ShuttleOutboxItem
{
	dlist_node	link;			/* in its list, newest first */
	bool		listed;
	MemoryContext cxt;			/* the item's memory */
	MemoryContextCallback at_reset; /* of cxt */
	ResourceOwner owner;		/* current when the item was listed */
	ShuttleNode *node;			/* of a scan or an INSERT */
	EState	   *estate;			/* of a scan or rows */
	int64		nbytes;			/* of an INSERT */
	uint64		number;			/* of a scan in the session; rows: of the last
								 * scan listed before them */
	int			nest_level;		/* transaction nest level it belongs to */
	Oid			userid;			/* the role that runs its statement */
	int			security;		/* and the security context */
} ShuttleOutboxItem;

/* A scan without executor parameters (remote_scan.c). */
typedef struct ShuttleUnsentScan
{
	ShuttleOutboxItem item;		/* must be first */
	ForeignScanState *scan;

	/*
	 * Sends the scan if it can be sent before a write. only_target: only if
	 * it locks rows that its statement is to change. Returns true if it was
	 * sent.
	 */
	bool		(*send) (struct ShuttleUnsentScan *unsent, bool only_target);
} ShuttleUnsentScan;

/* Buffered rows of a ModifyTable or COPY (modify_table.c). */
typedef struct ShuttleUnsentRows
{
	ShuttleOutboxItem item;		/* must be first */
	ErrorData  *error;			/* of send_ahead(), to be raised when possible */

	/* True if there are rows for the node; NULL: for any node. */
	bool		(*has_rows) (const struct ShuttleUnsentRows *rows,
							 const ShuttleNode *node);

	/* Sends all rows for another statement, and waits until they are written. */
	void		(*flush) (struct ShuttleUnsentRows *rows);

	/* Sends all rows before a savepoint. */
	void		(*send_ahead) (struct ShuttleUnsentRows *rows);
} ShuttleUnsentRows;

/* Lists an item. It leaves the list when it is removed, when cxt is reset, when
 * its nest level is rolled back, and, a scan, with its resource owner. */
extern void shuttle_outbox_add(ShuttleOutboxList list, ShuttleOutboxItem *item,
							   MemoryContext cxt);
extern void shuttle_outbox_remove(ShuttleOutboxItem *item);

/* Lists an INSERT that was removed again, as the oldest. */
extern void shuttle_outbox_put_back(ShuttleOutboxItem *item);

/* The oldest listed INSERT of a nest level or deeper, or NULL. */
extern ShuttleOutboxItem *shuttle_outbox_oldest(int level);

/* The size of all listed INSERTs. */
extern int64 shuttle_outbox_bytes(void);

/* The rows listed before these, newest first; NULL: the newest. */
extern ShuttleUnsentRows *shuttle_outbox_next_rows(ShuttleUnsentRows *rows);

/*
 * Called before a read of a node, and before a write that is sent at once.
 * Writes the rows that statements other than estate's have buffered for the
 * node. The write also sends the node's unsent scans. estate: NULL if no plan
 * is running.
 */
extern void shuttle_outbox_before_read(ShuttleNode *node, const EState *estate);
extern void shuttle_outbox_before_write(ShuttleNode *node, const EState *estate);

/*
 * Called before some of the rows are sent to a node: writes what outer
 * statements have buffered for it, and does the next function's work. moved:
 * the rows come from other partitions.
 */
extern void shuttle_outbox_before_rows(const ShuttleUnsentRows *rows,
									   ShuttleNode *node, bool moved);

/* Sends the scans that must not see the rows. */
extern void shuttle_outbox_send_scans(const ShuttleUnsentRows *rows,
									  ShuttleNode *node, bool moved);

/* Called when a savepoint begins: sends all buffered rows of outer nest
 * levels. */
extern void shuttle_outbox_before_savepoint(void);

/* Called when a nest level ends: drops its items if it is rolled back, else
 * they belong to the outer level. */
extern void shuttle_outbox_end_level(int level, bool is_rollback);

/* Resource release callback. */
extern void shuttle_outbox_release(ResourceReleasePhase phase, bool isCommit,
								   bool isTopLevel, void *arg);

#endif							/* SHUTTLE_EXECUTOR_OUTBOX_H */
