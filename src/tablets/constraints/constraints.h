/*-------------------------------------------------------------------------
 * constraints.h
 *	  Check constraints, generated columns and domains that nodes may decide otherwise.
 *
 * Files: session_checks.c (which), row_checks.c (the trigger that computes them here).
 *
 * In: a table's constraints. Out: refusals, and errors of rows.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_CONSTRAINTS_CONSTRAINTS_H
#define SHUTTLE_TABLETS_CONSTRAINTS_CONSTRAINTS_H

#include "tablets/common/refusal.h"

/* ---- session_checks.c */

/*
 * An error for a check constraint that has no meaning for rows on nodes; else NULL.
 * only: the quoted name of the constraint to look at; NULL: all.
 */
extern ShuttleRefusal *shuttle_session_checks_refuse(Relation rel, const char *only);

/* The same for generated columns, and what nodes would compute otherwise; and for columns
 * with values of domains whose checks a node's session may decide otherwise. columns: their
 * numbers; NIL: all. */
extern ShuttleRefusal *shuttle_session_checks_refuse_generated(Relation rel, const List *columns);
extern ShuttleRefusal *shuttle_session_checks_refuse_domains(Relation rel, const List *columns);

/* True of a check constraint (its name quoted) that a node's session may decide otherwise,
 * so that it is computed here; and of a table that has one. */
extern bool shuttle_session_check_stays_here(Oid relid, const char *name);
extern bool shuttle_session_checks_stay_here(Oid relid);

/* ---- row_checks.c */

/* Gives a distributed table the trigger that computes such checks, or takes it. */
extern void shuttle_row_checks_follow(Oid relid);

extern bool shuttle_row_check_trigger_has_name(const char *name);

/* Holds a table's rows against one check. Errors: 23514, those of the check and of nodes. */
extern void shuttle_row_checks_verify(Oid relid, const char *name);

#endif							/* SHUTTLE_TABLETS_CONSTRAINTS_CONSTRAINTS_H */
