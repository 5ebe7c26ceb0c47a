/*-------------------------------------------------------------------------
 * values.h
 *	  Values on the wire: tuples made from answers, and values printed for
 *	  requests.
 *
 * Files: row_values.c does both for whole rows; text_values.c and
 * binary_values.c read single values (decoders.h); binary_types.c and
 * answer_format.c say which types may come in binary.
 *
 * In: bytes of an answer, or Datums. Out: Datums, or texts printed under the
 * settings for transmission.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_VALUES_VALUES_H
#define SHUTTLE_STORAGE_VALUES_VALUES_H

#include "libpq-fe.h"

#include "storage/shuttle_storage.h"

/* ---- answer_format.c */

/* Chooses the format of a request's answer when it is sent. */
extern void shuttle_answer_format_choose(ShuttleRequest *request);

/*
 * Compares the first result with what the decoder expects. Returns false if it
 * came in binary and cannot be read: the request must be sent again, for text.
 * Runs in the pump.
 */
extern bool shuttle_answer_format_check(ShuttleRequest *request, const PGresult *result,
										bool in_binary);

/* A request failed: the next one asks for text, in case the format was the
 * cause. */
extern void shuttle_answer_format_forget(const ShuttleRequest *request);

/* Forgets what is known of answers' formats, with the connection. */
extern void shuttle_answer_format_clear(ShuttleNode *node);

/* ---- row_values.c */

/* True if a decoder wants values in binary from a node that agrees on all
 * types. */
extern bool shuttle_row_decoder_takes_binary(const ShuttleDecoder *decoder);

/* Notes the node that the decoder's rows come from, for errors. */
extern void shuttle_row_decoder_note_node(const ShuttleDecoder *decoder,
										  const char *name);

/* Where requests store the observed width of the decoder's rows. */
extern int64 *shuttle_row_decoder_width(const ShuttleDecoder *decoder);

/* True if the decoder can read the answer's column types in binary.
 * node_version: from PQserverVersion(). */
extern bool shuttle_row_decoder_agrees(const ShuttleDecoder *decoder,
									   const PGresult *answer, int node_version);

#endif							/* SHUTTLE_STORAGE_VALUES_VALUES_H */
