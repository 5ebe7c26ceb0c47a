/*-------------------------------------------------------------------------
 * requests_internal.h
 *	  Requests inside of the storage room: their answers, pages and rows.
 *-------------------------------------------------------------------------
 */
#ifndef REQUESTS_INTERNAL_H
#define REQUESTS_INTERNAL_H

#include "storage/storage_internal.h"

/* ---- answer_format.c */

/* Decides how the values of a request that is being sent are asked for. */
extern void shuttle_format_choose(ShuttleRequest *request);

/*
 * Compares the first result with what the decoder expects.  Returns false if it
 * came in binary and cannot be read so: the request has to be sent again, as
 * texts.  Runs in the pump.
 */
extern bool shuttle_format_check(ShuttleRequest *request, const PGresult *result,
								 bool in_binary);

/* A request failed: where that was for its format, the next will not. */
extern void shuttle_format_forget(const ShuttleRequest *request);

/* The connection is gone, and what its answers are like. */
extern void shuttle_format_clear(ShuttleNode *node);

/* ---- rows.c */

/*
 * True where a decoder wants values in binary, from a node that agrees on all
 * types.  types_hash: of the types that it expects.
 */
extern bool shuttle_decoder_takes_binary(const ShuttleDecoder *decoder,
										 uint64 *types_hash);

/* True where no row can take more than a number of bytes. */
extern bool shuttle_decoder_is_narrow(const ShuttleDecoder *decoder,
									  int most_bytes);

/* What the requests of a decoder keep there of the width of its rows. */
extern int64 *shuttle_decoder_width(const ShuttleDecoder *decoder);

/* Says if an answer's columns have values that the decoder can read in
 * binary.  node_version: as PQserverVersion() tells it. */
extern bool shuttle_decoder_agrees(const ShuttleDecoder *decoder,
								   const PGresult *answer, int node_version);

/* ---- request.c, request_answer.c, request_pages.c */

/* What the pump says; the command belongs to the request from then on. */
extern void shuttle_request_answer(ShuttleRequest *request,
								   ShuttleCommand *command);

/* The same of a part of a command's answer; false where memory is short. */
extern bool shuttle_request_take(ShuttleRequest *request,
								 ShuttleCommand *command, PGresult *result);

/* A command of the request failed; error may be NULL: the connection did. */
extern void shuttle_request_fail(ShuttleRequest *request,
								 ShuttleNodeError *error, bool own_error);

/* The node skips a request sent ahead because of another one's error. */
extern void shuttle_request_skip(ShuttleRequest *request);

/* Nothing of a request was done: it is sent again when it is next asked for. */
extern void shuttle_request_repeat(ShuttleRequest *request);

/* The same for all requests of the node's transaction. */
extern void shuttle_request_repeat_all(ShuttleNode *node);

/* Reads an answer to its end, into a store where it is long.  Errors: cancel
 * and the like; an error of the node stays in the request. */
extern void shuttle_request_complete(ShuttleRequest *request);

/* The reset callback of a request's context. */
extern void shuttle_request_abandon(void *request);

/* A (sub)transaction rolled back: the request's commands are void. */
extern void shuttle_request_abort(ShuttleRequest *request);

/* Ends the savepoint of a packet that is sent ahead. */
extern void shuttle_request_add_release(ShuttleRequest *request);

/* Adds the query that counts rows scanned, in front of or behind a request. */
extern void shuttle_request_add_scanned(ShuttleRequest *request, bool behind);

/* A condition for waits: something of a request can be read, or it ended. */
extern bool shuttle_request_has_news(void *request);

/* Most rows of an answer that is held back until it is complete. */
extern int64 shuttle_request_most_held(const ShuttleRequest *request);

/* Puts DECLARE and the first FETCHes of a cursor into the packet. */
extern void shuttle_pages_open(ShuttleRequest *request);

/* Asks for more pages where the window allows it.  waits: the reader has used
 * up all that was here. */
extern void shuttle_pages_ask(ShuttleRequest *request, bool waits);

/* The same for a reader that takes all there is out of the way. */
extern void shuttle_pages_ask_all(ShuttleRequest *request);

/* A page was read to its end: changes the size of the next ones, and asks for
 * them. */
extern void shuttle_request_page_was_read(ShuttleRequest *request);

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

/* The next row that is here and can be read. */
extern bool shuttle_pages_next(ShuttleRequest *request, ShuttleRow *row);

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

/* ---- cursors of a node (cursor.c) */

/* Returns a free slot; name is "c<slot>". */
extern int	shuttle_cursor_allocate(ShuttleNode *node);

/* Its request is gone; never raises. */
extern void shuttle_cursor_release(ShuttleNode *node, int cursor);

/* The DECLARE was answered. */
extern void shuttle_cursor_answer(ShuttleNode *node, ShuttleCommand *command,
								  bool failed);

/* Adds CLOSE for cursors that nobody needs. */
extern void shuttle_cursor_close_unwanted(ShuttleNode *node);

/* Cursors end that were declared at level or deeper, or in a packet. */
extern void shuttle_cursor_forget_level(ShuttleNode *node, int level);
extern void shuttle_cursor_forget_packet(ShuttleNode *node, uint64 packet);

/* A level was released: its cursors belong to the one above. */
extern void shuttle_cursor_release_level(ShuttleNode *node, int level);

/* ---- answer_store.c */

extern ShuttleStore *shuttle_store_create(MemoryContext owner);
extern void shuttle_store_put(ShuttleStore *store, const ShuttleRow *row);
extern bool shuttle_store_get(ShuttleStore *store, ShuttleRow *row);
extern bool shuttle_store_has_rows(const ShuttleStore *store);
extern void shuttle_store_rewind(ShuttleStore *store);
extern MemoryContext shuttle_store_context(const ShuttleStore *store);

#endif							/* REQUESTS_INTERNAL_H */
