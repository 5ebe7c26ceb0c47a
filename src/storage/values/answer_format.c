/*-------------------------------------------------------------------------
 * answer_format.c
 *	  Whether the values of an answer are requested in binary.
 *
 * In text, the types on both sides need only be convertible; in binary the
 * node's types must be the ones expected here. They are unknown before the
 * first answer to a statement, so that one is requested as text; its next
 * pages, and later requests with the same statement, come in binary if the
 * types agree. So a node is never asked for a format that it may not have, as
 * that error would abort its transaction.
 *
 * If a type has changed on the node since then, the first answer shows it: the
 * request is sent again, for text.
 *
 * Memory: each connection has a table of hashes; a hash's value gives its only
 * place.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "base/shuttle_settings.h"
#include "storage/connection/connection.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/values/values.h"

#define NKEYS 1024

static uint64 *key_place(const ShuttleRequest *request);

void
shuttle_answer_format_choose(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;

	request->format = FORMAT_TEXT;
	request->format_checked = false;

	/* Only requests that just read may be sent again. */
	if (request->decoder == NULL || request->refused_binary ||
		request->effect != SHUTTLE_READS ||
		!shuttle_settings.enable_binary_transfer ||
		!shuttle_row_decoder_takes_binary(request->decoder))
		return;
	if (node->binary_keys == NULL)
		node->binary_keys = MemoryContextAllocZero(node->cxt,
												   sizeof(uint64) * NKEYS);
	request->format_key =
		hash_bytes_extended((const unsigned char *) request->sql,
							strlen(request->sql), shuttle_row_decoder_types_hash(request->decoder));
	request->format = *key_place(request) == request->format_key ?
		FORMAT_BINARY : FORMAT_UNDECIDED;
}

static uint64 *
key_place(const ShuttleRequest *request)
{
	return &request->node->binary_keys[request->format_key % NKEYS];
}

bool
shuttle_answer_format_check(ShuttleRequest *request, const PGresult *result,
							bool in_binary)
{
	ShuttleNode *node = request->node;

	if (request->format_checked || request->format == FORMAT_TEXT)
		return true;
	request->format_checked = true;
	if (shuttle_row_decoder_agrees(request->decoder, result,
								   PQserverVersion(node->connection.conn)))
	{
		*key_place(request) = request->format_key;
		request->format = FORMAT_BINARY;
		return true;
	}
	shuttle_answer_format_forget(request);
	request->format = FORMAT_TEXT;
	request->refused_binary = true;
	return !in_binary;
}

void
shuttle_answer_format_forget(const ShuttleRequest *request)
{
	if (request->format == FORMAT_BINARY &&
		request->node->binary_keys != NULL &&
		*key_place(request) == request->format_key)
		*key_place(request) = 0;
}

void
shuttle_answer_format_clear(ShuttleNode *node)
{
	if (node->binary_keys != NULL)
		memset(node->binary_keys, 0, sizeof(uint64) * NKEYS);
}
