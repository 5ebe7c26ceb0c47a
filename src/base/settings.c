/*-------------------------------------------------------------------------
 * settings.c
 *	  A table of switches and one of numbers; enums and strings follow them.
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
	GucContext	context;		/* 0: PGC_USERSET */
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
		.help = "Enables transfer of values in binary format if both servers have the same types and it saves time.",
		.value = &shuttle_settings.enable_binary_transfer,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_ddl",
		.help = "Enables changing distributed tables on storage nodes when they are changed here.",
		.value = &shuttle_settings.enable_ddl,
		.initial = true,
		.context = PGC_SUSET,
	},
	{
		.name = "shuttle.enable_early_start",
		.help = "Enables sending all scans that a plan will surely read before waiting for the first answer.",
		.value = &shuttle_settings.enable_early_start,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_key_cache",
		.help = "Enables keeping the answers for keys that may repeat in later batches.",
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
		.help = "Enables sharing of plans between statements on one foreign table that differ only in literals.",
		.value = &shuttle_settings.enable_plan_reuse,
		.initial = true,
	},
	{
		.name = "shuttle.enable_reference_copies",
		.help = "Enables joins of distributed tables with the copies of reference tables on their nodes.",
		.value = &shuttle_settings.enable_reference_copies,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_routed_append",
		.help = "Enables reading only the partitions that can have rows for an outer row's key.",
		.value = &shuttle_settings.enable_routed_append,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_router",
		.help = "Enables sending a statement as a whole to the storage node that has all its rows.",
		.value = &shuttle_settings.enable_router,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_row_counts",
		.help = "Enables asking storage nodes while planning for the row counts of tables without statistics.",
		.value = &shuttle_settings.enable_row_counts,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_shipped_calls",
		.help = "Enables executing calls of distributed functions and procedures on the storage node that has their rows.",
		.value = &shuttle_settings.enable_shipped_calls,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_storage_aggregate",
		.help = "Enables partial aggregation on storage nodes.",
		.value = &shuttle_settings.enable_storage_aggregate,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_subquery_joins",
		.help = "Enables joins with groups instead of subqueries that compute an aggregate for each row.",
		.value = &shuttle_settings.enable_subquery_joins,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_window_limits",
		.help = "Enables fetching from storage nodes only the first rows of windows, if a condition on their number asks for no more.",
		.value = &shuttle_settings.enable_window_limits,
		.initial = true,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.enable_write_behind",
		.help = "Enables not waiting for the INSERTs of a function if their row count is known.",
		.value = &shuttle_settings.enable_write_behind,
		.initial = true,
	},
	{
		.name = "shuttle.enable_write_buffer",
		.help = "Enables writing many rows of a foreign table in one request.",
		.value = &shuttle_settings.enable_write_buffer,
		.initial = true,
	},
	{
		.name = "shuttle.debug_find_by_key",
		.help = "Makes scans look up their rows by key instead of by position.",
		.value = &shuttle_settings.debug_find_by_key,
		.initial = false,
		.flags = GUC_NOT_IN_SAMPLE,
	},
	{
		.name = "shuttle.debug_force_batched_join",
		.help = "Makes the planner choose a batched join wherever one is possible.",
		.value = &shuttle_settings.debug_force_batched_join,
		.initial = false,
		.flags = GUC_EXPLAIN | GUC_NOT_IN_SAMPLE,
	},
	{
		.name = "shuttle.debug_force_plan_reuse",
		.help = "Makes a shared plan at the first statement of its kind instead of the second.",
		.value = &shuttle_settings.debug_force_plan_reuse,
		.initial = false,
		.flags = GUC_NOT_IN_SAMPLE,
	},
	{
		.name = "shuttle.debug_prove_texts",
		.help = "Reads the texts of statements for storage nodes again here, and raises an error if one means something else.",
		.value = &shuttle_settings.debug_prove_texts,
		.initial = false,
		.context = PGC_SUSET,
	},
	{
		.name = "shuttle.debug_spoil_look_ahead",
		.help = "Drops or misplaces keys sent ahead, at random; results must not change.",
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
		.context = PGC_SUSET,	/* the plans have values that rows have */
	},
	{
		.name = "shuttle.follow_databases",
		.help = "Enables creating, renaming and dropping databases on storage nodes as well.",
		.value = &shuttle_settings.follow_databases,
		.initial = false,
		.context = PGC_SUSET,
	},
	{
		.name = "shuttle.follow_roles",
		.help = "Enables creating, changing and dropping roles on storage nodes as well.",
		.value = &shuttle_settings.follow_roles,
		.initial = false,
		.context = PGC_SUSET,
	},
	{
		.name = "shuttle.strict_savepoints",
		.help = "Waits for INSERTs inside a function's savepoint, so that their errors are raised there.",
		.value = &shuttle_settings.strict_savepoints,
		.initial = true,
	},
};

static const NumberDefinition numbers[] = {
	{
		.name = "shuttle.batch_size",
		.help = "Sets the maximum number of outer rows in a batch; 1 sends one request for each row.",
		.value = &shuttle_settings.batch_size,
		.initial = 1024,
		.min = 1,
		.max = 65536,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.request_limit",
		.help = "Sets the maximum number of keys in a request.",
		.value = &shuttle_settings.request_limit,
		.initial = 1024,
		.min = 1,
		.max = 65536,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.fetch_limit",
		.help = "Sets the maximum number of rows in a page of an answer.",
		.value = &shuttle_settings.fetch_limit,
		.initial = 1024,
		.min = 1,
		.max = 1000000,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.fetch_size_limit",
		.help = "Sets the target size of a page of an answer.",
		.value = &shuttle_settings.fetch_size_limit_kb,
		.initial = 1024,
		.min = 1,
		.max = MAX_KILOBYTES,
		.flags = GUC_EXPLAIN | GUC_UNIT_KB,
	},
	{
		.name = "shuttle.fetch_ahead",
		.help = "Sets the maximum size of pages requested and not read yet.",
		.value = &shuttle_settings.fetch_ahead_kb,
		.initial = 8192,
		.min = 1,
		.max = MAX_KILOBYTES,
		.flags = GUC_EXPLAIN | GUC_UNIT_KB,
	},
	{
		.name = "shuttle.batches_in_flight",
		.help = "Sets the maximum number of batches sent and not joined yet.",
		.value = &shuttle_settings.batches_in_flight,
		.initial = 32,
		.min = 1,
		.max = 1024,
		.flags = GUC_EXPLAIN,
	},
	{
		.name = "shuttle.tablets",
		.help = "Sets the number of tablets of a distributed table, unless the function's argument does.",
		.value = &shuttle_settings.tablets,
		.initial = 12,
		.min = 1,
		.max = 4096,
	},
	{
		.name = "shuttle.write_buffer_size",
		.help = "Sets the size of a table's write buffer.",
		.value = &shuttle_settings.write_buffer_size_kb,
		.initial = 4096,
		.min = 1,
		.max = 131072,
		.flags = GUC_UNIT_KB,
	},
	{
		.name = "shuttle.idle_timeout",
		.help = "Closes connections to storage nodes that have been idle for this long; 0 keeps them.",
		.value = &shuttle_settings.idle_timeout_s,
		.initial = 600,
		.min = 0,
		.max = INT_MAX / 1000,
		.flags = GUC_UNIT_S,
	},
	{
		.name = "shuttle.commit_wait",
		.help = "Sets the maximum time to wait for storage nodes to commit prepared transactions; recovery does the rest.",
		.value = &shuttle_settings.commit_wait_ms,
		.initial = 5000,
		.min = 0,
		.max = INT_MAX,
		.flags = GUC_UNIT_MS,
	},
	{
		.name = "shuttle.failover_wait",
		.help = "Sets how long to try to connect to storage nodes with several hosts while none of these can be had; 0 turns that off.",
		.value = &shuttle_settings.failover_wait_ms,
		.initial = 10000,
		.min = 0,
		.max = INT_MAX / 2,
		.flags = GUC_UNIT_MS,
	},
	{
		.name = "shuttle.deadlock_timeout",
		.help = "Sets the time to wait for a storage node before checking for deadlocks over several servers; 0 turns the check off.",
		.value = &shuttle_settings.deadlock_timeout_ms,
		.initial = 1000,
		.min = 0,
		.max = INT_MAX / 2,
		.flags = GUC_UNIT_MS,
	},
	{
		.name = "shuttle.recovery_interval",
		.help = "Sets how often to look for prepared transactions that were left behind; 0 turns that off.",
		.value = &shuttle_settings.recovery_interval_s,
		.initial = 5,
		.min = 0,
		.max = 86400,
		.flags = GUC_UNIT_S,
		.context = PGC_SIGHUP,
	},
	{
		.name = "shuttle.query_node_lease",
		.help = "Sets how long a query node that is registered from now on may write without news from the primary server.",
		.value = &shuttle_settings.query_node_lease_s,
		.initial = 10,
		.min = 5,
		.max = 3600,
		.flags = GUC_UNIT_S,
		.context = PGC_SUSET,
	},
	{
		.name = "shuttle.record_retention",
		.help = "Sets how long to keep records of commits on storage nodes with several hosts.",
		.value = &shuttle_settings.record_retention_s,
		.initial = 600,
		.min = 0,
		.max = 86400,
		.flags = GUC_UNIT_S,
		.context = PGC_SIGHUP,
	},
	{
		.name = "shuttle.statistics_interval",
		.help = "Sets how often to copy statistics of tables that storage nodes have analyzed; 0 turns that off.",
		.value = &shuttle_settings.statistics_interval_s,
		.initial = 60,
		.min = 0,
		.max = 86400,
		.flags = GUC_UNIT_S,
		.context = PGC_SIGHUP,
	},
};

static const struct config_enum_entry statistics_tables[] = {
	{"tablets", SHUTTLE_STATISTICS_OF_TABLETS, false},
	{"all", SHUTTLE_STATISTICS_OF_ALL, false},
	{NULL, 0, false}
};

static const struct config_enum_entry read_consistencies[] = {
	{"node", SHUTTLE_READ_NODE, false},
	{"atomic", SHUTTLE_READ_ATOMIC, false},
	{"strict", SHUTTLE_READ_STRICT, false},
	{NULL, 0, false}
};

void
shuttle_settings_define(void)
{
	for (int i = 0; i < lengthof(switches); i++)
	{
		const SwitchDefinition *s = &switches[i];

		DefineCustomBoolVariable(s->name, s->help, NULL, s->value, s->initial,
								 s->context != 0 ? s->context : PGC_USERSET,
								 s->flags, NULL, NULL, NULL);
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
	DefineCustomEnumVariable("shuttle.statistics_tables",
							 "Sets which foreign tables' statistics are copied every shuttle.statistics_interval.",
							 NULL, &shuttle_settings.statistics_tables,
							 SHUTTLE_STATISTICS_OF_TABLETS, statistics_tables,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("shuttle.read_consistency",
							 "Sets whether reads see transactions of several storage nodes as a whole, and in one order.",
							 NULL, &shuttle_settings.read_consistency,
							 SHUTTLE_READ_NODE, read_consistencies,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("shuttle.auto_distribute",
							   "Sets by which columns new tables are distributed.",
							   "Patterns of column names, as LIKE takes them, separated by commas.",
							   &shuttle_settings.auto_distribute, "",
							   PGC_USERSET, GUC_LIST_INPUT, NULL, NULL, NULL);
	DefineCustomStringVariable("shuttle.query_node_name",
							   "Sets the name of this server among several query nodes.",
							   NULL, &shuttle_settings.query_node_name, "",
							   PGC_SU_BACKEND, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("shuttle");
}
