/*-------------------------------------------------------------------------
 * layout.h
 *	  How the tables of a group are spread over nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_LAYOUT_H
#define SHUTTLE_TABLETS_COMMON_LAYOUT_H

#include "tablets/shuttle_tablets.h"

/* A tablet has the rows whose hash has that remainder, which is its number. */
typedef struct ShuttleTablet
{
	int			modulus;
	int			number;
	Oid			serverid;
} ShuttleTablet;

/* How the tables of a group are spread. Tablets that were split have a larger modulus.
 * Core's order of partitions: by modulus, then by number. */
typedef struct ShuttleLayout
{
	int			group;			/* 0: not made yet */
	int			ntablets;
	ShuttleTablet *tablets;
	bool		traps;			/* the group's tables have traps */
	int			origin;			/* of a group that is not made yet: the one
								 * that its table would be in without a rule
								 * of its own; 0: none */
} ShuttleLayout;

/* All servers that are storage nodes, by name. */
extern List *shuttle_layout_nodes(void);

/* The same. Errors: there are none. */
extern List *shuttle_layout_nodes_needed(void);

/* The layout of a distributed table. Errors: the table is not distributed. */
extern ShuttleLayout *shuttle_layout_of(Oid relid);

/*
 * The layout for a new table with a key of that type and collation: that of a
 * group that is spread in the same way, or a new one.
 * nodes: servers; NIL: all, and then a group whose tablets were moved will do, if it
 * had as many tablets before any was split, on as many nodes. Both functions wait while tablets of the group are moved.
 * rules: the text of the table's placement rules, which a group must have, too. The caller must
 * own one of its tables or have REFERENCES on it.
 * Errors: there are no nodes.
 */
extern ShuttleLayout *shuttle_layout_find(List *nodes, int ntablets,
										  Oid type, Oid collation, const char *rules);

/* Keeps moves of a group away until the end of the transaction. The caller holds no lock on its
 * tables, since a move waits for them. */
extern void shuttle_layout_join(int group);

/* Errors: 42501, the caller may not bind another table to that one: without owning it or REFERENCES. */
extern void shuttle_layout_check_join(Oid relid);

/* The tablet of a number; NULL: there is none. */
extern ShuttleTablet *shuttle_layout_tablet(const ShuttleLayout *layout, int number);

/* The layout of another table's group. Errors: ERRCODE_DATATYPE_MISMATCH. */
extern ShuttleLayout *shuttle_layout_colocated(Oid other, Oid type, Oid collation);

/* Notes what a table is in the extension's tables; layout: NULL for a reference
 * table. Makes the layout's group if it has none. */
extern void shuttle_layout_note_table(Oid relid, ShuttleTableKind kind, ShuttleLayout *layout);

/* Forgets it. */
extern void shuttle_layout_forget_table(Oid relid);

/* The group of a distributed table; 0: it is none. */
extern int	shuttle_layout_group(Oid relid);

/* Keeps moves of a group away, tables that would join it, and other claims, until the end of the
 * transaction. The caller holds no lock on its tables; several are claimed in the order of their numbers. */
extern void shuttle_layout_claim(int group);
extern void shuttle_layout_unclaim(int group);

/* For the session: waits for tables that are joining the group, and keeps others out. An
 * error that ends the transaction unlocks it. */
extern void shuttle_layout_lock_places(int group);
extern void shuttle_layout_unlock_places(int group);

#endif							/* SHUTTLE_TABLETS_COMMON_LAYOUT_H */
