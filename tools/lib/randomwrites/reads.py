"""What a transaction reads between its writes: all that can be seen there."""

from lib.randomwrites.context import Context, Step
from lib.randomwrites.tables import COLUMNS, TABLES

NAMES = ", ".join(COLUMNS)


def whole(context: Context) -> Step:
    table = context.dice.pick(TABLES)
    return Step(f"SELECT {NAMES} FROM {table.name}")


def numbers(context: Context) -> Step:
    table = context.dice.pick(TABLES)
    return Step(f"SELECT count(*), sum(v), max(id), count(k) FROM {table.name}")


def join(context: Context) -> Step:
    first = context.table()
    second = context.table(first)
    kind = context.dice.pick(("JOIN", "LEFT JOIN", "FULL JOIN"))
    key = context.dice.pick(("id", "k", "p"))
    sql = f"SELECT q.id, q.v, o.id, o.s FROM {first.name} q {kind} {second.name} o"
    return Step(f"{sql} ON o.{key} = q.{key}")


def lock(context: Context) -> Step:
    table = context.table()
    return Step(f"SELECT id, v FROM {table.name} WHERE v > 30 ORDER BY id FOR UPDATE", ordered=True)


def call(context: Context) -> Step:
    """Functions that write, in a query."""
    if not context.functions:
        return whole(context)
    function = context.dice.pick(context.functions)
    table = context.table()
    if context.dice.chance(0.5):
        return Step(f"SELECT {function.name}({context.dice.between(0, 20)})", ordered=True)
    query = f"SELECT id, {function.name}(id) FROM {table.name} WHERE id < 6 ORDER BY id"
    return Step(query, ordered=True)


def random_read(context: Context) -> Step:
    make = context.dice.weighted([(3, whole), (3, numbers), (4, join), (3, call), (1, lock)])
    return make(context)
