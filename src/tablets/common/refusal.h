/*-------------------------------------------------------------------------
 * refusal.h
 *	  Errors that have not been raised.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_REFUSAL_H
#define SHUTTLE_TABLETS_COMMON_REFUSAL_H

#include "nodes/pg_list.h"
#include "utils/relcache.h"

/* An error that has not been raised. */
typedef struct ShuttleRefusal
{
	int			code;			/* SQLSTATE */
	const char *message;
	const char *detail;			/* or NULL */
	const char *hint;			/* or NULL */
	bool		for_all_keys;	/* another distribution column does not help */
} ShuttleRefusal;

extern ShuttleRefusal *shuttle_refusal(int code, const char *message,
									   const char *detail, const char *hint);

/* Raises a refusal; NULL: does nothing. */
extern void shuttle_refusal_raise(const ShuttleRefusal *refusal);

/* A table of another owner, or one that is distributed or a reference table already;
 * NULL: neither. */
extern ShuttleRefusal *shuttle_refusal_of_taken(Relation rel);

/* A type whose values mean something else on nodes, or cannot be sent there; NULL: it is none. */
extern ShuttleRefusal *shuttle_refusal_of_type(Oid relid, const char *column, Oid type);

/* The same of a table's columns. columns: numbers; NIL: all. */
extern ShuttleRefusal *shuttle_refusal_of_types(Relation rel, const List *columns);

/*
 * Refuses a transaction whose snapshot may be older than the lock on a table: rows
 * that others have committed since would be lost. Errors: 25001.
 */
extern void shuttle_refusal_raise_if_snapshot_is_old(void);

#endif							/* SHUTTLE_TABLETS_COMMON_REFUSAL_H */
