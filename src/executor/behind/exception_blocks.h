/*-------------------------------------------------------------------------
 * exception_blocks.h
 *	  Blocks with EXCEPTION of PL/pgSQL that run (exception_blocks.c).
 *
 * In: what PL/pgSQL's plugin and the savepoint callback see. Out: whether an
 * INSERT of a block need not be waited for.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_BEHIND_EXCEPTION_BLOCKS_H
#define SHUTTLE_EXECUTOR_BEHIND_EXCEPTION_BLOCKS_H

#include "plpgsql.h"

#include "storage/shuttle_storage.h"

/* Called before each statement of a function. */
extern void shuttle_exception_blocks_statement(PLpgSQL_execstate *estate,
											   const PLpgSQL_stmt *statement);

/* Called before and behind each statement: raises the error of an INSERT, if one
 * that a handler has caught came after it. */
extern void shuttle_exception_blocks_raise(const PLpgSQL_execstate *estate);

/* Called when a savepoint of a nest level has been released or rolled back. */
extern void shuttle_exception_blocks_end(int level);

/* True if the savepoint of that level is a block with EXCEPTION whose result is the
 * same if the statement that runs is not waited for. */
extern bool shuttle_exception_block_hides_nothing(int level);

/* Called before such a block is rolled back, for a write that was not waited
 * for. Returns false if it has, or may have, failed. */
extern bool shuttle_exception_block_take_back(ShuttleNode *node,
											  ShuttleRequest *request);

/* Called when a level is rolled back (1: the transaction): forgets such an error
 * of a level within it, unless a block of the level has caught another one. */
extern void shuttle_exception_blocks_roll_back(int level);

/* True if the source of a function has none of these words (the last is NULL), which
 * are compared without case. False for a DO block, whose source is not kept. */
extern bool shuttle_exception_function_lacks_words(Oid function, const char *const *words);

#endif							/* SHUTTLE_EXECUTOR_BEHIND_EXCEPTION_BLOCKS_H */
