/*-------------------------------------------------------------------------
 * window_checks.c
 *	  Decides whether snapshots of several nodes show the same transactions.
 *
 * Snapshots S of several nodes fit together if each transaction T that committed on
 * several of them is visible in all of them or in none. Why no T is missed: let it be
 * visible in S1 and not in S2. It became visible on the first node before S1 was
 * taken, and so its window had been opened before. It became visible on the second
 * one after S2 was taken, and so its window ended, if at all, after that. So when all
 * snapshots are here, its window is open, or has ended after the reader read the
 * clock in front of its snapshots.
 *
 * Snapshot and identifiers decide exactly: an identifier is visible if it is below
 * xmin, or below xmax and not among those running. This would say true for an aborted
 * one, so windows of these are removed before nodes roll back.
 *
 * The local snapshot was taken by the server before we could read the clock, so
 * parts written here are looked for among all windows that are remembered.
 *
 * REPEATABLE READ transactions are ordered, too, and so are all strict reads: what one of
 * them has seen, or what returned before something that it has seen began, all later
 * ones see. Else two of them could see two transactions in different orders. Such reads
 * need windows of all commits (windows_alone.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "storage/transaction/windows.h"

/* How a transaction's parts are seen. */
typedef struct Sight
{
	bool		seen;			/* somewhere */
	bool		unseen;
} Sight;

typedef void (*Look) (WindowCheck *check, Window *window, void *arg);

static void for_each(WindowCheck *check, Look look, void *arg);

/* ---- snapshots */

NodeSnapshot *
shuttle_window_snapshot(const char *text)
{
	NodeSnapshot *snapshot;
	char	   *end;
	int			room = 0;

	for (const char *c = text; *c != '\0'; c++)
		room += *c == ',' || *c == ':';
	snapshot = palloc(offsetof(NodeSnapshot, running) + (room + 1) * sizeof(uint64));
	snapshot->nrunning = 0;
	snapshot->xmin = strtoull(text, &end, 10);
	if (*end != ':')
		return NULL;
	snapshot->xmax = strtoull(end + 1, &end, 10);
	if (*end != ':')
		return NULL;
	while (end[1] != '\0')
	{
		if (*end != ':' && *end != ',')
			return NULL;
		snapshot->running[snapshot->nrunning++] = strtoull(end + 1, &end, 10);
		if (*end == '\0')
			break;
	}
	return snapshot;
}

static bool
is_visible(uint64 xid, const NodeSnapshot *snapshot)
{
	if (xid < snapshot->xmin)
		return true;
	if (xid >= snapshot->xmax)
		return false;
	for (int i = 0; i < snapshot->nrunning; i++)
	{
		if (snapshot->running[i] == xid)
			return false;
	}
	return true;
}

/* Windows are remembered for longer than 32 bits can be compared: what is out of their reach
 * is older than all snapshots. */
static bool
is_ancient(const WindowCheck *check, uint64 fxid)
{
	return fxid + PG_INT32_MAX < check->next_here;
}

static bool
is_visible_here(const WindowCheck *check, uint64 fxid)
{
	return check->here != NULL &&
		(is_ancient(check, fxid) || !XidInMVCCSnapshot((TransactionId) fxid, check->here));
}

/* ---- one window */

static bool
is_on(const Window *window, const WindowPart *part, const WindowView *view)
{
	return (part->serverid == view->serverid && window->database == MyDatabaseId) ||
		(part->system != 0 && part->system == view->system);
}

/* Without an identifier only a window that had ended is visible for sure; such a
 * part counts as seen and as unseen. */
static void
look_at_part(const Window *window, const WindowPart *part, const WindowView *view, Sight *sight)
{
	bool		ended = window->end != 0 && window->end <= view->first;

	if (part->xid != 0)
		ended = is_visible(part->xid, view->snapshot);
	else if (!ended)
		sight->seen = true;
	if (ended)
		sight->seen = true;
	else
		sight->unseen = true;
}

/* Returns the number of views with a part of the window. */
static int
look_at(const WindowCheck *check, const Window *window, Sight *sight)
{
	int			nfound = 0;

	if (window->nparts > SHUTTLE_MOST_PARTS)
	{
		sight->seen = sight->unseen = true;
		return 2;
	}
	for (int i = 0; i < check->nviews; i++)
	{
		for (int j = 0; j < window->nparts; j++)
		{
			if (!is_on(window, &window->parts[j], &check->views[i]))
				continue;
			look_at_part(window, &window->parts[j], &check->views[i], sight);
			nfound++;
		}
	}
	if (check->reads_here && window->wrote_here)
	{
		nfound++;
		if (is_visible_here(check, window->fxid))
			sight->seen = true;
		else
			sight->unseen = true;
	}
	return nfound;
}

static bool
lacks_only_xid(const Window *window)
{
	return shuttle_window_is_alone(window) && window->nparts == 1 && window->parts[0].xid == 0;
}

static void
add_awaited(WindowWait *wait, const Window *window)
{
	if (wait->nawaited == SHUTTLE_MOST_AWAITED)
		return;
	wait->for_xid[wait->nawaited] = lacks_only_xid(window);
	wait->starts[wait->nawaited++] = window->start;
}

/* Notes who does not see a window that somebody sees. */
static void
note_lag(WindowCheck *check, const Window *window)
{
	for (int i = 0; i < check->nviews; i++)
	{
		Sight		sight = {false, window->nparts > SHUTTLE_MOST_PARTS};

		for (int j = 0; j < Min(window->nparts, SHUTTLE_MOST_PARTS); j++)
		{
			if (is_on(window, &window->parts[j], &check->views[i]))
				look_at_part(window, &window->parts[j], &check->views[i], &sight);
		}
		check->views[i].lags |= sight.unseen;
	}
	if (check->reads_here && window->wrote_here && !is_visible_here(check, window->fxid))
		check->here_lags = true;
	if (window->end == 0)
		add_awaited(&check->wait, window);
}

/* ---- all windows that a reader may have met */

/* The clock before the oldest snapshot. */
static uint64
first_of(const WindowCheck *check)
{
	uint64		first = check->is_ordered && check->reads_here ? check->first_here : PG_UINT64_MAX;

	for (int i = 0; i < check->nviews; i++)
		first = Min(first, check->views[i].first);
	return first;
}

/* Windows that ended before the clock was read are visible on all nodes. */
static void
for_each_ended_here(WindowCheck *check, uint64 first, Look look, void *arg)
{
	int			nkept = Min(shuttle_windows->nended_here, SHUTTLE_MOST_ENDED_HERE);

	for (int i = 0; i < nkept; i++)
	{
		const EndedHere *here = &shuttle_windows->ended_here[i];
		Window	   *window = &shuttle_windows->ended[(here->number - 1) % SHUTTLE_MOST_ENDED];

		/* has_lost() knows the others; later ones were looked at */
		if (here->number + SHUTTLE_MOST_ENDED > shuttle_windows->nended && window->end <= first)
			look(check, window, arg);
	}
}

static void
for_each(WindowCheck *check, Look look, void *arg)
{
	uint64		first = first_of(check);
	uint64		n = shuttle_windows->nended;

	for (int i = 0; i < shuttle_windows->nactive; i++)
		look(check, &shuttle_windows->slots[shuttle_windows->active[i]], arg);
	for (int i = 0; i < SHUTTLE_MOST_ENDED && n > 0; i++, n--)
	{
		Window	   *window = &shuttle_windows->ended[(n - 1) % SHUTTLE_MOST_ENDED];

		if (window->end <= first)
			break;
		look(check, window, arg);
	}
	if (check->reads_here)
		for_each_ended_here(check, first, look, arg);
}

/* True if a window that matters may have been overwritten. */
static bool
has_lost(const WindowCheck *check)
{
	uint64		lost_fxid = shuttle_windows->lost_fxid;
	int			nkept = Min(shuttle_windows->nended_here, SHUTTLE_MOST_ENDED_HERE);

	if (shuttle_windows->lost_end > first_of(check))
		return true;
	if (!check->reads_here)
		return false;
	if (lost_fxid != 0 &&
		(check->here == NULL ||
		 (!is_ancient(check, lost_fxid) &&
		  !TransactionIdPrecedes((TransactionId) lost_fxid, check->here->xmin))))
		return true;
	for (int i = 0; i < nkept; i++)
	{
		const EndedHere *here = &shuttle_windows->ended_here[i];

		if (here->number + SHUTTLE_MOST_ENDED <= shuttle_windows->nended &&
			!is_visible_here(check, here->fxid))
			return true;
	}
	return false;
}

/* True if all commits that the snapshots may not show have windows. */
static bool
all_have_windows(const WindowCheck *check)
{
	uint64		since = pg_atomic_read_u64(&shuttle_windows->alone_since);

	if (since == 0 || (check->reads_here && check->alone_here != since))
		return false;
	for (int i = 0; i < check->nviews; i++)
	{
		if (check->views[i].first < since)
			return false;
	}
	return true;
}

static void
look_for_torn(WindowCheck *check, Window *window, void *arg)
{
	bool	   *fits = arg;
	Sight		sight = {false, false};

	if (look_at(check, window, &sight) < 2 || !sight.seen || !sight.unseen)
		return;
	*fits = false;
	note_lag(check, window);
}

/* ---- the order of reads */

static void
raise_limit(WindowCheck *check, Window *window, void *arg)
{
	uint64	   *limit = arg;
	Sight		sight = {false, false};

	if (look_at(check, window, &sight) > 0 && sight.seen)
		*limit = Max(*limit, window->start);
}

typedef struct Order
{
	uint64		limit;
	bool		fits;
} Order;

static void
look_for_unseen(WindowCheck *check, Window *window, void *arg)
{
	Order	   *order = arg;
	Sight		sight = {false, false};

	if (look_at(check, window, &sight) == 0 || !sight.unseen)
		return;
	if (!sight.seen && !window->seen &&
		!(window->returned != 0 && window->returned < order->limit))
		return;
	order->fits = false;
	note_lag(check, window);
}

static void
mark_seen(WindowCheck *check, Window *window, void *arg)
{
	Sight		sight = {false, false};

	if (look_at(check, window, &sight) > 0 && sight.seen)
		window->seen = true;
}

/* Ends windows whose outcome was unknown: what is visible has ended on its node. */
static void
end_unknown(WindowCheck *check)
{
	for (int i = shuttle_windows->nactive - 1; i >= 0; i--)
	{
		Window	   *window = &shuttle_windows->slots[shuttle_windows->active[i]];
		Sight		sight = {false, false};

		if (window->returned == SHUTTLE_NOT_TOLD && look_at(check, window, &sight) > 0 && !sight.unseen)
			shuttle_windows_end(window);
	}
}

/* The exclusive lock is held. */
static bool
accept(WindowCheck *check)
{
	Order		order = {.limit = Max(shuttle_windows->horizon, first_of(check) + 1),.fits = true};

	for_each(check, raise_limit, &order.limit);
	for_each(check, look_for_unseen, &order);
	if (!order.fits)
		return false;
	for_each(check, mark_seen, NULL);
	end_unknown(check);
	shuttle_windows->horizon = order.limit;
	shuttle_windows->alone_used_at = GetCurrentTimestamp();
	return true;
}

bool
shuttle_window_check(WindowCheck *check)
{
	bool		fits = true;

	check->here_lags = false;
	check->wait.nawaited = 0;
	for (int i = 0; i < check->nviews; i++)
		check->views[i].lags = false;
	LWLockAcquire(shuttle_windows->lock, check->is_ordered ? LW_EXCLUSIVE : LW_SHARED);
	if (has_lost(check) || (check->is_ordered && !all_have_windows(check)))
	{
		fits = false;
		check->here_lags = check->reads_here;
		for (int i = 0; i < check->nviews; i++)
			check->views[i].lags = true;
	}
	else if (check->is_ordered)
		fits = accept(check);
	else
		for_each(check, look_for_torn, &fits);
	LWLockRelease(shuttle_windows->lock);
	return fits;
}

/* ---- waiting for windows */

/* One with a single part may wait for a lock of a transaction that the fence keeps from
 * committing. Nobody waits for it: while the fence is up, each can only end once. */
void
shuttle_window_list_open(WindowCheck *check)
{
	check->wait.nawaited = 0;
	LWLockAcquire(shuttle_windows->lock, LW_SHARED);
	for (int i = 0; i < shuttle_windows->nactive; i++)
	{
		const Window *window = &shuttle_windows->slots[shuttle_windows->active[i]];
		Sight		sight;

		if (look_at(check, window, &sight) >= 2)
			add_awaited(&check->wait, window);
	}
	LWLockRelease(shuttle_windows->lock);
}

static bool
is_awaited(const WindowCheck *check, const Window *window)
{
	for (int i = 0; i < check->wait.nawaited; i++)
	{
		if (check->wait.starts[i] == window->start)
			return !check->wait.for_xid[i] || lacks_only_xid(window);
	}
	return false;
}

/* True if all parts among the views are acknowledged. */
static bool
is_acknowledged(const WindowCheck *check, const Window *window, Oid *server)
{
	uint32		acknowledged = pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &window->acknowledged));

	if (window->nparts > SHUTTLE_MOST_PARTS)
		return false;
	for (int j = 0; j < window->nparts; j++)
	{
		if ((acknowledged & UINT32_C(1) << j) != 0)
			continue;
		for (int i = 0; i < check->nviews; i++)
		{
			if (!is_on(window, &window->parts[j], &check->views[i]))
				continue;
			*server = check->views[i].serverid;
			return false;
		}
	}
	return !check->reads_here || !window->wrote_here ||
		(acknowledged & SHUTTLE_PART_HERE) != 0;
}

bool
shuttle_window_is_over(const WindowCheck *check, Oid *server)
{
	bool		is_over = true;

	*server = InvalidOid;
	LWLockAcquire(shuttle_windows->lock, LW_SHARED);
	for (int i = 0; is_over && i < shuttle_windows->nactive; i++)
	{
		const Window *window = &shuttle_windows->slots[shuttle_windows->active[i]];

		is_over = !is_awaited(check, window) || is_acknowledged(check, window, server);
	}
	LWLockRelease(shuttle_windows->lock);
	return is_over;
}
