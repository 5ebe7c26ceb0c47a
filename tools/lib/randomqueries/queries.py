"""Whole queries."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lib.randomqueries.fragments import Many, Sql, optional, where
from lib.randomqueries.joins import From, add_groups, from_clause
from lib.randomqueries.kinds import KINDS
from lib.randomqueries.outputs import MOST_FOR_SUBQUERIES, aggregate, items
from lib.randomqueries.query import Query
from lib.randomqueries.scope import Column, Maker, Relation, unique_of
from lib.randomqueries.subqueries import condition
from lib.randomqueries.subselects import Around, core, exists
from lib.randomqueries.unfolding import unfolded_query
from lib.randomqueries.writequeries import write_query

LOCKS_SHARE = 0.06
NORMAL_FAMILIES = ("int", "text", "date", "time", "uuid", "bool")


def make_from(maker: Maker) -> From:
    """FROM, and subqueries in WHERE."""
    nrelations = maker.dice.weighted([(1, 1), (5, 2), (6, 3), (3, 4), (1.5, 5)])
    of = from_clause(maker, nrelations)
    often = 0.5 if len(of.scope) == 1 else 0.3
    if maker.dice.chance(often if of.rows <= MOST_FOR_SUBQUERIES else often / 3):
        of.conditions.append(condition(maker, of.around))
    return of


def order(maker: Maker, scope: Sequence[Relation], unique: list[str]) -> str:
    keys = list(unique)
    maker.dice.random.shuffle(keys)
    if maker.dice.chance(0.6):
        column = maker.dice.pick([c for r in scope for c in r.columns if c.kind.family != "json"])
        keys.insert(0, column.sql)
    words = ("", "", " DESC", " DESC NULLS LAST", " NULLS FIRST")
    return ", ".join(key + maker.dice.pick(words) for key in keys)


def limit(maker: Maker) -> Sql:
    most = maker.dice.pick((0, 1, 1, 2, 3, 5, 10, 40, 200))
    if maker.dice.chance(0.1):
        return optional(f" FETCH FIRST {most} ROWS WITH TIES")
    sql: Sql = optional(f" LIMIT {most}" if maker.dice.chance(0.9) else f" LIMIT (SELECT {most})")
    if maker.dice.chance(0.3):
        sql = (sql, optional(f" OFFSET {maker.dice.pick((1, 2, 7, 30))}"))
    return sql


def rows_query(maker: Maker) -> Query:
    """Rows of a join, in an order or in none."""
    of = make_from(maker)
    unique = unique_of(of.scope)
    ordered = bool(unique) and maker.dice.chance(0.55)
    limited = ordered and maker.dice.chance(0.55)
    head = Many(tuple(items(maker, of, limited)), ", ")
    tail: Sql = ""
    if ordered and unique:
        tail = (f" ORDER BY {order(maker, of.scope, unique)}", limit(maker) if limited else "")
    locks = maker.may_lock and bool(of.lockable) and maker.dice.chance(LOCKS_SHARE)
    if locks:
        word = maker.dice.pick(("UPDATE", "SHARE"))
        tail = (tail, optional(f" FOR {word} OF {maker.dice.pick(of.lockable)}"))
    sql = ("SELECT ", head, " FROM ", of.sql, where(of.conditions), tail)
    return Query(sql, ordered, maker.may_fail, limited, locks)


def over_groups_query(maker: Maker) -> Query:
    """A join over groups."""
    of = from_clause(maker, maker.dice.between(1, 2))
    add_groups(maker, of)
    if maker.dice.chance(0.2):
        add_groups(maker, of)
    head = Many(tuple(items(maker, of, False)), ", ")
    return Query(("SELECT ", head, " FROM ", of.sql, where(of.conditions)), may_fail=maker.may_fail)


def grouped_query(maker: Maker) -> Query:
    of = make_from(maker)
    choices = [c for r in of.scope for c in r.columns if c.kind.exact]
    groups = maker.dice.sample(choices, maker.dice.between(0, 2))
    aggregates = [aggregate(maker, of) for _ in range(maker.dice.between(1, 3))]
    names = ", ".join(c.sql for c in groups)
    sets = bool(groups) and maker.dice.chance(0.1)
    tail: list[Sql] = [f" GROUP BY {f'ROLLUP ({names})' if sets else names}"] if groups else []
    if groups and not sets and maker.dice.chance(0.3):
        tail.append((" HAVING ", having(maker, groups)))
    ordered = bool(groups) and not sets and maker.dice.chance(0.5)
    if ordered:
        tail.append(f" ORDER BY {names}")
    if ordered and maker.dice.chance(0.4):
        tail.append(limit(maker))
    head = Many((*(c.sql for c in groups), *aggregates), ", ")
    return Query(("SELECT ", head, " FROM ", of.sql, where(of.conditions), tuple(tail)), ordered)


def having(maker: Maker, groups: list[Column]) -> Sql:
    """A condition on groups; subqueries there refer to the columns of the groups."""
    if maker.dice.chance(0.4):
        return "count(*) > 1"
    groups_only = Relation("", tuple(groups), 30, None)
    around = Around((groups_only,), 50)
    if maker.dice.chance(0.5):
        return exists(maker, around)
    inner = core(maker, around)
    return ("count(*) >= (SELECT count(*)", inner.sql, ")")


def window_query(maker: Maker) -> Query:
    of = make_from(maker)
    unique = unique_of(of.scope)
    if not unique:
        return rows_query(maker)
    exact = [c.sql for r in of.scope for c in r.columns if c.kind.exact]
    numbers = [c.sql for r in of.scope for c in r.of_families(("int",))] or ["1"]
    by = f"PARTITION BY {maker.dice.pick(exact)} " if exact and maker.dice.chance(0.6) else ""
    window = f"OVER ({by}ORDER BY {order(maker, of.scope, unique)}"
    function = maker.dice.pick(
        (
            f"row_number() {window})",
            f"sum({maker.dice.pick(numbers)}) {window} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
            f"lag({maker.dice.pick(numbers)}) {window})",
            f"first_value({maker.dice.pick(numbers)}) {window})",
        )
    )
    head = Many((*unique, function), ", ")
    return Query(("SELECT ", head, " FROM ", of.sql, where(of.conditions)))


def distinct_query(maker: Maker) -> Query:
    of = make_from(maker)
    unique = unique_of(of.scope)
    exact = [c.sql for r in of.scope for c in r.columns if c.kind.exact]
    chosen = maker.dice.sample(exact, maker.dice.between(1, 2)) or ["1"]
    body = (" FROM ", of.sql, where(of.conditions))
    if not unique or maker.dice.chance(0.5):
        ordered = maker.dice.chance(0.5)
        tail = f" ORDER BY {', '.join(chosen)}" if ordered else ""
        return Query((f"SELECT DISTINCT {', '.join(chosen)}", body, tail), ordered)
    keys = ", ".join(chosen + unique)
    head = f"SELECT DISTINCT ON ({', '.join(chosen)}) {keys}"
    return Query((head, body, f" ORDER BY {keys}"), ordered=True)


def normal_columns(maker: Maker, of: From, families: list[str]) -> Sql:
    """One column of each family, or NULL, with types that a UNION can have in common."""
    types = {"int": "bigint", "text": "text", "date": "date", "time": "timestamptz"}
    parts = []
    for family in families:
        choices = [c.sql for r in of.scope for c in r.of_families((family,)) if c.kind.exact]
        column = maker.dice.pick(choices) if choices else "NULL"
        parts.append(f"{column}::{types.get(family, family)}")
    return ", ".join(parts)


def union_query(maker: Maker) -> Query:
    families = maker.dice.sample(NORMAL_FAMILIES, maker.dice.between(1, 3))
    branches = []
    for _ in range(maker.dice.between(2, 3)):
        of = from_clause(maker, maker.dice.between(1, 3))
        columns = normal_columns(maker, of, families)
        branches.append(("SELECT ", columns, " FROM ", of.sql, where(of.conditions)))
    operator = maker.dice.weighted(
        [(6, " UNION ALL "), (2, " UNION "), (1, " EXCEPT ALL "), (1, " INTERSECT ")]
    )
    return Query(Many(tuple(branches), operator))


def cte_query(maker: Maker) -> Query:
    """WITH: a SELECT that has a name, joined with a table."""
    families = ["int", *maker.dice.sample(("text", "date", "uuid"), 1)]
    of = from_clause(maker, maker.dice.between(1, 2))
    word = maker.dice.pick(("", "MATERIALIZED ", "NOT MATERIALIZED "))
    columns = normal_columns(maker, of, families)
    named = (f"WITH w (x, y) AS {word}(SELECT ", columns, " FROM ", of.sql, where(of.conditions))
    item = maker.table(1500, 0.9)
    key = maker.dice.pick(item.relation.of_families(("int",)))
    other = maker.dice.pick(item.relation.columns)
    kind = maker.dice.pick((" JOIN ", " LEFT JOIN "))
    head = f") SELECT w.x, w.y, {item.relation.alias}.id, {other.sql} FROM w"
    conditions: list[Sql] = ["w.x IN (SELECT x FROM w WHERE y IS NOT NULL)"]
    tail = where(conditions if maker.dice.chance(0.3) else [])
    return Query((named, head, kind, item.sql, f" ON {key.sql} = w.x", tail))


def recursive_query(maker: Maker) -> Query:
    start = maker.table(50, 0.5)
    step = maker.table(700, 0.95)
    column = maker.dice.pick([c for c in step.relation.columns if c.name in ("k", "m", "s", "g")])
    sql = (
        "WITH RECURSIVE w (x, depth) AS (",
        (f"SELECT {start.relation.alias}.id::bigint, 0 FROM ", start.sql),
        f" UNION ALL SELECT {column.sql}::bigint, w.depth + 1 FROM w JOIN ",
        (step.sql, f" ON {step.relation.alias}.id = w.x WHERE w.depth < 4)"),
        " SELECT x, depth FROM w",
    )
    return Query(sql)


def star_query(maker: Maker) -> Query:
    """Tables joined by their ids, and few conditions: what a node can do as a whole."""
    items = [maker.table(1500, 1) for _ in range(maker.dice.between(2, 4))]
    sql: list[Sql] = [items[0].sql]
    for i, item in enumerate(items[1:], 1):
        other = maker.dice.pick(items[:i]).relation
        word = maker.dice.weighted([(5, "JOIN"), (4, "LEFT JOIN"), (1, "RIGHT JOIN")])
        key = maker.dice.pick(other.of_families(("int",))).sql
        sql += [f" {word} ", item.sql, f" ON {item.relation.alias}.id = {key}"]
    columns = [c for item in items for c in item.relation.columns if c.kind.exact]
    shown = [column.sql for column in maker.dice.sample(columns, 3)]
    body = (" FROM ", tuple(sql), star_condition(maker, columns))
    if maker.dice.chance(0.5):
        return Query((f"SELECT {', '.join(shown)}", body))
    return Query((f"SELECT {shown[0]}, count(*), count({shown[1]})", body, f" GROUP BY {shown[0]}"))


def star_condition(maker: Maker, columns: list[Column]) -> Sql:
    if maker.dice.chance(0.4):
        return ""
    column = maker.dice.pick(columns)
    word = maker.dice.pick(("=", "<", ">", "IS DISTINCT FROM"))
    return (f" WHERE {column.sql} {word} ", maker.constant(column))


def writing_query(maker: Maker) -> Query:
    return write_query(maker) or rows_query(maker)


STAR_SHARE = 0.6  # where each table is foreign
SHAPES: tuple[tuple[float, Callable[[Maker], Query]], ...] = (
    (48, rows_query),
    (16, grouped_query),
    (8, over_groups_query),
    (8, window_query),
    (7, distinct_query),
    (8, union_query),
    (7, cte_query),
    (3, recursive_query),
    (9, writing_query),
    (12, unfolded_query),
)


def make_query(maker: Maker, key: str | None = None) -> Query:
    """key: a column that each table, all of which are foreign, is to be read by, with one value;
    "": they are read by any conditions.
    """
    maker.only_foreign = key is not None
    if key:
        maker.key = (f"{key} = ", maker.constant(Column(key, key, KINDS[key], 12, key)))
    if key == "" and maker.dice.chance(STAR_SHARE):
        return star_query(maker)
    query = maker.dice.weighted(SHAPES)(maker)
    return query if maker.key is None else replace(query, key=maker.key)
