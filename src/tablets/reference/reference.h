/*-------------------------------------------------------------------------
 * reference.h
 *	  Reference tables.
 *
 * Files: reference.c; copies are those of copies.h.
 *
 * In: a table. Out: its copies on all nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_REFERENCE_REFERENCE_H
#define SHUTTLE_TABLETS_REFERENCE_REFERENCE_H

#include "tablets/common/refusal.h"

/* ---- reference.c */

/* Makes an ordinary table of a reference table. */
extern void shuttle_reference_end(Oid relid);

/* Makes the copies of all reference tables on a new node. */
extern void shuttle_reference_add_node(Oid serverid);

/* Drops the copies of all reference tables on a node that is going to be removed. */
extern void shuttle_reference_remove_node(Oid serverid);

/* What cannot be a reference table; NULL: nothing is to be refused. */
extern ShuttleRefusal *shuttle_reference_refuse(Relation rel);

#endif							/* SHUTTLE_TABLETS_REFERENCE_REFERENCE_H */
