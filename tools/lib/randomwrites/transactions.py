"""The sequence of statements of a transaction."""

from collections.abc import Callable
from dataclasses import replace

from lib.randomwrites.blocks import do_block
from lib.randomwrites.calls import call_step
from lib.randomwrites.context import Context, Step
from lib.randomwrites.keyed import keyed_prepared
from lib.randomwrites.makers import KEYED_ALL, WRITES
from lib.randomwrites.parts import setting_step
from lib.randomwrites.reads import random_read
from lib.randomwrites.withs import with_writes

KEYED_SHARE = 0.5


def write(context: Context) -> list[Step]:
    keyed = context.guarded or (context.tablets and context.dice.chance(KEYED_SHARE))
    make = context.dice.weighted(KEYED_ALL if keyed else WRITES)
    table = context.target()
    context.begin(table)
    return [make(context, table)]


def with_step(context: Context) -> list[Step]:
    context.begin(None)
    step = with_writes(context)
    return [step] if step is not None else write(context)


def read(context: Context) -> list[Step]:
    return [random_read(context)]


PREPARED = (
    "INSERT INTO {t} (id, v, s) VALUES ($1, $2, 'prepared') RETURNING id, v",
    "INSERT INTO {t} (id, v, s) SELECT $1 + i, $2, 'p' FROM generate_series(1, 3) i",
    "UPDATE {t} SET v = $2 WHERE id = $1 % 12 RETURNING id, v, s",
    "UPDATE {t} SET v = ({t}.v + o.v + $2) % 100 FROM {o} o WHERE o.id = {t}.id AND o.id = $1 % 7",
    "DELETE FROM {t} WHERE id = $1 % 12 AND v <> $2",
)


def prepared(context: Context) -> list[Step]:
    """A prepared statement, with several values."""
    dice = context.dice
    table = context.table()
    if context.guarded or (context.tablets and dice.chance(KEYED_SHARE)):
        return keyed_prepared(context)
    if context.of(table).one_row:
        return write(context)
    sql = dice.pick(PREPARED).format(t=table.name, o=context.table(table).name)
    name = context.name("p")
    steps = [Step(f"PREPARE {name} (int, int) AS {sql}", guarded=False)]
    for _ in range(dice.between(1, 7)):
        values = f"{context.fresh() + 5}, {dice.between(0, 99)}"
        steps.append(Step(f"EXECUTE {name} ({values})", guarded=False))
        if dice.chance(0.2):
            steps += write(context)
    return [*steps, Step(f"DEALLOCATE {name}", guarded=False)]


def savepoints(context: Context) -> list[Step]:
    """Statements in savepoints, some of which are rolled back."""
    dice = context.dice
    name = dice.pick(("s1", "s2"))
    steps = [Step(f"SAVEPOINT {name}", guarded=False)]
    for _ in range(dice.between(1, 3)):
        steps += random_steps(context)
    end = dice.weighted([(3, "ROLLBACK TO"), (2, "RELEASE"), (1, "")])
    if end:
        steps.append(Step(f"{end} {name}", guarded=False))
    if dice.chance(0.4):
        steps += read(context)
    return steps


def setting(context: Context) -> list[Step]:
    return [setting_step(context)]


def call(context: Context) -> list[Step]:
    context.begin(None)
    return call_step(context) or write(context)


BY_KEY = ("enable_nestloop", "shuttle.enable_batched_join")


def cursors(context: Context) -> list[Step]:
    """A cursor that is read in pieces, while other statements run."""
    dice = context.dice
    name = context.name("c")
    table = context.table()
    function = dice.pick([f for f in context.functions if f.commutes] or [None])
    v = f"{function.name}(id)" if function is not None and dice.chance(0.3) else "v"
    query = f"SELECT id, {v}, s FROM {table.name} WHERE v < 90 ORDER BY id"
    hold = " WITH HOLD" if context.autocommit else ""
    before, behind = [], []
    if dice.chance(0.3):
        # what asks by key goes on to see what is written meanwhile
        other = context.table(table)
        query = (
            f"SELECT q.id, q.v, o.v, o.s FROM {table.name} q"
            f" {dice.pick(('JOIN', 'LEFT JOIN'))} {other.name} o ON o.id = q.id ORDER BY q.id"
        )
        before = [Step(f"SET {name} = off", guarded=False) for name in BY_KEY]
        behind = [Step(f"RESET {name}", guarded=False) for name in BY_KEY]
    steps = [
        *before,
        Step(f"DECLARE {name} CURSOR{hold} FOR {query}", guarded=False),
        *behind,
    ]
    for _ in range(dice.between(1, 4)):
        count = dice.pick((1, 2, 5, "ALL"))
        steps.append(Step(f"FETCH {count} FROM {name}", ordered=True, guarded=False))
        if dice.chance(0.6):
            steps += random_steps(context)
    return [*steps, Step(f"CLOSE {name}", guarded=False)]


KINDS: tuple[tuple[float, Callable[[Context], list[Step]]], ...] = (
    (10, write),
    (2.5, with_step),
    (3, read),
    (3, do_block),
    (1, prepared),
    (1.6, savepoints),
    (1, cursors),
    (2, call),
    (1.5, setting),
)
GUARDED_KINDS = ((10, write), (3, read), (3, prepared), (2, call), (1.6, savepoints), (1, setting))
SAVEPOINT_SHARE = 0.15


def random_steps(context: Context) -> list[Step]:
    context.poisoned = False
    every = GUARDED_KINDS if context.guarded else KINDS
    kinds = [kind for kind in every if kind[1] is not savepoints or not context.autocommit]
    steps = context.dice.weighted(kinds)(context)
    if len(steps) != 1 or not steps[0].guarded:
        return steps
    share = 0.85 if context.poisoned else SAVEPOINT_SHARE
    return [replace(steps[0], guarded=context.dice.chance(share))]


def transaction(context: Context) -> list[Step]:
    steps: list[Step] = []
    for _ in range(context.dice.between(1, 6)):
        steps += random_steps(context)
    return steps
