/*-------------------------------------------------------------------------
 * shuttle_upsert_triggers.h
 *	  BEFORE ROW triggers that only look at their rows
 *	  (write/conflict/upsert_triggers.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_UPSERT_TRIGGERS_H
#define SHUTTLE_EXECUTOR_UPSERT_TRIGGERS_H

#include "nodes/pg_list.h"
#include "utils/reltrigger.h"
#include "utils/relcache.h"

/* True if nobody can tell in which order BEFORE ROW triggers of INSERT and UPDATE
 * fire for different rows: they only look at their rows, and those of UPDATE leave
 * the columns of key (numbers) as they are. */
extern bool shuttle_upsert_triggers_are_quiet(const TriggerDesc *triggers, Relation rel, List *key);

#endif							/* SHUTTLE_EXECUTOR_UPSERT_TRIGGERS_H */
