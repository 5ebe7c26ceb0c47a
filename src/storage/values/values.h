/*-------------------------------------------------------------------------
 * values.h
 *	  Values on the wire: tuples made of answers, and values printed for requests.
 *
 * Files: row_values.c does both for whole rows; text_values.c and
 * binary_values.c read single values; binary_types.c and answer_format.c say
 * which types may come in binary.
 *
 * In: bytes of an answer, or Datums. Out: Datums, or texts under the settings
 * that values travel with.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_VALUES_VALUES_H
#define SHUTTLE_STORAGE_VALUES_VALUES_H

#include "libpq-fe.h"

#include "storage/shuttle_storage.h"

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

/* ---- row_values.c */

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

#endif							/* SHUTTLE_STORAGE_VALUES_VALUES_H */
