/*-------------------------------------------------------------------------
 * node_texts.h
 *	  Statements with a text of a storage node in them
 *	  (node_texts.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_NODE_TEXTS_H
#define SHUTTLE_TABLETS_RIGHTS_NODE_TEXTS_H

#include "nodes/pg_list.h"

/*
 * Runs a statement whose end is a node's text.
 * like: a statement of ours of that form.
 * Errors: ERRCODE_PROTOCOL_VIOLATION if it is several, has other actions of ALTER TABLE, or names functions,
 * operators or types of users that ours does not.
 */
extern void shuttle_node_text_run(const char *statement, const char *like);

/*
 * The statement that makes a foreign key of a table, which leads to another one, of a node's text.
 * name: quoted. Errors: the same, or if the text is of anything else.
 */
extern char *shuttle_node_text_add_key(Oid relid, Oid referred, const char *name, const char *definition);

/* Returns a node's text, which another node is to execute. Errors: the same, if it does not give the table of that name
 * one foreign key, to a table of its group or a reference table. */
extern char *shuttle_node_text_check_key(Oid relid, const List *group, char *statement);

#endif							/* SHUTTLE_TABLETS_RIGHTS_NODE_TEXTS_H */
