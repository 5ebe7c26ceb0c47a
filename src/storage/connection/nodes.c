/*-------------------------------------------------------------------------
 * nodes.c
 *	  The session's storage nodes, and which of them a wait is for.
 *
 * There is one node for each server and user mapping. This file calls no other
 * file of the room.
 *
 * Memory: each node has its own context under TopMemoryContext and is never
 * freed.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_user_mapping.h"
#include "foreign/foreign.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "storage/connection/connection.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"

typedef struct NodeEntry
{
	NodeKey		key;
	ShuttleNode *node;
} NodeEntry;

dlist_head	shuttle_nodes = DLIST_STATIC_INIT(shuttle_nodes);
static HTAB *node_table = NULL;
static uint64 wait_number = 0;

ShuttleNode *
shuttle_nodes_find(NodeKey key)
{
	NodeEntry  *entry = NULL;

	if (node_table != NULL)
		entry = hash_search(node_table, &key, HASH_FIND, NULL);
	return entry != NULL ? entry->node : NULL;
}

ShuttleNode *
shuttle_nodes_add(NodeKey key, const char *name)
{
	MemoryContext cxt;
	ShuttleNode *node;
	NodeEntry  *entry;

	if (node_table == NULL)
	{
		HASHCTL		control = {0};

		control.keysize = sizeof(NodeKey);
		control.entrysize = sizeof(NodeEntry);
		node_table = hash_create("shuttle nodes", 16, &control,
								 HASH_ELEM | HASH_BLOBS);
	}
	cxt = AllocSetContextCreate(TopMemoryContext, "shuttle node",
								ALLOCSET_DEFAULT_SIZES);
	node = MemoryContextAllocZero(cxt, sizeof(ShuttleNode));
	node->cxt = cxt;
	node->key = key;
	node->name = MemoryContextStrdup(cxt, name);
	node->connection.state = NODE_CLOSED;
	node->socket.set_position = -1;
	node->queue.packet = 1;
	dlist_init(&node->queue.commands);
	dlist_init(&node->requests.all);

	entry = hash_search(node_table, &key, HASH_ENTER, NULL);
	entry->node = node;
	dlist_push_tail(&shuttle_nodes, &node->link);
	return node;
}

/* The user's mapping, or PUBLIC's. */
static Oid
find_mapping(Oid serverid, Oid userid, bool missing_ok)
{
	Oid			umid;

	umid = GetSysCacheOid2(USERMAPPINGUSERSERVER, Anum_pg_user_mapping_oid,
						   ObjectIdGetDatum(userid),
						   ObjectIdGetDatum(serverid));
	if (!OidIsValid(umid))
		umid = GetSysCacheOid2(USERMAPPINGUSERSERVER, Anum_pg_user_mapping_oid,
							   ObjectIdGetDatum(InvalidOid),
							   ObjectIdGetDatum(serverid));
	if (!OidIsValid(umid) && !missing_ok)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("user mapping not found for user \"%s\", server \"%s\"",
						MappingUserName(userid),
						GetForeignServer(serverid)->servername),
				 errhint("Create one with CREATE USER MAPPING, or SET ROLE to a role that has one.")));
	return umid;
}

Oid
shuttle_nodes_mapping(Oid serverid, Oid userid)
{
	return find_mapping(serverid, userid, false);
}

bool
shuttle_node_has_mapping(Oid serverid, Oid userid)
{
	return OidIsValid(find_mapping(serverid, userid, true));
}

const char *
shuttle_node_name(const ShuttleNode *node)
{
	return node->name;
}

bool
shuttle_node_wrote(const ShuttleNode *node)
{
	return node->transaction.wrote;
}

bool
shuttle_node_in_use(Oid serverid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->key.serverid == serverid && shuttle_transaction_is_open(node))
			return true;
	}
	return false;
}

/* ---- waits */

void
shuttle_node_wait_begin(ShuttleNode *node)
{
	shuttle_node_wait_also_for(node);
	wait_number++;
}

void
shuttle_node_wait_also_for(ShuttleNode *node)
{
	node->socket.wait_number = wait_number + 1;
}

bool
shuttle_node_wait_is_for(const ShuttleNode *node)
{
	return node->socket.wait_number == wait_number;
}
