/*-------------------------------------------------------------------------
 * fdw.h
 *	  Foreign tables, their servers, and postgres_fdw.
 *
 * Files: postgres_fdw_routine.c finds postgres_fdw's callbacks; postgres_fdw_private.c alone reads the private
 * lists of its plans; remote_sql.c and sibling_sql.c read its SELECTs, window_sql.c
 * wraps them; system_columns.c adds xmin and the like;
 * server_kind.c says whose servers and routines are ours; remote_names.c and
 * column_names.c know names on nodes; foreign_import.c has the
 * callback of IMPORT FOREIGN SCHEMA.
 *
 * In: a foreign table, its server, or a plan of postgres_fdw. Out: callbacks,
 * names on the node, and what the plan's private lists say.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FDW_FDW_H
#define SHUTTLE_EXECUTOR_FDW_FDW_H

#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"

#include "base/shuttle_utility.h"
#include "executor/shuttle_remote_names.h"

/* ---- callbacks (postgres_fdw_routine.c, foreign_import.c) */

/* postgres_fdw's own routine; set when ours is first made. */
extern const FdwRoutine *shuttle_postgres_fdw_routine;
extern void shuttle_foreign_import_fill(FdwRoutine *routine);

/* ---- options and remote names (remote_names.c) */

/* Options of a foreign table, then its server's; valid until the next call. */
extern const List *shuttle_remote_options(Oid relid);

/* The value of the first option of that name; else otherwise. */
extern bool shuttle_remote_option_bool(const List *options, const char *name, bool otherwise);
extern int	shuttle_remote_option_int(const List *options, const char *name, int otherwise);
extern int	shuttle_remote_option_kb(const List *options, const char *name, int otherwise);

/* Appends that name, quoted. */
extern void shuttle_remote_append_table(StringInfo sql, Relation rel);
extern void shuttle_remote_append_column(StringInfo sql, Relation rel,
										 AttrNumber attribute);

/* ---- what a server is (server_kind.c) */

/* Whose tables a server has, and so how keys travel to it. */
typedef enum ShuttleServerKind
{
	SHUTTLE_SERVER_OTHER,		/* another wrapper's, which is not asked for
								 * keys */
	SHUTTLE_SERVER_GUEST,		/* stock postgres_fdw's */
	SHUTTLE_SERVER_ENGINE		/* ours */
} ShuttleServerKind;

extern ShuttleServerKind shuttle_server_kind(Oid serverid);

/* Notes the callbacks that tell our routine from postgres_fdw's. */
extern void shuttle_server_note_routine(const FdwRoutine *routine);

/* True if a scan runs by our own callbacks: it is on a server of ours, and no
 * Look Ahead serves it. */
extern bool shuttle_server_scan_is_ours(const ForeignScanState *scan);


#endif							/* SHUTTLE_EXECUTOR_FDW_FDW_H */
