/*-------------------------------------------------------------------------
 * recovery_mappings.c
 *	  Which user mappings recovery uses to ask nodes.
 *
 * There can be thousands of mappings. pg_prepared_xacts is visible to every
 * role, so a server is asked by one mapping, and by a few more only if that
 * fails. What this role may not finish is finished by the mapping named in the
 * GID.
 *
 * Memory: the caller's context, short-lived.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_user_mapping.h"
#include "common/pg_prng.h"
#include "foreign/foreign.h"
#include "miscadmin.h"

#include "base/shuttle_compat.h"
#include "cluster/commit/commit.h"
#include "cluster/common/servers.h"

#define MOST_OTHERS 7			/* mappings of a server, in one look */

RecoveryNode *
shuttle_recovery_node(Oid serverid, Oid userid)
{
	RecoveryNode *node = palloc0_object(RecoveryNode);

	node->serverid = serverid;
	node->name = GetForeignServer(serverid)->servername;
	node->userid = OidIsValid(userid) ? userid : BOOTSTRAP_SUPERUSERID;
	node->by_public = !OidIsValid(userid);
	node->side = shuttle_outside_side_create();
	return node;
}

/* Lower is better: a superuser here is mostly one on the node. PUBLIC's mapping
 * is used with the bootstrap superuser's rights. */
static double
rank(Oid umuser)
{
	if (umuser == BOOTSTRAP_SUPERUSERID)
		return 0;
	if (!OidIsValid(umuser))
		return 2;
	return superuser_arg(umuser) ? 1 : 3 + pg_prng_double(&pg_global_prng_state);
}

static int
compare_nodes(const ListCell *a, const ListCell *b)
{
	const RecoveryNode *one = lfirst(a);
	const RecoveryNode *two = lfirst(b);

	if (one->serverid != two->serverid)
		return one->serverid < two->serverid ? -1 : 1;
	return one->rank < two->rank ? -1 : one->rank > two->rank ? 1 : 0;
}

List *
shuttle_recovery_nodes(void)
{
	List	   *servers = shuttle_server_list();
	Relation	catalog = table_open(UserMappingRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	List	   *nodes = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_user_mapping form = (Form_pg_user_mapping) GETSTRUCT(tuple);
		RecoveryNode *node;

		if (!list_member_oid(servers, form->umserver))
			continue;
		node = shuttle_recovery_node(form->umserver, form->umuser);
		node->umid = form->oid;
		node->rank = rank(form->umuser);
		nodes = lappend(nodes, node);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	list_sort(nodes, compare_nodes);
	return nodes;
}

/* At most `most` mappings of a server that were not used yet. */
static List *
others_of(Oid serverid, List *nodes, int most)
{
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);

		if (node->serverid == serverid && !node->asked && list_length(others) < most)
			others = lappend(others, lfirst(cell));
	}
	return others;
}

bool
shuttle_recovery_has_answered(Oid serverid, List *nodes)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);

		if (node->serverid == serverid && node->answered)
			return true;
	}
	return false;
}

void
shuttle_recovery_ask(List *nodes, int limit_ms)
{
	int			most = 1;

	/* second round: if the first mapping failed; later looks try others */
	for (int i = 0; i < 2; i++)
	{
		List	   *asked = NIL;
		Oid			last = InvalidOid;
		ListCell   *cell;

		foreach(cell, nodes)
		{
			const RecoveryNode *node = lfirst(cell);

			if (node->serverid == last)
				continue;
			last = node->serverid;
			if (!shuttle_recovery_has_answered(last, nodes) &&
				!node->is_late && !node->is_standby)
				asked = list_concat(asked, others_of(last, nodes, most));
		}
		if (asked != NIL)
			shuttle_recovery_look(asked, limit_ms);
		most = MOST_OTHERS;
	}
}

bool
shuttle_recovery_any(const char *gid, List *nodes,
					 bool (*test) (const RecoveryNode *node,
								   const PreparedTransaction *prepared))
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);
		ListCell   *inner;

		foreach(inner, node->prepared)
		{
			const PreparedTransaction *prepared = lfirst(inner);

			if (strcmp(prepared->gid, gid) == 0 && test(node, prepared))
				return true;
		}
	}
	return false;
}

static bool
may_finish(const RecoveryNode *node, const PreparedTransaction *prepared)
{
	return prepared->ours_to_finish;
}

bool
shuttle_recovery_has_role(const char *gid, List *nodes)
{
	return shuttle_recovery_any(gid, nodes, may_finish);
}

static bool
was_finished(const RecoveryNode *node, const PreparedTransaction *prepared)
{
	return prepared->finished;
}

bool
shuttle_recovery_is_finished(const char *gid, List *nodes)
{
	return shuttle_recovery_any(gid, nodes, was_finished);
}

/* Adds mappings for a transaction that no role so far may finish. */
static List *
add_others_for(List *others, const RecoveryNode *node,
			   const PreparedTransaction *prepared, List *nodes)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		RecoveryNode *other = lfirst(cell);

		if (other->serverid == node->serverid && other->umid == prepared->umid &&
			!other->asked)
			return list_append_unique_ptr(others, other);
	}
	return list_concat_unique_ptr(others, others_of(node->serverid, nodes, MOST_OTHERS));
}

void
shuttle_recovery_ask_others(List *nodes, int limit_ms)
{
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);
		ListCell   *inner;

		foreach(inner, node->prepared)
		{
			const PreparedTransaction *prepared = lfirst(inner);

			if (shuttle_recovery_is_decided(prepared) &&
				!shuttle_recovery_has_role(prepared->gid, nodes))
				others = add_others_for(others, node, prepared, nodes);
		}
	}
	if (others != NIL)
		shuttle_recovery_look(others, limit_ms);
}
