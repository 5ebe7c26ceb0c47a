/*-------------------------------------------------------------------------
 * move_table.h
 *	  An ordinary table on a node, which moves to another one.
 *
 * move_table_text.c	its definition
 * move_table_code.c	what that calls, and whose it is
 * move_table_rights.c	whose the table is
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_MOVE_MOVE_TABLE_H
#define SHUTTLE_TABLETS_MOVE_MOVE_TABLE_H

#include "tablets/move/move.h"

/* ---- move_table_text.c */

/* Errors: a table on a node, by its qualified name, that cannot be moved. is_published: the move has
 * made its publication. */
extern void shuttle_move_check_remote(const ShuttleMove *move, bool is_published);

/* Statements, as the old node gives them. The first make such a table on another node in a schema that is there, without
 * defaults, owner and privileges. The last add these when all rows are there: before, a row that comes without a column
 * would get the column's default. */
extern List *shuttle_move_table_texts(const ShuttleMove *move);
extern List *shuttle_move_last_texts(const ShuttleMove *move);

/* The role of the old node that owns it. */
extern char *shuttle_move_table_owner(const ShuttleMove *move);

/* Statements that set its sequences (move->sequences) to the values that they have on the old node. */
extern List *shuttle_move_sequence_texts(const ShuttleMove *move);

/* ---- move_table_code.c */

/*
 * Look at such statements before they are sent: those that make the table, and those that come with the last commit. The
 * former returns the names of its sequences, as lists of schema and name. Errors: ERRCODE_PROTOCOL_VIOLATION, if they do
 * more than that; ERRCODE_INSUFFICIENT_PRIVILEGE, if they name what roles without the rights of the remote user on the new node
 * can change there; ERRCODE_FEATURE_NOT_SUPPORTED, if they call what may run any code, or name what is not there.
 */
extern List *shuttle_move_check_texts(const ShuttleMove *move, const List *texts);
extern void shuttle_move_check_last_texts(const ShuttleMove *move, const List *texts);

/* ---- move_table_rights.c */

/* Errors: ERRCODE_INSUFFICIENT_PRIVILEGE, if the table on the old node is not the foreign table's owner's. */
extern void shuttle_move_check_owner(const ShuttleMove *move);

#endif							/* SHUTTLE_TABLETS_MOVE_MOVE_TABLE_H */
