"""Makes the transactions of a run; a seed and a number always make the same one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lib.randomqueries import runs
from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import smaller
from lib.randomschemas.alters import is_alter
from lib.randomschemas.schema import Schema, make_schema
from lib.randomschemas.statements import transaction
from lib.randomwrites.context import Step, shorter
from lib.randomwrites.running import text_of

CASES_OF_SCHEMA = 25
COMMIT_SHARE = 0.7
SWITCHES = (
    "shuttle.enable_router",
    "shuttle.enable_write_behind",
    "shuttle.enable_batched_join",
    "shuttle.enable_plan_reuse",
)
SWITCHED_OFF = 0.12
ATOMIC_SHARE = 0.2


@dataclass(frozen=True)
class Case(runs.Case):
    """schema_number: which schema it is of."""

    schema_number: int
    schema: Schema
    steps: tuple[Step, ...]
    end: str

    @property
    def alters(self) -> bool:
        return any(is_alter(text_of(step)) for step in self.steps)

    def smaller(self) -> Iterator["Case"]:
        yield from (replace(self, steps=steps) for steps in shorter(self.steps))
        yield from self.with_fewer_settings()
        for i, step in enumerate(self.steps):
            for sql in smaller(step.sql):
                less = replace(step, sql=sql)
                yield replace(self, steps=(*self.steps[:i], less, *self.steps[i + 1 :]))


def random_settings(dice: Dice) -> dict[str, str]:
    found = {name: "off" for name in SWITCHES if dice.chance(SWITCHED_OFF)}
    if dice.chance(ATOMIC_SHARE):
        found["shuttle.read_consistency"] = "atomic"
    return found


def make_case(seed: int, number: int) -> Case:
    schema_number = (number - 1) // CASES_OF_SCHEMA
    schema = make_schema(seed, schema_number)
    dice = Dice(seed, "case", number)
    end = "COMMIT" if dice.chance(COMMIT_SHARE) else "ROLLBACK"
    settings = random_settings(dice)
    return Case(number, settings, schema_number, schema, tuple(transaction(dice, schema)), end)
