/*-------------------------------------------------------------------------
 * host_race.h
 *	  Connecting to the hosts of a server (host_race.c), and which of them
 *	  to try first (host_order.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_HOST_RACE_H
#define SHUTTLE_STORAGE_CONNECTION_HOST_RACE_H

#include "libpq-fe.h"
#include "storage/latch.h"

#include "storage/connection/connection.h"

typedef struct HostRace HostRace;

typedef enum RaceState
{
	RACE_RUNNING,
	RACE_WON,					/* shuttle_host_race_take() has a connection */
	RACE_LOST					/* shuttle_host_race_reasons() says why */
} RaceState;

/* ---- host_race.c */

/*
 * Starts to connect to the node's hosts, in memory that the node's context
 * owns. wait_ms: if there are several hosts, and none can be had for a reason
 * that may pass, they are tried again for so long. Returns NULL if there are too
 * many open files. Errors: out of memory.
 */
extern HostRace *shuttle_host_race_start(ShuttleNode *node, const ConnectOptions *options,
										 int wait_ms);

/*
 * Goes on as far as that needs no waiting; never raises. changed: set to true
 * if its sockets or what they wait for changed, else left alone; may be NULL.
 */
extern RaceState shuttle_host_race_advance(HostRace *race, bool *changed);

/* True if no host is left. */
extern bool shuttle_host_race_is_lost(const HostRace *race);


/* Adds its sockets to a set. The set needs room for shuttle_host_race_nhosts(). */
extern void shuttle_host_race_add_to_set(const HostRace *race, WaitEventSet *set, void *user_data);
extern int	shuttle_host_race_nhosts(const HostRace *race);

/* When to call shuttle_host_race_advance() even if no socket is ready; 0: never. */
extern TimestampTz shuttle_host_race_wake_at(const HostRace *race);

/* Ends the race. The caller gets the connection, and an external file descriptor
 * with it. Sets host to its hash, and moved if another host was the node before. */
extern PGconn *shuttle_host_race_take(HostRace *race, uint32 *host, bool *moved);

/* Writes why each host was not taken, without secrets. Returns true if none has
 * answered in time. */
extern bool shuttle_host_race_reasons(const HostRace *race, char *to, int room);

/* Closes what is open and frees the race; never raises. NULL: does nothing. */
extern void shuttle_host_race_end(HostRace *race);

/* ---- host_failure.c */

/* True if the failure of a connection may pass: the server is not up, or not a
 * primary yet. False if it has refused this user. message: a verbose one. */
extern bool shuttle_host_failure_passes(const PGconn *conn, const char *message);

/* Takes codes and places in source files out of a verbose message. */
extern void shuttle_host_failure_text(char *message);

/* ---- host_order.c */

/*
 * Orders the hosts of a server: the last good one first if good_first, hosts
 * that did not answer in time last. Sets late for each of those. order: filled
 * with nhosts positions; its contents before are the order wanted. Never raises.
 */
extern void shuttle_host_order(Oid serverid, const uint32 *hosts, int nhosts,
							   bool good_first, int *order, bool *late);

/* Remember that a host was taken, or whether it answered in time. Never raise.
 * The first one returns true if another host was taken before. */
extern bool shuttle_host_order_note_good(Oid serverid, uint32 host);
extern void shuttle_host_order_note_late(Oid serverid, uint32 host, bool late);

/* A host has turned out to be an old primary: it comes last. Never raises. */
extern void shuttle_host_order_note_old(Oid serverid, uint32 host);

/* Shared memory of host_order.c. */
extern Size shuttle_host_order_memory_size(void);
extern void shuttle_host_order_set_up_memory(void);

#endif							/* SHUTTLE_STORAGE_CONNECTION_HOST_RACE_H */
