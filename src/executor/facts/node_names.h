/*-------------------------------------------------------------------------
 * node_names.h
 *	  What kind a plan node of ours is, by its name (node_names.c).
 *
 * In: what any file of the executor room has at hand. Out: yes or no. Nothing
 * here calls another file of the room, so every file may ask. What the planner
 * asks as well is declared in shuttle_executor.h.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_NODE_NAMES_H
#define SHUTTLE_EXECUTOR_FACTS_NODE_NAMES_H

#include "foreign/fdwapi.h"

/* A plan node of ours is known by the address of its name. */
extern const char shuttle_node_look_ahead_name[];
extern const char shuttle_node_lock_ahead_name[];
extern const char shuttle_node_routed_append_name[];
extern const char shuttle_node_merge_name[];
extern const char shuttle_node_keyed_write_name[];
extern const char shuttle_node_routed_statement_name[];
extern const char shuttle_node_shipped_call_name[];

extern bool shuttle_node_is_look_ahead(const PlanState *node);
extern bool shuttle_node_is_lock_ahead(const PlanState *node);
extern bool shuttle_node_is_routed_append(const PlanState *node);
extern bool shuttle_node_is_shipped_call_plan(const Plan *plan);

/* True if an expression contains the PARAM_EXEC parameter. */
extern bool shuttle_node_uses_param(Node *expression, int param);

#endif							/* SHUTTLE_EXECUTOR_FACTS_NODE_NAMES_H */
