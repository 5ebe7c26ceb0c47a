/*-------------------------------------------------------------------------
 * advise.h
 *	  What the files of shuttle.advise() share.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_ADVISE_ADVISE_H
#define SHUTTLE_TABLETS_ADVISE_ADVISE_H

#include "nodes/bitmapset.h"

#include "tablets/common/refusal.h"
#include "tablets/distribute/distribute.h"

typedef enum ShuttleAdvisedKind
{
	ADVISED_NOTHING,
	ADVISED_DISTRIBUTE,
	ADVISED_REFERENCE,
	ADVISED_LOCAL
} ShuttleAdvisedKind;

/* A table that advice is given for. */
typedef struct ShuttleCandidate
{
	Oid			relid;
	int64		bytes;
	bool		is_parent;		/* of a link */
	bool		changes_often;	/* more rows were changed than inserted */
	AttrNumber	first_key;		/* first column of the primary key, or 0 */
	ShuttleAdvisedKind kind;
	AttrNumber	key;
	const char *because;
	Bitmapset  *fits;			/* columns that could spread it, alone */
	Bitmapset  *unfit;
	Bitmapset  *tried;			/* as roots, since a class was found */
	bool		copies_known;
	bool		can_be_copied;	/* be a reference table */
} ShuttleCandidate;

/* Tables are numbers in ShuttleAdvice.tables. */
typedef struct ShuttleLink
{
	int			child;
	int			parent;
	AttrNumber	child_column;
	AttrNumber	parent_column;
	bool		same_type;
	Oid			constraint;		/* or InvalidOid: by names */
} ShuttleLink;

/* A class that is tried: the key of each table, 0 if it does not belong to it. */
typedef struct ShuttleKeyClass
{
	int			root;
	AttrNumber *keys;
	const ShuttleLink **links;	/* by which a table came in */
	int			ntables;
	int64		bytes;
} ShuttleKeyClass;

typedef struct ShuttleAdvice
{
	ShuttleCandidate *tables;
	int			ntables;
	ShuttleLink *links;			/* foreign keys, then names */
	int			nlinks;
	int			nforeign;
	List	   *relids;
	int64		bytes;			/* of all tables */
} ShuttleAdvice;

/* ---- advise_classes.c */

/* Why a table cannot be spread by a column, or by any (0); NULL: it can. group:
 * OIDs of the tables that would be spread with it. */
extern ShuttleRefusal *shuttle_advise_refusal(const ShuttleAdvice *advice, int table, AttrNumber key,
											  const List *group);

/* The same of a table whose keys may be checked over several nodes. */
extern ShuttleRefusal *shuttle_advise_refusal_of_column(Oid relid, AttrNumber key);

/* True if shuttle.reference_table() would take it. */
extern bool shuttle_advise_can_copy(const ShuttleAdvice *advice, int table);

/* True if a copy on each node costs little. */
extern bool shuttle_advise_is_small(const ShuttleCandidate *table);

/* The class with most of the rows, or with most tables, of the tables that have no
 * advice yet; NULL: none is worth it. */
extern ShuttleKeyClass *shuttle_advise_best_class(ShuttleAdvice *advice);

#endif							/* SHUTTLE_TABLETS_ADVISE_ADVISE_H */
