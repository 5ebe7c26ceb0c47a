/*-------------------------------------------------------------------------
 * call_history.h
 *	  Calls that came back from nodes lately.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_ROUTER_CALL_HISTORY_H
#define SHUTTLE_EXECUTOR_ROUTER_CALL_HISTORY_H

#include "executor/router/call.h"

typedef struct ShuttleCallHistory ShuttleCallHistory;

/*
 * The calls before this one whose arguments have its shape. server: where it would go.
 * Returns NULL if there are too many shapes. Kept as long as the session lasts.
 */
extern ShuttleCallHistory *shuttle_call_history_find(const ShuttleCall *call, const ShuttleCallBody *body, Oid server);

/* True if this call should run here, as it would probably come back. */
extern bool shuttle_call_history_keeps(ShuttleCallHistory *history);

/* Notes how a call ended that was sent. */
extern void shuttle_call_history_note(ShuttleCallHistory *history, bool returned);

#endif							/* SHUTTLE_EXECUTOR_ROUTER_CALL_HISTORY_H */
