/*-------------------------------------------------------------------------
 * cut.c
 *	  Which transactions of nodes are read together.
 *
 * Under shuttle.read_consistency = atomic, or strict, the transactions of nodes that a statement
 * reads form a cut: no row of any of them is handed out before it is known that all
 * show the same transactions (window_checks.c). A cut is known by the number of the
 * local snapshot, so a STABLE function reads in the cut of its caller. Under
 * REPEATABLE READ there is one cut, of all nodes.
 *
 * What a plan can read begins at the same time. A node that was not foreseen joins
 * when it is asked: if it does not fit to what was read before, it is read anew, and
 * if that cannot help, the statement fails (40001). A node that the transaction has
 * written to under READ COMMITTED belongs to none.
 *
 * Memory: cuts are static; what they point to is in TopTransactionContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_node_control.h"
#include "storage/transaction/cut.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"

/* Statements of a transaction whose cuts are known: those that run, and cursors. */
#define MOST_CUTS 64

static Cut	cuts[MOST_CUTS];
static int	ncuts = 0;
static int	nhighest = 0;		/* those behind ncuts have only memory */
static uint64 nuses = 0;

/* Snapshots up to this one may have had a cut that was forgotten. */
static uint64 forgotten_up_to = 0;

static bool admit(ShuttleNode *node, uint64 generation, uint64 snapshot, bool wait);

/* ---- cuts */

static uint64
number_of(uint64 snapshot)
{
	return IsolationUsesXactSnapshot() ? SHUTTLE_WHOLE_TRANSACTION : snapshot;
}

/* NULL: there is none. */
static Cut *
find_cut(uint64 snapshot)
{
	uint64		number = number_of(snapshot);

	for (int i = ncuts - 1; i >= 0; i--)
	{
		if (cuts[i].number != number)
			continue;
		cuts[i].used_at = ++nuses;
		return &cuts[i];
	}
	return NULL;
}

static void
remove_cut(int number)
{
	Cut			removed = cuts[number];

	cuts[number] = cuts[--ncuts];
	cuts[ncuts] = removed;		/* its memory is used again */
}

void
shuttle_cut_enter(QueryDesc *query)
{
	Cut		   *cut;

	shuttle_cut_note_start(query);
	if (!shuttle_cut_is_wanted() || IsolationUsesXactSnapshot() || IsParallelWorker() ||
		query->snapshot == InvalidSnapshot)
		return;
	cut = shuttle_cut_get(shuttle_snapshot_number(query->snapshot));
	if (cut->owner == NULL)
		cut->owner = query;
}

void
shuttle_cut_leave(QueryDesc *query)
{
	shuttle_cut_note_end();
	for (int i = ncuts - 1; i >= 0; i--)
	{
		if (cuts[i].owner == query &&
			cuts[i].number == query->snapshot->snapXactCompletionCount)
			remove_cut(i);
	}
}

static void
forget_level(int level)
{
	for (int i = ncuts - 1; i >= 0; i--)
	{
		if (cuts[i].level < level || cuts[i].owner == NULL)
			continue;
		forgotten_up_to = Max(forgotten_up_to, cuts[i].number);
		remove_cut(i);
	}
}

/* A cursor of a released savepoint goes on. */
static void
release_level(int level)
{
	for (int i = 0; i < ncuts; i++)
		cuts[i].level = Min(cuts[i].level, level - 1);
}

/* The cut used longest ago makes room: statements that failed leave theirs. */
static Cut *
make_room(void)
{
	Cut		   *oldest = &cuts[0];

	if (ncuts < MOST_CUTS)
	{
		nhighest = Max(nhighest, ncuts + 1);
		return &cuts[ncuts++];
	}
	for (int i = 1; i < ncuts; i++)
	{
		if (cuts[i].used_at < oldest->used_at)
			oldest = &cuts[i];
	}
	forgotten_up_to = Max(forgotten_up_to, oldest->number);
	return oldest;
}

Cut *
shuttle_cut_get(uint64 snapshot)
{
	Cut		   *cut = find_cut(snapshot);
	CutMember  *members;
	int			room;

	if (cut != NULL)
		return cut;
	cut = make_room();
	members = cut->members;
	room = cut->room;
	memset(cut, 0, sizeof(Cut));
	cut->members = members;
	cut->room = room;
	cut->number = number_of(snapshot);
	cut->used_at = ++nuses;
	cut->level = GetCurrentTransactionNestLevel();
	cut->first = shuttle_windows_clock();
	cut->alone_here = shuttle_windows_alone_before();
	cut->forgot = cut->number <= forgotten_up_to;
	return cut;
}

static void
forget_all(void)
{
	memset(cuts, 0, nhighest * sizeof(Cut));
	ncuts = nhighest = 0;
	forgotten_up_to = 0;
	shuttle_cut_forget_here();
}

/* ---- members */

bool
shuttle_cut_is_current(const CutMember *member)
{
	return member->generation == member->node->transaction.generation &&
		shuttle_transaction_is_open(member->node);
}

static CutMember *
find_member(const Cut *cut, const ShuttleNode *node, uint64 generation)
{
	for (int i = 0; i < cut->nmembers; i++)
	{
		if (cut->members[i].node == node && cut->members[i].generation == generation)
			return &cut->members[i];
	}
	return NULL;
}

static void
add_member(Cut *cut, ShuttleNode *node)
{
	CutMember  *member;

	if (cut->nmembers == cut->room)
	{
		int			room = Max(8, 2 * cut->room);

		cut->members = cut->members == NULL ?
			MemoryContextAlloc(TopTransactionContext, room * sizeof(CutMember)) :
			repalloc(cut->members, room * sizeof(CutMember));
		cut->room = room;
	}
	member = &cut->members[cut->nmembers++];
	memset(member, 0, sizeof(CutMember));
	member->node = node;
	member->generation = node->transaction.generation;
	member->first = node->transaction.first;
	member->used = !node->transaction.in_state;
	cut->settled = false;
}

/* Statements of our own have no snapshot. */
static bool
is_member(const ShuttleNode *node, uint64 snapshot)
{
	return shuttle_cut_is_wanted() && snapshot != 0 && !IsParallelWorker() &&
		node->transaction.kind != TRANSACTION_CURRENT;
}

static bool
may_be_alone(uint64 snapshot)
{
	const Cut  *cut = shuttle_cut_is_wanted() ? find_cut(snapshot) : NULL;

	return cut == NULL || (!shuttle_cut_is_strict() && !cut->asks && !cut->reads_here && !cut->forgot && cut->nmembers == 0);
}

static void
join(ShuttleNode *node, uint64 snapshot)
{
	Cut		   *cut;

	if (!is_member(node, snapshot))
		return;
	cut = shuttle_cut_get(snapshot);
	if (find_member(cut, node, node->transaction.generation) == NULL)
		add_member(cut, node);
}

bool
shuttle_cut_is_used(const ShuttleNode *node)
{
	for (int i = 0; i < ncuts; i++)
	{
		const CutMember *member = find_member(&cuts[i], node, node->transaction.generation);

		if (member != NULL && member->used)
			return true;
	}
	return false;
}

static bool
are_checked_in(const Cut *cut, const Cut *other)
{
	for (int i = 0; i < cut->nmembers; i++)
	{
		const CutMember *member = find_member(other, cut->members[i].node, cut->members[i].generation);

		if (member == NULL || !member->checked)
			return false;
	}
	return true;
}

bool
shuttle_cut_is_inside_another(const Cut *cut)
{
	if (cut->nmembers == 0 || cut->reads_here || cut->forgot)
		return false;
	for (int i = 0; i < ncuts; i++)
	{
		if (&cuts[i] != cut && cuts[i].settled && are_checked_in(cut, &cuts[i]))
			return true;
	}
	return false;
}

/* The new transaction may have joined already. */
void
shuttle_cut_renew(ShuttleNode *node, uint64 generation_before)
{
	for (int i = 0; i < ncuts; i++)
	{
		CutMember  *member = find_member(&cuts[i], node, generation_before);

		if (member == NULL)
			continue;
		*member = cuts[i].members[--cuts[i].nmembers];
		if (find_member(&cuts[i], node, node->transaction.generation) == NULL)
			add_member(&cuts[i], node);
		cuts[i].settled = false;
	}
}

static bool
has_requests(const ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &((ShuttleNode *) node)->requests.all)
	{
		const ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->generation == node->transaction.generation && !request->admitted)
			return true;
	}
	return false;
}

static void
before_end(ShuttleNode *node)
{
	if (ncuts == 0 || !has_requests(node))
		return;
	for (int i = 0; i < ncuts; i++)
	{
		if (!cuts[i].settled && find_member(&cuts[i], node, node->transaction.generation) != NULL)
			(void) shuttle_cut_settle(&cuts[i], NULL);
	}
}

/* ---- beginning */

void
shuttle_cut_ask(ShuttleNode *node)
{
	shuttle_command_add(node, COMMAND_SNAPSHOT,
						"SELECT pg_catalog.txid_current_snapshot(), pg_catalog.pg_is_in_recovery()");
	node->transaction.snapshot_asked = true;
}

static void
begin(ShuttleNode *node, uint64 snapshot)
{
	const Cut  *cut;

	node->transaction.first = shuttle_windows_clock();
	node->transaction.in_state = shuttle_cut_is_wanted();
	if (!is_member(node, snapshot))
		return;
	cut = find_cut(snapshot);
	if (shuttle_cut_is_strict() || (cut != NULL && (cut->asks || cut->reads_here || cut->nmembers > 0)))
		shuttle_cut_ask(node);
}

/* True if the node can be asked without an error that the statement may not need. */
static bool
is_at_hand(ShuttleNode *node)
{
	if (!shuttle_transaction_is_open(node) && node->connection.state == NODE_READY)
		shuttle_connection_check(node);
	return (node->connection.state == NODE_READY || node->connection.state == NODE_CONNECTING) &&
		node->errors.first == NULL && shuttle_pause_ends_at(node->key.serverid) == 0;
}

static void
begin_on(List *nodes, uint64 snapshot)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		ShuttleNode *node = lfirst(cell);

		if (is_at_hand(node) && node->transaction.kind != TRANSACTION_CURRENT)
			shuttle_transaction_prepare(node, SHUTTLE_READS, snapshot, 0,
										node->transaction.fast_start, shuttle_request_complete);
	}
}

/* Nodes that the session has used. */
static List *
add_known(List *nodes)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->connection.state == NODE_READY && node->userid == GetUserId())
			nodes = list_append_unique_ptr(nodes, node);
	}
	return nodes;
}

/* Of other statements under the same snapshot nothing is known, but they probably read
 * what the session has read before. */
List *
shuttle_cut_open(QueryDesc *query, List *nodes, bool reads_here)
{
	uint64		snapshot = shuttle_snapshot_number(query->estate->es_snapshot);
	Cut		   *cut;

	/* the whole transaction's is opened by its first request */
	if (IsolationUsesXactSnapshot())
		return NIL;
	cut = shuttle_cut_get(snapshot);
	if (cut->owner != query && nodes != NIL && cut->nmembers == 0)
		nodes = add_known(nodes);
	if (list_length(nodes) + reads_here < 2)
		return NIL;
	cut->asks = true;
	begin_on(nodes, snapshot);
	return nodes;
}

void
shuttle_cut_send(List *nodes)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		ShuttleNode *node = lfirst(cell);

		if (node->queue.unsynced && !node->queue.goes_on)
			shuttle_pipeline_end_packet(node);
	}
}

/* ---- REPEATABLE READ */

/* All nodes that the role can use, so that none has to join later. */
static List *
all_nodes(void)
{
	List	   *nodes = NIL;
	List	   *servers = shuttle_cluster_methods != NULL ? shuttle_cluster_methods->servers() : NIL;
	ListCell   *cell;

	foreach(cell, servers)
	{
		if (shuttle_node_has_mapping(lfirst_oid(cell), GetUserId()))
			nodes = lappend(nodes, shuttle_connection_get(lfirst_oid(cell), GetUserId()));
	}
	return nodes;
}

/* node: asks for more at once; NULL: none does. */
static void
begin_everywhere(Cut *cut, ShuttleNode *node, uint64 snapshot)
{
	List	   *nodes = all_nodes();

	if (node != NULL)
		nodes = list_append_unique_ptr(nodes, node);
	cut->asks = true;
	if (shuttle_cut_can_move(NULL))
		shuttle_cut_note_here(cut);
	if (list_length(nodes) > 1 || node == NULL)
	{
		begin_on(nodes, snapshot);
		shuttle_cut_send(list_delete_ptr(list_copy(nodes), node));
	}
	list_free(nodes);
}

/* Without a node that the session has used, nothing is known of nodes to come. */
void
shuttle_cut_begin_with_here(Cut *cut, uint64 snapshot)
{
	if (!cut->asks && add_known(NIL) != NIL)
		begin_everywhere(cut, NULL, snapshot);
}

static void
before_request(ShuttleNode *node, ShuttleEffect effect, uint64 snapshot)
{
	Cut		   *cut;

	if (!shuttle_cut_is_wanted() || !IsolationUsesXactSnapshot() || snapshot == 0 || IsParallelWorker())
		return;
	shuttle_cut_check_own();
	cut = shuttle_cut_get(snapshot);
	if (!cut->asks)
		begin_everywhere(cut, node, snapshot);
	if (effect == SHUTTLE_READS)
		return;

	/* What has written cannot begin again. */
	shuttle_transaction_prepare(node, SHUTTLE_READS, snapshot, 0, node->transaction.fast_start,
								shuttle_request_complete);
	(void) admit(node, node->transaction.generation, snapshot, true);
}

/* ---- using answers */

static bool
admit(ShuttleNode *node, uint64 generation, uint64 snapshot, bool wait)
{
	Cut		   *cut = find_cut(snapshot);
	CutMember  *member = cut != NULL ? find_member(cut, node, generation) : NULL;

	/* The statement is a cursor, and many have followed it. */
	if (member == NULL)
		shuttle_cut_fail();
	if (!cut->settled)
	{
		if (!wait && shuttle_windows != NULL && !shuttle_cut_is_here(cut))
		{
			node->socket.readable = true;
			shuttle_node_progress(node);
			return false;
		}
		(void) shuttle_cut_settle(cut, NULL);
		member = find_member(cut, node, node->transaction.generation);
	}
	if (member != NULL)
		member->used = true;
	return true;
}

static const ShuttleCutCalls calls = {
	.begin = begin,
	.may_be_alone = may_be_alone,
	.join = join,
	.before_end = before_end,
	.before_request = before_request,
	.is_member = is_member,
	.admit = admit,
	.forget_all = forget_all,
	.forget_level = forget_level,
	.release_level = release_level,
};

void
shuttle_cut_init(void)
{
	shuttle_cut_calls = &calls;
}
