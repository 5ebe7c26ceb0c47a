/*-------------------------------------------------------------------------
 * reach.h
 *	  Whose tables the code of users could reach on a node.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_REACH_H
#define SHUTTLE_TABLETS_RIGHTS_REACH_H

#include "tablets/common/refusal.h"

/* What a server has. */
typedef struct ShuttleReach
{
	Oid			serverid;
	List	   *tables;			/* of ShuttleTableAuthor (authors.h) */
	List	   *routine_authors;	/* OIDs: who owns functions of nodes */
} ShuttleReach;

extern ShuttleReach *shuttle_reach_look(Oid serverid);

/* Whether a table, its owner, and those whose code it needs go with what a server has; NULL: they do. */
extern ShuttleRefusal *shuttle_reach_find(const ShuttleReach *reach, Oid relid, Oid owner, const List *authors);

/* Why code of an author, who is no superuser, may not run on a server; relid: the table that it is
 * for, or InvalidOid. NULL: he has the privileges of all who have tables there. */
extern ShuttleRefusal *shuttle_reach_refuse_code(Oid author, Oid serverid, Oid relid);

/* Why a table may not be on the servers: others' code is there, or its own code could reach others'
 * tables. NULL: it may. This and shuttle_reach_refuse_code() lock the servers until commit. */
extern ShuttleRefusal *shuttle_reach_refuse_table(Oid relid, const List *servers);

#endif							/* SHUTTLE_TABLETS_RIGHTS_REACH_H */
