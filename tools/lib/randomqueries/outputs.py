"""What a query returns: columns, expressions, subqueries, aggregates."""

from lib.randomqueries.filters import filter_of
from lib.randomqueries.fragments import Place, Sql
from lib.randomqueries.joins import From
from lib.randomqueries.scope import Column, Maker, unique_of
from lib.randomqueries.subqueries import scalar
from lib.randomqueries.subselects import core, exists
from lib.randomqueries.texts import text_of

MOST_FOR_SUBQUERIES = 250  # rows; more of them only now and then


def wants_subquery(maker: Maker, of: From, often: float) -> bool:
    return maker.dice.chance(often if of.rows <= MOST_FOR_SUBQUERIES else often / 8)


def expression_item(maker: Maker, of: From) -> Sql:
    column = maker.dice.pick([c for r in of.scope for c in r.columns])
    texts = {
        "int": ("{c} + 1", "-{c}", "coalesce({c}, -1)", "nullif({c}, 2)", "{c} IS NULL"),
        "text": ("upper({c})", "length({c})", "{c} || '!'", "{c} IS NULL"),
        "array": ("cardinality({c})", "{c} || 1"),
        "date": ("{c} + 1", "to_char({c}, 'DDD')"),
        "spot": ("({c}).x", "({c}).z[2]", "{c}"),
        "numbers": ("{c}[1]", "{c}[1:2]", "{c} || 1"),
    }.get(column.kind.family, ("{c}", "{c} IS NULL", "{c}::text"))
    return maker.dice.pick(texts).format(c=column.sql)


def subquery_item(maker: Maker, of: From) -> Sql:
    """A correlated subquery in the select list, in several positions."""
    kind = maker.dice.weighted(
        [(5, "alone"), (2, "exists"), (2, "case"), (1, "coalesce"), (1, "or"), (1, "else")]
    )
    if kind == "exists":
        return exists(maker, of.around)
    if kind == "or":
        other = filter_of(maker, maker.dice.pick(of.scope))
        return ("(", other, maker.dice.pick((" OR ", " AND ")), exists(maker, of.around), ")")
    if kind == "else":
        return either_item(maker, of)
    if kind == "case":
        test = maker.dice.pick([c for r in of.scope for c in r.columns])
        return (f"CASE WHEN {test.sql} IS NOT NULL THEN ", scalar(maker, of.around), " END")
    if kind == "coalesce":
        inner = core(maker, of.around)
        count: Sql = ("(SELECT nullif(count(*), 0)", inner.sql, ")")
        return ("coalesce(", count, ", -1)")
    return scalar(maker, of.around)


def either_item(maker: Maker, of: From) -> Sql:
    """One of two subqueries, by a condition that is a third one now and then."""
    test: Sql = filter_of(maker, maker.dice.pick(of.scope))
    if maker.dice.chance(0.3):
        test = exists(maker, of.around)
    branches = [core(maker, of.around) for _ in range(2)]
    counts = [("(SELECT count(*)", branch.sql, ")") for branch in branches]
    return ("CASE WHEN ", test, " THEN ", counts[0], " ELSE ", counts[1], " END")


def lookup_item(maker: Maker, of: From) -> Sql:
    """A function that runs a query over foreign tables itself."""
    numbers = [c for r in of.scope for c in r.of_families(("int",))]
    maker.places += 1
    argument = maker.dice.pick(numbers).sql if numbers else "3"
    return (Place("lookup", True, maker.places), f"({argument})")


def failing_item(maker: Maker, of: From) -> Sql:
    """Raises an error for some rows; it is evaluated for all that the query returns."""
    maker.may_fail = True
    numbers = [c for r in of.scope for c in r.of_families(("int",))]
    choices: list[Sql] = []
    if numbers:
        column = maker.dice.pick(numbers)
        choices = [
            f"100 / ({column.sql} - 3)",
            f"CASE WHEN {column.sql} > 2 THEN 1 / {column.sql} END",
        ]
    if of.rows <= MOST_FOR_SUBQUERIES:
        inner = core(maker, of.around)
        column = maker.dice.pick(inner.relations[0].columns)
        choices.append((f"(SELECT {column.sql}", inner.sql, ")"))
    return maker.dice.pick(choices) if choices else "1 / 0"


def items(maker: Maker, of: From, limited: bool) -> list[Sql]:
    columns: list[Column] = [c for r in of.scope for c in r.columns]
    found: list[Sql] = [c.sql for c in maker.dice.sample(columns, maker.dice.between(1, 4))]
    if maker.dice.chance(0.25):
        found.append(expression_item(maker, of))
    if maker.dice.chance(0.06):
        found.append(maker.dice.pick(of.scope).alias)
    if maker.dice.chance(maker.texts):
        found.append(text_of(maker, of.scope))
    if wants_subquery(maker, of, 0.5 if len(of.scope) == 1 else 0.22):
        found.append(subquery_item(maker, of))
    if wants_subquery(maker, of, 0.05):
        found.append(lookup_item(maker, of))
    if not limited and maker.dice.chance(0.04):
        found.append(failing_item(maker, of))
    return found


def aggregate(maker: Maker, of: From) -> Sql:
    """One whose answer does not depend on the order of its input."""
    columns = [c for r in of.scope for c in r.columns]
    column = maker.dice.pick(columns)
    numbers = [c for c in columns if c.kind.family in ("int", "number")]
    unique = unique_of(of.scope)
    choices: list[Sql] = ["count(*)", f"count({column.sql})"]
    if numbers:
        number = maker.dice.pick(numbers).sql
        choices += [f"sum({number})", f"sum(coalesce({number}, 1))", f"count(nullif({number}, 2))"]
    if column.kind.exact and column.kind.family != "bool":
        choices.append(f"count(DISTINCT {column.sql})")
    if unique:
        choices.append(f"string_agg({column.sql}::text, ',' ORDER BY {', '.join(unique)})")
    if wants_subquery(maker, of, 0.3):
        inner = core(maker, of.around)
        choices += [("sum((SELECT count(*)", inner.sql, "))")] * 3
        choices.append(("count(*) FILTER (WHERE ", exists(maker, of.around), ")"))
    return maker.dice.pick(choices)
