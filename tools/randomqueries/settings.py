"""Random settings for the foreign side."""

from __future__ import annotations

from randomqueries.dice import Dice

ENABLES = (
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_material",
    "enable_sort",
    "enable_hashagg",
    "enable_incremental_sort",
    "enable_async_append",
    "enable_partition_pruning",
    "shuttle.enable_early_start",
    "shuttle.enable_local_look_ahead",
    "shuttle.enable_reference_copies",
    "shuttle.enable_subquery_joins",
)

# Small ones find more, and take longer.
BATCH_SIZES = ((1.0, "1"), (1.5, "2"), (2.0, "3"), (2.0, "7"), (4.0, "1024"))
REQUEST_LIMITS = ((1.0, "1"), (1.0, "2"), (1.5, "5"), (5.0, "1024"))
FETCH_LIMITS = ((0.8, "1"), (1.2, "3"), (6.0, "1024"))


def random_settings(dice: Dice) -> dict[str, str]:
    """Names and values; what is not named is as a user has it."""
    found = {
        "shuttle.batch_size": dice.weighted(BATCH_SIZES),
        "shuttle.request_limit": dice.weighted(REQUEST_LIMITS),
        "shuttle.fetch_limit": dice.weighted(FETCH_LIMITS),
    }
    if dice.chance(0.85):
        found["shuttle.debug_force_batched_join"] = "on"
    if dice.chance(0.25):
        found["shuttle.debug_spoil_look_ahead"] = "on"
    found |= {name: "off" for name in ENABLES if dice.chance(0.1)}
    if dice.chance(0.3):
        found["enable_memoize"] = "off"
    if dice.chance(0.2):
        found["shuttle.batches_in_flight"] = str(dice.pick((1, 2)))
    if dice.chance(0.12):
        found["transaction_isolation"] = dice.pick(("repeatable read", "serializable"))
    found |= rarer_settings(dice)
    return found


def rarer_settings(dice: Dice) -> dict[str, str]:
    found: dict[str, str] = {}
    if dice.chance(0.12):
        found["work_mem"] = "64kB"
    if dice.chance(0.1):
        found["shuttle.fetch_size_limit"] = "1kB"
    if dice.chance(0.1):
        found["shuttle.fetch_ahead"] = "1kB"
    if dice.chance(0.15):
        found["enable_partitionwise_join"] = "on"
        found["enable_partitionwise_aggregate"] = "on"
    if dice.chance(0.3):
        found["plan_cache_mode"] = dice.pick(("force_generic_plan", "force_custom_plan"))
    if dice.chance(0.06):
        found |= {
            "parallel_setup_cost": "0",
            "parallel_tuple_cost": "0",
            "min_parallel_table_scan_size": "0",
        }
    if dice.chance(0.1):
        found["join_collapse_limit"] = "1"
    if dice.chance(0.06):
        found["geqo_threshold"] = "2"
    if dice.chance(0.1):
        found["cursor_tuple_fraction"] = dice.pick(("0.01", "1"))
    return found
