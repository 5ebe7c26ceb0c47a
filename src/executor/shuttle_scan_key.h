/*-------------------------------------------------------------------------
 * shuttle_scan_key.h
 *	  Keys that the planner notes in scans of partitions' joins and groups.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_SCAN_KEY_H
#define SHUTTLE_SCAN_KEY_H

#include "nodes/plannodes.h"

/* ---- in postgres_fdw's private list (postgres_fdw_private.c) */

/*
 * Tells a scan of a join or of groups that all its rows have this key of a
 * partition; an expression without columns. Does nothing if the plan's shape is
 * unknown.
 */
extern void shuttle_postgres_fdw_add_scan_key(ForeignScan *scan, Oid partition, Node *key);

/* The key that was added; NULL: none. */
extern Node *shuttle_postgres_fdw_scan_key(const ForeignScan *scan, Oid *partition);

/* The text of a scan, or of a direct UPDATE or DELETE, and the attributes of the columns that it
 * returns; false if the plan's shape is unknown. */
extern bool shuttle_postgres_fdw_find_text(const ForeignScan *scan, const char **sql, List **attributes);

#endif							/* SHUTTLE_SCAN_KEY_H */
