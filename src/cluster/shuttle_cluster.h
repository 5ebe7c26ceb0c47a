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
 * The value of one of our options (shuttle_...) that overrides a setting: the
 * table's, else the server's, else otherwise.  relid may be InvalidOid.
 * Sizes (shuttle_fetch_size_limit, shuttle_fetch_ahead) are in kB, as the
 * settings.  Servers and tables of postgres_fdw have none of our options.
 * Errors: the server or table is gone.
 */
extern int	shuttle_cluster_option_int(Oid serverid, Oid relid,
									   const char *name, int otherwise);
extern double shuttle_cluster_option_real(Oid serverid, Oid relid,
										  const char *name, double otherwise);
extern bool shuttle_cluster_option_bool(Oid serverid, Oid relid,
										const char *name, bool otherwise);

/* The same as it is written, also of postgres_fdw's options; NULL: not set. */
extern const char *shuttle_cluster_option_text(Oid serverid, Oid relid,
											   const char *name);

/* The first option of that name in a list of DefElem, and its text; NULL: not set. */
extern DefElem *shuttle_option_find(const List *options, const char *name);
extern const char *shuttle_option_text(const List *options, const char *name);

/* The options of a foreign table. */
typedef struct ShuttleTableOptions
{
	const char *schema_name;	/* NULL: not set */
	const char *table_name;
	const char *qualified_name; /* both as SQL has them; NULL: not known */
	List	   *others;			/* of its own: of DefElem */
	const char *fetch_size;		/* its own or its server's; NULL: not set */
	bool		remote_estimate;	/* the same, of ours */
} ShuttleTableOptions;

/*
 * A table's own options and behind them its server's (relid InvalidOid: these
 * alone); to be read at once, before any other option is.
 * Errors: the server or table is gone.
 */
extern const List *shuttle_cluster_options(Oid serverid, Oid relid);

/* What they are; to be read at once as well. */
extern const ShuttleTableOptions *shuttle_cluster_table_options(Oid serverid, Oid relid);

/* The transaction wrote through a server that is not on our wrapper, so that its
 * commit is not atomic with that of our nodes: they warn of it. */
extern void shuttle_commit_note_other_server(Oid serverid);

#endif							/* SHUTTLE_CLUSTER_H */
