/*-------------------------------------------------------------------------
 * answer.h
 *	  Rows of answers: in pages as libpq has them, or moved to a store.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_REQUEST_ANSWER_H
#define SHUTTLE_STORAGE_REQUEST_ANSWER_H

#include "libpq-fe.h"

#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- answer_pages.c */

/* Tells libpq how to give a command's rows; call it before its answer is looked
 * for. */
extern void shuttle_pages_begin(ShuttleNode *node, ShuttleCommand *command);

/* True for a result behind which more of the answer comes. */
extern bool shuttle_pages_is_part(const PGresult *result);

/* Takes the rows of a result over; false where memory is short.  Runs in the
 * pump. */
extern bool shuttle_pages_take(ShuttleNode *node, ShuttleCommand *command,
							   PGresult *result);

/* Frees the rows of an answer that nobody wants any more.  Runs in the pump. */
extern void shuttle_pages_drop(ShuttleNode *node, PGresult *result);

/* Tells how large a message was, sent or received: libpq's memory of a large one
 * is given back behind the transaction. */
extern void shuttle_pages_note_message(ShuttleNode *node, int64 bytes);

/* What was taken so far completes a page. */
extern void shuttle_pages_end(ShuttleRequest *request);

/* True where the node's answers are left alone until rows are read. */
extern bool shuttle_pages_hold_up(ShuttleNode *node);

/* Stores what holds the node up; false if nothing does.  Errors: those of
 * temporary files. */
extern bool shuttle_pages_make_way(ShuttleNode *node);

/* True where rows are here that can be read. */
extern bool shuttle_pages_has_unread(ShuttleRequest *request);

/* Rows that are here, those in the store left out, and were not read. */
extern int64 shuttle_pages_count_unread(const ShuttleRequest *request);

/* The next row that is here and can be read; false also where a page was read to
 * its end and freed (ended), behind which there may be others. */
extern bool shuttle_pages_next(ShuttleRequest *request, ShuttleRow *row, bool *ended);

/* Starts again from the first row that is here. */
extern void shuttle_pages_rewind(ShuttleRequest *request);

/* Frees what is here; never raises. */
extern void shuttle_pages_free(ShuttleRequest *request);

/* Moves all rows that are here into the request's store. */
extern void shuttle_pages_store(ShuttleRequest *request);

/* Counts a result's rows and their bytes, and keeps what its tag says; the bytes
 * around an answer's rows. */
extern void shuttle_pages_count(ShuttleCommand *command, const PGresult *result);
extern void shuttle_pages_count_frame(const ShuttleCommand *command);

/* ---- answer_store.c */
extern ShuttleStore *shuttle_store_create(MemoryContext owner);
extern void shuttle_store_put(ShuttleStore *store, const ShuttleRow *row);
extern bool shuttle_store_get(ShuttleStore *store, ShuttleRow *row);
extern bool shuttle_store_has_rows(const ShuttleStore *store);
extern void shuttle_store_rewind(ShuttleStore *store);
extern MemoryContext shuttle_store_context(const ShuttleStore *store);

#endif							/* SHUTTLE_STORAGE_REQUEST_ANSWER_H */
