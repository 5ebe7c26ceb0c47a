"""Random ALTER TABLE statements on the tables of a random schema, of one to three subcommands."""

from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Many
from lib.randomschemas.schema import REFERENCE, TEXT, ForeignKey, Table, Unique
from lib.randomwrites.context import Step

HEAD = "ALTER TABLE"
NUMBERS = ("a", "b", "r", "q")
TYPES = ("bigint", "int", "numeric", "text")
NEW = ("d1", "d2", "d3")


def new_type(dice: Dice) -> str:
    """USING has the values from before the statement, whatever else the statement does."""
    if dice.chance(0.25):
        using = dice.pick(("", " USING upper(c)", " USING c || a", " USING concat(b, c, q)"))
        return f"ALTER {TEXT} TYPE {dice.pick(('text', 'varchar(9)'))}{using}"
    column = dice.pick(NUMBERS)
    other = dice.pick((*NUMBERS, "id"))
    values = (f"{column} + 1", other, f"{column} + {other} * 10", "NULL")
    using = f" USING {dice.pick(values)}" if dice.chance(0.7) else ""
    return f"ALTER {column} TYPE {dice.pick(TYPES)}{using}"


def key(dice: Dice, table: Table) -> str:
    """Dropped, and mostly made anew, as migrations do around a change of types."""
    uniques = [
        unique
        for unique in table.uniques
        if unique.is_constraint and not (table.kind == REFERENCE and unique.primary)
    ]
    made: list[Unique | ForeignKey] = [*uniques, *table.foreign_keys]
    if not made:
        return default(dice)
    one = dice.pick(made)
    drop, add = (
        sql.removeprefix(f"{HEAD} {table.name} ")
        for sql in (one.drop(table.name), one.sql(table.name))
    )
    return drop if dice.chance(0.4) else f"{drop}, {add}"


def new_column(dice: Dice) -> str:
    name = dice.pick((*NEW, dice.pick(NUMBERS)))
    kinds = ("text", "int DEFAULT 5", "bigint NOT NULL DEFAULT 7", "text DEFAULT 'new'")
    generated = f"int GENERATED ALWAYS AS ({dice.pick(NUMBERS)} * 2) STORED"
    return f"ADD {dice.pick(('', '', 'IF NOT EXISTS '))}{name} {dice.pick((*kinds, generated))}"


def drop_column(dice: Dice, table: Table) -> str:
    column = dice.pick([one for one in (*NUMBERS, TEXT, *NEW) if one != table.by])
    exists = dice.pick(("", "IF EXISTS "))
    return f"DROP {exists}{column}{dice.pick(('', ' CASCADE'))}"


def check(dice: Dice, table: Table) -> str:
    name = f"{table.name}_k{dice.between(1, 2)}"
    condition = f"{dice.pick(NUMBERS)} < {dice.pick((5, 20000))}"
    later = " NOT VALID" if dice.chance(0.3) else ""
    return dice.pick(
        (
            f"ADD CONSTRAINT {name} CHECK ({condition}){later}",
            f"DROP CONSTRAINT IF EXISTS {name}",
            f"VALIDATE CONSTRAINT {name}",
        )
    )


def default(dice: Dice) -> str:
    column = dice.pick(NUMBERS)
    changes = (f"SET DEFAULT {dice.between(1, 9)}", "DROP DEFAULT", "SET NOT NULL", "DROP NOT NULL")
    return f"ALTER {column} {dice.pick(changes)}"


def subcommand(dice: Dice, table: Table) -> str:
    kind = dice.weighted(
        ((5, "type"), (2, "key"), (3, "add"), (2, "drop"), (2, "check"), (2, "default"))
    )
    if kind == "type":
        return new_type(dice)
    if kind == "add":
        return new_column(dice)
    if kind == "default":
        return default(dice)
    return {"key": key, "drop": drop_column, "check": check}[kind](dice, table)


def alter_table(dice: Dice, table: Table) -> Step:
    count = dice.weighted(((3, 1), (4, 2), (2, 3)))
    commands = tuple(subcommand(dice, table) for _ in range(count))
    return Step((f"{HEAD} {table.name} ", Many(commands, ", ")))


def is_alter(sql: str) -> bool:
    return sql.startswith(HEAD)
