/*-------------------------------------------------------------------------
 * shuttle_cluster.h
 *	  Door of the cluster room: options of servers and tables, and the moving
 *	  of servers between postgres_fdw's wrapper and ours.
 *
 * The room's SQL functions: shuttle.fdw_validator (options.c),
 * shuttle.adopt_server and shuttle.release_server (adopt.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_H
#define SHUTTLE_CLUSTER_H

#include "nodes/parsenodes.h"

/* Installs the room's hooks; called by _PG_init. */
extern void shuttle_cluster_init(void);

/*
 * The value of one of our options (shuttle_...), which overrides a setting: the
 * table's, else the server's, else otherwise. relid may be InvalidOid. Sizes
 * are in kB, as in the settings. Errors: the server or table does not exist.
 */
extern int	shuttle_option_get_int(Oid serverid, Oid relid,
								   const char *name, int otherwise);
extern double shuttle_option_get_real(Oid serverid, Oid relid,
									  const char *name, double otherwise);
extern bool shuttle_option_get_bool(Oid serverid, Oid relid,
									const char *name, bool otherwise);

/* The same as text, also for postgres_fdw's options; NULL: not set. */
extern const char *shuttle_option_get_text(Oid serverid, Oid relid,
										   const char *name);

/* The first option of that name in a list of DefElem, and its value; NULL:
 * none. */
extern DefElem *shuttle_option_find(const List *options, const char *name);
extern const char *shuttle_option_text(const List *options, const char *name);

/* The options of a foreign table. */
typedef struct ShuttleTableOptions
{
	const char *schema_name;	/* NULL: not set */
	const char *table_name;
	const char *qualified_name; /* schema.table, quoted; NULL: not known */
	List	   *others;			/* the table's other options: DefElems */
	const char *fetch_size;		/* the table's or its server's; NULL: not set */
	bool		remote_estimate;	/* shuttle_remote_estimate, likewise */
} ShuttleTableOptions;

/* A table's options followed by its server's (relid InvalidOid: only these).
 * Valid until the next call. Errors: the server or table does not exist. */
extern const List *shuttle_option_cache_list(Oid serverid, Oid relid);

/* The same, parsed; valid until the next call. */
extern const ShuttleTableOptions *shuttle_option_cache_parsed(Oid serverid, Oid relid);

/* The server of our wrapper with that name. Errors: ERRCODE_UNDEFINED_OBJECT;
 * ERRCODE_WRONG_OBJECT_TYPE if it is of another wrapper. */
extern Oid	shuttle_server_find(const char *name);

/* The tables of the extension. */
typedef enum ShuttleExtensionTable
{
	SHUTTLE_TABLE_COMMIT_RECORDS,
	SHUTTLE_TABLE_COPIED_STATISTICS,
	SHUTTLE_TABLE_GLOBAL_INDEXES,
	SHUTTLE_TABLE_IDENTITY,
	SHUTTLE_TABLE_QUERY_NODE_LEASES,
	SHUTTLE_TABLE_QUERY_NODE_SERVERS,
	SHUTTLE_TABLE_ROUTINES,
	SHUTTLE_TABLE_TABLES
} ShuttleExtensionTable;

#define SHUTTLE_NTABLES (SHUTTLE_TABLE_TABLES + 1)

/* The OID of one; InvalidOid if it does not exist. */
extern Oid	shuttle_extension_table(ShuttleExtensionTable table);

/* A hint that names the primary server, on a standby (lease.c). */
extern char *shuttle_lease_primary(void);

/* Before a session of a standby starts a plan that writes, sends a write or COMMIT (lease.c). Errors: ERRCODE_CANNOT_CONNECT_NOW
 * if it does not follow the primary server closely enough, or is not registered;
 * ERRCODE_T_R_SERIALIZATION_FAILURE if tables are being changed there, or may have been since it was planned. */
extern void shuttle_lease_check(void);

/* Before definitions change by which query nodes write: has those that are standbys write nothing to the
 * end of this transaction (barrier.c). Errors: ERRCODE_LOCK_NOT_AVAILABLE; cancel and the like. */
extern void shuttle_barrier_raise(void);

/* Notes that the transaction wrote through a stock postgres_fdw server, whose
 * commit is not atomic with our nodes': the commit warns. */
extern void shuttle_commit_note_other_server(Oid serverid);

/* Settings of the database or role must not end a background worker's look at
 * nodes, nor make it wait; for workers, once they are connected (worker.c). */
extern void shuttle_worker_keep_settings_out(void);

/* Says that no statistics are to be copied in this database, until a session
 * uses a server (statistics_launch.c). */
extern void shuttle_statistics_not_wanted(void);

/* ---- what a round trip costs (trip_price.c) */

/* Cost of fetching a narrow row: postgres_fdw's default fdw_tuple_cost from 17 on. */
#define SHUTTLE_USUAL_TUPLE_COST 0.2

typedef enum ShuttleTripSource
{
	SHUTTLE_TRIP_MEASURED,
	SHUTTLE_TRIP_ASSUMED,		/* none was measured yet */
	SHUTTLE_TRIP_BY_OPTION,		/* shuttle_round_trip_cost; ms does not count */
} ShuttleTripSource;

typedef struct ShuttleTripPrice
{
	ShuttleTripSource source;
	double		ms;
	Cost		cost;
} ShuttleTripPrice;

/* The price of a round trip to a server now. */
extern ShuttleTripPrice shuttle_trip_price(Oid serverid);

/* The same for a plan; and the price that a plan of this session used last. */
extern ShuttleTripPrice shuttle_trip_price_use(Oid serverid);
extern ShuttleTripPrice shuttle_trip_price_used(Oid serverid);

/* What one millisecond costs. */
extern Cost shuttle_trip_price_of_millisecond(void);

#endif							/* SHUTTLE_CLUSTER_H */
