"""SELECTs inside of a query, also such that refer to what is outside of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lib.randomqueries.conditions import link
from lib.randomqueries.filters import filter_of, local_filter
from lib.randomqueries.fragments import Many, Sql, optional, where
from lib.randomqueries.kinds import Kind
from lib.randomqueries.scope import MOST_ROWS, MOST_WORK, Column, Item, Maker, Relation

INNER_FOREIGN_SHARE = 0.9
MOST_DEPTH = 2  # of subqueries that refer to one another
COUNT = Kind("bigint", "int")


@dataclass(frozen=True)
class Output:
    """An output column of a SELECT; name, kind and more are those of the column."""

    sql: Sql
    column: Column


@dataclass(frozen=True)
class Body:
    """A SELECT in parentheses: its columns, its rows for one outer row, what tells them apart."""

    sql: Sql
    outputs: tuple[Output, ...]
    rows: float
    unique: tuple[str, ...] | None


@dataclass(frozen=True)
class Core:
    """FROM and WHERE of a SELECT."""

    sql: Sql
    relations: tuple[Relation, ...]
    rows: float


@dataclass(frozen=True)
class Around:
    """What a SELECT stands in: relations that it may refer to, and how many rows these have."""

    scope: Sequence[Relation]
    rows: float

    @property
    def most_rows(self) -> float:
        """Of a table that is read for each of the rows."""
        return MOST_WORK / max(self.rows, 1)

    def share_for(self, relation: Relation) -> float:
        return MOST_ROWS / max(self.rows * relation.rows, 1)


def tables_of(maker: Maker, around: Around) -> Core:
    """One table, or now and then two that are joined."""
    first = maker.table(around.most_rows, INNER_FOREIGN_SHARE)
    rows = first.relation.rows
    if not maker.dice.chance(0.18):
        return Core(first.sql, (first.relation,), rows)
    second = maker.table(around.most_rows / max(rows, 1), INNER_FOREIGN_SHARE)
    joined = link(maker, [first.relation], second.relation, 1 / max(second.relation.rows, 1))
    kind = maker.dice.pick((" JOIN ", " LEFT JOIN "))
    sql = (first.sql, kind, second.sql, " ON ", joined.sql)
    return Core(sql, (first.relation, second.relation), rows)


def core(maker: Maker, around: Around) -> Core:
    """FROM and WHERE, which refer to what is around."""
    of = tables_of(maker, around)
    conditions: list[Sql] = []
    rows = of.rows
    if around.scope:
        inner = maker.dice.pick(of.relations)
        linked = link(maker, around.scope, inner, around.share_for(inner))
        conditions.append(linked.sql)
        rows *= linked.share
        if maker.dice.chance(0.2):
            conditions.append(local_filter(maker, inner))
    while maker.dice.chance(0.3):
        conditions.append(filter_of(maker, maker.dice.pick(of.relations)))
    if maker.dice.chance(0.04):
        conditions.append(init_plan(maker, maker.dice.pick(of.relations)))
    sql: Sql = (" FROM ", of.sql)
    if maker.depth < MOST_DEPTH and maker.dice.chance(0.13):
        inside = Around((*around.scope, *of.relations), around.rows * max(rows, 1))
        sql, conditions = add_nested(maker, inside, sql, conditions)
    return Core((sql, where(conditions)), of.relations, rows)


def add_nested(
    maker: Maker, inside: Around, sql: Sql, conditions: list[Sql]
) -> tuple[Sql, list[Sql]]:
    """A subquery in a subquery, which may refer to what is around both."""
    maker.depth += 1
    if maker.dice.chance(0.5):
        conditions = [*conditions, exists(maker, inside)]
    else:
        item = named(maker, aggregated(maker, inside), lateral=True)
        sql = (sql, " CROSS JOIN ", item.sql)
        conditions = [*conditions, filter_of(maker, item.relation)]
    maker.depth -= 1
    return sql, conditions


def init_plan(maker: Maker, relation: Relation) -> Sql:
    """A comparison with what a subquery returns once for all rows."""
    item = maker.table(1500, 0.7)
    column = maker.dice.pick(relation.of_families(("int",)))
    other = maker.dice.pick(item.relation.of_families(("int",)))
    function = maker.dice.pick(("max", "min"))
    operator = maker.dice.pick(("<=", ">=", "=", "<>"))
    conditions = where([filter_of(maker, item.relation)])
    head = f"{column.sql} {operator} (SELECT {function}({other.sql}) FROM "
    return (head, item.sql, conditions, ")")


def exists(maker: Maker, around: Around) -> Sql:
    of = core(maker, around)
    head = maker.dice.pick(("SELECT 1", "SELECT *", "SELECT DISTINCT 1"))
    tail = maker.dice.weighted([(8, ""), (1, " LIMIT 1"), (1, " OFFSET 0")])
    word = maker.dice.pick(("EXISTS (", "EXISTS (", "NOT EXISTS ("))
    return (word, head, of.sql, tail, ")")


def some_outputs(maker: Maker, relations: Sequence[Relation], exact: bool) -> list[Output]:
    """Some columns of relations, named so that no two have the same name."""
    choices = [c for r in relations for c in r.columns if c.kind.exact or not exact]
    chosen = maker.dice.sample(choices, maker.dice.between(1, 3))
    return [renamed(column, f"c{i}") for i, column in enumerate(chosen)]


def renamed(column: Column, name: str) -> Output:
    return Output(column.sql, Column(name, name, column.kind, column.different, column.source))


def identities(relations: Sequence[Relation]) -> list[Output]:
    """The ids of relations: that of the first keeps its name."""
    outputs = []
    for i, relation in enumerate(relations):
        name = f"id{i}" if i else "id"
        column = next(column for column in relation.columns if column.name == "id")
        outputs.append(renamed(column, name))
    return outputs


def written(outputs: Sequence[Output]) -> Sql:
    items = tuple((output.sql, f" AS {output.column.name}") for output in outputs)
    return Many(items, ", ")


def names(outputs: Sequence[Output]) -> tuple[str, ...]:
    return tuple(output.column.name for output in outputs)


def body_of(head: Sql, outputs: list[Output], of: Core, tail: Sql, rows: float) -> Body:
    sql = ("(SELECT ", head, written(outputs), of.sql, tail, ")")
    return Body(sql, tuple(outputs), rows, None)


def plain(maker: Maker, around: Around) -> Body:
    of = core(maker, around)
    ids = identities(of.relations)
    outputs = ids + some_outputs(maker, of.relations, exact=False)
    tail: Sql = optional(" OFFSET 0") if maker.dice.chance(0.6) else ""
    body = body_of("", outputs, of, tail, of.rows)
    return Body(body.sql, body.outputs, body.rows, names(ids))


def top(maker: Maker, around: Around) -> Body:
    """The first rows in an order that leaves nothing open."""
    of = core(maker, around)
    ids = identities(of.relations)
    outputs = ids + some_outputs(maker, of.relations, exact=False)
    order = [str(output.sql) for output in ids]
    if maker.dice.chance(0.7):
        column = maker.dice.pick([c for c in of.relations[0].columns if c.kind.family != "json"])
        order.insert(0, column.sql + maker.dice.pick(("", " DESC", " DESC NULLS LAST")))
    most = maker.dice.between(1, 4)
    tail = f" ORDER BY {', '.join(order)} LIMIT {limit_of(maker, around, most)}"
    if maker.dice.chance(0.2):
        tail += f" OFFSET {maker.dice.between(1, 2)}"
    body = body_of("", outputs, of, tail, min(of.rows, most))
    return Body(body.sql, body.outputs, body.rows, names(ids))


def limit_of(maker: Maker, around: Around, most: int) -> str:
    """A number, or one that comes from an outer row; it is never larger than that."""
    numbers = [c for r in around.scope for c in r.of_families(("int",))]
    if not numbers or maker.dice.chance(0.85):
        return str(most)
    return f"least({most}, abs(coalesce({maker.dice.pick(numbers).sql}, 1)))"


def distinct(maker: Maker, around: Around) -> Body:
    of = core(maker, around)
    outputs = some_outputs(maker, of.relations, exact=True)
    body = body_of("DISTINCT ", outputs, of, "", of.rows)
    return Body(body.sql, body.outputs, body.rows, names(outputs))


def counted(of: Core, name: str) -> Output:
    return Output("count(*)", Column(name, name, COUNT, max(1, int(of.rows))))


def extreme(maker: Maker, of: Core, name: str) -> Output:
    families = ("int", "text", "date", "time")
    choices = [c for r in of.relations for c in r.of_families(families) if c.kind.exact]
    column = maker.dice.pick(choices)
    sql = f"{maker.dice.pick(('min', 'max'))}({column.sql})"
    return Output(sql, renamed(column, name).column)


def grouped(maker: Maker, around: Around) -> Body:
    of = core(maker, around)
    groups = some_outputs(maker, of.relations, exact=True)[:2]
    outputs = [*groups, counted(of, "n"), extreme(maker, of, "x")]
    tail: Sql = f" GROUP BY {', '.join(str(output.sql) for output in groups)}"
    if maker.dice.chance(0.3):
        tail = (tail, optional(" HAVING count(*) > 1"))
    body = body_of("", outputs, of, tail, of.rows)
    return Body(body.sql, body.outputs, body.rows, names(groups))


def aggregated(maker: Maker, around: Around) -> Body:
    of = core(maker, around)
    outputs = [counted(of, "n"), extreme(maker, of, "x")]
    body = body_of("", outputs, of, "", 1)
    return Body(body.sql, body.outputs, 1, ())


def united(maker: Maker, around: Around) -> Body:
    """A UNION of the same columns of two tables."""
    chosen = maker.dice.sample([c for c in ("id", "k", "m", "t", "d", "u", "o")], 2)
    parts = []
    rows = 0.0
    outputs: list[Output] = []
    for _ in range(2):
        of = core(maker, around)
        columns = [c for name in chosen for c in of.relations[0].columns if c.name == name]
        outputs = [renamed(column, f"c{i}") for i, column in enumerate(columns)]
        parts.append(("SELECT ", written(outputs), of.sql))
        rows += of.rows
    operator = maker.dice.pick((" UNION ", " UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT ALL "))
    sql = ("(", parts[0], operator, parts[1], ")")
    unique = names(outputs) if operator in (" UNION ", " EXCEPT ") else None
    return Body(sql, tuple(outputs), rows, unique)


def windowed(maker: Maker, around: Around) -> Body:
    of = core(maker, around)
    ids = identities(of.relations)
    order = ", ".join(str(output.sql) for output in ids)
    group = maker.dice.pick([c for c in of.relations[0].columns if c.kind.exact])
    by = f"PARTITION BY {group.sql} " if maker.dice.chance(0.5) else ""
    number = f"row_number() OVER ({by}ORDER BY {order})"
    outputs = [*ids, Output(number, Column("n", "n", COUNT, 5))]
    body = body_of("", outputs, of, "", of.rows)
    return Body(body.sql, body.outputs, body.rows, names(ids))


BODIES: tuple[tuple[float, Callable[[Maker, Around], Body]], ...] = (
    (4, plain),
    (4, top),
    (2, distinct),
    (2, grouped),
    (2.5, aggregated),
    (1.5, united),
    (1, windowed),
)


def body(maker: Maker, around: Around) -> Body:
    return maker.dice.weighted(BODIES)(maker, around)


def named(maker: Maker, found: Body, lateral: bool) -> Item:
    """A SELECT in FROM."""
    alias = maker.alias()
    columns = tuple(
        Column(f"{alias}.{c.name}", c.name, c.kind, c.different, c.source)
        for c in (output.column for output in found.outputs)
    )
    sql = ("LATERAL " if lateral else "", found.sql, f" AS {alias}")
    return Item(sql, Relation(alias, columns, max(found.rows, 0.1), found.unique))


def derived(maker: Maker, around: Around, lateral: bool) -> Item:
    return named(maker, body(maker, around), lateral)
