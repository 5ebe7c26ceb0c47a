/*-------------------------------------------------------------------------
 * key_partners.h
 *	  Locks the tables at the other end of foreign keys that are dropped.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DISTRIBUTE_KEY_PARTNERS_H
#define SHUTTLE_TABLETS_DISTRIBUTE_KEY_PARTNERS_H

#include "nodes/pg_list.h"

/*
 * Locks, in AccessExclusiveLock, the tables that foreign keys connect some tables with.
 * To be called before nodes drop the tables, or one of the keys.
 * names: of the tables, quoted, with their schemas; serverid: a node that has them;
 * key: the foreign key that is dropped, or NULL for all.
 * Errors: those of the node; cancel; deadlocks.
 */
extern void shuttle_key_partners_lock(const List *names, Oid serverid, const char *key);

/* The OIDs that such tables have on a node, in SQL, separated by commas. */
extern char *shuttle_key_tables(const List *names);

#endif							/* SHUTTLE_TABLETS_DISTRIBUTE_KEY_PARTNERS_H */
