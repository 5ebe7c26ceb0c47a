"""The sequence of statements of a transaction."""

from __future__ import annotations

from collections.abc import Callable

from randomqueries.fragments import Many, Sql

from randomwrites.bodies import DECLARED, block, piece_of
from randomwrites.changes import (
    by_subquery,
    delete,
    delete_using,
    truncate,
    update,
    update_from,
    update_key,
    update_subquery,
    view_change,
)
from randomwrites.context import Context, Step
from randomwrites.inserts import (
    NAMES,
    copy,
    insert_conflict,
    insert_select,
    insert_serial,
    insert_series,
    insert_values,
    insert_view,
    merge,
)
from randomwrites.reads import random_read
from randomwrites.tables import Table
from randomwrites.values import condition
from randomwrites.withs import with_writes

Maker = Callable[[Context, Table], Step]

INSIDE: tuple[tuple[float, Maker], ...] = (
    (4, insert_values),
    (3, insert_series),
    (3, insert_select),
    (2, insert_conflict),
    (0.7, insert_serial),
    (1.2, insert_view),
    (4, update),
    (2, update_key),
    (3, update_from),
    (2.5, update_subquery),
    (2, by_subquery),
    (2, delete),
    (2, delete_using),
    (1.2, view_change),
)
WRITES: tuple[tuple[float, Maker], ...] = (*INSIDE, (1.5, copy), (1, merge), (0.3, truncate))


def write(context: Context) -> list[Step]:
    make = context.dice.weighted(WRITES)
    return [make(context, context.table())]


def with_step(context: Context) -> list[Step]:
    step = with_writes(context)
    return [step] if step is not None else write(context)


def read(context: Context) -> list[Step]:
    return [random_read(context)]


def inside(context: Context) -> Sql:
    """A statement as PL/pgSQL has it, and what it tells of it."""
    context.returns = False
    step = context.dice.weighted(INSIDE)(context, context.table())
    context.returns = True
    tells = context.dice.pick(
        (
            "GET DIAGNOSTICS nrows = ROW_COUNT; total := total + nrows;",
            "total := total + found::int;",
            "NULL;",
        )
    )
    return (step.sql, "; ", tells)


def returned_loop(context: Context) -> Sql:
    """A statement whose rows a loop gets."""
    table = context.table()
    test = f" WHERE {condition(context, table.name)}"
    one = context.of(table).one_row
    head = f"INSERT INTO {table.name} ({NAMES}) SELECT {context.fresh()} + i, NULL, i, 'l', NULL"
    sql = f"{head} FROM generate_series(1, 4) i"
    if not one and context.dice.chance(0.5):
        sql = f"UPDATE {table.name} SET v = ({table.name}.v + 1) % 100{test}"
    return (
        f"FOR rec IN {sql} RETURNING id, v LOOP total := total + rec.v;",
        Many((" INSERT INTO log1 (id, v, s) VALUES (1, 1, 'returned');",), "", empty=""),
        " END LOOP;",
    )


def part_of_block(context: Context) -> Sql:
    dice = context.dice
    kind = dice.weighted([(4, "piece"), (5, "inside"), (1, "loop"), (2, "block")])
    if kind == "piece":
        return piece_of(context, str(dice.between(0, 30)), False)
    if kind == "loop":
        return returned_loop(context)
    if kind == "block":
        parts = [inside(context) for _ in range(dice.between(1, 2))]
        return block(context, "7", parts, context.strict and dice.chance(0.6))
    return inside(context)


def do_block(context: Context) -> list[Step]:
    """A DO block; what may fail without being caught is its last statement."""
    context.may_poison = False
    parts = [part_of_block(context) for _ in range(context.dice.between(1, 4))]
    context.may_poison = True
    if context.dice.chance(0.4):
        parts.append(inside(context))
    body = Many(tuple(parts), "\n  ", empty="NULL;")
    sql = (f"DO $d$ {DECLARED}\nBEGIN\n  ", body, "\n  RAISE NOTICE 'total %', total;\nEND $d$")
    return [Step(sql, kind="block")]


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
    if context.of(table).one_row:
        return write(context)
    sql = dice.pick(PREPARED).format(t=table.name, o=context.table(table).name)
    name = context.name("p")
    steps = [Step(f"PREPARE {name} (int, int) AS {sql}", guarded=False)]
    for _ in range(dice.between(1, 7)):
        steps.append(Step(f"EXECUTE {name} ({context.fresh() + 5}, {dice.between(0, 99)})"))
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


def cursors(context: Context) -> list[Step]:
    """A cursor that is read in pieces, while other statements run."""
    dice = context.dice
    name = context.name("c")
    table = context.table()
    query = f"SELECT id, v, s FROM {table.name} WHERE v < 90 ORDER BY id"
    steps = [Step(f"DECLARE {name} CURSOR FOR {query}")]
    for _ in range(dice.between(1, 4)):
        steps.append(Step(f"FETCH {dice.pick((1, 2, 5, 'ALL'))} FROM {name}", ordered=True))
        if dice.chance(0.6):
            steps += random_steps(context)
    return [*steps, Step(f"CLOSE {name}")]


KINDS: tuple[tuple[float, Callable[[Context], list[Step]]], ...] = (
    (10, write),
    (2.5, with_step),
    (3, read),
    (3, do_block),
    (1, prepared),
    (1.6, savepoints),
    (1, cursors),
)
GUARDED_SHARE = 0.15


def random_steps(context: Context) -> list[Step]:
    context.poisoned = False
    steps = context.dice.weighted(KINDS)(context)
    if len(steps) != 1 or not steps[0].guarded:
        return steps
    share = 0.85 if context.poisoned else GUARDED_SHARE
    step = steps[0]
    return [Step(step.sql, step.ordered, context.dice.chance(share), step.rows, step.kind)]


def transaction(context: Context) -> list[Step]:
    steps: list[Step] = []
    for _ in range(context.dice.between(1, 6)):
        steps += random_steps(context)
    return steps
