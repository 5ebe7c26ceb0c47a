/*-------------------------------------------------------------------------
 * table_facts.h
 *	  What a relation is.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_TABLE_FACTS_H
#define SHUTTLE_TABLETS_COMMON_TABLE_FACTS_H

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* The servers of a distributed table's tablets, each once. */
extern List *shuttle_table_servers(Oid relid);

/* True of tables that belong to this extension. */
extern bool shuttle_table_is_of_extension(Oid relid);

/* Locks a table for itself. Errors: 42501, before it waits, if the caller does not
 * own the table. */
extern void shuttle_table_lock_owned(Oid relid);

/*
 * An index's expressions (Anum_pg_index_indexprs, a list) or condition (Anum_pg_index_indpred), as
 * they were written; NULL: it has none. The relcache computes what is constant in its own, with the rights of who asks first.
 */
extern Node *shuttle_table_index_tree(Relation index, AttrNumber which);

/* The types (OIDs) that a type consists of: that below a domain, those of columns, elements and
 * bounds. */
extern List *shuttle_table_type_parts(Oid type);

/* True of regclass and its like, whose values are OIDs of objects of this server, and of types that
 * consist of such. */
extern bool shuttle_table_type_is_of_names(Oid type);

/* True of types that are hashed by OIDs of this server, which differ on nodes. */
extern bool shuttle_table_hashes_by_oids(Oid type);

#endif							/* SHUTTLE_TABLETS_COMMON_TABLE_FACTS_H */
