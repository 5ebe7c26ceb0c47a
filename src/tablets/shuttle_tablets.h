/*-------------------------------------------------------------------------
 * shuttle_tablets.h
 *	  Door of the tablets room: distributed tables, reference tables and the
 *	  nodes that hold them.
 *
 * A distributed table is a partitioned table of core. Its partitions, the
 * tablets, are foreign tables on storage nodes, where the rows are partitions
 * of a table with the parent's name. Core's catalogs say where rows are; the
 * extension's tables only say which partitioned tables are ours.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_H
#define SHUTTLE_TABLETS_H

#include "access/attnum.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"

#include "storage/shuttle_storage.h"

/* Installs the room's hooks; called by _PG_init. */
extern void shuttle_tablets_init(void);

typedef enum ShuttleTableKind
{
	SHUTTLE_TABLE_OTHER,		/* none of ours */
	SHUTTLE_TABLE_DISTRIBUTED,
	SHUTTLE_TABLE_REFERENCE,
	SHUTTLE_TABLE_TABLET,		/* a partition of a distributed table */
	SHUTTLE_TABLE_PARTITIONED	/* its partitions are distributed tables, or
								 * such tables again */
} ShuttleTableKind;

/* What a relation is; cached until it changes. Errors: none. */
extern ShuttleTableKind shuttle_table_kind(Oid relid);

/* The number of the tablet at a place among a distributed table's partitions: its
 * remainder. Core orders them by modulus first, so the place is another one after a split. */
static inline int
shuttle_tablet_number(const PartitionDescData *partitions, int place)
{
	return DatumGetInt32(partitions->boundinfo->datums[place][1]);
}

/* The function that hashes keys of a type as a distributed table's are (table_facts.c); InvalidOid: none
 * is known for the type, which may be coercible to the table's. */
extern Oid	shuttle_table_hash_function(PartitionKey key, Oid type);

/* A table's tablet, by its number; InvalidOid: there is none (tablet_names.c). */
extern Oid	shuttle_tablet_find(Oid relid, int number);

/* Tablets are in this schema, on the query node. */
#define SHUTTLE_TABLETS_SCHEMA "shuttle_tablets"

/* What its node calls a tablet, with the schema, quoted as core prints names in queries. */
extern char *shuttle_tablet_text(Oid tablet);

/* The name of a table's tablet on its node, unquoted; of one that is about to be made, too. */
extern char *shuttle_tablet_name(Oid relid, int number);

/* The distributed table of which nodes call a tablet so; schema: NULL if it is not known.
 * InvalidOid: none. */
extern Oid	shuttle_tablet_table_named(const char *schema, const char *name);

/* How often ONLY was removed in front of a distributed table when a query was analyzed. A
 * node that reads the query's text finds the word there, and no rows behind it. */
extern uint64 shuttle_table_ignored_only;

/* True of a distributed table whose nodes have traps for the rows of others
 * (routines.c). */
extern bool shuttle_table_has_traps(Oid relid);

/* True if a statement can give a table that is a partition a row that does not belong there: nodes
 * know no bounds but those of tablets (partitions.c). */
extern bool shuttle_partitions_may_be_left(const Query *query, Oid relid);

/* The number of a routine's argument that has the distribution key; 0: it has
 * none; -1: nodes do not have the routine. */
extern int	shuttle_routine_key(Oid routine);

/* The foreign tables that stand for the copies of reference tables are in this schema. */
#define SHUTTLE_COPIES_SCHEMA "pg_shuttle_copies"

/* The foreign table that stands for the copies of a reference table (copy_tables.c),
 * locked; InvalidOid: there is none, or it is not a reference table. */
extern Oid	shuttle_copy_table_find(Oid relid);

/* True if it is such a foreign table. */
extern bool shuttle_copy_table_has_oid(Oid relid);

/* Raises 42501 for a tablet, what stands for copies, or entries, if a user (0: the current one)
 * must not name it in a statement (hidden_tables.c). */
extern void shuttle_hidden_table_check(Oid relid, Oid user);

/* True if the copies have all that this transaction has changed, but for
 * statements that are not finished (copy_changes.c). */
extern bool shuttle_copies_are_current(void);

/* How many statements are under way, each within another one (statement.c). */
extern int	shuttle_statement_depth(void);

/* True if the innermost statement is a COPY. */
extern bool shuttle_statement_is_copy(void);

/* Around a COPY that inserts rows. Returns what leave needs, also after an error. */
extern int	shuttle_statement_enter_copy(void);
extern void shuttle_statement_leave_copy(int outer);

/* True if an UPDATE with these targets can change a column of the table's keys that this server
 * checks. */
extern bool shuttle_foreign_key_is_updated(Relation rel, const List *targets);

/* True if rows of a distributed table must be locked FOR UPDATE before these columns change (offset by
 * FirstLowInvalidHeapAttributeNumber), and FOR NO KEY UPDATE does not do (foreign_key_lock.c). */
extern bool shuttle_foreign_key_needs_lock(Relation table, Bitmapset *changed);

/* Notes a row that was inserted, and one that an UPDATE moves to another tablet. */
extern void shuttle_foreign_key_note_insert(Relation tablet, TupleTableSlot *row);
extern void shuttle_foreign_key_note_move(Relation tablet, HeapTuple old_row, TupleTableSlot *new_row);

/* Takes note of a row that is going to be inserted, or updated (old_row: else NULL); then asks for what
 * all of them newly refer to, behind the rows and without waiting. */
extern void shuttle_foreign_key_expect(Relation tablet, HeapTuple old_row, TupleTableSlot *row);
extern void shuttle_foreign_key_ask(void);

/* Called before a node is asked for rows of foreign keys: sends what the executor has
 * buffered for it (foreign_key_search.c). */
extern void (*shuttle_foreign_key_before_read) (ShuttleNode *node);

/* Called before an error of a foreign key: waits for what was written, whose errors core would
 * have raised before (foreign_key_actions.c). */
extern void (*shuttle_foreign_key_before_error) (void);

#endif							/* SHUTTLE_TABLETS_H */
