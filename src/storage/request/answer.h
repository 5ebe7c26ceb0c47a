/*-------------------------------------------------------------------------
 * answer.h
 *	  Rows of answers: in libpq's results, or moved to a store.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_REQUEST_ANSWER_H
#define SHUTTLE_STORAGE_REQUEST_ANSWER_H

#include "libpq-fe.h"

#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- answer_pages.c */

/* Chooses libpq's row mode for a command; call before reading its answer. */
extern void shuttle_answer_pages_begin(ShuttleNode *node, ShuttleCommand *command);

/* True if the result is only a part of the answer. */
extern bool shuttle_answer_pages_is_part(const PGresult *result);

/* Takes the rows of a result; false if out of memory. Runs in the pump. */
extern bool shuttle_answer_pages_take(ShuttleNode *node, ShuttleCommand *command,
									  PGresult *result);

/* Frees rows that are no longer wanted. Runs in the pump. */
extern void shuttle_answer_pages_drop(ShuttleNode *node, PGresult *result);

/* Notes the size of a message: after a large one the connection is replaced at
 * the transaction's end, to free libpq's buffers. */
extern void shuttle_answer_pages_note_message(ShuttleNode *node, int64 bytes);

/* The parts taken so far complete a page. */
extern void shuttle_answer_pages_end(ShuttleRequest *request);

/* True if the node's answers must not be read until rows are. */
extern bool shuttle_answer_pages_hold_up(ShuttleNode *node);

/* Moves the rows that hold the node up to a store; false: there are none.
 * Errors: those of temporary files. */
extern bool shuttle_answer_pages_make_way(ShuttleNode *node);

/* True if there are rows to read in memory. */
extern bool shuttle_answer_pages_has_unread(ShuttleRequest *request);

/* Number of unread rows in memory. */
extern int64 shuttle_answer_pages_count_unread(const ShuttleRequest *request);

/* Returns the next row in memory; also false (with ended) if a page was read to
 * its end and freed: others may follow. */
extern bool shuttle_answer_pages_next(ShuttleRequest *request, ShuttleRow *row, bool *ended);

/* Restarts at the first row in memory. */
extern void shuttle_answer_pages_rewind(ShuttleRequest *request);

/* Frees the rows in memory; never raises. */
extern void shuttle_answer_pages_free(ShuttleRequest *request);

/* Moves the rows in memory to the request's store. */
extern void shuttle_answer_pages_store(ShuttleRequest *request);

/* ---- answer_store.c */
extern ShuttleStore *shuttle_answer_store_create(MemoryContext owner);
extern void shuttle_answer_store_put(ShuttleStore *store, const ShuttleRow *row);
extern bool shuttle_answer_store_get(ShuttleStore *store, ShuttleRow *row);
extern bool shuttle_answer_store_has_rows(const ShuttleStore *store);
extern void shuttle_answer_store_rewind(ShuttleStore *store);
extern MemoryContext shuttle_answer_store_context(const ShuttleStore *store);

#endif							/* SHUTTLE_STORAGE_REQUEST_ANSWER_H */
