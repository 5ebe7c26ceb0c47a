/*-------------------------------------------------------------------------
 * settings.c
 *	  One table of settings and the loop that defines them.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "base/shuttle_settings.h"

typedef struct SwitchDefinition
{
	const char *name;
	const char *help;
	bool	   *value;
	bool		initial;
	int			flags;
} SwitchDefinition;

typedef struct NumberDefinition
{
	const char *name;
	const char *help;
	int		   *value;
	int			initial;
	int			min;
	int			max;
	int			flags;
	GucContext	context;		/* 0: PGC_USERSET */
} NumberDefinition;

ShuttleSettings shuttle_settings;

static const SwitchDefinition switches[] = {
	{
		.name = "shuttle.enable_batched_join",
		.help = "Enables the planner's use of batched joins.",
		.value = &shuttle_settings.enable_batched_join,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_binary_transfer",
		.help = "Enables values in binary where both sides have the same types and it saves time.",
		.value = &shuttle_settings.enable_binary_transfer,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_early_start",
		.help = "Enables sending all certain scans of a plan before the first answer is awaited.",
		.value = &shuttle_settings.enable_early_start,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_key_cache",
		.help = "Enables keeping answers for keys that later batches may have as well.",
		.value = &shuttle_settings.enable_key_cache,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_local_look_ahead",
		.help = "Enables prefetching of pages for nested loops over local index scans.",
		.value = &shuttle_settings.enable_local_look_ahead,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_plan_reuse",
		.help = "Enables sharing a plan by statements about one foreign table that differ in literals only.",
		.value = &shuttle_settings.enable_plan_reuse,
		.initial = true,
	},
	{
		.name = "shuttle.enable_routed_append",
		.help = "Enables visiting only the partitions that a row's key is routed to.",
		.value = &shuttle_settings.enable_routed_append,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_storage_aggregate",
		.help = "Enables having nodes compute their parts of aggregates over several of them.",
		.value = &shuttle_settings.enable_storage_aggregate,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_write_behind",
		.help = "Enables going on without waiting for INSERTs of functions whose count is known.",
		.value = &shuttle_settings.enable_write_behind,
		.initial = true,
	},
	{
		.name = "shuttle.enable_write_buffer",
		.help = "Enables writing many rows of a foreign table by one request.",
		.value = &shuttle_settings.enable_write_buffer,
		.initial = true,
	},
	{
		.name = "shuttle.debug_find_by_key",
		.help = "Makes scans find their rows by key where they may trust the position.",
		.value = &shuttle_settings.debug_find_by_key,
		.initial = false,
		.flags = GUC_NOT_IN_SAMPLE,
	},
	{
		.name = "shuttle.debug_force_batched_join",
		.help = "Makes the planner take a batched join wherever one is possible.",
		.value = &shuttle_settings.debug_force_batched_join,
		.initial = false,
		.flags = GUC_EXPLAIN | GUC_NOT_IN_SAMPLE,
	},
	{
		.name = "shuttle.debug_force_plan_reuse",
		.help = "Makes a plan to be shared for the first of the statements already.",
		.value = &shuttle_settings.debug_force_plan_reuse,
		.initial = false,
		.flags = GUC_NOT_IN_SAMPLE,
	},
	{
		.name = "shuttle.debug_spoil_look_ahead",
		.help = "Drops or misplaces keys that were asked for ahead, at random; answers must not change.",
		.value = &shuttle_settings.debug_spoil_look_ahead,
		.initial = false,
		.flags = GUC_NOT_IN_SAMPLE,
	},
	{
		.name = "shuttle.explain_dist",
		.help = "Shows the counters of EXPLAIN (DIST) in every EXPLAIN ANALYZE and in auto_explain.",
		.value = &shuttle_settings.explain_dist,
		.initial = false,
	},
	{
		.name = "shuttle.explain_remote",
		.help = "Shows the nodes' own plans in EXPLAIN (ANALYZE, DIST, VERBOSE).",
		.value = &shuttle_settings.explain_remote,
		.initial = false,
	},
	{
		.name = "shuttle.strict_savepoints",
		.help = "Waits for INSERTs within savepoints of functions, so that their errors come there.",
		.value = &shuttle_settings.strict_savepoints,
		.initial = true,
	},
};

static const NumberDefinition numbers[] = {
	{
		.name = "shuttle.batch_size",
		.help = "Sets how many outer rows one batch holds at most; 1 asks for each row alone.",
		.value = &shuttle_settings.batch_size,
		.initial = 1024,
		.min = 1,
		.max = 65536,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.request_limit",
		.help = "Sets how many keys one request carries at most.",
		.value = &shuttle_settings.request_limit,
		.initial = 1024,
		.min = 1,
		.max = 65536,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.fetch_limit",
		.help = "Sets how many rows one page of an answer holds at most.",
		.value = &shuttle_settings.fetch_limit,
		.initial = 1024,
		.min = 1,
		.max = 1000000,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.fetch_size_limit",
		.help = "Sets how many bytes one page of an answer should hold.",
		.value = &shuttle_settings.fetch_size_limit_kb,
		.initial = 1024,
		.min = 1,
		.max = MAX_KILOBYTES,
		.flags = GUC_EXPLAIN | GUC_UNIT_KB,
	},
	{
		.name = "shuttle.fetch_ahead",
		.help = "Sets how many bytes of pages are asked for and not read yet at most.",
		.value = &shuttle_settings.fetch_ahead_kb,
		.initial = 8192,
		.min = 1,
		.max = MAX_KILOBYTES,
		.flags = GUC_EXPLAIN | GUC_UNIT_KB,
	},
	{
		.name = "shuttle.batches_in_flight",
		.help = "Sets how many batches are sent and not joined yet at most.",
		.value = &shuttle_settings.batches_in_flight,
		.initial = 32,
		.min = 1,
		.max = 1024,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.write_buffer_size",
		.help = "Sets how many bytes of rows a table's write buffer holds before they are sent.",
		.value = &shuttle_settings.write_buffer_size_kb,
		.initial = 4096,
		.min = 1,
		.max = 131072,
		.flags = GUC_UNIT_KB,
	},
	{
		.name = "shuttle.idle_timeout",
		.help = "Closes connections to storage nodes that were idle for this long; 0 keeps them.",
		.value = &shuttle_settings.idle_timeout_s,
		.initial = 600,
		.min = 0,
		.max = INT_MAX / 1000,
		.flags = GUC_UNIT_S,
	},
	{
		.name = "shuttle.commit_wait",
		.help = "Sets the longest wait for storage nodes to commit what they have prepared; recovery does the rest.",
		.value = &shuttle_settings.commit_wait_ms,
		.initial = 5000,
		.min = 0,
		.max = INT_MAX,
		.flags = GUC_UNIT_MS,
	},
	{
		.name = "shuttle.deadlock_timeout",
		.help = "Sets how long a storage node is waited for before a deadlock over several servers is looked for; 0 turns that off.",
		.value = &shuttle_settings.deadlock_timeout_ms,
		.initial = 1000,
		.min = 0,
		.max = INT_MAX / 2,
		.flags = GUC_UNIT_MS,
	},
	{
		.name = "shuttle.recovery_interval",
		.help = "Sets how often prepared transactions that were left behind are looked for; 0 turns that off.",
		.value = &shuttle_settings.recovery_interval_s,
		.initial = 5,
		.min = 0,
		.max = 86400,
		.flags = GUC_UNIT_S,
		.context = PGC_SIGHUP,
	},
};

void
shuttle_settings_define(void)
{
	for (int i = 0; i < lengthof(switches); i++)
	{
		const SwitchDefinition *s = &switches[i];

		DefineCustomBoolVariable(s->name, s->help, NULL, s->value, s->initial,
								 PGC_USERSET, s->flags, NULL, NULL, NULL);
	}
	for (int i = 0; i < lengthof(numbers); i++)
	{
		const NumberDefinition *n = &numbers[i];

		DefineCustomIntVariable(n->name, n->help, NULL, n->value, n->initial,
								n->min, n->max,
								n->context != 0 ? n->context : PGC_USERSET,
								n->flags,
								NULL, NULL, NULL);
	}
	MarkGUCPrefixReserved("shuttle");
}
