/*-------------------------------------------------------------------------
 * planning_memo.c
 *	  Remembers what was computed for a relation or a clause, until planning ends.
 *
 * Each query level has a hash table of its own, since levels end at different
 * times. A join of many tables has tens of thousands of entries.
 *
 * Memory: a table and its entries live in the query level's planner_cxt; the table
 * is removed from the list when that context is reset.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/shuttle_compat.h"
#include "planner/facts/planning_memo.h"

#define FIRST_BUCKETS 32		/* a power of two */
#define OF_LIST 0

typedef struct Memo
{
	struct Memo *next;			/* in its bucket */
	uint32		hash;
	const void *of;
	int			kind;			/* OF_LIST, or of what has a set as its key */
	List	   *key;
	Relids		relids;
	void	   *value;
} Memo;

typedef struct MemoTable
{
	struct MemoTable *next;
	PlannerInfo *root;
	Memo	  **buckets;
	uint32		nbuckets;		/* a power of two */
	uint32		nmemos;
} MemoTable;

static MemoTable *tables = NULL;

/* Reset callback of a planner_cxt. */
static void
forget_table(void *table)
{
	MemoTable **link = &tables;

	while (*link != table)
		link = &(*link)->next;
	*link = (*link)->next;
}

static MemoTable *
find_table(const PlannerInfo *root)
{
	MemoTable  *table = tables;

	while (table != NULL && table->root != root)
		table = table->next;
	return table;
}

/* Called in the query level's planner_cxt. */
static MemoTable *
make_table(PlannerInfo *root)
{
	MemoTable  *table = palloc0_object(MemoTable);
	MemoryContextCallback *callback = palloc0_object(MemoryContextCallback);

	table->root = root;
	table->nbuckets = FIRST_BUCKETS;
	table->buckets = palloc0_array(Memo *, FIRST_BUCKETS);
	table->next = tables;
	tables = table;
	callback->func = forget_table;
	callback->arg = table;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	return table;
}

/* Equal keys have the same hash; lists of clauses are told apart by their length. */
static uint32
hash_of(const void *of, const List *key)
{
	uint32		hash = hash_bytes((const unsigned char *) &of, sizeof(of));
	ListCell   *cell;

	hash = hash_combine(hash, murmurhash32(list_length(key)));
	if (key == NIL || IsA(key, List))
		return hash;
	foreach(cell, key)
		hash = hash_combine(hash, murmurhash32((uint32) lfirst_int(cell)));
	return hash;
}

static uint32
hash_of_set(const void *of, int kind, Relids relids)
{
	uint32		hash = hash_bytes((const unsigned char *) &of, sizeof(of));

	return hash_combine(hash_combine(hash, murmurhash32((uint32) kind)), bms_hash_value(relids));
}

static Memo **
bucket_of(const MemoTable *table, uint32 hash)
{
	return &table->buckets[hash & (table->nbuckets - 1)];
}

static void
grow(MemoTable *table)
{
	Memo	  **old = table->buckets;
	uint32		nold = table->nbuckets;

	table->nbuckets *= 2;
	table->buckets = palloc0_array(Memo *, table->nbuckets);
	for (uint32 i = 0; i < nold; i++)
	{
		while (old[i] != NULL)
		{
			Memo	   *memo = old[i];
			Memo	  **bucket = bucket_of(table, memo->hash);

			old[i] = memo->next;
			memo->next = *bucket;
			*bucket = memo;
		}
	}
	pfree(old);
}

/* The value of what has the same hash, owner, kind and key; NULL: none. */
static void *
find(const PlannerInfo *root, const Memo *wanted)
{
	const MemoTable *table = find_table(root);

	if (table == NULL)
		return NULL;
	for (Memo *memo = *bucket_of(table, wanted->hash); memo != NULL; memo = memo->next)
	{
		if (memo->hash == wanted->hash && memo->of == wanted->of && memo->kind == wanted->kind &&
			bms_equal(memo->relids, wanted->relids) && equal(memo->key, wanted->key))
			return memo->value;
	}
	return NULL;
}

/* Called in the query level's planner_cxt, where the key lives. */
static void
add(PlannerInfo *root, const Memo *wanted)
{
	MemoTable  *table = find_table(root);
	Memo	   *memo = palloc_object(Memo);
	Memo	  **bucket;

	*memo = *wanted;
	if (table == NULL)
		table = make_table(root);
	if (table->nmemos++ == table->nbuckets)
		grow(table);
	bucket = bucket_of(table, memo->hash);
	memo->next = *bucket;
	*bucket = memo;
}

static Memo
memo_of_list(const void *of, List *key)
{
	return (Memo)
	{
		.hash = hash_of(of, key),.of = of,.kind = OF_LIST,.key = key
	};
}

static Memo
memo_of_set(const void *of, int kind, Relids relids)
{
	return (Memo)
	{
		.hash = hash_of_set(of, kind, relids),.of = of,.kind = kind,.relids = relids
	};
}

void *
shuttle_planning_memo_find(PlannerInfo *root, const void *of, List *key)
{
	Memo		wanted = memo_of_list(of, key);

	return find(root, &wanted);
}

void *
shuttle_planning_memo_find_set(PlannerInfo *root, const void *of, int kind, Relids relids)
{
	Memo		wanted = memo_of_set(of, kind, relids);

	return find(root, &wanted);
}

void
shuttle_planning_memo_add(PlannerInfo *root, const void *of, List *key, void *value)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(root->planner_cxt);
	Memo		memo = memo_of_list(of, list_copy(key));

	memo.value = value;
	add(root, &memo);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_planning_memo_add_set(PlannerInfo *root, const void *of, int kind, Relids relids, void *value)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(root->planner_cxt);
	Memo		memo = memo_of_set(of, kind, bms_copy(relids));

	memo.value = value;
	add(root, &memo);
	MemoryContextSwitchTo(old_cxt);
}
