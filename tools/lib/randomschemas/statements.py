"""Random statements on the tables of a random schema."""

from collections.abc import Iterator

from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Many, Sql
from lib.randomschemas.alters import alter_table
from lib.randomschemas.schema import COLUMNS, TEXT, Schema, Table, random_value
from lib.randomwrites.context import Step

SELF = "x"  # the alias of what is written
FAR_OFF = 1000  # values that no row has at first


def returning(dice: Dice) -> Sql:
    text = dice.pick((f"{SELF}.id", f"{SELF}.*", f"{SELF}.a + 1, {SELF}.c"))
    return Many((text,), "", prefix=" RETURNING ", empty="") if dice.chance(0.3) else ""


def condition(dice: Dice) -> str:
    """Mostly of one row."""
    column = dice.weighted(((6, "id"), (2, "a"), (1, "b"), (1, "c"), (1, "r")))
    value = random_value(dice, column)
    if value == "NULL":
        return f"{SELF}.{column} IS NULL"
    if dice.chance(0.15) and column != TEXT:
        return f"{SELF}.{column} {dice.pick(('<', '>', '<>'))} {value}"
    return f"{SELF}.{column} = {value}"


def row(dice: Dice) -> str:
    return f"({', '.join(random_value(dice, column) for column in COLUMNS)})"


def conflict(dice: Dice, table: Table) -> Sql:
    if not dice.chance(0.3):
        return ""
    # a deferrable one is no arbiter, which shows if those before it find no conflict
    named = dice.chance(0.8) or len(table.arbiters) < len(table.uniques)
    target = dice.pick(table.arbiters).target if named else ""
    if not target or dice.chance(0.4):
        return f" ON CONFLICT {target} DO NOTHING"
    sets = [
        dice.pick((f"{column} = EXCLUDED.{column}", f"{column} = {random_value(dice, column)}"))
        for column in dice.sample(COLUMNS[1:], 2)
    ]
    where = f" WHERE {SELF}.b < 4" if dice.chance(0.2) else ""
    return (f" ON CONFLICT {target} DO UPDATE SET ", Many(tuple(sets), ", "), where)


def insert(dice: Dice, table: Table) -> Step:
    rows = tuple(row(dice) for _ in range(dice.weighted(((4, 1), (1, 2), (1, 4)))))
    head = f"INSERT INTO {table.name} AS {SELF} VALUES "
    return Step((head, Many(rows, ", "), conflict(dice, table), returning(dice)))


def insert_select(dice: Dice, table: Table, other: Table) -> Step:
    """Rows of another table, with numbers of their own."""
    off = FAR_OFF * dice.between(1, 9)
    text = (
        f"INSERT INTO {table.name} AS {SELF} (id, a, b, r)"
        f" SELECT y.id + {off}, y.a + {off}, y.b, y.r FROM {other.name} AS y"
        f" WHERE y.b = {dice.between(1, 4)}"
    )
    return Step((text, returning(dice)))


def new_value(dice: Dice, column: str) -> str:
    """Of several rows that get it, no two may depend on who was first."""
    if column == "id" and dice.chance(0.5):
        return f"{SELF}.id + {FAR_OFF * dice.between(1, 9)}"
    if column == "a" and dice.chance(0.5):
        return f"{SELF}.id + {FAR_OFF * dice.between(1, 9)}"
    return random_value(dice, column)


def assignments(dice: Dice) -> Many:
    columns = dice.sample(COLUMNS, dice.weighted(((5, 1), (2, 2), (1, 3))))
    return Many(tuple(f"{column} = {new_value(dice, column)}" for column in columns), ", ")


def update(dice: Dice, table: Table) -> Step:
    head = f"UPDATE {table.name} AS {SELF} SET "
    return Step((head, assignments(dice), f" WHERE {condition(dice)}", returning(dice)))


def delete(dice: Dice, table: Table) -> Step:
    return Step((f"DELETE FROM {table.name} AS {SELF} WHERE {condition(dice)}", returning(dice)))


def merge(dice: Dice, table: Table) -> Step:
    """A row that is inserted never has what another one gives up: whether that is free is open."""
    rows = ", ".join(f"({i}, {random_value(dice, 'a')})" for i in dice.sample(range(1, 15), 2))
    head = f"MERGE INTO {table.name} AS {SELF} USING (VALUES {rows}) AS y (i, j) ON {SELF}.id = y.i"
    matched = dice.pick(("DELETE", "DO NOTHING", f"UPDATE SET b = {dice.between(1, 4)}, r = y.j"))
    other = "y.j + 40" if table.has_equal_nulls("r") else "NULL"
    missing = dice.pick(("DO NOTHING", f"INSERT (id, a, r) VALUES (y.i, y.j + 20, {other})"))
    return Step(f"{head} WHEN MATCHED THEN {matched} WHEN NOT MATCHED THEN {missing}")


def copy(dice: Dice, table: Table) -> Step:
    lines = []
    for _ in range(dice.between(1, 3)):
        values = [random_value(dice, column).strip("'") for column in COLUMNS]
        lines.append("\t".join("\\N" if value == "NULL" else value for value in values))
    return Step(f"COPY {table.name} FROM STDIN", rows=tuple(lines))


def select(dice: Dice, table: Table, other: Table) -> Step:
    if dice.chance(0.5):
        return Step(f"SELECT * FROM {table.name} AS {SELF} WHERE {condition(dice)}")
    column = dice.pick(("id", "a", "r"))
    return Step(
        f"SELECT {SELF}.*, y.c FROM {table.name} AS {SELF} JOIN {other.name} AS y"
        f" ON y.{column} = {SELF}.{dice.pick(('r', 'q', 'a'))} WHERE {condition(dice)}"
    )


def queue(dice: Dice, table: Table) -> Step:
    """Locks the first rows of an order, as workers do that share a table."""
    where = f" WHERE {condition(dice)}" if dice.chance(0.3) else ""
    first = dice.pick(("a", "b", "c", "r"))
    limit = f" LIMIT {dice.between(0, 4)}" if dice.chance(0.8) else ""
    offset = f" OFFSET {dice.between(1, 3)}" if dice.chance(0.2) else ""
    strength = dice.pick(("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"))
    text = (
        f"SELECT * FROM {table.name} AS {SELF}{where} ORDER BY {SELF}.{first}, {SELF}.id"
        f"{limit}{offset} FOR {strength}{dice.pick(('', ' SKIP LOCKED', ' NOWAIT'))}"
    )
    return Step(text, ordered=True)


def constraints_mode(dice: Dice) -> Step:
    return Step(f"SET CONSTRAINTS ALL {dice.pick(('DEFERRED', 'DEFERRED', 'IMMEDIATE'))}")


def random_step(dice: Dice, schema: Schema) -> Step:
    table, other = dice.pick(schema.tables), dice.pick(schema.tables)
    kind = dice.weighted(
        (
            (6, "insert"),
            (1, "insert_select"),
            (6, "update"),
            (4, "delete"),
            (1, "merge"),
            (1, "copy"),
            (2, "select"),
            (1, "queue"),
            (1, "mode"),
            (1, "alter"),
        )
    )
    if kind == "insert_select":
        return insert_select(dice, table, other)
    if kind == "select":
        return select(dice, table, other)
    if kind == "mode":
        return constraints_mode(dice)
    makers = {
        "insert": insert,
        "update": update,
        "delete": delete,
        "merge": merge,
        "copy": copy,
        "queue": queue,
        "alter": alter_table,
    }
    return makers[kind](dice, table)


def transaction(dice: Dice, schema: Schema) -> Iterator[Step]:
    for _ in range(dice.between(1, 8)):
        step = random_step(dice, schema)
        yield Step(step.sql, rows=step.rows, guarded=dice.chance(0.8))
