/*-------------------------------------------------------------------------
 * shuttle_compat_session.h
 *	  Differences between the versions of the server: the session's
 *	  transaction, its locks, and what it waits for.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_SESSION_H
#define SHUTTLE_COMPAT_SESSION_H

#include "replication/slot.h"
#include "replication/walsender_private.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc_tables.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM >= 170000
#include "utils/injection_point.h"
#endif

/* The number of the current transaction in its session; 17 moved it. */
static inline LocalTransactionId
shuttle_my_lxid(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProc->vxid.lxid;
#else
	return MyProc->lxid;
#endif
}

/* synchronous_standby_names is set; the caller holds SyncRepLock. Minor versions
 * of 2025 have flags. */
static inline bool
shuttle_sync_standbys_defined(void)
{
#ifdef SYNC_STANDBY_DEFINED
	return (WalSndCtl->sync_standbys_status & SYNC_STANDBY_DEFINED) != 0;
#else
	return WalSndCtl->sync_standbys_defined;
#endif
}

/* The process that uses a replication slot; 0: there is none. 19 has its number instead. */
static inline pid_t
shuttle_slot_pid(ReplicationSlot *slot)
{
	pid_t		pid;

	SpinLockAcquire(&slot->mutex);
#if PG_VERSION_NUM >= 190000
	pid = slot->active_proc == INVALID_PROC_NUMBER ? 0 : GetPGProcByNumber(slot->active_proc)->pid;
#else
	pid = slot->active_pid;
#endif
	SpinLockRelease(&slot->mutex);
	return pid;
}

/* True if the session has set a setting, also for the transaction only. 16 made find_option() public. */
static inline bool
shuttle_guc_was_set(const char *name)
{
#if PG_VERSION_NUM >= 160000
	return find_option(name, false, true, DEBUG1)->source == PGC_S_SESSION;
#else
	static struct config_generic *setting = NULL;
	static char known[NAMEDATALEN];

	for (int i = 0; strcmp(known, name) != 0 && i < GetNumConfigOptions(); i++)
	{
		setting = get_guc_variables()[i];
		if (strcmp(setting->name, name) == 0)
			strlcpy(known, name, sizeof(known));
	}
	return setting->source == PGC_S_SESSION;
#endif
}

/* Of libpq/libpq.h, which may include GSSAPI's headers. */
#if PG_VERSION_NUM >= 170000
extern ssize_t pq_buffer_remaining_data(void);
#else
extern bool pq_buffer_has_data(void);
#endif
extern void pq_startmsgread(void);
extern void pq_endmsgread(void);
extern int	pq_peekbyte(void);

/* The first byte of the client's next message, if it has arrived; else 0. */
static inline int
shuttle_next_message(void)
{
	int			first = 0;

#if PG_VERSION_NUM >= 170000
	if (pq_buffer_remaining_data() > 0)
#else
	if (pq_buffer_has_data())
#endif
	{
		pq_startmsgread();
		first = pq_peekbyte();
		pq_endmsgread();
	}
	return first;
}

/* Internal subtransactions are possible while parallel workers run from 17 on. */
#define SHUTTLE_SUBTRANSACTIONS_BESIDE_WORKERS (PG_VERSION_NUM >= 170000)

/* Options of a connection to a server of this version whose session has no time limits. */
#if PG_VERSION_NUM >= 170000
#define SHUTTLE_NO_TIME_LIMITS \
	"-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c transaction_timeout=0"
#else
#define SHUTTLE_NO_TIME_LIMITS "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0"
#endif

/* Since 17 one function asks for a lock or for any stronger one. */
#if PG_VERSION_NUM < 170000
static inline bool
shuttle_lock_held_by_me(const LOCKTAG *tag, LOCKMODE mode, bool orstronger)
{
	bool		held = LockHeldByMe(tag, mode);

	while (!held && orstronger && mode < MaxLockMode)
		held = LockHeldByMe(tag, ++mode);
	return held;
}

#define LockHeldByMe shuttle_lock_held_by_me
#endif

/* A hash table in shared memory; 19 removed its initial size. */
static inline HTAB *
shuttle_shmem_init_hash(const char *name, long size, HASHCTL *control, int flags)
{
#if PG_VERSION_NUM >= 190000
	return ShmemInitHash(name, size, control, flags);
#else
	return ShmemInitHash(name, size, size, control, flags);
#endif
}

/* Cannot be off since 19. */
#if PG_VERSION_NUM >= 190000
#define standard_conforming_strings true
#endif

/* PL/pgSQL's condition OTHERS has had a name since 18. */
#if PG_VERSION_NUM < 180000
#define PLPGSQL_OTHERS 0
#endif

/* Extensions name their wait events. */
static inline uint32
shuttle_new_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* A set of wait events that lives as long as the session. */
static inline WaitEventSet *
shuttle_create_wait_event_set(int nevents)
{
#if PG_VERSION_NUM >= 170000
	return CreateWaitEventSet(NULL, nevents);
#else
	return CreateWaitEventSet(TopMemoryContext, nevents);
#endif
}

/* A point of core's kind, at which a test can stop; servers have them since 17,
 * where they are built so, and 18 gave them an argument. */
#if PG_VERSION_NUM >= 180000
#define shuttle_injection_point(name) INJECTION_POINT(name, NULL)
#elif PG_VERSION_NUM >= 170000
#define shuttle_injection_point(name) INJECTION_POINT(name)
#else
#define shuttle_injection_point(name) ((void) 0)
#endif

#endif							/* SHUTTLE_COMPAT_SESSION_H */
