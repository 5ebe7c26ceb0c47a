"""Makes the transactions of a run; a seed and a number always make the same one."""

from dataclasses import dataclass

from randomqueries.dice import Dice
from randomqueries.fragments import Sql

from randomwrites.context import Context, Step
from randomwrites.routines import make_routines
from randomwrites.settings import random_isolation, random_settings
from randomwrites.transactions import transaction

COMMIT_SHARE = 0.6
AUTOCOMMIT_SHARE = 0.12
TABLETS_SHARE = 0.3


@dataclass(frozen=True)
class Case:
    """routines: what makes its functions and triggers, before it begins.

    end: COMMIT, ROLLBACK, or nothing where each statement is a transaction.
    tablets: the far side has distributed tables.
    """

    number: int
    routines: tuple[Sql, ...]
    steps: tuple[Step, ...]
    settings: dict[str, str]
    isolation: str
    end: str
    tablets: bool = False


def make_case(
    seed: int, number: int, old_and_new: bool = False, only_tablets: bool = False
) -> Case:
    dice = Dice(seed, "case", number)
    settings = random_settings(dice)
    context = Context(
        dice,
        strict="shuttle.strict_savepoints" not in settings,
        buffers="shuttle.enable_write_buffer" not in settings,
        autocommit=dice.chance(AUTOCOMMIT_SHARE),
        upserts=dice.chance(0.5),
        tablets=only_tablets or Dice(seed, "transport", number).chance(TABLETS_SHARE),
        old_and_new=old_and_new,
    )
    routines = tuple(make_routines(context))
    steps = tuple(transaction(context))
    isolation = random_isolation(dice)
    end = "COMMIT" if dice.chance(COMMIT_SHARE) else "ROLLBACK"
    if context.autocommit:
        isolation, end = "", ""
    return Case(number, routines, steps, settings, isolation, end, context.tablets)
