/*-------------------------------------------------------------------------
 * needs.h
 *	  Types, functions and routines that tables need on nodes.
 *
 * Files: needed_objects.c, routines.c (see routines.h).
 *
 * In: a table. Out: statements for nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_NEEDS_NEEDS_H
#define SHUTTLE_TABLETS_NEEDS_NEEDS_H

/* ---- needed_objects.c: types and functions that nodes need */

/*
 * Statements that make what the table needs, if a node does not have it as it is here.
 * They fail on nodes that lack what cannot be made, or use another type of that name, or
 * where code of users must not run (user_code.h). Errors: those of shuttle_user_code_guard().
 */
extern List *shuttle_needed_objects_texts(Oid relid, const List *servers);

/* The same without a type that nodes have, and are to change. */
extern List *shuttle_needed_objects_texts_but(Oid relid, const List *servers, Oid type);

/* What the table needs, as objects for node_owners.h. */
extern List *shuttle_needed_objects_names(Oid relid);

/* OIDs of the distributed and reference tables that need one of some objects.
 * objects: a query of their class and OID, under search_path pg_catalog. */
extern List *shuttle_needed_objects_tables(const char *objects);

#endif							/* SHUTTLE_TABLETS_NEEDS_NEEDS_H */
