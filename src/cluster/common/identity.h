/*-------------------------------------------------------------------------
 * identity.h
 *	  The number of a cluster, and on which server it counts.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_COMMON_IDENTITY_H
#define SHUTTLE_CLUSTER_COMMON_IDENTITY_H

/* The cluster's random number. Errors: the extension's tables are missing. */
extern char *shuttle_identity(void);

/* The same; NULL if the extension is not in this database. */
extern char *shuttle_identity_if_any(void);

/* True while this server is the one that the number was made for or confirmed
 * for; false on a promoted standby or a copy. */
extern bool shuttle_identity_is_confirmed(void);

#endif							/* SHUTTLE_CLUSTER_COMMON_IDENTITY_H */
