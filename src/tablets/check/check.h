/*-------------------------------------------------------------------------
 * check.h
 *	  shuttle.check(): compares nodes with what they should have.
 *
 * check.c			the function; rows of tablets and of copies
 * check_definitions.c	columns, checks, keys and indexes
 * check_tablets.c	which tablets a node has, and their bounds
 *
 * In: a table, and a node that should have it. Out: rows that tell what is wrong
 * there, and what mends it.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_CHECK_CHECK_H
#define SHUTTLE_TABLETS_CHECK_CHECK_H

#include "nodes/execnodes.h"

#include "storage/shuttle_storage.h"

/* One table on one node. */
typedef struct ShuttleCheck
{
	ReturnSetInfo *result;
	bool		repair;
	Oid			relid;
	Oid			serverid;
	ShuttleNode *node;
	const List *away;			/* servers that cannot be asked */
	List	   *foreign_keys;	/* name and definition; what any of its nodes
								 * has */
} ShuttleCheck;

/* ---- check.c */

/* Adds a row. hint: what mends the problem; NULL: it was repaired. */
extern void shuttle_check_put(const ShuttleCheck *check, const char *problem, const char *hint);

/* ---- check_definitions.c */

/* Compares columns, checks, keys and indexes. Returns true if the columns are the
 * same. */
extern bool shuttle_check_definition(const ShuttleCheck *check);

/* Finds what single tablets have been given, and refuse rows by or compute values by. */
extern void shuttle_check_tablets_own(const ShuttleCheck *check);

/* ---- check_tablets.c */

/* Compares which tablets the node has, and of which bounds. */
extern void shuttle_check_bounds(const ShuttleCheck *check);

/* ---- move/move_left.c */

/* Adds a row for each node that has something of a move that was interrupted. */
extern void shuttle_move_check_left(ShuttleCheck *check);

/* ---- move/move_table.c */

/* The same of moves of ordinary foreign tables. */
extern void shuttle_move_check_left_tables(ShuttleCheck *check);

#endif							/* SHUTTLE_TABLETS_CHECK_CHECK_H */
