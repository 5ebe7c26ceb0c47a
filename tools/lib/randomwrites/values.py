"""Rows and conditions of statements, and what is wrong with them on purpose.

A statement has at most one thing that fails, since it is open which of two comes first.
"""

from lib.randomwrites.context import MARKS, OLD_IDS, Context
from lib.randomwrites.parts import part_sets, text_of
from lib.randomwrites.tables import MOST_V, PARENTS, Table

POISONED = 0.18
TEXT_SHARE = 0.25


def poison_of(context: Context, table: Table) -> str | None:
    """What is to fail, if anything: a constraint, or a trigger that raises."""
    kinds = ["check", "null"]
    if not table.is_guest and not table.loose:
        kinds.append("unique")
    if table.parent:
        kinds.append("parent")
    if table.unique_k:
        kinds.append("unique k")
    if context.of(table).raises:
        kinds += ["raise", "raise", "raise"]
    return context.poison(kinds, POISONED)


def row(context: Context, identity: str, poison: str | None, function_ordered: bool) -> list[str]:
    """The values of a new row, in the order of COLUMNS."""
    dice = context.dice
    v = context.call(identity, function_ordered, str(dice.between(0, 99)), 0.2)
    values = [identity, f"({identity}) * 10", v, f"'{dice.pick(MARKS)}'"]
    values.append(str(dice.between(1, PARENTS)) if dice.chance(0.6) else "NULL")
    if dice.chance(0.2):
        values[1] = "NULL"
    if poison is not None:
        values = poisoned(context, values, poison)
    return values


def poisoned(context: Context, values: list[str], poison: str) -> list[str]:
    found = list(values)
    if poison == "check":
        found[2] = str(MOST_V + context.dice.between(0, 9))
    elif poison == "null":
        found[3] = "NULL"
    elif poison == "unique":
        found[0] = str(context.old_id())
    elif poison == "unique k":
        found[1] = str(context.old_id() * 10)
    elif poison == "parent":
        found[4] = "77"
    else:
        found[3] = "'raise'"
    return found


def assignments(
    context: Context, alias: str, poison: str | None, ordered: bool, may_call: bool = True
) -> list[str]:
    """What an UPDATE sets."""
    dice = context.dice
    v = f"({alias}.v + {dice.between(1, 9)}) % 100"
    if may_call:
        v = context.call(f"{alias}.id", ordered, v)
    found = [f"v = {v}"]
    if dice.chance(0.4):
        found.append(f"s = '{dice.pick(MARKS)}'")
    if dice.chance(0.2):
        found.append(f"k = -{alias}.k")
    if dice.chance(0.3):
        found.append(f"p = {dice.pick(('NULL', '1', '2', alias + '.p'))}")
    if dice.chance(0.15):
        found += part_sets(context, f"{alias}.v")
    if dice.chance(TEXT_SHARE) and len(found) == 1:
        found.append(f"s = {text_of(context, f'{alias}.v')}")
    changed = {
        "check": f"v = {MOST_V}",
        "null": "s = NULL",
        "parent": "p = 77",
        "raise": "s = 'raise'",
        "unique k": f"k = {context.old_id() * 10}",
        "unique": f"id = {context.old_id()}",
    }
    if poison is not None:
        new = changed[poison]
        name = new.split(" ", maxsplit=1)[0]
        found = [text for text in found if not text.startswith(f"{name} ")]
        found.append(new)
    return found


def condition(context: Context, alias: str) -> str:
    """Some rows of a table."""
    dice = context.dice
    return dice.pick(
        (
            f"{alias}.id < {dice.pick((5, 10, 1003))}",
            f"{alias}.id BETWEEN 3 AND {dice.pick((8, 1002))}",
            f"{alias}.v % {dice.pick((2, 3))} = 0",
            f"{alias}.k IS NOT NULL AND {alias}.id < 1010",
            f"{alias}.p = {dice.between(1, PARENTS)}",
            f"{alias}.s = 'x'",
            f"length({text_of(context, f'{alias}.v')}) % 3 = 1",
            f"{alias}.id IN ({', '.join(str(i) for i in dice.sample(OLD_IDS, 4))})",
        )
    )


def one_row(context: Context, alias: str) -> str:
    return f"{alias}.id = {context.old_id()}"
