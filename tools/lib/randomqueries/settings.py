"""Random settings for the foreign side."""

from lib.randomqueries.dice import Dice

# Share of the cases that have a setting, its name, and its values.
Values = tuple[tuple[float, str, tuple[str, ...]], ...]

SWITCHES = (
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_material",
    "enable_sort",
    "enable_hashagg",
    "enable_incremental_sort",
    "enable_async_append",
    "enable_partition_pruning",
    "shuttle.enable_binary_transfer",
    "shuttle.enable_early_start",
    "shuttle.enable_key_cache",
    "shuttle.enable_local_look_ahead",
    "shuttle.enable_reference_copies",
    "shuttle.enable_routed_append",
    "shuttle.enable_router",
    "shuttle.enable_row_counts",
    "shuttle.enable_storage_aggregate",
    "shuttle.enable_subquery_joins",
    "shuttle.enable_window_limits",
)

# Small ones find more, and take longer.
SIZES = {
    "shuttle.batch_size": ((1.0, "1"), (1.5, "2"), (2.0, "3"), (2.0, "7"), (4.0, "1024")),
    "shuttle.request_limit": ((1.0, "1"), (1.0, "2"), (1.5, "5"), (5.0, "1024")),
    "shuttle.fetch_limit": ((0.8, "1"), (1.2, "3"), (6.0, "1024")),
}
VALUES: Values = (
    (0.85, "shuttle.debug_force_batched_join", ("on",)),
    (0.25, "shuttle.debug_spoil_look_ahead", ("on",)),
    (0.3, "enable_memoize", ("off",)),
    (0.2, "shuttle.batches_in_flight", ("1", "2")),
    (0.12, "transaction_isolation", ("repeatable read", "serializable")),
    (0.12, "work_mem", ("64kB",)),
    (0.1, "shuttle.fetch_size_limit", ("1kB",)),
    (0.1, "shuttle.fetch_ahead", ("1kB",)),
    (0.3, "plan_cache_mode", ("force_generic_plan", "force_custom_plan")),
    (0.1, "join_collapse_limit", ("1",)),
    (0.06, "geqo_threshold", ("2",)),
    (0.1, "cursor_tuple_fraction", ("0.01", "1")),
)
TOGETHER = (
    (0.15, {"enable_partitionwise_join": "on", "enable_partitionwise_aggregate": "on"}),
    (
        0.06,
        dict.fromkeys(
            ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"), "0"
        ),
    ),
)


def random_values(dice: Dice, values: Values) -> dict[str, str]:
    return {name: dice.pick(choices) for share, name, choices in values if dice.chance(share)}


def random_settings(dice: Dice) -> dict[str, str]:
    """Names and values; what is not named is as a user has it."""
    found = {name: dice.weighted(sizes) for name, sizes in SIZES.items()}
    found |= {name: "off" for name in SWITCHES if dice.chance(0.1)}
    found |= random_values(dice, VALUES)
    for share, settings in TOGETHER:
        if dice.chance(share):
            found |= settings
    return found
