/*-------------------------------------------------------------------------
 * ddl.h
 *	  What the files about DDL on distributed tables share.
 *
 * In: a utility statement, before and behind core's run of it. Out: statements
 * for nodes, in the same transaction.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_H
#define SHUTTLE_TABLETS_DDL_H

#include "catalog/objectaccess.h"

#include "base/shuttle_utility.h"

/* ---- ddl_drop.c */

/* Notes a relation that is dropped; called by the object access hook. */
extern void shuttle_ddl_drop_note(ObjectAccessType access, Oid classid,
								  Oid objectid, int subid);

/* Runs a statement, and drops on nodes what it dropped here.
 * Errors: those of the statement and of nodes; 0A000 for a tablet alone. */
extern void shuttle_ddl_drop_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

#endif							/* SHUTTLE_TABLETS_DDL_H */
