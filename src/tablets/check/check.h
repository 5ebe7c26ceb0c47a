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

#include "tablets/common/problems.h"

/* ---- check_definitions.c */

/* Compares columns, checks, keys and indexes. Returns true if the columns are the
 * same. */
extern bool shuttle_check_definition(const ShuttleCheck *check);

/* Finds what single tablets have been given, and refuse rows by or compute values by; and triggers
 * and rules, which run with the remote user's rights, whatever these have become. */
extern void shuttle_check_added(const ShuttleCheck *check);

/* ---- check_entries.c */

/* Compares entries of the table's global indexes with its rows. */
extern void shuttle_check_entries(ShuttleCheck *check);

/* ---- check_tablets.c */

/* Compares which tablets the node has, and of which bounds. */
extern void shuttle_check_bounds(const ShuttleCheck *check);

#endif							/* SHUTTLE_TABLETS_CHECK_CHECK_H */
