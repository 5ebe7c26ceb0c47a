/*-------------------------------------------------------------------------
 * balance_plan.c
 *	  Chooses moves so that nodes hold what is their share.
 *
 * A node's share is its part of the sum of weights, of each group and of all tablets. The
 * unevenness is what nodes hold more or less than their shares, added up: of all tablets,
 * and twice of each group, so that no group is on few nodes where all groups together are
 * even. Greedy: the next move is the one that lowers it most; of equal ones the smallest
 * tablets. A move that lowers it by less than the threshold allows is not worth it, and
 * groups are left alone whose nodes are all near their shares. Each move lowers the
 * unevenness, so it comes to an end; a tablet that was chosen twice moves once, to where
 * it ends.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "base/shuttle_compat.h"
#include "tablets/move/balance.h"

#define GROUP_FACTOR 2

typedef struct Loads
{
	const ShuttleBalance *balance;
	double		all_weights;
	double	   *all;			/* of each node: more than its share */
	double	   *groups;			/* the same, of each group and node */
	double		all_size;
	double	   *group_sizes;
} Loads;

static double *
group_loads(const Loads *loads, int group)
{
	return loads->groups + group * loads->balance->nnodes;
}

static Loads
count_loads(const ShuttleBalance *balance)
{
	Loads		loads = {.balance = balance};

	loads.all = palloc0_array(double, balance->nnodes);
	loads.groups = palloc0_array(double, Max(balance->ngroups, 1) * balance->nnodes);
	loads.group_sizes = palloc0_array(double, Max(balance->ngroups, 1));
	for (int i = 0; i < balance->nnodes; i++)
		loads.all_weights += balance->weights[i];
	if (loads.all_weights <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no storage node to move tablets to"),
				 errhint("Add one with shuttle.add_node(), or give one a weight above 0.")));
	for (int i = 0; i < balance->nunits; i++)
	{
		const ShuttleBalanceUnit *unit = &balance->units[i];

		loads.all[unit->target] += unit->size;
		loads.all_size += unit->size;
		group_loads(&loads, unit->group)[unit->target] += unit->size;
		loads.group_sizes[unit->group] += unit->size;
	}
	for (int i = 0; i < balance->nnodes; i++)
	{
		double		part = balance->weights[i] / loads.all_weights;

		loads.all[i] -= part * loads.all_size;
		for (int j = 0; j < balance->ngroups; j++)
			group_loads(&loads, j)[i] -= part * loads.group_sizes[j];
	}
	return loads;
}

static bool
is_uneven(const Loads *loads, const double *over, double size, double threshold)
{
	const ShuttleBalance *balance = loads->balance;

	for (int i = 0; i < balance->nnodes; i++)
	{
		if (fabs(over[i]) > threshold * size * balance->weights[i] / loads->all_weights)
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
 * that lowers. */
static int
best_target(const Loads *loads, const ShuttleBalanceUnit *unit, double *gain)
{
	int			best = -1;

	for (int i = 0; i < loads->balance->nnodes; i++)
	{
		double		own;

		if (loads->balance->weights[i] <= 0 || i == unit->target)
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

/* The largest first: small ones fill what these leave. */
void
shuttle_balance_empty(ShuttleBalance *balance)
{
	Loads		loads = count_loads(balance);

	for (;;)
	{
		ShuttleBalanceUnit *largest = NULL;
		double		gain;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < balance->nunits; i++)
		{
			ShuttleBalanceUnit *unit = &balance->units[i];

			if (balance->weights[unit->target] <= 0 && (largest == NULL || unit->size > largest->size))
				largest = unit;
		}
		if (largest == NULL)
			break;
		move_unit(&loads, largest, best_target(&loads, largest, &gain));
	}
}

/* A move of bytes that go where they lack lowers each sum by twice the size. */
static bool
improve(ShuttleBalance *balance, Loads *loads, double threshold)
{
	bool		all_uneven = is_uneven(loads, loads->all, loads->all_size, threshold);
	ShuttleBalanceUnit *best = NULL;
	int			best_place = -1;
	double		best_gain = 0;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < balance->nunits; i++)
	{
		ShuttleBalanceUnit *unit = &balance->units[i];
		double		gain = 0;
		int			target;

		if (!all_uneven && !is_uneven(loads, group_loads(loads, unit->group),
									  loads->group_sizes[unit->group], threshold))
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
