"""Makes the transactions of a run; a seed and a number always make the same one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lib.randomqueries import runs
from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Sql, smaller
from lib.randomwrites.context import Context, Step, shorter
from lib.randomwrites.routines import make_routines
from lib.randomwrites.settings import random_isolation, random_settings
from lib.randomwrites.tables import CLERK
from lib.randomwrites.transactions import transaction

COMMIT_SHARE = 0.6
AUTOCOMMIT_SHARE = 0.12
TABLETS_SHARE = 0.3
GUARDED_SHARE = 0.2  # of those


@dataclass(frozen=True)
class Case(runs.Case):
    """routines: what makes its functions and triggers, before it begins.

    end: COMMIT, ROLLBACK, or nothing where each statement is a transaction.
    tablets: the far side has distributed tables.  role: whose transaction it is, if not ours.
    """

    routines: tuple[Sql, ...]
    steps: tuple[Step, ...]
    isolation: str
    end: str
    tablets: bool = False
    role: str = ""

    def smaller(self) -> Iterator["Case"]:
        """A statement, a routine, a setting or a part of one of them is left out."""
        yield from (replace(self, steps=steps) for steps in shorter(self.steps))
        for i in range(len(self.routines)):
            yield replace(self, routines=self.routines[:i] + self.routines[i + 1 :])
        plainer = (replace(self, isolation=""), replace(self, role=""))
        yield from (case for case in plainer if case != self)
        yield from self.with_fewer_settings()
        for i, step in enumerate(self.steps):
            changed = [replace(step, sql=sql) for sql in smaller(step.sql)]
            changed += [replace(step, guarded=False)] if step.guarded else []
            for less in changed:
                yield replace(self, steps=(*self.steps[:i], less, *self.steps[i + 1 :]))
        for i, routine in enumerate(self.routines):
            for sql in smaller(routine):
                yield replace(self, routines=(*self.routines[:i], sql, *self.routines[i + 1 :]))


def make_case(
    seed: int, number: int, old_and_new: bool = False, only_tablets: bool = False
) -> Case:
    dice = Dice(seed, "case", number)
    settings = random_settings(dice)
    context = Context(
        dice,
        strict="shuttle.strict_savepoints" not in settings,
        buffers="shuttle.enable_write_buffer" not in settings,
        routes="shuttle.enable_router" not in settings,
        autocommit=dice.chance(AUTOCOMMIT_SHARE),
        upserts=dice.chance(0.5),
        tablets=only_tablets or Dice(seed, "transport", number).chance(TABLETS_SHARE),
        old_and_new=old_and_new,
    )
    context.guarded = context.tablets and Dice(seed, "role", number).chance(GUARDED_SHARE)
    routines = tuple(make_routines(context))
    steps = tuple(transaction(context))
    isolation = random_isolation(dice)
    end = "COMMIT" if dice.chance(COMMIT_SHARE) else "ROLLBACK"
    if context.autocommit:
        isolation, end = "", ""
    role = CLERK if context.guarded else ""
    return Case(number, settings, routines, steps, isolation, end, context.tablets, role)
