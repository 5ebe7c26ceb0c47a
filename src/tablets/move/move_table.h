/*-------------------------------------------------------------------------
 * move_table.h
 *	  An ordinary table on a node, which moves to another one.
 *
 * move_table_text.c	its definition
 * move_table_rights.c	whose it is, and whose code it brings
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_MOVE_MOVE_TABLE_H
#define SHUTTLE_TABLETS_MOVE_MOVE_TABLE_H

#include "tablets/move/move.h"

/* ---- move_table_text.c */

/* Errors: a table on a node, by its qualified name, that cannot be moved. is_published: the move has
 * made its publication. */
extern void shuttle_move_check_remote(const ShuttleMove *move, bool is_published);

/* Statements that make such a table on another node, with all that belongs to it but its owner and privileges;
 * and those that give it these. */
extern List *shuttle_move_table_texts(const ShuttleMove *move);
extern List *shuttle_move_right_texts(const ShuttleMove *move);

/* Statements that set its sequences to where they are. */
extern List *shuttle_move_sequence_texts(const ShuttleMove *move);

/* ---- move_table_rights.c */

/* Errors: ERRCODE_INSUFFICIENT_PRIVILEGE, if the table on the old node is not the foreign table's owner's. */
extern void shuttle_move_check_owner(const ShuttleMove *move);

/* Errors: the same, if code that the table needs on the new node, which the local transaction uses, is of roles
 * that have not all rights of the remote user. */
extern void shuttle_move_check_code(const ShuttleMove *move);

#endif							/* SHUTTLE_TABLETS_MOVE_MOVE_TABLE_H */
