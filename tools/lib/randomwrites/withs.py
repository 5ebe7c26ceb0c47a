"""Statements with several parts that write, none of which sees what another one does."""

from lib.randomqueries.fragments import Many, Sql
from lib.randomwrites.context import Context, Step
from lib.randomwrites.inserts import NAMES, may_read_itself
from lib.randomwrites.tables import BY_NAME, Table
from lib.randomwrites.values import assignments, condition, one_row


def fits(context: Context, table: Table) -> bool:
    """The order of the parts is open, and with it what triggers find."""
    facts = context.of(table)
    return not facts.one_row and not facts.reads


def part(context: Context, table: Table) -> Sql:
    """A part that writes, and returns id and v."""
    dice = context.dice
    name = table.name
    kind = dice.weighted([(4, "update"), (3, "delete"), (3, "insert")])
    if kind == "insert":
        first = context.fresh()
        rows = f"SELECT {first} + i, NULL, i, 'with', NULL FROM generate_series(1, 3) i"
        return f"INSERT INTO {name} ({NAMES}) {rows} RETURNING id, v"
    test = one_row(context, name) if dice.chance(0.2) else condition(context, name)
    if kind == "delete":
        return f"DELETE FROM {name} WHERE {test} RETURNING id, v"
    sets = assignments(context, name, None, False)
    return f"UPDATE {name} SET {', '.join(sets)} WHERE {test} RETURNING id, v"


def main_part(context: Context, written: list[Table]) -> Sql:
    """The main query; last is the name of a part that it reads."""
    dice = context.dice
    last = f"w{len(written) - 1}"
    others = [table for table in context.main if table not in written and fits(context, table)]
    other = dice.pick(others or [BY_NAME["x"]])
    beside = dice.pick(written)
    choices: list[tuple[float, Sql]] = [
        (3, f"SELECT id, v FROM {last}"),
        (2, f"SELECT count(*), (SELECT count(*) FROM {other.name}) FROM {last}"),
        (
            2,
            f"INSERT INTO {other.name} ({NAMES}) SELECT id % 100 + {context.fresh()}, NULL, v, 'm',"
            f" NULL FROM {last} WHERE id < 40",
        ),
        (
            2,
            f"UPDATE {other.name} SET v = ({other.name}.v + w.v) % 100 FROM {last} w"
            f" WHERE w.id = {other.name}.id RETURNING {other.name}.id, {other.name}.v",
        ),
        (2, f"DELETE FROM {other.name} USING {last} w WHERE w.id = {other.name}.id"),
    ]
    if may_read_itself(context, beside):
        choices += [
            (
                2,
                f"SELECT w.id, w.v, q.id, q.v FROM {last} w LEFT JOIN {beside.name} q"
                " ON q.id = w.id",
            ),
            (1.5, f"SELECT count(*), sum(q.v) FROM {beside.name} q"),
            (1.5, f"SELECT w.id, (SELECT count(*) FROM {beside.name}) FROM {last} w"),
        ]
    return dice.weighted(choices)


def with_writes(context: Context) -> Step | None:
    dice = context.dice
    fitting = [table for table in (context.table() for _ in range(6)) if fits(context, table)]
    written: list[Table] = []
    for table in fitting[: dice.between(1, 3)]:
        if table not in written:
            written.append(table)
    if not written:
        return None
    parts = tuple((f"w{i} AS (", part(context, table), ")") for i, table in enumerate(written))
    main = main_part(context, written)
    # the part that the main query reads is the last one, which stays
    return Step(("WITH ", Many(parts, ", "), " ", main))
