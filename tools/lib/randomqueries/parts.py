"""Writes of parts of columns: elements, slices, subscripts and fields, several of one column."""

from lib.randomqueries.filters import filter_of
from lib.randomqueries.fragments import Many, Sql
from lib.randomqueries.query import Query
from lib.randomqueries.scope import ONLY, Maker, Relation, column_named
from lib.randomqueries.texts import text_of
from lib.randomqueries.writes import TABLES

FOREIGN_SHARE = 0.8
# The parts of each column, and their values; $ stands for a number.
PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "a": (("a[1]", "$"), ("a[2]", "$"), ("a[4]", "$"), ("a[5:6]", "ARRAY[$, 7]")),
    "l": (("l[1]", "$"), ("l[2]", "$"), ("l[3:4]", "ARRAY[8, $]")),
    "j": (("j['a']", "to_jsonb($)"), ("j['c']", "to_jsonb($)"), ("j['d']['e']", "'2'")),
    "p": (("p.x", "$"), ("p.t", "'w'"), ("p.z[1]", "$"), ("p.z[2]", "$"), ("p.z[4:5]", "'{1,2}'")),
}
SEVERAL = ("(a[7], a[8]) = (SELECT 1, 2)", "(p.x, p.t) = ROW(3, 'v')", "(l[6], l[7]) = (5, 6)")
RETURNED = ("id", "t", "a", "l", "j", "p")
# Nothing can be in a scalar, and a key not in an array.
IS_OBJECT = "coalesce(jsonb_typeof({}.j), 'object') = 'object'"


def number(maker: Maker, relation: Relation | None) -> Sql:
    """A constant, an argument, or a value of the row."""
    if relation is None:
        return str(maker.dice.between(0, 9))
    column = column_named(relation, "k")
    return maker.dice.pick((maker.constant(column), f"{column.sql} + 1", column.sql))


def value(maker: Maker, relation: Relation | None, text: str) -> Sql:
    before, sign, after = text.partition("$")
    return (before, number(maker, relation), after) if sign else text


def chosen_parts(maker: Maker) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in maker.dice.sample(tuple(PARTS), maker.dice.between(1, 2)):
        every = PARTS[name]
        found += maker.dice.sample(every, maker.dice.between(1, len(every)))
    return maker.dice.sample(found, len(found))


def returning(relation: Relation) -> str:
    return " RETURNING " + ", ".join(f"{relation.alias}.{name}" for name in RETURNED)


def update_parts(maker: Maker) -> Query:
    target = maker.target_of(TABLES, FOREIGN_SHARE, ONLY)
    relation = target.relation
    chosen = chosen_parts(maker)
    items: list[Sql] = [(f"{part} = ", value(maker, relation, text)) for part, text in chosen]
    several = maker.dice.pick(SEVERAL)
    if maker.dice.chance(0.25) and not any(part == several[1:4] for part, _ in chosen):
        items.append(several)
    if maker.dice.chance(maker.texts):
        items.append(f"t = left({text_of(maker, (relation,))}, 99)")
    conditions: list[Sql] = [IS_OBJECT.format(relation.alias)]
    if maker.key is not None:
        conditions.insert(0, (f"{relation.alias}.", maker.key))
    if maker.dice.chance(0.6):
        conditions.append(filter_of(maker, relation))
    test = Many(tuple(conditions), " AND ", prefix=" WHERE ")
    head = ("UPDATE ", target.sql, " SET ", Many(tuple(items), ", "))
    return Query((head, test, returning(relation)), writes=True)


def insert_parts(maker: Maker) -> Query:
    """A column is NULL before its parts are there."""
    target = maker.target_of(TABLES, FOREIGN_SHARE)
    chosen = chosen_parts(maker)
    rows = []
    for _ in range(maker.dice.between(1, 3)):
        parts = [(value(maker, None, text), ", ") for _, text in chosen]
        rows.append(("(", tuple(parts), f"{maker.dice.between(0, 60)}, 6000)"))
    names = ", ".join([*(part for part, _ in chosen), "k", "id"])
    head = ("INSERT INTO ", target.sql, f" ({names}) VALUES ")
    return Query((head, Many(tuple(rows), ", "), returning(target.relation)), writes=True)


def parts_query(maker: Maker) -> Query:
    return insert_parts(maker) if maker.dice.chance(0.2) else update_parts(maker)
