/*-------------------------------------------------------------------------
 * parameters.h
 *	  Values of parameters that are sent to a node (parameters.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_PARAMETERS_H
#define SHUTTLE_EXECUTOR_FACTS_PARAMETERS_H

#include "nodes/plannodes.h"
#include "nodes/execnodes.h"

#include "executor/executor_types.h"

/* Prepares expressions for $1, $2, ...; NULL for an empty list. */
extern ShuttleParameters *shuttle_parameters_create(List *expressions,
													PlanState *parent);

/* The same in two steps, for expressions that are evaluated in parent's own context: what follows
 * from their types, and may be bound again to others of these types; and what is needed to
 * evaluate them, in the current context. */
extern ShuttleParameters *shuttle_parameters_describe(const List *expressions);
extern void shuttle_parameters_bind(ShuttleParameters *parameters, const List *expressions, PlanState *parent);

/* For one expression: NULL if shuttle_parameters_value() needs nothing. */
extern ExprState *shuttle_parameters_prepare(Expr *expression, PlanState *parent);
extern Datum shuttle_parameters_value(const Expr *expression, ExprState *state, ExprContext *econtext,
									  bool *is_null);

/* Their number; 0 for NULL. */
extern int	shuttle_parameters_count(const ShuttleParameters *parameters);

/*
 * True if a scan's parameters stand for literals
 * (planner/router/literal_plans.c). The node should make a custom plan then,
 * unless only one row can be found.
 */
extern bool shuttle_parameters_are_literals(const ForeignScan *scan);

/* Evaluates them to texts, under the transmission settings. The texts live in
 * econtext's per-tuple memory, the array until the next call. */
extern const char *const *shuttle_parameters_evaluate(ShuttleParameters *parameters,
													  ExprContext *econtext);

#endif							/* SHUTTLE_EXECUTOR_FACTS_PARAMETERS_H */
