/*-------------------------------------------------------------------------
 * global.h
 *	  Global unique indexes: those that lack the distribution column.
 *
 * In: a distributed table and its rows as they change. Out: a distributed table of ours for
 * each such index, its entries, on whose nodes equal values meet.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_INDEXES_GLOBAL_H
#define SHUTTLE_TABLETS_INDEXES_GLOBAL_H

#include "access/xact.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"

#include "tablets/common/refusal.h"
#include "tablets/distribute/distribute.h"
#include "tablets/shuttle_global.h"

/* The condition of a global index of a distributed table, on pg_index AS i. */
#define SHUTTLE_GLOBAL_CONDITION \
"(i.indisunique AND EXISTS (SELECT FROM pg_catalog.pg_partitioned_table AS g WHERE g.partrelid = i.indrelid" \
" AND NOT g.partattrs[0] = ANY ((i.indkey::pg_catalog.int2[])[0:i.indnkeyatts - 1])))"

/* ---- global_index.c: what the indexes of a table are */

/* How one column of entries is held and sent; the last one is the distribution column. */
typedef struct ShuttleGlobalColumn
{
	Oid			type;			/* never a domain: its checks are none of ours */
	Oid			array_type;
	Oid			collation;
	Oid			operator;		/* of equality */
	Oid			opclass;		/* of a unique index; InvalidOid: the default */
	int16		length;
	bool		by_value;
	char		align;
} ShuttleGlobalColumn;

typedef struct ShuttleGlobalIndex
{
	Oid			indexid;
	Oid			entries;		/* InvalidOid: there are none yet */
	int			ncolumns;		/* with the distribution column */
	ShuttleGlobalColumn *columns;
	bool		nulls_equal;	/* NULLS NOT DISTINCT: rows with NULLs have
								 * entries */
	bool		deferrable;		/* entries may be doubled for a while */
} ShuttleGlobalIndex;

/* The distribution column of a table; InvalidAttrNumber: it is not distributed. */
extern AttrNumber shuttle_global_index_key(Relation rel);

/* The global indexes of a distributed table: ShuttleGlobalIndex, in the current context. */
extern List *shuttle_global_indexes(Oid relid);

/* True if the table has or would have global indexes, distributed by that column. */
extern bool shuttle_global_indexes_needed(Relation rel, AttrNumber key);

/* Why there can be no such global index; NULL: there can be. */
extern ShuttleRefusal *shuttle_global_index_refuse(Relation index, AttrNumber key);

/* The number of the column that spreads an index's entries; -1: none can. */
extern int	shuttle_global_index_spread(const ShuttleGlobalIndex *index);

/* COLLATE and the collation of a column, or nothing. */
extern char *shuttle_global_collation_text(const ShuttleGlobalColumn *column);

/* The name of a column of entries: k1 and so on, then row_key. */
extern char *shuttle_global_column_name(const ShuttleGlobalIndex *index, int column);

/* The table and index of a table with entries; false: it has none. */
extern bool shuttle_global_index_find(Oid entries, Oid *relid, Oid *indexid);

/* ---- surgery.c */

/* Makes an index of a distributed table unique in the catalogs, and that of a constraint.
 * constraint: NULL for none. */
extern void shuttle_surgery_make_unique(Oid relid, Oid indexid, const Constraint *constraint);

/* ---- global_entries.c: their tables */

/* Makes and fills entries for a table's new global indexes, drops those of indexes that are
 * gone, and gives the table its triggers, or takes them. */
extern void shuttle_global_entries_follow(Oid relid);

/* Passes on, in parts, the entries that an index should have, as the rows below; fills an empty table with them. */
typedef void (*ShuttleGlobalTakeRows) (ShuttleGlobalIndex *index, List *rows, void *arg);

extern void shuttle_global_entries_read(Oid relid, ShuttleGlobalIndex *index, ShuttleGlobalTakeRows take, void *arg);
extern void shuttle_global_entries_fill(Oid relid, ShuttleGlobalIndex *index);

/* Drops the entries of all indexes of a table that is gone. */
extern void shuttle_global_entries_drop_all(Oid relid);

/* Finds the entries of an index that a dump has made again. */
extern void shuttle_global_entries_find_again(Oid relid, Oid indexid);

extern bool shuttle_global_trigger_has_name(const char *name);

/* The constraint of the entries of a deferrable one, as SQL; NULL: the constraint is another one. */
extern char *shuttle_global_entries_constraint(Oid constraint, Oid *entries);

/* ---- global_rows.c: rows that statements change */

/* Forgets rows that were noted, at the end of a transaction, and those of a savepoint that is
 * rolled back. */
extern void shuttle_global_rows_end_transaction(XactEvent event);
extern void shuttle_global_rows_end_savepoint(SubXactEvent event);

/* ---- entries that are to be sent */

/* Those of one index. A row is an array of Datum, and behind them which of these are
 * NULL, as bits. */
typedef struct ShuttleGlobalEntries
{
	ShuttleGlobalIndex *index;
	List	   *deletes;
	List	   *inserts;
} ShuttleGlobalEntries;

static inline uint64
shuttle_global_nulls(const ShuttleGlobalIndex *index, const Datum *row)
{
	return DatumGetUInt64(row[index->ncolumns]);
}

static inline bool
shuttle_global_is_null(uint64 nulls, int column)
{
	return (nulls & (UINT64CONST(1) << column)) != 0;
}

/* ---- global_passing.c: entries that come and go */

/* Bytes decide. */
extern bool shuttle_global_passing_are_equal(const ShuttleGlobalIndex *index, const Datum *one, const Datum *other);

/* Takes those away that are both deleted and inserted. */
extern void shuttle_global_passing_leave_out(ShuttleGlobalEntries *entries);

/* ---- global_send.c: statements on entries */

/* Deletes entries of all indexes, then inserts others. acting_user: whose statement has changed the rows. Errors: 23505. */
extern void shuttle_global_send(const ShuttleGlobalEntries *entries, int nentries, Oid acting_user);

/* The rows that SPI has fetched. */
extern List *shuttle_global_send_fetched(int ncolumns);

/* Inserts those of rows that exist. Between begin and end, an error is one of making the index. */
extern void shuttle_global_send_new(ShuttleGlobalIndex *index, List *rows);
extern void shuttle_global_send_begin_new(void);
extern void shuttle_global_send_end_new(void);
extern bool shuttle_global_send_is_new(void);

/* How many of these rows have their entry. */
extern int64 shuttle_global_send_match(const ShuttleGlobalIndex *index, List *rows);

#endif							/* SHUTTLE_TABLETS_INDEXES_GLOBAL_H */
