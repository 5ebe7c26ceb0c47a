/*-------------------------------------------------------------------------
 * balance_plan.c
 *	  Chooses moves so that nodes hold what is their share.
 *
 * A node's share is its part of the sum of weights, of each group and of all tablets. The
 * unevenness is what nodes hold more or less than their shares, added up: of all tablets,
 * and twice of each group, so that no group is on few nodes where all groups together are
 * even. Greedy: the next move is the one that lowers it most; of equal ones the smallest
 * tablets. A move that lowers it by less than the threshold allows is not worth it, and
 * groups are left alone whose nodes are all near their shares. A group has shares of the nodes
 * only that its placement rules allow, and a node's share of all tablets is the sum of these. Units that
 * follow others are counted with them. Each move lowers the
 * unevenness, so it comes to an end; a tablet that was chosen twice moves once, to where
 * it ends.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/places.h"
#include "tablets/move/balance.h"

#define GROUP_FACTOR 2

typedef struct Loads
{
	const ShuttleBalance *balance;
	double	   *shares;			/* of each node, of all tablets */
	double	   *group_shares;	/* the same, of each group and node */
	double	   *all;			/* of each node: more than its share */
	double	   *groups;			/* the same, of each group and node */
} Loads;

static double *
group_loads(const Loads *loads, int group)
{
	return loads->groups + group * loads->balance->nnodes;
}

static void
check_weights(const ShuttleBalance *balance)
{
	for (int i = 0; i < balance->nnodes; i++)
	{
		if (balance->weights[i] > 0)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("there is no storage node to move tablets to"),
			 errhint("Add one with shuttle.add_node(), or give one a weight above 0.")));
}

/* Weights of the nodes that a group may be on. */
static double
sum_weights(const ShuttleBalance *balance, int group)
{
	double		sum = 0;

	for (int i = 0; i < balance->nnodes; i++)
		sum += shuttle_balance_allows(balance, group, i) ? balance->weights[i] : 0;
	return sum;
}

/* A group that may be nowhere has no share, and stays. */
static void
count_shares(Loads *loads, int group, double size)
{
	const ShuttleBalance *balance = loads->balance;
	double		sum = sum_weights(balance, group);

	for (int i = 0; i < balance->nnodes; i++)
	{
		double		share = sum > 0 && shuttle_balance_allows(balance, group, i) ? size * balance->weights[i] / sum : 0;

		loads->group_shares[group * balance->nnodes + i] = share;
		loads->shares[i] += share;
		group_loads(loads, group)[i] -= share;
		loads->all[i] -= share;
	}
}

static Loads
count_loads(const ShuttleBalance *balance)
{
	int			ncells = Max(balance->ngroups, 1) * balance->nnodes;
	double	   *sizes = palloc0_array(double, Max(balance->ngroups, 1));
	Loads		loads = {.balance = balance};

	check_weights(balance);
	loads.all = palloc0_array(double, balance->nnodes);
	loads.groups = palloc0_array(double, ncells);
	loads.shares = palloc0_array(double, balance->nnodes);
	loads.group_shares = palloc0_array(double, ncells);
	for (int i = 0; i < balance->nunits; i++)
	{
		const ShuttleBalanceUnit *unit = &balance->units[i];

		if (unit->follows >= 0)
			continue;
		loads.all[unit->target] += unit->size;
		group_loads(&loads, unit->group)[unit->target] += unit->size;
		sizes[unit->group] += unit->size;
	}
	for (int i = 0; i < balance->ngroups; i++)
		count_shares(&loads, i, sizes[i]);
	return loads;
}

static bool
is_uneven(const Loads *loads, const double *over, const double *shares, double threshold)
{
	for (int i = 0; i < loads->balance->nnodes; i++)
	{
		if (fabs(over[i]) > threshold * shares[i])
			return true;
	}
	return false;
}

static double
gain_of(const double *over, int source, int target, double size)
{
	return fabs(over[source]) + fabs(over[target]) - fabs(over[source] - size) - fabs(over[target] + size);
}

/* By how much a move lowers the unevenness. */
static double
move_gain(const Loads *loads, const ShuttleBalanceUnit *unit, int target)
{
	return gain_of(loads->all, unit->target, target, unit->size) +
		GROUP_FACTOR * gain_of(group_loads(loads, unit->group), unit->target, target, unit->size);
}

static void
move_unit(Loads *loads, ShuttleBalanceUnit *unit, int target)
{
	double	   *group = group_loads(loads, unit->group);

	loads->all[unit->target] -= unit->size;
	group[unit->target] -= unit->size;
	loads->all[target] += unit->size;
	group[target] += unit->size;
	unit->target = target;
}

/* What a node has more than its share. */
static double
level_of(const Loads *loads, int group, int node)
{
	return loads->all[node] + GROUP_FACTOR * group_loads(loads, group)[node];
}

/* The node with a weight that a unit goes to best, of equal ones the emptiest; *gain: what
 * that lowers. -1: there is none. */
static int
best_target(const Loads *loads, const ShuttleBalanceUnit *unit, double *gain)
{
	int			best = -1;

	for (int i = 0; i < loads->balance->nnodes; i++)
	{
		double		own;

		if (loads->balance->weights[i] <= 0 || i == unit->target || !shuttle_balance_allows(loads->balance, unit->group, i))
			continue;
		own = move_gain(loads, unit, i);
		if (best >= 0 && (own < *gain ||
						  (own == *gain && level_of(loads, unit->group, i) >= level_of(loads, unit->group, best))))
			continue;
		best = i;
		*gain = own;
	}
	return best;
}

static bool
must_leave(const ShuttleBalance *balance, const ShuttleBalanceUnit *unit, bool rules)
{
	return unit->follows < 0 &&
		(balance->weights[unit->target] <= 0 || (rules && !shuttle_balance_allows(balance, unit->group, unit->target)));
}

/* The node that it is on has no weight, or is not allowed, and there is no other one. */
pg_noreturn static void
refuse_to_leave(const ShuttleBalance *balance, const ShuttleBalanceUnit *unit)
{
	Oid			relid = linitial_oid(balance->members[unit->group]);
	const ShuttlePlaces *places = balance->places[unit->group];
	List	   *left = NIL;

	for (int i = 0; i < balance->nnodes; i++)
	{
		if (balance->weights[i] > 0)
			left = lappend_oid(left, balance->servers[i]);
	}
	if (shuttle_places_choose(places, shuttle_layout_nodes()) == NIL)
		shuttle_places_refuse_all(places, relid);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("tablets of table \"%s\" cannot leave storage node \"%s\" because of %s", get_rel_name(relid),
					GetForeignServer(balance->servers[unit->source])->servername,
					shuttle_places_broken(places, linitial_oid(left))),
			 errdetail("The other nodes and their labels: %s.", shuttle_rule_list_nodes(left)),
			 errhint("Add a node that the rule allows, or change the rule with shuttle.place() or labels with shuttle.set_labels().")));
}

/* The largest first: small ones fill what these leave. */
void
shuttle_balance_empty(ShuttleBalance *balance, bool rules)
{
	Loads		loads = count_loads(balance);

	for (;;)
	{
		ShuttleBalanceUnit *largest = NULL;
		double		gain;
		int			target;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < balance->nunits; i++)
		{
			ShuttleBalanceUnit *unit = &balance->units[i];

			if (must_leave(balance, unit, rules) && (largest == NULL || unit->size > largest->size))
				largest = unit;
		}
		if (largest == NULL)
			break;
		target = best_target(&loads, largest, &gain);
		if (target < 0)
			refuse_to_leave(balance, largest);
		move_unit(&loads, largest, target);
	}
}

/* A move of bytes that go where they lack lowers each sum by twice the size. */
static bool
improve(ShuttleBalance *balance, Loads *loads, double threshold)
{
	bool		all_uneven = is_uneven(loads, loads->all, loads->shares, threshold);
	ShuttleBalanceUnit *best = NULL;
	int			best_place = -1;
	double		best_gain = 0;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < balance->nunits; i++)
	{
		ShuttleBalanceUnit *unit = &balance->units[i];
		double		gain = 0;
		int			target;

		if (unit->follows >= 0 ||
			(!all_uneven && !is_uneven(loads, group_loads(loads, unit->group),
									   loads->group_shares + unit->group * balance->nnodes, threshold)))
			continue;
		target = best_target(loads, unit, &gain);
		if (target < 0 || gain <= Max(2 * threshold, 1e-9) * unit->size)
			continue;
		if (best != NULL && (gain < best_gain || (gain == best_gain && unit->size >= best->size)))
			continue;
		best = unit;
		best_place = target;
		best_gain = gain;
	}
	if (best != NULL)
		move_unit(loads, best, best_place);
	return best != NULL;
}

void
shuttle_balance_spread(ShuttleBalance *balance, double threshold)
{
	Loads		loads = count_loads(balance);

	while (improve(balance, &loads, threshold))
		;
}

void
shuttle_balance_follow(ShuttleBalance *balance)
{
	for (int i = 0; i < balance->nunits; i++)
	{
		if (balance->units[i].follows >= 0)
			balance->units[i].target = balance->units[balance->units[i].follows].target;
	}
}
