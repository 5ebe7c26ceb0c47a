"""Subqueries in expressions and conditions."""

from lib.randomqueries.conditions import equality
from lib.randomqueries.filters import filter_of, local_filter
from lib.randomqueries.fragments import Sql, where
from lib.randomqueries.scope import Maker, column_named
from lib.randomqueries.subselects import Around, core, exists, extreme, identities


def membership(maker: Maker, around: Around) -> Sql | None:
    """IN and its relatives; correlated or not."""
    scope = around.scope if maker.dice.chance(0.4) else ()
    of = core(maker, Around(scope, around.rows))
    found = equality(maker, around.scope, of.relations[0])
    if found is None or not isinstance(found.sql, str):
        return None
    left, right = found.sql.split(" = ")
    if left.startswith(f"{of.relations[0].alias}."):
        left, right = right, left
    operator = maker.dice.pick(
        (" IN (", " IN (", " NOT IN (", " = ANY (", " <> ALL (", " > ANY (", " IN (")
    )
    return (left, operator, f"SELECT {right}", of.sql, ")")


def scalar(maker: Maker, around: Around) -> Sql:
    """A subquery of one row and one column."""
    of = core(maker, around)
    ids = ", ".join(str(output.sql) for output in identities(of.relations))
    column = maker.dice.pick([c for c in of.relations[0].columns if c.kind.family != "json"])
    kind = maker.dice.weighted([(3, "count"), (3, "extreme"), (3, "first"), (1, "array")])
    if kind == "count":
        return ("(SELECT count(*)", of.sql, ")")
    if kind == "extreme":
        return ("(SELECT ", extreme(maker, of, "x").sql, of.sql, ")")
    if kind == "array" and column.kind.family != "array":
        return (f"ARRAY(SELECT {column.sql}", of.sql, f" ORDER BY {ids})")
    order = f" ORDER BY {ids} LIMIT 1"
    return (f"(SELECT {column.sql}", of.sql, order, ")")


def several_matches(maker: Maker, around: Around) -> Sql | None:
    """EXISTS where a key has several rows, some of which a local filter takes away."""
    item = maker.table(around.most_rows, 1)
    column = column_named(item.relation, maker.dice.pick(("m", "k", "s", "g")))
    others = [c for r in around.scope for c in r.of_families(("int",))]
    if not others:
        return None
    word = maker.dice.pick(("EXISTS", "NOT EXISTS"))
    link = f"{column.sql} = {maker.dice.pick(others).sql}"
    conditions = where([link, local_filter(maker, item.relation)])
    return (f"{word} (SELECT 1 FROM ", item.sql, conditions, ")")


def aggregated(maker: Maker, around: Around) -> Sql | None:
    """A number compared with an aggregate of the rows that belong to it."""
    of = core(maker, around)
    inner, outer = (
        [c for r in relations for c in r.of_families(("int", "number"))]
        for relations in (of.relations, around.scope)
    )
    if not inner or not outer:
        return None
    value = maker.dice.pick(("avg({c})", "1.1 * avg({c})", "sum({c})", "min({c})", "max({c}) - 2"))
    operator = maker.dice.pick((" > ", " <= ", " = "))
    item = value.format(c=maker.dice.pick(inner).sql)
    return (maker.dice.pick(outer).sql, operator, f"(SELECT {item}", of.sql, ")")


# Conditions that not all tables allow, and how often.
MADE = {"several": (2, several_matches), "member": (3, membership), "aggregated": (3, aggregated)}


def condition(maker: Maker, around: Around) -> Sql:
    """A condition with a subquery that refers to what is around it."""
    made = [(weight, name) for name, (weight, _) in MADE.items()]
    kind = maker.dice.weighted([(4, "exists"), *made, (1.5, "number"), (1.5, "or")])
    if kind in MADE:
        found = MADE[kind][1](maker, around)
        if found is not None:
            return found
    if kind == "number":
        of = core(maker, around)
        return ("(SELECT count(*)", of.sql, f") {maker.dice.pick(('>', '<='))} 1")
    if kind == "or":
        other = filter_of(maker, maker.dice.pick(around.scope))
        return ("(", other, " OR ", exists(maker, around), ")")
    return exists(maker, around)
