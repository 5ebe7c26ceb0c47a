/*-------------------------------------------------------------------------
 * hidden_tables.h
 *	  Tables that only their owner and superusers name: tablets, what stands for copies, and entries.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_HIDDEN_TABLES_H
#define SHUTTLE_TABLETS_RIGHTS_HIDDEN_TABLES_H

#include "base/shuttle_utility.h"

/* Takes all rights on such a table from others than its owner, and hides its statistics from
 * them. */
extern void shuttle_hidden_table_close(Oid relid);

/* What others may do with it, or see, for a message; NULL: nothing. */
extern const char *shuttle_hidden_table_opened(Oid relid);

/* Raises 42501 if a LOCK names such a table without right. */
extern void shuttle_hidden_tables_check_lock(Node *statement);

/* Runs a statement; a tablet that a dump makes with it hides its statistics, too. */
extern void shuttle_hidden_tables_restore(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* For ExecutorCheckPerms_hook: true if all tables that these entries check may be named.
 * raise: an error instead of false. */
extern bool shuttle_hidden_tables_check(const List *permissions, bool raise);

#endif							/* SHUTTLE_TABLETS_RIGHTS_HIDDEN_TABLES_H */
