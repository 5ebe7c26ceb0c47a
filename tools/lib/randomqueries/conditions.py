"""Conditions between an inner relation and those that come before it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lib.randomqueries.filters import filter_of
from lib.randomqueries.fragments import Sql, all_of
from lib.randomqueries.scope import Column, Maker, Relation

# What can be compared with = without a cast that somebody has to write.
COMPARABLE = {
    "int": ("int", "int", "int", "number", "real"),
    "number": ("number", "int"),
    "real": ("real", "int"),
    "text": ("text",),
    "folded": ("folded",),
    "date": ("date", "date", "time"),
    "time": ("time",),
    "bool": ("bool",),
    "uuid": ("uuid",),
    "mood": ("mood",),
    "bytes": ("bytes",),
    "array": ("array",),
    "json": ("json",),
    "numbers": ("numbers", "array"),
    "spot": ("spot",),
    "span": ("span",),
}
KEY_FAMILIES = (
    *("int", "int", "int", "int", "number", "real"),
    *("text", "text", "folded", "date", "time", "uuid"),
)
RARE_FAMILIES = ("bool", "mood", "bytes", "array", "numbers", "spot", "span")


@dataclass(frozen=True)
class Link:
    """A condition, and the share of all pairs that it leaves."""

    sql: Sql
    share: float


def pair(
    maker: Maker, outers: Sequence[Relation], inner: Relation, families: Sequence[str]
) -> tuple[Column, Column] | None:
    """An inner column, and one of another relation that it can be compared with."""
    family = maker.dice.pick(families)
    mine = inner.of_families((family,))
    others = [
        column
        for relation in outers
        for column in relation.of_families((maker.dice.pick(COMPARABLE[family]),))
    ]
    if not mine or not others:
        return None
    return maker.dice.pick(mine), maker.dice.pick(others)


def share_of(mine: Column, other: Column) -> float:
    return 1 / max(mine.different, other.different, 1)


def equality(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    families = RARE_FAMILIES if maker.dice.chance(0.08) else KEY_FAMILIES
    found = pair(maker, outers, inner, families)
    if found is None:
        return None
    mine, other = found
    sides = (mine.sql, other.sql) if maker.dice.chance(0.6) else (other.sql, mine.sql)
    return Link(" = ".join(sides), share_of(mine, other))


def identity(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    mine = [column for column in inner.columns if column.name == "id"]
    others = [column for relation in outers for column in relation.of_families(("int",))]
    if not mine or not others:
        return None
    return Link(f"{mine[0].sql} = {maker.dice.pick(others).sql}", 1 / mine[0].different)


EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "int": (
        "{m} = {o} + 1",
        "{m} + 1 = {o}",
        "{m} = -{o}",
        "{m} = {o} % 7",
        "{m} = abs({o} - 3)",
        "{m} = coalesce({o}, 3)",
        "{m} = CASE WHEN {o} > 4 THEN {o} ELSE 2 END",
        "{m} = own.shift({o}::int)",
        "{m} = own.volatile_copy({o})",
        "({m} IS NOT DISTINCT FROM {o} AND {m} < 20)",
        "{m}::int OPERATOR(own.===) {o}::int",
    ),
    "number": ("{m} = {o} * 1.0", "{m} = {o}::numeric / 2", "{m} = round({o}, 1)"),
    "text": (
        "{m} = lower({o})",
        "lower({m}) = lower({o})",
        "{m} = {o} || ''",
        "{m} = coalesce({o}, 'a')",
        "{m} = left({o}, 4)",
        '{m} = {o} COLLATE "C"',
        "{m} LIKE left({o}, 2) || '%'",
        "{m} = {o} OPERATOR(own.|||) ''",
    ),
    "date": ("{m} = {o} + 1", "{m} - 1 = {o}"),
    "time": ("{m} = {o} + interval '1 hour'",),
    "array": ("{m} @> {o}", "{m} && {o}"),
}


def expression(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    family = maker.dice.pick(("int", "int", "int", "number", "text", "date", "time", "array"))
    mine = inner.of_families((family,))
    others = [column for relation in outers for column in relation.of_families((family,))]
    if not mine or not others:
        return None
    one, other = maker.dice.pick(mine), maker.dice.pick(others)
    sql = maker.dice.pick(EXPRESSIONS[family]).format(m=one.sql, o=other.sql)
    share = 0.4 if family == "array" or "LIKE" in sql else 3 * share_of(one, other)
    return Link(sql, min(share, 1))


def two_outers(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    mine = inner.of_families(("int",))
    others = [column for relation in outers for column in relation.of_families(("int",))]
    if len(others) < 2 or not mine:  # noqa: PLR2004
        return None
    one = maker.dice.pick(mine)
    first, second = maker.dice.sample(others, 2)
    sql = maker.dice.pick(
        (
            "{m} = {a} + {b}",
            "{m} = {a} - {b}",
            "{m} IN ({a}, {b})",
            "({m} = {a} OR {m} = {b})",
            "{m} = greatest({a}, {b})",
            "{m} = CASE WHEN {a} > {b} THEN {a} ELSE {b} END",
        )
    )
    return Link(sql.format(m=one.sql, a=first.sql, b=second.sql), 2 * share_of(one, first))


def interval(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    found = pair(maker, outers, inner, ("int", "int", "date", "number", "text", "time"))
    if found is None:
        return None
    mine, other = found
    if mine.kind.family == "int" and other.kind.family == "int" and maker.dice.chance(0.6):
        return Link(f"{mine.sql} BETWEEN {other.sql} AND {other.sql} + 2", 3 / mine.different)
    operator = maker.dice.pick(("<", "<=", ">", ">=", "<>"))
    return Link(f"{mine.sql} {operator} {other.sql}", 0.9 if operator == "<>" else 0.5)


def not_distinct(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    found = pair(maker, outers, inner, KEY_FAMILIES)
    if found is None:
        return None
    mine, other = found
    return Link(f"{mine.sql} IS NOT DISTINCT FROM {other.sql}", share_of(mine, other) + 0.02)


def not_strict(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    """Conditions that may hold for a key of NULL."""
    found = pair(maker, outers, inner, KEY_FAMILIES)
    if found is None:
        return None
    mine, other = found
    constant = maker.constant(mine)
    sql: Sql = maker.dice.pick(
        (
            (
                f"({mine.sql} = {other.sql} OR ({other.sql} IS NULL AND {mine.sql} = ",
                constant,
                "))",
            ),
            (f"({mine.sql} = {other.sql} OR {mine.sql} = ", constant, ")"),
            (f"({mine.sql} = {other.sql} OR {other.sql} IS NULL AND {mine.sql} IS NULL)",),
            (f"({mine.sql} = {other.sql}) IS NOT FALSE",),
        )
    )
    return Link(sql, share_of(mine, other) + 0.15)


def either(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    links = [equality(maker, outers, inner) for _ in range(2)]
    first, second = links
    if first is None or second is None:
        return None
    return Link(("(", first.sql, " OR ", second.sql, ")"), min(1, first.share + second.share))


def row_wise(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    first = pair(maker, outers, inner, KEY_FAMILIES)
    second = pair(maker, outers, inner, KEY_FAMILIES)
    if first is None or second is None:
        return None
    operator = maker.dice.weighted([(6, "="), (1, "<"), (1, ">=")])
    mine = f"({first[0].sql}, {second[0].sql})"
    other = f"({first[1].sql}, {second[1].sql})"
    share = share_of(*first) * share_of(*second) if operator == "=" else 0.5
    return Link(f"{mine} {operator} {other}", share)


def member(maker: Maker, outers: Sequence[Relation], inner: Relation) -> Link | None:
    """A number and an array, either side of which may be the inner one."""
    numbers = inner.of_families(("int",))
    arrays = [column for relation in outers for column in relation.of_families(("array",))]
    if maker.dice.chance(0.4):
        arrays = inner.of_families(("array",))
        numbers = [column for relation in outers for column in relation.of_families(("int",))]
    if not numbers or not arrays:
        return None
    number = maker.dice.pick(numbers)
    return Link(f"{number.sql} = ANY ({maker.dice.pick(arrays).sql})", 2 / number.different)


FORMS: tuple[tuple[float, Callable[[Maker, Sequence[Relation], Relation], Link | None]], ...] = (
    (36, equality),
    (14, identity),
    (11, expression),
    (6, two_outers),
    (7, interval),
    (8, not_distinct),
    (6, not_strict),
    (4, either),
    (4, row_wise),
    (4, member),
)


def link(maker: Maker, outers: Sequence[Relation], inner: Relation, share: float) -> Link:
    """Conditions that leave at most a share of all pairs."""
    conditions: list[Sql] = []
    left = 1.0
    for _ in range(12):
        if left <= share and conditions and not maker.dice.chance(0.15):
            break
        found = maker.dice.weighted(FORMS)(maker, outers, inner)
        if found is None or (found.share > share and not conditions and maker.dice.chance(0.7)):
            continue
        conditions.append(found.sql)
        left *= found.share
    if left > share or not conditions:
        conditions.append(few_rows(inner, share / left))
        left = share
    if maker.dice.chance(0.12):
        conditions.append(filter_of(maker, inner))
    return Link(all_of(*conditions), left)


def few_rows(relation: Relation, share: float) -> Sql:
    """A condition that leaves no more than that, where no other was found."""
    if relation.unique == ("id",):
        return f"{relation.alias}.id <= {int(relation.rows * share) + 1}"
    return f"{relation.alias} IS NULL"
