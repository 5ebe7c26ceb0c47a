/*-------------------------------------------------------------------------
 * shuttle_primary_link.h
 *	  Door of the storage room: a standby's session asks the primary server.
 *
 * File: primary_link.c
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PRIMARY_LINK_H
#define SHUTTLE_PRIMARY_LINK_H

typedef enum ShuttlePrimaryOutcome
{
	SHUTTLE_PRIMARY_UNKNOWN,
	SHUTTLE_PRIMARY_COMMITTED,
	SHUTTLE_PRIMARY_FAILED
} ShuttlePrimaryOutcome;

/* What the primary server has answered to a packet with COMMIT in it. */
typedef struct ShuttlePrimaryDecision
{
	ShuttlePrimaryOutcome outcome;
	bool		is_safe;		/* the row behind COMMIT says "t" */
	const char *reason;			/* unless it has committed */
} ShuttlePrimaryDecision;

/*
 * Runs statements, on a new connection if the last one is gone; returns the value that they give. NULL: they
 * have failed, error is set. Errors: cancel, and those of waits; then the connection has to be closed.
 */
extern char *shuttle_primary_link_ask(const char *sql, char **error);

/* True if it has been lost since. */
extern bool shuttle_primary_link_is_lost(void);

/* Runs statements, of which one is COMMIT. A cancel ends the wait after a second. Errors:
 * those of waits; then nobody knows what has become of it. */
extern ShuttlePrimaryDecision shuttle_primary_link_decide(const char *sql);

/* Sends a statement whose answer the next one waits for. Never raises. */
extern void shuttle_primary_link_tell(const char *sql);
extern void shuttle_primary_link_close(void);

#endif							/* SHUTTLE_PRIMARY_LINK_H */
