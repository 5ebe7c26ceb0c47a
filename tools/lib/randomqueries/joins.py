"""FROM clauses: relations of all sorts, and all types of joins between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lib.randomqueries.conditions import Link, equality, identity, link
from lib.randomqueries.filters import filter_of
from lib.randomqueries.fragments import Place, Sql, all_of
from lib.randomqueries.scope import MOST_ROWS, Column, Item, Maker, Relation
from lib.randomqueries.subqueries import condition
from lib.randomqueries.subselects import (
    COUNT,
    Around,
    derived,
    distinct,
    grouped,
    init_plan,
    named,
)
from lib.randomqueries.tables import UNIONS
from lib.randomqueries.texts import text_test

FIRST_FOREIGN_SHARE = 0.35
NEXT_FOREIGN_SHARE = 0.85
SMALL_ROWS = 200  # of what has no better bound
NOTHING = Around((), 1)


@dataclass
class From:
    """A FROM clause while it grows, and the conditions that it leaves to WHERE."""

    sql: Sql
    scope: list[Relation]
    rows: float
    conditions: list[Sql] = field(default_factory=list)
    lockable: list[str] = field(default_factory=list)  # tables that no join makes NULL

    @property
    def around(self) -> Around:
        return Around(tuple(self.scope), self.rows)


def values_item(maker: Maker) -> Item:
    """A list of constants, one of which is NULL."""
    alias = maker.alias()
    numbers = [str(maker.dice.between(0, 40)) for _ in range(maker.dice.between(1, 9))]
    rows = ", ".join(f"({number}, {number}::text)" for number in [*numbers, "NULL"])
    columns = (
        Column(f"{alias}.x", "x", COUNT, len(numbers)),
        Column(f"{alias}.y", "y", COUNT, len(numbers)),
    )
    sql = f"(SELECT x, x + 1 AS y FROM (VALUES {rows}) AS v (x, z)) AS {alias}"
    return Item(sql, Relation(alias, columns, len(numbers) + 1, None))


def series_item(maker: Maker) -> Item:
    alias = maker.alias()
    last = maker.dice.between(1, 60)
    column = Column(f"{alias}.x", "x", COUNT, last)
    sql = f"generate_series(1, {last}) AS {alias} (x)"
    return Item(sql, Relation(alias, (column,), last, ("x",)))


def first_item(maker: Maker) -> Item:
    kind = maker.dice.weighted([(20, "table"), (3, "derived"), (1, "values"), (1, "series")])
    if kind == "derived":
        return derived(maker, NOTHING, lateral=False)
    if kind == "values":
        return values_item(maker)
    if kind == "series":
        return series_item(maker)
    most_rows = maker.dice.weighted([(1, 6), (3, 50), (6, 250), (2, 700), (1, 1500)])
    return maker.table(most_rows, FIRST_FOREIGN_SHARE)


def outer_columns(maker: Maker, scope: Sequence[Relation]) -> Sequence[Relation]:
    """The relations that a condition refers to: all, or one of them."""
    return scope if maker.dice.chance(0.6) else [maker.dice.pick(scope)]


def join_link(maker: Maker, of: From, relation: Relation, word: str) -> Link:
    """The condition of a join; a FULL one needs columns that are compared for equality."""
    most_share = MOST_ROWS / max(of.rows * relation.rows, 1)
    if word != "FULL":
        return link(maker, outer_columns(maker, of.scope), relation, most_share)
    for form in (equality, identity, equality, identity, identity):
        found = form(maker, of.scope, relation)
        if found is not None and found.share <= most_share:
            return Link(all_of(found.sql), found.share)
    return Link("false", 0)


def joined_rows(rows: float, other: float, share: float, word: str) -> float:
    found = rows * other * share
    if word in ("LEFT", "FULL"):
        found = max(found, rows)
    if word in ("RIGHT", "FULL"):
        found = max(found, other)
    return max(found, 1)


def is_table(item: Item) -> bool:
    """Something whose rows can be locked."""
    if not isinstance(item.sql, tuple) or not isinstance(item.sql[0], Place):
        return False
    return item.sql[0].table not in UNIONS


def add_table(maker: Maker, of: From) -> None:
    """Joins a table, or a SELECT that refers to nothing outside of it."""
    if maker.dice.chance(0.1):
        item = derived(maker, NOTHING, lateral=False)
    else:
        item = maker.table(1500, NEXT_FOREIGN_SHARE)
    word = maker.dice.weighted(
        [(42, "INNER"), (34, "LEFT"), (8, "RIGHT"), (4, "FULL"), (12, "CROSS")]
    )
    linked = join_link(maker, of, item.relation, word)
    relations = (*of.scope, item.relation)
    if word != "FULL" and maker.dice.chance(0.05) and of.rows < SMALL_ROWS:
        around = Around(relations, of.rows * item.relation.rows)
        linked = Link(all_of(linked.sql, condition(maker, around)), linked.share)
    numbers = item.relation.of_families(("int",))
    if word != "FULL" and numbers and maker.dice.chance(0.04):
        linked = Link(all_of(linked.sql, init_plan(maker, item.relation)), linked.share)
    if word == "LEFT" and item.relation.unique == ("id",) and maker.dice.chance(0.08):
        of.conditions.append(f"{item.relation.alias}.id IS NULL")
    if word == "CROSS":
        of.conditions.append(linked.sql)
        of.sql = (of.sql, " CROSS JOIN ", item.sql)
    else:
        of.sql = (of.sql, f" {word} JOIN ", item.sql, " ON ", linked.sql)
    of.rows = joined_rows(of.rows, item.relation.rows, linked.share, word)
    of.scope.append(item.relation)
    if word in ("RIGHT", "FULL"):
        of.lockable.clear()
    if word not in ("LEFT", "FULL") and is_table(item):
        of.lockable.append(item.relation.alias)


def add_group(maker: Maker, of: From) -> None:
    """Joins two tables that are joined first."""
    first = maker.table(SMALL_ROWS, NEXT_FOREIGN_SHARE)
    second = maker.table(1500, NEXT_FOREIGN_SHARE)
    share = 1 / max(second.relation.rows, 1)
    inside = link(maker, [first.relation], second.relation, share)
    word = maker.dice.pick(("INNER", "LEFT", "LEFT"))
    rows = joined_rows(first.relation.rows, second.relation.rows, inside.share, word)
    group: Sql = ("(", first.sql, f" {word} JOIN ", second.sql, " ON ", inside.sql, ")")
    outside = maker.dice.pick(("INNER", "LEFT", "LEFT"))
    linked = join_link(maker, of, first.relation, outside)
    of.sql = (of.sql, f" {outside} JOIN ", group, " ON ", linked.sql)
    of.rows = joined_rows(of.rows, rows, linked.share, outside)
    of.scope += [first.relation, second.relation]


def add_groups(maker: Maker, of: From) -> None:
    """Joins groups of a table by columns that they are grouped by."""
    body = maker.dice.pick((grouped, grouped, distinct))
    item = named(maker, body(maker, NOTHING), lateral=False)
    keys = [c for c in item.relation.columns if c.name in (item.relation.unique or ())]
    grouped_by = replace(item.relation, columns=tuple(keys))
    word = maker.dice.weighted([(3, "INNER"), (3, "LEFT"), (1, "RIGHT")])
    linked = join_link(maker, of, grouped_by, word)
    of.sql = (of.sql, f" {word} JOIN ", item.sql, " ON ", linked.sql)
    of.rows = joined_rows(of.rows, item.relation.rows, linked.share, word)
    of.scope.append(item.relation)
    if word == "RIGHT":
        of.lockable.clear()
    if maker.dice.chance(0.4):
        of.conditions.append(filter_of(maker, item.relation))


def function_item(maker: Maker, of: From) -> Item:
    """The members of an array, or numbers up to a column's value."""
    alias = maker.alias()
    arrays = [c for r in of.scope for c in r.of_families(("array",))]
    numbers = [c for r in of.scope for c in r.of_families(("int",))]
    if arrays and maker.dice.chance(0.5):
        call = f"unnest({maker.dice.pick(arrays).sql})"
    else:
        last = maker.dice.pick(numbers).sql if numbers else "3"
        call = f"generate_series(1, least({last}, 4)::bigint)"
    columns = (
        Column(f"{alias}.x", "x", COUNT, 4),
        Column(f"{alias}.i", "i", COUNT, 4),
    )
    sql = f"{call} WITH ORDINALITY AS {alias} (x, i)"
    return Item(sql, Relation(alias, columns, 2, ("i",)))


def add_lateral(maker: Maker, of: From) -> None:
    """A SELECT or a function that refers to what comes before it."""
    if maker.dice.chance(0.12):
        item = function_item(maker, of)
    else:
        item = derived(maker, of.around, lateral=True)
    word = maker.dice.weighted([(3, "CROSS"), (3, "LEFT"), (1, "INNER")])
    condition: Sql = "true"
    if word != "CROSS" and maker.dice.chance(0.2):
        condition = all_of(filter_of(maker, item.relation))
    on = "" if word == "CROSS" else (" ON ", condition)
    of.sql = (of.sql, f" {word} JOIN ", item.sql, on)
    of.rows = max(1, of.rows * max(item.relation.rows, 1 if word == "LEFT" else 0.1))
    of.scope.append(item.relation)


def from_clause(maker: Maker, nrelations: int) -> From:
    first = first_item(maker)
    of = From(first.sql, [first.relation], max(first.relation.rows, 1))
    if is_table(first):
        of.lockable.append(first.relation.alias)
    while len(of.scope) < nrelations:
        add = maker.dice.weighted([(72, add_table), (20, add_lateral), (8, add_group)])
        add(maker, of)
    while maker.dice.chance(0.25):
        of.conditions.append(filter_of(maker, maker.dice.pick(of.scope)))
    if maker.dice.chance(maker.texts):
        of.conditions.append(text_test(maker, maker.dice.pick(of.scope)))
    return of
