/*-------------------------------------------------------------------------
 * assignments.h
 *	  What the statements of a PL/pgSQL block assign (assignments.c).
 *
 * In: a function and its block. Out: the last statement of the block after which
 * something could tell whether the block was rolled back there or later.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_BEHIND_ASSIGNMENTS_H
#define SHUTTLE_EXECUTOR_BEHIND_ASSIGNMENTS_H

#include "plpgsql.h"

/*
 * The ID of the last statement of the block's body that assigns a variable which
 * can be read behind the block, moves a cursor that was opened outside of it, or
 * returns a row; 0: none does. errors_end_function: no error that ends the block is
 * caught in its function.
 */
extern unsigned int shuttle_assignment_find_last(const PLpgSQL_function *function,
												 const PLpgSQL_stmt_block *block,
												 bool errors_end_function);

#endif							/* SHUTTLE_EXECUTOR_BEHIND_ASSIGNMENTS_H */
