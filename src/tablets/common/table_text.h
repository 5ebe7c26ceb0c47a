/*-------------------------------------------------------------------------
 * table_text.h
 *	  What a node has to be told of a table.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_TABLE_TEXT_H
#define SHUTTLE_TABLETS_COMMON_TABLE_TEXT_H

#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"

/* A column as nodes have it; texts are SQL, quoted, with a space in front if
 * they are parts of a definition. */
typedef struct ShuttleNodeColumn
{
	AttrNumber	number;
	char	   *name;
	char	   *bare_type;		/* without collation */
	char	   *type;			/* with collation */
	char	   *generated;		/* or empty */
	char	   *not_null;		/* or empty; of 18 also NOT NULL NOT VALID */
} ShuttleNodeColumn;

/* Kinds of parts: those of pg_constraint.contype, one for checks that nodes do not get, and
 * one for other indexes. */
#define SHUTTLE_PART_CHECK 'c'
#define SHUTTLE_PART_CHECK_HERE 'h'
#define SHUTTLE_PART_INDEX 'i'

/* A constraint or an index as nodes have it. */
typedef struct ShuttleNodePart
{
	Oid			oid;			/* of the constraint or index here */
	char		kind;
	char	   *name;			/* quoted */
	char	   *definition;		/* of a constraint, or CREATE INDEX */
} ShuttleNodePart;

extern List *shuttle_table_text_columns(Oid relid);

/* The same of the table of that name on a node. */
extern List *shuttle_table_text_node_columns(Oid relid, ShuttleNode *node);

/* NOT NULL for the column's definition, if all rows meet it; or empty. */
extern const char *shuttle_table_text_column_not_null(const ShuttleNodeColumn *column);

/* The action of ALTER TABLE that gives a column its NOT NULL, or takes it. */
extern char *shuttle_table_text_not_null(const ShuttleNodeColumn *column);

/* Checks, then keys and unique constraints, then indexes; those of copies, if it is no distributed
 * table. */
extern List *shuttle_table_text_parts(Oid relid);

/* A constraint of a reference table as its copies have it: rows are changed one by one there, so what is
 * deferrable is deferred. This server has checked them. */
extern char *shuttle_table_text_of_copies(char *definition);

/* True of a check that rows of before need not meet. */
extern bool shuttle_table_part_is_unchecked(const ShuttleNodePart *part);

/* The statement that makes a part on a node. */
extern char *shuttle_table_text_add_part(Oid relid, const ShuttleNodePart *part);

/* The statement that makes a schema on a node that lacks it. */
extern char *shuttle_table_text_schema(const char *schema);

/* The table without indexes: the parent of tablets, or, without a key, an ordinary table. Its
 * schema is there (rights/node_owners.h). */
extern List *shuttle_table_text_parent(Oid relid, const char *key);

/* A query of a table's storage options, for WITH or SET. A partitioned table has none:
 * its tablets have them. */
#define SHUTTLE_OPTIONS_QUERY "SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = $1"

/* The statement that makes one tablet on its node; its name is qualified and quoted. */
extern char *shuttle_table_text_tablet(Oid relid, const ShuttleTablet *tablet, const char *name);

/* Primary key, unique constraints and indexes, for a table that has its rows. key: the
 * distribution column, if the table is not distributed yet; else NULL. */
extern List *shuttle_table_text_indexes(Oid relid, const char *key);

/* A foreign key, and its comment. */
extern List *shuttle_table_text_foreign_key(Oid constraint);

/* The constraints that rows of before need not meet, for a table that has its rows. */
extern List *shuttle_table_text_unchecked(Oid relid);

#endif							/* SHUTTLE_TABLETS_COMMON_TABLE_TEXT_H */
