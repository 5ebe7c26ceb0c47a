/*-------------------------------------------------------------------------
 * ddl_changes_internal.h
 *	  One table's changes, as ddl_changes.c and ddl_changed_columns.c put them together.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_DDL_CHANGES_INTERNAL_H
#define SHUTTLE_TABLETS_DDL_DDL_CHANGES_INTERNAL_H

#include "access/attnum.h"
#include "nodes/pg_list.h"

#include "tablets/common/node_statements.h"
#include "tablets/common/table_text.h"

/* A table as it was before the statement. */
typedef struct ShuttleNotedTable
{
	Oid			relid;
	char	   *name;			/* with its schema, quoted */
	char	   *short_name;
	Oid			owner;
	List	   *columns;		/* of ShuttleNodeColumn */
	List	   *parts;			/* of ShuttleNodePart */
	List	   *conversions;	/* of ShuttleColumnValue: how nodes convert a
								 * column to its new type */
	List	   *fills;			/* of ShuttleColumnValue: what rows get in a
								 * new column, computed here */
} ShuttleNotedTable;

/* A column's value in each row. */
typedef struct ShuttleColumnValue
{
	AttrNumber	number;
	char	   *expression;		/* NULL: as if there were none */
} ShuttleColumnValue;

/* One table's changes, as they are put together. */
typedef struct ShuttleTableChanges
{
	const ShuttleNotedTable *before;
	ShuttleNotedTable now;
	bool		are_copies;		/* nodes have copies of a reference table */
	List	   *servers;
	ShuttleNodeStatements *statements;
	const char *cascade;		/* " CASCADE" or "" */
	List	   *actions;		/* those of columns, for one ALTER TABLE */
	List	   *later_actions;	/* of new columns, for another one behind it */
	List	   *filled;			/* new columns with a value for each row */
	bool		are_converted;	/* values of a column */
	List	   *verified;		/* names of checks that rows are held against
								 * here */
} ShuttleTableChanges;

/* ---- ddl_changes.c */

/* Adds a statement for all nodes of the table, and an ALTER TABLE. */
extern void shuttle_ddl_changes_add(ShuttleTableChanges *changes, char *sql);
extern void shuttle_ddl_changes_add_alter(ShuttleTableChanges *changes, char *action);

/* The column of that number; NULL: none. */
extern ShuttleNodeColumn *shuttle_ddl_changes_column(const ShuttleNotedTable *table, AttrNumber number);

/* The part that was the same, or is. */
extern ShuttleNodePart *shuttle_ddl_changes_part(const ShuttleNotedTable *table, const ShuttleNodePart *other, bool is_before);

/* The last value for the column, as core has it; NULL: there is none. */
extern const char *shuttle_ddl_value_of(const List *values, AttrNumber number);

/* ---- ddl_changed_columns.c */

extern void shuttle_ddl_columns_rename(ShuttleTableChanges *changes);

/* True if nodes write the rows anew. Then a reader that waits there for the statement has a
 * snapshot that is older than all of them. Those of a domain may be written anew, too. */
extern bool shuttle_ddl_columns_are_rewritten(const ShuttleTableChanges *changes);

/* Numbers of columns that are new, or have another type or generation expression. */
extern List *shuttle_ddl_columns_new(const ShuttleTableChanges *changes);

/* Old columns may have what was allowed when they were made. Errors: 0A000. */
extern void shuttle_ddl_columns_refuse(const ShuttleTableChanges *changes);

/* Drops, converts, adds and fills columns. */
extern void shuttle_ddl_columns_change(ShuttleTableChanges *changes);

#endif							/* SHUTTLE_TABLETS_DDL_DDL_CHANGES_INTERNAL_H */
