/*-------------------------------------------------------------------------
 * look_ahead_params.h
 *	  Parameters of a join, set from a buffered outer row (look_ahead_params.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_LOOK_AHEAD_PARAMS_H
#define SHUTTLE_EXECUTOR_FACTS_LOOK_AHEAD_PARAMS_H

#include "nodes/execnodes.h"

#include "executor/executor_types.h"
#include "executor/join/join.h"

/* Adds the binding of a parameter to a column of the node's rows. */
extern void shuttle_look_ahead_bind(LookAheadState *look, int param,
									const Var *var);

/* The binding of a parameter, or NULL if the node does not set it. */
extern const ShuttleBinding *shuttle_look_ahead_binding(const LookAheadState *look,
														int param);

/* True if an expression uses a parameter that the node sets. */
extern bool shuttle_look_ahead_binds(const LookAheadState *look,
									 Node *expression);

/* Changes the node's parameters for a while: save, set from rows, restore. */
extern void shuttle_look_ahead_save_params(LookAheadState *look);
extern void shuttle_look_ahead_set_params(LookAheadState *look,
										  TupleTableSlot *row);
extern void shuttle_look_ahead_restore_params(LookAheadState *look);

#endif							/* SHUTTLE_EXECUTOR_FACTS_LOOK_AHEAD_PARAMS_H */
