/*-------------------------------------------------------------------------
 * postgres_fdw.h
 *	  What we know of postgres_fdw beyond its exported handler.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FDW_POSTGRES_FDW_H
#define SHUTTLE_EXECUTOR_FDW_POSTGRES_FDW_H

#include "nodes/plannodes.h"

/* ---- postgres_fdw's private lists (postgres_fdw_private.c) */

/* postgres_fdw's plan of a scan. */
typedef struct ShuttlePostgresFdwScan
{
	const char *sql;
	List	   *attributes;		/* of int: attribute of each column */
	int			fetch_size;
} ShuttlePostgresFdwScan;

/* Its plan of INSERT, UPDATE or DELETE of single rows. */
typedef struct ShuttlePostgresFdwModify
{
	const char *sql;
	List	   *target_attributes;	/* of int: what $2.. (INSERT: $1..) set */
	int			values_end;		/* INSERT: length up to the end of VALUES */
	bool		has_returning;
	List	   *attributes;		/* of int: attribute of each column returned */
} ShuttlePostgresFdwModify;

/* Its plan of a direct UPDATE or DELETE. */
typedef struct ShuttlePostgresFdwDirect
{
	const char *sql;
	bool		has_returning;
	List	   *attributes;		/* of int: attribute of each column returned */
	bool		set_processed;
} ShuttlePostgresFdwDirect;

/* Read the lists, without copying; false if the shape is unknown. */
extern bool shuttle_postgres_fdw_read_scan(const ForeignScan *scan, ShuttlePostgresFdwScan *postgres_fdw);
extern bool shuttle_postgres_fdw_read_modify(const List *fdw_private, ShuttlePostgresFdwModify *postgres_fdw);
extern bool shuttle_postgres_fdw_read_direct(const ForeignScan *scan, ShuttlePostgresFdwDirect *postgres_fdw);

/* Fixes the constant -0 of a float in its SQL, in place. */
extern void shuttle_postgres_fdw_quote_zeros(ForeignScan *scan);

/* The scan with another SELECT; all else is shared. */
extern ForeignScan *shuttle_postgres_fdw_replace_scan_sql(const ForeignScan *scan,
														  const char *sql);

/* The same for an INSERT, UPDATE or DELETE. */
extern List *shuttle_postgres_fdw_replace_modify_sql(List *fdw_private, char *sql);

/* The same for an INSERT with other columns. */
extern List *shuttle_postgres_fdw_replace_insert(List *fdw_private, char *sql,
												 List *target_attributes, int values_end);

/* Have a scan, or RETURNING of a modification, fetch system columns, too. */
extern void shuttle_postgres_fdw_add_scan_columns(ForeignScan *scan, List *attributes);
extern List *shuttle_postgres_fdw_add_modify_columns(List *fdw_private, List *attributes);

/* Makes the private list of a scan that postgres_fdw executes. */
extern List *shuttle_postgres_fdw_make_scan(char *sql, List *attributes, int fetch_size);

/* The SELECT of a scan, and the attributes of its columns; NULL and NIL if the
 * shape is unknown. */
extern const char *shuttle_postgres_fdw_scan_sql(const ForeignScan *scan);
extern List *shuttle_postgres_fdw_scan_attributes(const ForeignScan *scan);

/* The list that shuttle_postgres_fdw_add_scan_states() added. */
extern List *shuttle_postgres_fdw_scan_states(const ForeignScan *scan);

#endif							/* SHUTTLE_EXECUTOR_FDW_POSTGRES_FDW_H */
