/*-------------------------------------------------------------------------
 * ddl_changes.h
 *	  What nodes have of a table before a statement, and what they are sent behind it.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_DDL_CHANGES_H
#define SHUTTLE_TABLETS_DDL_DDL_CHANGES_H

#include "nodes/pg_list.h"

/* Notes what nodes have of a distributed table, if a statement under way is to
 * be followed and has not noted it yet. */
extern void shuttle_ddl_changes_note(Oid relid);

/* The expression by which nodes are to convert a column of a noted table to its new type; NULL:
 * none, whatever has been said before. */
extern void shuttle_ddl_changes_convert(Oid relid, const char *column, const char *expression);

/* What rows of a noted table are to get in a new column. It is computed here, and here already
 * if these are rows of a reference table. */
extern void shuttle_ddl_changes_fill(Oid relid, const char *column, const char *expression);

/* What a statement under way has noted. */
typedef struct ShuttleDdlChanges
{
	MemoryContext cxt;
	List	   *tables;
	struct ShuttleDdlChanges *outer;	/* of the statement around it */
} ShuttleDdlChanges;

/* Begins and ends a statement. */
extern void shuttle_ddl_changes_enter(ShuttleDdlChanges *changes);
extern void shuttle_ddl_changes_leave(void);

/* Makes the tables on nodes as they are here now, by a statement for each thing
 * that has changed. cascade: drops are.
 * Errors: those of nodes. */
extern void shuttle_ddl_changes_send(bool cascade);

#endif							/* SHUTTLE_TABLETS_DDL_DDL_CHANGES_H */
