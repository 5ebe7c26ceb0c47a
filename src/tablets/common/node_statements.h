/*-------------------------------------------------------------------------
 * node_statements.h
 *	  Statements on nodes, in the local transaction.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_NODE_STATEMENTS_H
#define SHUTTLE_TABLETS_COMMON_NODE_STATEMENTS_H

#include "nodes/pg_list.h"

#include "storage/shuttle_storage.h"

/*
 * Statements to be run on nodes in the local transaction. Statements of one
 * node run in the order of adding; nodes work at the same time.
 */
typedef struct ShuttleNodeStatements ShuttleNodeStatements;

extern ShuttleNodeStatements *shuttle_node_statements_create(void);

/* The same for statements that make or change objects there, code of users among them. To drop
 * whole tables and functions of the caller's, and to change rows, no right on the server is needed. */
extern ShuttleNodeStatements *shuttle_node_definitions_create(void);

/* True if the current user may make objects on a node. */
extern bool shuttle_node_may_define(Oid serverid);

/* Errors: ERRCODE_INSUFFICIENT_PRIVILEGE if that is not so. */
extern void shuttle_node_check_may_define(Oid serverid);

/* Adds a statement for one server, or for each of a list.
 * Errors: ERRCODE_INSUFFICIENT_PRIVILEGE if a definition is added for a server that the
 * current user has no USAGE on. */
extern void shuttle_node_statements_add(ShuttleNodeStatements *statements,
										Oid serverid, const char *sql);
extern void shuttle_node_statements_add_all(ShuttleNodeStatements *statements,
											const List *serverids, const char *sql);

/* Adds several for each of a list of servers. */
extern void shuttle_node_statements_add_texts(ShuttleNodeStatements *statements,
											  const List *serverids, const List *texts);

/* A statement for the rest of the transaction. Code of users that a session on a node has run can have set another
 * search_path: what may lead to more rights than it had is not to find names of theirs, and is to read texts as we do. */
#define SHUTTLE_NODE_READ_AS_MEANT \
"SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), pg_catalog.set_config('standard_conforming_strings', 'on', true)," \
" pg_catalog.set_config('quote_all_identifiers', 'off', true)"

/* Sends all statements, waits for all nodes, and empties the list.
 * Errors: the first error of a node; connections that fail; cancel. */
extern void shuttle_node_statements_run(ShuttleNodeStatements *statements);

/*
 * The rows of a query on a node under search_path pg_catalog, as shuttle_local_rows()
 * returns them. $1 stands for the OID, or NULL, of the table there that has the name of
 * relid here. InvalidOid: the query is sent as it is.
 * Errors: ERRCODE_PROTOCOL_VIOLATION if a value is NULL.
 */
extern List *shuttle_node_rows(ShuttleNode *node, const char *sql, int ncolumns, Oid relid);

/* The same; NULL may be in all columns behind the first nrequired. */
extern List *shuttle_node_rows_with_nulls(ShuttleNode *node, const char *sql, int ncolumns, int nrequired, Oid relid);

/* The only row of a query. Errors: the same if there is another number of rows. */
extern char **shuttle_node_row(ShuttleNode *node, const char *sql, int ncolumns, int nrequired);

#endif							/* SHUTTLE_TABLETS_COMMON_NODE_STATEMENTS_H */
