/*-------------------------------------------------------------------------
 * shuttle_global.h
 *	  What other rooms need to know of global unique indexes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_GLOBAL_H
#define SHUTTLE_TABLETS_GLOBAL_H

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* Entries are in this schema, on the query node. */
#define SHUTTLE_INDEXES_SCHEMA "shuttle_indexes"

/* True of a unique index that no node can check alone: it lacks the distribution column.
 * key: the column, InvalidAttrNumber: that of the index's table. */
extern bool shuttle_global_index_is(Relation index, AttrNumber key);

/* True if a distributed table has such an index. */
extern bool shuttle_global_indexes_exist(Oid relid);

/* True of a table with entries. */
extern bool shuttle_global_index_has_entries(Oid relid);

/* The entries of its indexes: OIDs of index and entries, one after the other. In the current context. */
extern List *shuttle_global_index_entries(Oid relid);

/* True if a statement that updates these columns (Query.targetList) changes no entry. */
extern bool shuttle_global_index_is_untouched(Oid relid, const List *targets);

/* Rows of one table whose entries change with a statement. */
typedef struct ShuttleGlobalRows ShuttleGlobalRows;

/* Sends what the current statement has noted: its triggers have all fired. */
extern void shuttle_global_rows_finish(void);

extern ShuttleGlobalRows *shuttle_global_rows_begin(Relation rel, MemoryContext cxt);

/* Notes a row. early: entries may be sent before the statement ends, if they are many. */
extern void shuttle_global_rows_insert(ShuttleGlobalRows *rows, TupleTableSlot *slot, bool early);

/* Sends what was noted, without waiting for answers if the session need not. */
extern void shuttle_global_rows_send(ShuttleGlobalRows *rows);

/* The user whose statement changes entries; else the current one. */
extern Oid	shuttle_global_send_user(void);

#endif							/* SHUTTLE_TABLETS_GLOBAL_H */
