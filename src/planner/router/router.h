/*-------------------------------------------------------------------------
 * router.h
 *	  Statements whose distributed tables all have their key fixed, or lie on one
 *	  node: they are sent there as a whole.
 *
 * Files: router.c decides and makes the plan; router_keys.c finds the key of each
 * distributed table, in conditions that router_conditions.c collects; router_refusals.c
 * looks for what a node could answer otherwise; router_insert.c knows INSERT and MERGE;
 * router_text.c makes the text and its parameters, with router_parts.c for parts of columns;
 * router_tablets.c names tablets in it; router_partitions.c names the partition that a
 * statement on a partitioned table needs; router_proof.c proves
 * both, if a setting says so.
 *
 * colocated.c tries this first, and has core join tablets on their nodes else;
 * called_routines.c finds statements that only call a function that nodes have; literal_plans.c
 * and literal_shape.c share one plan between statements that differ in literals.
 *
 * In: a Query that core would plan. Out: a plan with one node, Routed Statement
 * (executor/router), or what core plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_ROUTER_ROUTER_H
#define SHUTTLE_PLANNER_ROUTER_ROUTER_H

#include "catalog/pg_class.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/hooks.h"
#include "utils/selfuncs.h"

/* The plan of a statement for one node, or that of the parts below. (router.c) */
extern PlannedStmt *shuttle_router_plan(Query *query, ShuttlePlanCall call);

/* ---- inside the sub-room */

/*
 * The query with its only partition in the place of each partitioned table whose partitions are
 * distributed; NULL: it needs several of one. *swaps: for the plan that is made of it, which
 * then shows and checks the partitioned tables (router_partitions.c).
 */
extern Query *shuttle_router_name_partitions(Query *query, ShuttlePlanCall call, List **swaps);
extern void shuttle_router_name_partitioned(PlannedStmt *statement, const List *swaps);

/* What the parts have found. Lists are in the current memory context. */
typedef struct ShuttleRoute
{
	const char *refusal;		/* why not; NULL: nothing was found */
	List	   *relids;			/* Oid of each distributed table's range table
								 * entry, */
	List	   *keys;			/* and its key, an expression without columns */
	const Query *statement;
	List	   *entries;		/* range table entries of the plan */
	List	   *places;			/* ints: the statement's own entries among
								 * them, by range table index; 0: none */
	List	   *permissions;	/* since 16, of the entries */
	bool		has_user;
	Oid			userid;			/* with whose rights nodes are asked; 0: the
								 * current user's */
	bool		depends_on_role;	/* the current user is in userid */
	bool		reads_copies;	/* reads copies of reference tables */
	int			ninserts;
	int			nplain;			/* keys of those without ON CONFLICT */
	bool		may_read_xmax;	/* while RETURNING of ON CONFLICT is looked at */
	bool		reads_xmax;		/* of the row on its node */
	bool		locks;			/* rows */
	bool		writes;
	List	   *orders;			/* expressions that the node sorts by */
	bool		one_server;		/* one server has all of each table */
	bool		one_node;		/* equal keys are on one node, and all are
								 * equal */
} ShuttleRoute;

/* Notes why a statement cannot be routed; the first reason counts. */
static inline void
shuttle_router_refuse(ShuttleRoute *route, const char *refusal)
{
	if (route->refusal == NULL)
		route->refusal = refusal;
}

/* Fills relids and keys, and refuses tables without a key (router_keys.c). */
extern void shuttle_router_find_keys(ShuttleRoute *route, Query *query);

/* A condition left = right. */
typedef struct ShuttleEquality
{
	Node	   *left;
	Node	   *right;			/* a List: one of these constants */
	Relids		restricts;		/* range table indexes; NULL: all */
} ShuttleEquality;

/* Those of a query's own level, a list of ShuttleEquality (router_conditions.c). */
extern List *shuttle_router_equalities(const Query *query);

/* The tables and subqueries (range table indexes) of a query's own level whose columns an outer join
 * may make NULL. */
extern Relids shuttle_router_nullable(const Query *query);

/* True of a constant that is yet to be computed, which may raise an error. */
extern bool shuttle_router_may_fail(Node *value);

/* False if one node has all tablets of a distributed table (router.c). */
extern bool shuttle_router_needs_key(Oid relid);

/* Refuses what a node might answer otherwise, and fills orders. query: with
 * parameters in place of what is computed here (router_refusals.c). */
extern void shuttle_router_check_query(ShuttleRoute *route, Query *query);

/* The same for one table; also fills entries, permissions, userid and the
 * flags. */
extern void shuttle_router_check_table(ShuttleRoute *route, const Query *query,
									   RangeTblEntry *rte, int rtindex);

/*
 * Replaces parameters and stable values by $1, $2, ...; *values gets their
 * expressions. The query is copied (router_text.c).
 */
extern Query *shuttle_router_take_values(ShuttleRoute *route, Query *query, List **values);

/* Why an INSERT cannot be routed; NULL: nothing was found. key: its table's
 * (router_insert.c). */
extern const char *shuttle_router_refuse_insert(const Query *query, AttrNumber key);

/* The same for a MERGE. */
extern const char *shuttle_router_refuse_merge(const Query *query, AttrNumber key);

/* True of the subquery or VALUES that an INSERT reads. */
extern bool shuttle_router_is_source(const Query *query, int rtindex);

/* What an INSERT puts into a column, for each row of VALUES; NIL: no value of its own. */
extern List *shuttle_router_inserted(const Query *query, AttrNumber column);

/* An INSERT whose rows of VALUES have all columns. *computed gets what is in the rows, in
 * the order in which core computes it; NIL: it reads a subquery. */
extern Query *shuttle_router_spread_rows(Query *insert, List **computed);

/* Changes an INSERT or a MERGE into one that core's deparser prints for nodes. */
extern void shuttle_router_prepare_insert(Query *insert);

/* The entries of an UPDATE with one assignment each, where several set parts of one column
 * (router_parts.c). */
extern List *shuttle_router_split_parts(const List *targetlist);

/* The same for all that a statement sets, so that core's deparser prints each. */
extern void shuttle_router_write_parts(Query *query);

/* The column that is a table's key; 0: it is not one column (router.c). */
extern AttrNumber shuttle_router_key_column(Oid relid);

/* Adds a table and its key; NULL: unknown, which is refused where a key is needed; a List:
 * one of these constants. */
extern void shuttle_router_add_key(ShuttleRoute *route, Oid relid, Node *value);

/* The text for the node, in one line. */
extern char *shuttle_router_text(Query *query);

/*
 * The same with the names of the tables' tablets of one number: parts (Strings), between
 * which the number goes; NIL: it cannot be (router_tablets.c).
 */
extern List *shuttle_router_tablet_text(Query *query);

/* Raises an error if a text of the plan means something else than the query
 * (router_proof.c). */
extern void shuttle_router_prove(const Query *query, const ShuttleRoutedPlan *plan);

/* True of a node that has no column, aggregate, subquery or other part that has
 * a value only inside the statement. */
extern bool shuttle_router_is_value(Node *node);

/* ---- joins of distributed tables (colocated.c) */

/* Part of the planner hook: considers partitionwise joins for statements with two
 * distributed tables or more, or with reference tables. */
extern PlannedStmt *shuttle_colocated_plan(Query *query, ShuttlePlanCall call);

/* Part of the planner hook: a statement that only calls a distributed function may
 * be executed by a node. (called_routines.c) */
extern PlannedStmt *shuttle_called_routines_plan(Query *query, ShuttlePlanCall call);

#endif							/* SHUTTLE_PLANNER_ROUTER_ROUTER_H */
