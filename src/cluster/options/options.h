/*-------------------------------------------------------------------------
 * options.h
 *	  Options of servers and foreign tables: which are ours, and what they say.
 *
 * Files: options.c (list and validator), option_cache.c, trip_price.c.
 *
 * In: options as they stand in the catalogs. Out: their values.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_OPTIONS_OPTIONS_H
#define SHUTTLE_CLUSTER_OPTIONS_OPTIONS_H

/* postgres_fdw would act on its own option, so ours has another name; see
 * adopt.c. */
#define SHUTTLE_THEIR_ESTIMATE "use_remote_estimate"
#define SHUTTLE_OUR_ESTIMATE "shuttle_remote_estimate"

/* True if the name has the prefix of our options. */
extern bool shuttle_option_is_ours(const char *name);

#endif							/* SHUTTLE_CLUSTER_OPTIONS_OPTIONS_H */
