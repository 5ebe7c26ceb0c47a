/*-------------------------------------------------------------------------
 * shuttle_settings.h
 *	  Settings of the extension; each field is shuttle.<field> in SQL, without
 *	  the suffix of its unit.
 *
 * When a setting is read: batch_size and whether to look ahead are stored in
 * the plan, as hints and cached plans need. Else the planner reads a setting
 * while it plans, and other rooms when they use it.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_SETTINGS_H
#define SHUTTLE_SETTINGS_H

typedef enum ShuttleStatisticsTables
{
	SHUTTLE_STATISTICS_OF_TABLETS,
	SHUTTLE_STATISTICS_OF_ALL	/* foreign tables of our wrapper */
} ShuttleStatisticsTables;

typedef enum ShuttleReadConsistency
{
	SHUTTLE_READ_NODE,			/* each node in a state of its own */
	SHUTTLE_READ_ATOMIC,		/* transactions over several nodes are seen
								 * whole */
	SHUTTLE_READ_STRICT			/* and all transactions in one order */
} ShuttleReadConsistency;

typedef struct ShuttleSettings
{
	bool		enable_batched_join;
	bool		enable_binary_transfer;
	bool		enable_ddl;
	bool		enable_early_start;
	bool		enable_key_cache;
	bool		enable_local_look_ahead;
	bool		enable_plan_reuse;
	bool		enable_reference_copies;
	bool		enable_routed_append;
	bool		enable_router;
	bool		enable_row_counts;
	bool		enable_shipped_calls;
	bool		enable_storage_aggregate;
	bool		enable_subquery_joins;
	bool		enable_window_limits;
	bool		enable_write_behind;
	bool		enable_write_buffer;
	bool		debug_find_by_key;
	bool		debug_force_batched_join;
	bool		debug_force_plan_reuse;
	bool		debug_prove_texts;
	bool		debug_spoil_look_ahead;
	bool		explain_dist;
	bool		explain_remote;
	bool		follow_databases;
	bool		follow_roles;
	bool		strict_savepoints;
	int			batch_size;		/* outer rows */
	int			request_limit;	/* keys */
	int			fetch_limit;	/* rows */
	int			fetch_size_limit_kb;
	int			fetch_ahead_kb;
	int			batches_in_flight;
	int			tablets;		/* of a new distributed table */
	char	   *query_node_name;	/* empty: the only query node, or a
									 * standby that only reads */
	char	   *auto_distribute;	/* patterns of columns that spread new
									 * tables */
	int			write_buffer_size_kb;
	int			idle_timeout_s;
	int			commit_wait_ms;
	int			failover_wait_ms;
	int			deadlock_timeout_ms;
	int			recovery_interval_s;
	int			query_node_lease_s;
	int			record_retention_s;
	int			statistics_interval_s;
	int			statistics_tables;	/* ShuttleStatisticsTables */
	int			read_consistency;	/* ShuttleReadConsistency */
} ShuttleSettings;

extern ShuttleSettings shuttle_settings;

/* Defines all settings; called once, by _PG_init. */
extern void shuttle_settings_define(void);

#endif							/* SHUTTLE_SETTINGS_H */
