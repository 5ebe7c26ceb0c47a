"""Random settings of a transaction: those of both sides, and those of the far side."""

from lib.randomqueries.dice import Dice
from lib.randomqueries.settings import Values, random_values

SWITCHES = (
    (0.1, "shuttle.enable_write_buffer"),
    (0.15, "shuttle.enable_write_behind"),
    (0.15, "shuttle.strict_savepoints"),
    (0.15, "shuttle.enable_batched_join"),
    (0.1, "shuttle.enable_early_start"),
    (0.1, "shuttle.enable_binary_transfer"),
    (0.1, "shuttle.enable_key_cache"),
    (0.1, "shuttle.enable_plan_reuse"),
    (0.1, "shuttle.enable_routed_append"),
    (0.1, "shuttle.enable_storage_aggregate"),
    (0.1, "shuttle.enable_reference_copies"),
    (0.15, "shuttle.enable_router"),
    (0.25, "shuttle.enable_shipped_calls"),
    (0.1, "enable_hashjoin"),
    (0.1, "enable_mergejoin"),
    (0.1, "enable_material"),
    (0.1, "enable_sort"),
    (0.1, "enable_async_append"),
)
VALUES: Values = (
    (0.4, "shuttle.write_buffer_size", ("1kB", "2kB", "64kB")),
    (0.3, "shuttle.batch_size", ("1", "2", "7")),
    (0.2, "shuttle.request_limit", ("1", "5")),
    (0.25, "shuttle.fetch_limit", ("1", "3", "10")),
    (0.1, "shuttle.fetch_size_limit", ("1kB",)),
    (0.1, "shuttle.fetch_ahead", ("1kB",)),
    (0.25, "shuttle.debug_force_batched_join", ("on",)),
    (0.08, "shuttle.debug_spoil_look_ahead", ("on",)),
    (0.4, "shuttle.debug_force_plan_reuse", ("on",)),
    (0.35, "plan_cache_mode", ("force_generic_plan", "force_custom_plan")),
    (0.15, "enable_partitionwise_join", ("on",)),
    (0.1, "work_mem", ("64kB",)),
)


def random_settings(dice: Dice) -> dict[str, str]:
    found = {name: "off" for share, name in SWITCHES if dice.chance(share)}
    return found | random_values(dice, VALUES)


def random_isolation(dice: Dice) -> str:
    return dice.weighted([(8, ""), (1, "REPEATABLE READ"), (1, "SERIALIZABLE")])
