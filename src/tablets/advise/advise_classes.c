/*-------------------------------------------------------------------------
 * advise_classes.c
 *	  Which tables could be spread by one key, for shuttle.advise().
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "tablets/advise/advise.h"
#include "tablets/common/refusal.h"
#include "tablets/distribute/distribute.h"
#include "tablets/indexes/global.h"
#include "tablets/reference/reference.h"

/* A copy on each node costs little up to this size, in bytes; */
#define SMALL_BYTES (64 * 1024 * 1024)

/* and up to this part of the class that needs it. */
#define REFERENCE_PART 4

/* Its writes would cost more, so it is nobody's advice. */
static ShuttleRefusal *
refuse_global_indexes(Oid relid, AttrNumber key)
{
	return shuttle_refusal(ERRCODE_INVALID_TABLE_DEFINITION,
						   psprintf("by column \"%s\" table \"%s\" would need global indexes, as unique keys lack the column",
									get_attname(relid, key, false), get_rel_name(relid)),
						   NULL, "Add the column to the keys; or distribute the table nevertheless, if what its writes cost then is worth it.");
}

ShuttleRefusal *
shuttle_advise_refusal_of_column(Oid relid, AttrNumber key)
{
	Relation	rel = try_table_open(relid, AccessShareLock);
	ShuttleRefusal *refusal;

	if (rel == NULL)
		return shuttle_refusal(ERRCODE_UNDEFINED_TABLE, "the table was dropped", NULL, NULL);
	refusal = shuttle_distribute_refuse(rel, key == 0 ? NULL : get_attname(relid, key, false));
	table_close(rel, AccessShareLock);
	return refusal;
}

ShuttleRefusal *
shuttle_advise_refusal(const ShuttleAdvice *advice, int table, AttrNumber key, const List *group)
{
	Oid			relid = advice->tables[table].relid;
	ShuttleRefusal *refusal = shuttle_advise_refusal_of_column(relid, key);
	Relation	rel = refusal == NULL && key != 0 ? try_table_open(relid, AccessShareLock) : NULL;

	if (rel == NULL)
		return refusal;
	if (shuttle_global_indexes_needed(rel, key))
		refusal = refuse_global_indexes(relid, key);
	table_close(rel, AccessShareLock);
	return refusal;
}

bool
shuttle_advise_can_copy(const ShuttleAdvice *advice, int table)
{
	ShuttleCandidate *known = &advice->tables[table];
	Relation	rel;

	if (known->copies_known)
		return known->can_be_copied;
	known->copies_known = true;
	rel = try_table_open(known->relid, AccessShareLock);
	if (rel == NULL)
		return false;
	known->can_be_copied = shuttle_reference_refuse(rel) == NULL;
	table_close(rel, AccessShareLock);
	return known->can_be_copied;
}

/* True if the column could spread the table, if its foreign keys allow. */
static bool
fits(ShuttleAdvice *advice, int number, AttrNumber column)
{
	ShuttleCandidate *table = &advice->tables[number];

	if (table->kind != ADVISED_NOTHING || bms_is_member(column, table->unfit))
		return false;
	if (bms_is_member(column, table->fits))
		return true;
	if (shuttle_advise_refusal(advice, number, column, advice->relids) != NULL)
	{
		table->unfit = bms_add_member(table->unfit, column);
		return false;
	}
	table->fits = bms_add_member(table->fits, column);
	return true;
}

bool
shuttle_advise_is_small(const ShuttleCandidate *table)
{
	return table->bytes <= SMALL_BYTES;
}

/* True if a foreign key relates the keys of its tables. Its links are neighbours. */
static bool
relates_keys(const ShuttleAdvice *advice, const ShuttleKeyClass *class, const ShuttleLink *link)
{
	const ShuttleLink *end = advice->links + advice->nlinks;
	const ShuttleLink *first = link;

	while (first > advice->links && (first - 1)->constraint == link->constraint)
		first--;
	for (const ShuttleLink *other = first; other < end && other->constraint == link->constraint; other++)
	{
		if (class->keys[other->child] == other->child_column &&
			class->keys[other->parent] == other->parent_column)
			return true;
	}
	return false;
}

/* The table that cannot be in the class because of a foreign key, or -1. */
static int
find_misfit(const ShuttleAdvice *advice, const ShuttleKeyClass *class, const ShuttleLink *link)
{
	const ShuttleCandidate *parent = &advice->tables[link->parent];
	bool		has_child = class->keys[link->child] != 0;
	bool		has_parent = class->keys[link->parent] != 0;

	if (!has_child && !has_parent)
		return -1;
	if (!has_child)
		return link->parent;
	if (has_parent)
	{
		if (relates_keys(advice, class, link))
			return -1;
		return link->parent == class->root ? link->child : link->parent;
	}
	if (parent->kind == ADVISED_DISTRIBUTE || parent->kind == ADVISED_LOCAL ||
		!shuttle_advise_can_copy(advice, link->parent) ||
		(!shuttle_advise_is_small(parent) && parent->bytes > class->bytes / REFERENCE_PART))
		return link->child;
	return -1;
}

static void
take_out(const ShuttleAdvice *advice, ShuttleKeyClass *class, int table)
{
	class->keys[table] = 0;
	class->ntables--;
	class->bytes -= advice->tables[table].bytes;
}

static void
take_in(const ShuttleAdvice *advice, ShuttleKeyClass *class, int table, AttrNumber key, const ShuttleLink *link)
{
	class->keys[table] = key;
	class->links[table] = link;
	class->ntables++;
	class->bytes += advice->tables[table].bytes;
}

/* Takes in the tables that links lead to. Returns false if there were none. */
static bool
follow_links(ShuttleAdvice *advice, ShuttleKeyClass *class, int first, int end)
{
	bool		changed = false;

	for (int i = first; i < end; i++)
	{
		const ShuttleLink *link = &advice->links[i];

		if (class->keys[link->parent] != link->parent_column || class->keys[link->child] != 0 ||
			!link->same_type || !fits(advice, link->child, link->child_column))
			continue;
		take_in(advice, class, link->child, link->child_column, link);
		changed = true;
	}
	return changed;
}

/* Takes out a table whose foreign keys do not allow it; others may depend on it.
 * Returns false if there was none. */
static bool
take_out_misfits(const ShuttleAdvice *advice, ShuttleKeyClass *class)
{
	bool		changed = false;

	for (int i = 0; i < advice->nforeign; i++)
	{
		int			misfit = find_misfit(advice, class, &advice->links[i]);

		if (misfit < 0)
			continue;
		take_out(advice, class, misfit);
		changed = true;
	}
	return changed;
}

static ShuttleKeyClass *
make_class(ShuttleAdvice *advice, int root, AttrNumber key)
{
	ShuttleKeyClass *class = palloc0_object(ShuttleKeyClass);

	class->root = root;
	class->keys = palloc0_array(AttrNumber, advice->ntables);
	class->links = palloc0_array(const ShuttleLink *, advice->ntables);
	take_in(advice, class, root, key, NULL);
	while (follow_links(advice, class, 0, advice->nforeign) ||
		   follow_links(advice, class, advice->nforeign, advice->nlinks))
		;
	while (take_out_misfits(advice, class))
		;
	return class;
}

/* A class of one small table gains nothing. */
static bool
is_worth_it(const ShuttleAdvice *advice, const ShuttleKeyClass *class)
{
	return class->keys[class->root] != 0 &&
		(class->ntables > 1 || !shuttle_advise_is_small(&advice->tables[class->root]));
}

static bool
is_better(const ShuttleAdvice *advice, const ShuttleKeyClass *class, const ShuttleKeyClass *best)
{
	bool		has_most = class->bytes > advice->bytes / 2;
	bool		best_has_most = best != NULL && best->bytes > advice->bytes / 2;

	if (best == NULL)
		return true;
	if (has_most != best_has_most)
		return has_most;
	if (class->ntables != best->ntables)
		return class->ntables > best->ntables;
	return class->bytes > best->bytes;
}

static ShuttleKeyClass *
try_root(ShuttleAdvice *advice, int root, AttrNumber key, ShuttleKeyClass *best)
{
	ShuttleCandidate *table = &advice->tables[root];
	ShuttleKeyClass *class;

	CHECK_FOR_INTERRUPTS();
	if (key == 0 || (!table->is_parent && shuttle_advise_is_small(table)) ||
		bms_is_member(key, table->tried) || !fits(advice, root, key))
		return best;
	table->tried = bms_add_member(table->tried, key);
	class = make_class(advice, root, key);
	if (is_worth_it(advice, class) && is_better(advice, class, best))
		return class;
	pfree(class->keys);
	pfree(class->links);
	pfree(class);
	return best;
}

ShuttleKeyClass *
shuttle_advise_best_class(ShuttleAdvice *advice)
{
	ShuttleKeyClass *best = NULL;

	for (int i = 0; i < advice->ntables; i++)
		advice->tables[i].tried = NULL;
	for (int i = 0; i < advice->ntables; i++)
		best = try_root(advice, i, advice->tables[i].first_key, best);
	for (int i = 0; i < advice->nlinks; i++)
	{
		const ShuttleLink *link = &advice->links[i];

		if (advice->tables[link->parent].first_key != link->parent_column)
			best = try_root(advice, link->parent, link->parent_column, best);
	}
	return best;
}
