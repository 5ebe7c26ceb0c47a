/*-------------------------------------------------------------------------
 * ddl_table.h
 *	  What ALTER TABLE of a distributed table consists of.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_TABLE_DDL_TABLE_H
#define SHUTTLE_TABLETS_DDL_TABLE_DDL_TABLE_H

#include "nodes/parsenodes.h"

#include "tablets/ddl/ddl_statement.h"

/* ---- ddl_set_aside.c: unique indexes of columns whose type changes */

/* Drops the unique indexes and constraints that depend on a column. Returns them for
 * shuttle_ddl_set_aside_give(), in the current context. */
extern List *shuttle_ddl_set_aside(Oid relid, const char *column);

/* Makes them again. Errors: 0A000, a unique index without the distribution column is not
 * possible for the new type. */
extern void shuttle_ddl_set_aside_give(const ShuttleDdl *ddl, const List *indexes);

/* ---- ddl_dependents.c */

/* Runs a part of ALTER TABLE here. Errors: those of the statement, of which 2BP01 names the table's
 * own columns and dependents. */
extern void shuttle_ddl_run_part(const ShuttleDdl *ddl, AlterTableStmt *statement);

/* ---- ddl_using.c */

/* The expression behind USING of ALTER COLUMN ... TYPE, for nodes; NULL if its type does
 * not fit. query: the statement, for errors. Errors: those of the expression. */
extern char *shuttle_ddl_using_text(Oid relid, const ColumnDef *column, const char *query);

/* Computes here what nodes might compute otherwise, into columns that the statement then takes
 * and drops. Errors: those of the expression; 0A000, it is of whole rows or system columns. */
extern void shuttle_ddl_using_compute(const ShuttleDdl *ddl, AlterTableStmt *statement, bool are_copies);

/* NULL, as a parsed expression. */
extern Node *shuttle_ddl_null(void);

/* Runs such subcommands (of AlterTableCmd) on a distributed table, while it has no
 * tablets. */
extern void shuttle_ddl_using_run(Oid relid, List *commands,
								  void (*run) (void *arg, List *commands), void *arg);

#endif							/* SHUTTLE_TABLETS_DDL_TABLE_DDL_TABLE_H */
