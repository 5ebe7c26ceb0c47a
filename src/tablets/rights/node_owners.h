/*-------------------------------------------------------------------------
 * node_owners.h
 *	  Whether what nodes have already belongs to roles that may change it
 *	  (node_owners.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_NODE_OWNERS_H
#define SHUTTLE_TABLETS_RIGHTS_NODE_OWNERS_H

#include "nodes/pg_list.h"

#define SHUTTLE_NODE_OWNERS_HINT \
"On the node, let the remote user or a superuser own it, its schema, and all in the schema that has its name, and revoke CREATE on the schema from others."

/* The format of an object in lists of them: 'function', 'type' or 'operator', its schema, and its name as
 * to_regprocedure() and the like read it. */
#define SHUTTLE_NODE_OWNERS_FORMAT "'(%L, %L, %L, NULL)'"

/* The same of one object, or of everything in a schema: its kind is 'schema'. */
extern char *shuttle_node_owners_object(const char *kind, const char *schema, const char *name);

/* The same of a schema in which a table is to be. */
extern char *shuttle_node_owners_schema(Oid schema);

/*
 * A query for a node: no row if all objects of a list belong to the remote user there, or
 * to roles that have the same rights, and nobody else can put others in their place; else the first
 * object, and a role that can. What the node does not have, or is in schemas without USAGE for the remote user, is left out.
 */
extern char *shuttle_node_owners_query(const List *objects);

/* The statement for a node that raises 42501 instead. It also comes behind the statements that make the objects, so
 * that no one makes them in between. */
extern char *shuttle_node_owners_text(const List *objects);

/* The statement that raises 42501 if neither the remote user, nor a role that has its rights, nor the owner of a table (a role
 * of the node) owns the schema in which the table is to be. */
extern char *shuttle_node_owners_place_text(const char *schema, const char *owner);

/* The statements that make a schema for tables on a node that lacks it, and look whose it is. */
extern List *shuttle_node_owners_schema_texts(Oid schema);

#endif							/* SHUTTLE_TABLETS_RIGHTS_NODE_OWNERS_H */
