/*-------------------------------------------------------------------------
 * fdw.h
 *	  Foreign tables, their servers, and postgres_fdw.
 *
 * Files: foreign_routine.c makes our FdwRoutine from postgres_fdw's, which
 * postgres_fdw_routine.c finds; postgres_fdw_private.c alone reads the private
 * lists of its plans; sql_words.c and sibling_sql.c read its SELECTs, window_sql.c
 * wraps them; system_columns.c adds xmin and the like;
 * server_kind.c says which transport a server has; remote_names.c and
 * column_names.c know names on nodes; foreign_import.c and foreign_truncate.c
 * are the callbacks of IMPORT FOREIGN SCHEMA and TRUNCATE.
 *
 * In: a foreign table, its server, or a plan of postgres_fdw. Out: callbacks,
 * names on the node, and what the plan's private lists say.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FDW_FDW_H
#define SHUTTLE_EXECUTOR_FDW_FDW_H

#include "foreign/fdwapi.h"

#include "base/shuttle_utility.h"
#include "executor/join/transport.h"

/* ---- callbacks (postgres_fdw_routine.c, foreign_truncate.c, foreign_import.c) */

/* postgres_fdw's own routine; set when ours is first made. */
extern const FdwRoutine *shuttle_postgres_fdw_routine;
extern void shuttle_foreign_truncate_fill(FdwRoutine *routine);
extern void shuttle_foreign_import_fill(FdwRoutine *routine);

/* ---- options and remote names (remote_names.c) */

/* Options of a foreign table, then its server's; valid until the next call. */
extern const List *shuttle_foreign_options(Oid relid);

/* The value of the first option of that name; else otherwise. */
extern bool shuttle_option_bool(const List *options, const char *name, bool otherwise);
extern int	shuttle_option_int(const List *options, const char *name, int otherwise);
extern int	shuttle_option_kb(const List *options, const char *name, int otherwise);

/* The remote name of a foreign table or of its column. */
extern void shuttle_remote_table_name(Relation rel, char **schema, char **name);
extern char *shuttle_remote_column_name(Relation rel, AttrNumber attribute);

/* Appends that name, quoted. */
extern void shuttle_append_remote_table(StringInfo sql, Relation rel);
extern void shuttle_append_remote_column(StringInfo sql, Relation rel,
										 AttrNumber attribute);

/* Runs a TRUNCATE, and awaits what nodes say to it (foreign_truncate.c). */
extern void shuttle_foreign_truncate_run(ProcessUtility_hook_type run,
										 SHUTTLE_UTILITY_PARAMETERS);

/* ---- what a server is (server_kind.c) */

/* The transport for the server of a scan, or NULL if it is not remote. */
extern const ShuttleTransport *shuttle_transport_for(Oid serverid);

#endif							/* SHUTTLE_EXECUTOR_FDW_FDW_H */
