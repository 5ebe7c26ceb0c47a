/*-------------------------------------------------------------------------
 * prepared.c
 *	  Prepared statements of a connection.
 *
 * A text is prepared at its second use: postgres_fdw prints constants into
 * texts, so most occur once (trap 37). Other packets use a name only after its
 * PREPARE was answered, since a failed packet may have skipped that. A
 * connection has at most 256; the least recently used one is closed with the
 * next request. A statement that became outdated, since a table was altered,
 * is forgotten, and prepared again if the request can be repeated.
 *
 * A node takes the types of parameters from the columns that they are assigned to,
 * once, at PREPARE, and those of the answer's columns. A text for other types is
 * another statement: else '007' for a column that was an integer would arrive as
 * '7', and behind a request the node's refusal could not be mended. A
 * transaction that changes tables prepares nothing and uses nothing prepared,
 * since a failed statement cannot be repeated in it, and it may be rolled back.
 *
 * Memory: entries in node->cxt. First uses are kept as hashes: on a collision
 * a text is just prepared early.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

#define MOST_PREPARED 256
#define MOST_SEEN 1024

typedef enum PreparedState
{
	PREPARED_ASKED,				/* PREPARE is not answered */
	PREPARED_READY,
	PREPARED_CLOSING
} PreparedState;

typedef struct PreparedEntry
{
	uint32		hash;			/* key; statements with equal hashes are a
								 * list */
	ShuttlePrepared *first;
} PreparedEntry;

struct ShuttlePrepared
{
	ShuttlePrepared *next;		/* same hash */
	dlist_node	lru;
	PreparedState state;
	uint32		hash;
	uint32		types_hash;		/* of its parameters and columns */
	uint64		generation;		/* last transaction that used it */
	int			nusers;			/* commands that use it */
	bool		forgotten;		/* not in the table: freed with its last
								 * command */
	char		name[24];
	char	   *sql;
};

static void create_table(ShuttleNode *node);
static bool seen_before(ShuttleNode *node, uint32 hash);
static ShuttlePrepared *find(ShuttleNode *node, uint32 hash, const ShuttleRequest *request);
static ShuttlePrepared *prepare(ShuttleNode *node, uint32 hash,
								ShuttleRequest *request);
static void close_oldest(ShuttleNode *node);
static void release(ShuttlePrepared *prepared);
static void forget(ShuttleNode *node, ShuttlePrepared *prepared);

const char *
shuttle_prepared_name(const ShuttlePrepared *prepared)
{
	return prepared->name;
}

const char *
shuttle_prepared_sql(const ShuttlePrepared *prepared)
{
	return prepared->sql;
}

static uint32
hash_request(const ShuttleRequest *request)
{
	const char *sql = request->sent_sql;

	return hash_combine(hash_bytes((const unsigned char *) sql, strlen(sql)), request->types_hash);
}

static bool
is_changing_tables(const ShuttleNode *node)
{
	return node->prepared.changed_generation == node->transaction.generation;
}

bool
shuttle_prepared_is_untried(ShuttleNode *node, const ShuttleRequest *request)
{
	ShuttlePrepared *prepared = NULL;

	if (node->prepared.statements != NULL && !is_changing_tables(node))
		prepared = find(node, hash_request(request), request);
	return prepared != NULL && prepared->state == PREPARED_READY &&
		prepared->generation != node->transaction.generation;
}

ShuttlePrepared *
shuttle_prepared_use(ShuttleNode *node, ShuttleRequest *request, bool *earlier)
{
	uint32		hash = hash_request(request);
	ShuttlePrepared *prepared;

	*earlier = false;
	if (request->changes_tables)
		node->prepared.changed_generation = node->transaction.generation;
	/* The next transaction may get another server session. */
	if (node->options.pooled || is_changing_tables(node))
		return NULL;
	if (node->prepared.statements == NULL)
		create_table(node);
	prepared = find(node, hash, request);
	if (prepared == NULL)
	{
		if (!seen_before(node, hash))
			return NULL;
		prepared = prepare(node, hash, request);
	}
	else if (prepared->state != PREPARED_READY)
		return NULL;
	else
	{
		dlist_delete(&prepared->lru);
		dlist_push_tail(&node->prepared.lru, &prepared->lru);
		*earlier = true;
	}
	prepared->generation = node->transaction.generation;
	prepared->nusers++;
	return prepared;
}

static void
create_table(ShuttleNode *node)
{
	HASHCTL		control = {0};

	dlist_init(&node->prepared.lru);
	control.keysize = sizeof(uint32);
	control.entrysize = sizeof(PreparedEntry);
	control.hcxt = node->cxt;
	node->prepared.statements = hash_create("shuttle prepared statements", 64, &control,
											HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
create_seen(ShuttleNode *node)
{
	HASHCTL		control = {0};

	node->prepared.seen_order = MemoryContextAllocZero(node->cxt, sizeof(uint32) * MOST_SEEN);
	control.keysize = sizeof(uint32);
	control.entrysize = sizeof(uint32);
	control.hcxt = node->cxt;
	node->prepared.seen_texts = hash_create("shuttle seen texts", MOST_SEEN, &control,
											HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Remembers a text and forgets the oldest; true if it was known. */
static bool
seen_before(ShuttleNode *node, uint32 hash)
{
	bool		found;

	if (node->prepared.seen_texts == NULL)
		create_seen(node);
	hash_search(node->prepared.seen_texts, &hash, HASH_ENTER, &found);
	if (found)
		return true;
	if (hash_get_num_entries(node->prepared.seen_texts) > MOST_SEEN)
		hash_search(node->prepared.seen_texts, &node->prepared.seen_order[node->prepared.next_seen], HASH_REMOVE, NULL);
	node->prepared.seen_order[node->prepared.next_seen] = hash;
	node->prepared.next_seen = (node->prepared.next_seen + 1) % MOST_SEEN;
	return false;
}

static ShuttlePrepared *
find(ShuttleNode *node, uint32 hash, const ShuttleRequest *request)
{
	PreparedEntry *entry = hash_search(node->prepared.statements, &hash, HASH_FIND, NULL);
	ShuttlePrepared *prepared = entry != NULL ? entry->first : NULL;

	while (prepared != NULL && (prepared->types_hash != request->types_hash ||
								strcmp(prepared->sql, request->sent_sql) != 0))
		prepared = prepared->next;
	return prepared;
}

/* Adds a PREPARE to the packet; its error belongs to the request. */
static ShuttlePrepared *
prepare(ShuttleNode *node, uint32 hash, ShuttleRequest *request)
{
	Size		size = strlen(request->sent_sql) + 1;
	ShuttlePrepared *prepared;
	ShuttleCommand *command;
	PreparedEntry *entry;
	bool		found;

	if (node->prepared.nstatements >= MOST_PREPARED)
		close_oldest(node);

	prepared = MemoryContextAllocZero(node->cxt, sizeof(ShuttlePrepared) + size);
	prepared->sql = (char *) (prepared + 1);
	memcpy(prepared->sql, request->sent_sql, size);
	prepared->hash = hash;
	prepared->types_hash = request->types_hash;
	prepared->state = PREPARED_ASKED;
	snprintf(prepared->name, sizeof(prepared->name), "s" UINT64_FORMAT,
			 ++node->prepared.last_number);

	entry = hash_search(node->prepared.statements, &hash, HASH_ENTER, &found);
	prepared->next = found ? entry->first : NULL;
	entry->first = prepared;
	dlist_push_tail(&node->prepared.lru, &prepared->lru);
	node->prepared.nstatements++;

	command = shuttle_command_add(node, COMMAND_PREPARE, NULL);
	command->prepared = prepared;
	command->request = request;
	prepared->nusers++;
	return prepared;
}

static void
close_oldest(ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->prepared.lru)
	{
		ShuttlePrepared *prepared = dlist_container(ShuttlePrepared, lru, iter.cur);
		char		sql[64];

		if (prepared->state != PREPARED_READY)
			continue;
		snprintf(sql, sizeof(sql), "DEALLOCATE %s", prepared->name);
		prepared->state = PREPARED_CLOSING;
		prepared->nusers++;
		shuttle_command_add(node, COMMAND_CLOSE_PREPARED, sql)->prepared = prepared;
		return;
	}
}

/*
 * True for the errors of a statement that was prepared before a table was
 * altered. PREPARE fixes a query's result types and the parameter types of
 * INSERT and UPDATE, whose texts have no casts. A type that was dropped and
 * created again is another type: an internal error says that the old one is
 * missing.
 */
static bool
says_out_of_date(const PGresult *result, ShuttleEffect effect)
{
	switch (shuttle_node_error_result_sqlstate(result))
	{
		case ERRCODE_FEATURE_NOT_SUPPORTED:
		case ERRCODE_UNDEFINED_PSTATEMENT:
		case ERRCODE_INTERNAL_ERROR:
		case ERRCODE_UNDEFINED_OBJECT:
			return true;

		case ERRCODE_DATATYPE_MISMATCH:
		case ERRCODE_UNDEFINED_FUNCTION:
		case ERRCODE_CANNOT_COERCE:
		case ERRCODE_INVALID_TEXT_REPRESENTATION:
		case ERRCODE_INVALID_BINARY_REPRESENTATION:
		case ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE:
		case ERRCODE_INVALID_DATETIME_FORMAT:
		case ERRCODE_DATETIME_FIELD_OVERFLOW:
			return effect == SHUTTLE_WRITES;

		default:
			return false;
	}
}

/* Runs in the pump: does not allocate. */
bool
shuttle_prepared_answer(ShuttleNode *node, ShuttleCommand *command, bool failed)
{
	ShuttlePrepared *prepared = command->prepared;
	bool		out_of_date = false;

	command->prepared = NULL;
	switch (command->kind)
	{
		case COMMAND_PREPARE:
			if (failed)
				forget(node, prepared);
			else if (prepared->state == PREPARED_ASKED)
				prepared->state = PREPARED_READY;
			break;

		case COMMAND_CLOSE_PREPARED:
			/* Skipped after an error: it still exists. */
			if (failed)
				prepared->state = PREPARED_READY;
			else
				forget(node, prepared);
			break;

		default:
			out_of_date = failed && command->prepared_earlier &&
				command->request != NULL &&
				says_out_of_date(command->result, command->request->effect);
			if (out_of_date)
				forget(node, prepared);
			break;
	}
	release(prepared);
	return out_of_date;
}

/* A command is freed without an answer. */
void
shuttle_prepared_release(ShuttleCommand *command)
{
	release(command->prepared);
	command->prepared = NULL;
}

static void
release(ShuttlePrepared *prepared)
{
	if (--prepared->nusers == 0 && prepared->forgotten)
		pfree(prepared);
}

/* Removes an entry from the table; it is freed with its last command. */
static void
forget(ShuttleNode *node, ShuttlePrepared *prepared)
{
	PreparedEntry *entry;

	if (prepared->forgotten)
		return;
	prepared->forgotten = true;
	dlist_delete(&prepared->lru);
	node->prepared.nstatements--;
	entry = hash_search(node->prepared.statements, &prepared->hash, HASH_FIND, NULL);
	if (entry->first == prepared)
		entry->first = prepared->next;
	else
	{
		ShuttlePrepared *before = entry->first;

		while (before->next != prepared)
			before = before->next;
		before->next = prepared->next;
	}
	if (entry->first == NULL)
		hash_search(node->prepared.statements, &prepared->hash, HASH_REMOVE, NULL);
}

void
shuttle_prepared_clear(ShuttleNode *node)
{
	dlist_mutable_iter iter;

	if (node->prepared.statements == NULL)
		return;
	dlist_foreach_modify(iter, &node->prepared.lru)
	{
		ShuttlePrepared *prepared = dlist_container(ShuttlePrepared, lru, iter.cur);

		dlist_delete(&prepared->lru);
		pfree(prepared);
	}
	hash_destroy(node->prepared.statements);
	node->prepared.statements = NULL;
	node->prepared.nstatements = 0;
}
