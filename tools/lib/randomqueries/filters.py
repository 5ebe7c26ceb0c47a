"""Conditions on one relation alone; some can be shipped to a node, some cannot."""

from lib.randomqueries.fragments import Sql
from lib.randomqueries.kinds import quoted
from lib.randomqueries.scope import Maker, Relation

FILTERS: dict[str, tuple[str, ...]] = {
    "int": (
        "{c} < {v}",
        "{c} >= {v}",
        "{c} <> {v}",
        "{c} % 3 = 1",
        "{c} IN ({v}, 3, 5)",
        "{c} IS NOT NULL",
        "{c} IS NULL",
        "own.is_odd({c})",
        "NOT own.is_odd({c})",
        "own.is_odd({c})",
        "coalesce({c}, 1) < {v}",
        "nullif({c}, 3) < {v}",
        "coalesce(nullif({c}, {v}), 2) > 1",
        "own.volatile_copy({c}) < {v}",
        "{c}::int OPERATOR(own.===) 3",
        "({c} = NULL) IS NOT TRUE",
        "own.half({c}) % 1 = 0.5",
        "own.are_same({c}, {v})",
        "own.first({c}, 3) / 2 > 1.9",
    ),
    "number": (
        "{c} = {v}",
        "{c} > {v}",
        "{c} IS NOT NULL",
        "scale({c}) = 1",
        "own.are_same({c}, 3)",
    ),
    "real": ("{c} > {v}", "{c} IS NOT NULL", "{c} <> {v}"),
    "text": (
        "{c} LIKE '%a%'",
        "{c} > {v}",
        "length({c}) > 2",
        "lower({c}) <> {v}",
        "{c} IS NOT NULL",
        "{c} <> " + quoted("'"),
        "md5({c}) < '8'",
        "coalesce({c}, 'b') <> {v}",
        "own.is_odd(length({c}))",
        "own.bytes({c}) = 3",
        "own.joined({c}, {c}) LIKE '% %'",
    ),
    "folded": ("{c} > {v}", "{c} = {v}", "{c} IS NOT NULL"),
    "date": (
        "{c} >= {v}",
        "{c} < {v}",
        "extract(day FROM {c}) > 9",
        "own.time_since({c}) > '9 hours'",
    ),
    "time": ("{c} >= {v}", "extract(hour FROM {c}) < 12"),
    "bool": ("{c}", "NOT {c}", "{c} IS NOT TRUE", "{c} IS NULL"),
    "uuid": ("{c} >= {v}",),
    "mood": ("{c} >= {v}", "{c} <> {v}", "{c}::int = 2"),
    "array": ("3 = ANY ({c})", "cardinality({c}) > 1"),
    "bytes": ("{c} > {v}",),
    "json": ("{c} ? 'a'", "({c} ->> 'a') IS NULL", "{c}['a'] IS NOT NULL"),
    "numbers": ("{c}[1] < 9", "{c} && '{{1,2,3}}'::int[]", "{c} = {v}", "cardinality({c}) > 1"),
    "spot": ("({c}).x > 4", "({c}).z[1] = 1", "{c} > {v}", "{c} IS NULL", "({c}).t <> {v}::text"),
    "span": ("{c} > {v}", "extract(hour FROM {c}) < 5", "{c} = {v}"),
}


def filter_of(maker: Maker, relation: Relation) -> Sql:
    """A condition on one relation alone."""
    column = maker.dice.pick([c for c in relation.columns if c.kind.family in FILTERS])
    text = maker.dice.pick(FILTERS[column.kind.family])
    parts = text.format(c=column.sql, v="\0").split("\0")
    if len(parts) == 1:
        return parts[0]
    before, after = parts
    return (before, maker.constant(column), after)


def local_filter(maker: Maker, relation: Relation) -> Sql:
    """One that no node can check."""
    column = maker.dice.pick(relation.of_families(("int",)))
    word = maker.dice.pick(("", "NOT "))
    return f"{word}own.is_odd({column.sql})"
