/*-------------------------------------------------------------------------
 * planning_memo.c
 *	  Remembers what was computed for a relation, until planning ends.
 *
 * Memory: an entry lives in its query level's planner_cxt, and is removed from
 * the list when that context is reset.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "planner/statement/statement.h"

typedef struct Memo
{
	struct Memo *next;
	PlannerInfo *root;
	RelOptInfo *rel;
	List	   *key;
	void	   *value;
} Memo;

static Memo *memos = NULL;

/* Reset callback of a planner_cxt. */
static void
forget_memos(void *root)
{
	Memo	  **link = &memos;

	while (*link != NULL)
	{
		if ((*link)->root == root)
			*link = (*link)->next;
		else
			link = &(*link)->next;
	}
}

void *
shuttle_memo_find(PlannerInfo *root, RelOptInfo *rel, List *key)
{
	for (Memo *memo = memos; memo != NULL; memo = memo->next)
	{
		if (memo->root == root && memo->rel == rel &&
			equal(memo->key, key))
			return memo->value;
	}
	return NULL;
}

List *
shuttle_memo_members(Relids relids)
{
	List	   *members = NIL;
	int			relid = -1;

	while ((relid = bms_next_member(relids, relid)) >= 0)
		members = lappend_int(members, relid);
	return members;
}

void
shuttle_memo_add(PlannerInfo *root, RelOptInfo *rel, List *key, void *value)
{
	MemoryContext cxt = root->planner_cxt;
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Memo	   *memo = palloc(sizeof(Memo));
	bool		first = true;

	for (Memo *m = memos; m != NULL && first; m = m->next)
		first = m->root != root;
	if (first)
	{
		MemoryContextCallback *callback =
			MemoryContextAllocZero(cxt, sizeof(MemoryContextCallback));

		callback->func = forget_memos;
		callback->arg = root;
		MemoryContextRegisterResetCallback(cxt, callback);
	}
	memo->root = root;
	memo->rel = rel;
	memo->key = list_copy(key);
	memo->value = value;
	memo->next = memos;
	memos = memo;
	MemoryContextSwitchTo(old);
}
