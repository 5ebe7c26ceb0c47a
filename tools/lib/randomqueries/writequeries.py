"""Queries that write, and return what they wrote; they are rolled back.

What comes out must not depend on which of several matches a row is written for.
"""

from lib.randomqueries.conditions import link
from lib.randomqueries.filters import filter_of
from lib.randomqueries.fragments import Sql, where
from lib.randomqueries.joins import From, from_clause
from lib.randomqueries.parts import parts_query
from lib.randomqueries.query import Query
from lib.randomqueries.scope import MOST_ROWS, ONLY, Item, Maker, Relation
from lib.randomqueries.subqueries import condition
from lib.randomqueries.subselects import Around, core, exists
from lib.randomqueries.writes import TABLES

FOREIGN_SHARE = 0.6
PARTS_SHARE = 0.35
UNWRITTEN = ("by_hash", "by_list", "by_range", "by_expression", "most")
RETURNED = ("id", "k", "m", "t")


def returning(relation: Relation) -> str:
    return " RETURNING " + ", ".join(f"{relation.alias}.{name}" for name in RETURNED)


def keyed(maker: Maker, target: Relation) -> list[Sql]:
    """The condition by which every table is read, if there is one."""
    return [] if maker.key is None else [(f"{target.alias}.", maker.key)]


def linked_target(maker: Maker, of: From) -> Item:
    """A table whose rows are found by a join with others."""
    target = maker.target_of(TABLES, FOREIGN_SHARE, ONLY)
    relation = target.relation
    share = MOST_ROWS / max(of.rows * relation.rows, 1)
    of.conditions.append(link(maker, of.scope, relation, share).sql)
    of.conditions += keyed(maker, relation)
    if maker.dice.chance(0.25):
        around = Around((*of.scope, relation), of.rows)
        of.conditions.append(condition(maker, around))
    return target


def by_join(maker: Maker) -> Sql:
    """UPDATE ... FROM or DELETE ... USING."""
    of = from_clause(maker, maker.dice.between(1, 2))
    target = linked_target(maker, of)
    alias = target.relation.alias
    if maker.dice.chance(0.65):
        changes = f" SET m = coalesce({alias}.m, 0) + 1, t = upper({alias}.t) FROM "
        head: Sql = ("UPDATE ", target.sql, changes)
    else:
        head = ("DELETE FROM ", target.sql, " USING ")
    return (head, of.sql, where(of.conditions), returning(target.relation))


def by_subquery(maker: Maker) -> Sql:
    """UPDATE whose new values, or whose conditions, are subqueries."""
    target = maker.target_of(TABLES, FOREIGN_SHARE, ONLY)
    around = Around((target.relation,), target.relation.rows)
    count = ("(SELECT count(*)", core(maker, around).sql, ")")
    value: Sql = count
    if maker.dice.chance(0.4):
        test = filter_of(maker, target.relation)
        value = ("CASE WHEN ", test, " THEN ", count, " ELSE -1 END")
    conditions = keyed(maker, target.relation)
    if maker.dice.chance(0.5):
        conditions.append(filter_of(maker, target.relation))
    if maker.dice.chance(0.3):
        conditions.append(exists(maker, around))
    tail = (where(conditions), returning(target.relation))
    return ("UPDATE ", target.sql, " SET m = ", value, tail)


def insert(maker: Maker) -> Sql:
    """INSERT of what a join finds."""
    of = from_clause(maker, maker.dice.between(1, 3))
    target = maker.target_of(TABLES, FOREIGN_SHARE)
    numbers = [c.sql for r in of.scope for c in r.of_families(("int",))] or ["7"]
    texts = [c.sql for r in of.scope for c in r.of_families(("text",))] or ["'none'"]
    values = [f"{maker.dice.pick(numbers)}::int" for _ in range(3)]
    values.append(f"{maker.dice.pick(texts)}::text")
    head = (
        "INSERT INTO ",
        target.sql,
        f" ({', '.join(RETURNED)}) SELECT {', '.join(values)} FROM ",
    )
    return (head, of.sql, where(of.conditions), returning(target.relation))


def within(maker: Maker) -> Sql:
    """WITH: rows that are changed, joined with a table that is not."""
    of = from_clause(maker, 1)
    target = linked_target(maker, of)
    alias = target.relation.alias
    changed = ("DELETE FROM ", target.sql, " USING ", of.sql, where(of.conditions))
    item = maker.table_of(UNWRITTEN, 0.9)
    key = maker.dice.pick(item.relation.of_families(("int",)))
    kind = maker.dice.pick((" JOIN ", " LEFT JOIN "))
    head = ("WITH w (x, y) AS (", changed, f" RETURNING {alias}.id, {alias}.k)")
    columns = f" SELECT w.x, w.y, {item.relation.alias}.id FROM w"
    return (head, columns, kind, item.sql, f" ON {key.sql} = w.y")


def write_query(maker: Maker) -> Query | None:
    """None where a query must not write."""
    if not maker.may_lock:
        return None
    if maker.prepared or maker.dice.chance(PARTS_SHARE):
        return parts_query(maker)
    make = maker.dice.weighted([(5, by_join), (2, by_subquery), (2, insert), (1.5, within)])
    sql = make(maker)
    return Query(sql, may_fail=maker.may_fail, writes=True)
