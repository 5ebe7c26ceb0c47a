/*-------------------------------------------------------------------------
 * kinds.h
 *	  What kind a node, a scan or an expression is (kinds.c).
 *
 * In: what any file of the executor room has at hand. Out: yes or no. Nothing
 * here calls another file of the room, so every file may ask. What the planner
 * asks as well is declared in shuttle_executor.h.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_KINDS_H
#define SHUTTLE_EXECUTOR_KINDS_H

#include "foreign/fdwapi.h"

/* A plan node of ours is known by the address of its name. */
extern const char shuttle_look_ahead_name[];
extern const char shuttle_routed_append_name[];
extern const char shuttle_merge_name[];
extern const char shuttle_keyed_write_name[];
extern const char shuttle_routed_statement_name[];
extern const char shuttle_shipped_call_name[];

extern bool shuttle_is_look_ahead(const PlanState *node);
extern bool shuttle_is_routed_append(const PlanState *node);
extern bool shuttle_is_shipped_call_plan(const Plan *plan);

/* Notes the callbacks that tell our routine from postgres_fdw's. */
extern void shuttle_foreign_note_ours(const FdwRoutine *routine);

/* True if a scan runs by our own callbacks: it is on a server of ours, and no
 * Look Ahead serves it. */
extern bool shuttle_foreign_scan_is_ours(const ForeignScanState *scan);

/* True if an expression contains the PARAM_EXEC parameter. */
extern bool shuttle_expression_uses_param(Node *expression, int param);

#endif							/* SHUTTLE_EXECUTOR_KINDS_H */
