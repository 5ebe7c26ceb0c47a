/*-------------------------------------------------------------------------
 * balance.h
 *	  What the files share that spread tablets evenly over storage nodes.
 *
 * In: what is counted, weights of nodes, a threshold. Out: moves. balance_read.c asks
 * nodes how large their tablets are, balance_plan.c chooses moves and talks to nobody,
 * rebalance.c has the SQL functions, and does the moves (move.h).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_MOVE_BALANCE_H
#define SHUTTLE_TABLETS_MOVE_BALANCE_H

#include "nodes/pg_list.h"

/* Tablets of one number of a group: they move together. */
typedef struct ShuttleBalanceUnit
{
	Oid			tablet;			/* of the first table */
	int			group;			/* from 0 on */
	int			number;
	int			source;			/* nodes, from 0 on */
	int			target;			/* the plan's; source: it stays */
	int			follows;		/* the unit of another group whose target it
								 * gets; -1: none */
	int64		rows;			/* estimated */
	int64		bytes;			/* with indexes */
	double		size;			/* what is balanced */
} ShuttleBalanceUnit;

typedef struct ShuttleBalance
{
	int			nnodes;
	Oid		   *servers;
	double	   *weights;		/* 0: the node is to be emptied */
	int			nunits;
	ShuttleBalanceUnit *units;
	int			ngroups;
	List	  **members;		/* of each group: OIDs of its tables */
	struct ShuttlePlaces **places;	/* of each group: its placement rules */
	bool	   *allowed;		/* of each group and node, by these */
} ShuttleBalance;

/* True if tablets of a group may be on a node. */
static inline bool
shuttle_balance_allows(const ShuttleBalance *balance, int group, int node)
{
	return balance->allowed[group * balance->nnodes + node];
}

/* What is balanced. */
typedef enum ShuttleBalanceBy
{
	SHUTTLE_BALANCE_BYTES,
	SHUTTLE_BALANCE_ROWS,
	SHUTTLE_BALANCE_TABLETS
} ShuttleBalanceBy;

/* ---- balance_read.c */

/*
 * All storage nodes, with weight 1, and all tablets, or those of one table's group.
 * relid: InvalidOid for all. Errors: nodes that do not answer; the table is not
 * distributed.
 */
extern ShuttleBalance *shuttle_balance_read(ShuttleBalanceBy by, Oid relid);

/* ---- balance_plan.c */

/* Sets the targets of units that have to leave nodes of weight 0. rules: also of those that
 * may not be where they are. Errors: no node has a weight, or none of these is allowed. */
extern void shuttle_balance_empty(ShuttleBalance *balance, bool rules);

/* Sets targets so that nodes have their shares.
 * threshold: from 0 to 1, the part of a share that a node may have more or less. */
extern void shuttle_balance_spread(ShuttleBalance *balance, double threshold);

/* Sends units that follow others to where these go. The last step of a plan. */
extern void shuttle_balance_follow(ShuttleBalance *balance);

/* ---- rebalance.c */

/* For the session, which is connected to SPI so that it can commit: the only one that makes plans.
 * An error gives it back. */
extern void shuttle_rebalance_begin(void);
extern void shuttle_rebalance_end(void);

/* Moves what is where its placement rules do not allow it. Returns the number of moves. */
extern int	shuttle_rebalance_keep_rules(void);

#endif							/* SHUTTLE_TABLETS_MOVE_BALANCE_H */
