/*-------------------------------------------------------------------------
 * scan_facts.h
 *	  What a scan's plan says (scan_facts.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_SCAN_FACTS_H
#define SHUTTLE_EXECUTOR_FACTS_SCAN_FACTS_H

#include "nodes/execnodes.h"

#include "storage/shuttle_storage.h"

/* The storage node of a scan, as the scan's user. */
extern ShuttleNode *shuttle_scan_node(ForeignScanState *scan);

/* True of a foreign table whose rows are read without the locks that the statement wants. */
extern bool shuttle_scan_locks_late(const EState *estate, Index rtindex);

/* Whether the scan's SELECT reads, locks or may write. */
extern ShuttleEffect shuttle_scan_effect(ForeignScanState *scan);

/*
 * Limits of a scan's pages, from the options of its tables and server, else the
 * settings. A table's option overrides its server's; in a join the largest
 * counts. If shuttle_fetch_limit is not set, fetch_size counts.
 */
extern ShuttlePageLimits shuttle_scan_page_limits(ForeignScanState *scan);

/* The row type that a scan's answer is decoded into: the scan's, with the
 * table's row type instead of RECORD for whole-row columns. */
extern TupleDesc shuttle_scan_desc(ForeignScanState *scan);

/* True if the scan's statement writes a table that it reads, also through
 * another table (partition, parent). The second: and if the scan may be read
 * again after the write; its rows are then kept. */
extern bool shuttle_scan_reads_written_table(const ForeignScanState *scan);
extern bool shuttle_scan_may_read_behind_write(const ForeignScanState *scan, int eflags);

/* Number of the snapshot that an executor run uses. */
extern uint64 shuttle_scan_snapshot(EState *estate);

#endif							/* SHUTTLE_EXECUTOR_FACTS_SCAN_FACTS_H */
