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

/*
 * Locks servers until commit, in the one order of all sessions (reach.c). brings_code: the statement
 * brings code of users there, else a table at most.
 */
extern void shuttle_reach_lock(const List *servers, bool brings_code);

/* Why code of an author, who is no superuser, may not run on a server that is locked; relid: the table
 * that it is for, or InvalidOid. NULL: he has the privileges of all who have tables there. */
extern ShuttleRefusal *shuttle_reach_refuse_code(Oid author, Oid serverid, Oid relid);

/* Why tables may not be on the servers, which are locked until commit: others' code is there, or their
 * own code could reach others' tables. NULL: they may. */
extern ShuttleRefusal *shuttle_reach_refuse_tables(const List *relids, const List *servers);

#endif							/* SHUTTLE_TABLETS_RIGHTS_REACH_H */
