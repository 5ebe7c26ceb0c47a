"""UPDATE, DELETE and TRUNCATE statements."""

from lib.randomqueries.fragments import Many, Sql, where
from lib.randomwrites.context import REGIONS, Context, Step
from lib.randomwrites.inserts import returning
from lib.randomwrites.parts import only
from lib.randomwrites.tables import VIEW_MOST_V, Table
from lib.randomwrites.values import assignments, condition, one_row, poison_of

REGION, LAST = REGIONS[1], REGIONS[-1] + REGIONS[1]


def is_one_row(context: Context, table: Table) -> bool:
    return context.of(table).one_row or context.dice.chance(0.25)


def row_test(context: Context, table: Table, alias: str) -> Many:
    """Rows of a table; one, where its triggers want that."""
    conditions: list[Sql] = [f"{alias}.id < 3000"]
    if is_one_row(context, table):
        return Many((one_row(context, alias),), " AND ", prefix=" WHERE ")
    for _ in range(context.dice.between(0, 2)):
        conditions.append(condition(context, alias))
    function = context.function(False)
    if function is not None and context.dice.chance(0.15):
        conditions.append(f"{function.name}({alias}.id) % 3 <> 1")
    return where(conditions)


def is_single(test: Many) -> bool:
    return test.empty is None


def update(context: Context, table: Table) -> Step:
    name = table.name
    test = row_test(context, table, name)
    poison = poison_of(context, table)
    if poison == "unique" and not (is_single(test) and may_move(context, table)):
        poison = None
    sets = assignments(context, name, poison, is_single(test))
    head = f"UPDATE {only(context, name)}{name} SET {', '.join(sets)}"
    # rows that move have no OLD
    both = not table.loose and not (table.partition_by and poison == "unique")
    tail = returning(context, table, is_single(test), both=both)
    return Step((head, test, tail), is_single(test))


def may_move(context: Context, table: Table) -> bool:
    facts = context.of(table)
    # what moves here alone has other triggers than there
    moves = not any(
        level == "ROW" and (event == "DELETE" or context.tablets)
        for _, level, event in facts.events
    )
    return not table.partition_by or (moves and context.buffers)


def may_rotate(context: Context, table: Table) -> bool:
    return (
        context.returns
        and not context.rotated
        and not context.of(table).one_row
        and not table.is_guest
        and context.dice.chance(0.35)
    )


def rotate(context: Context, table: Table) -> Step:
    """All rows go to the next partition, where the statement must not meet them again."""
    context.rotated = True
    name = table.name
    v = context.call(f"{name}.id", False, f"{name}.v + 1", 0.5)
    tail = context.returning("id, v, s")
    return Step(f"UPDATE {name} SET id = ({name}.id + {REGION}) % {LAST} + 50, v = {v}{tail}")


def update_key(context: Context, table: Table) -> Step:
    """Rows that may come to another partition."""
    name = table.name
    if not may_move(context, table):
        return update(context, table)
    if may_rotate(context, table):
        return rotate(context, table)
    if is_one_row(context, table):
        test, new = one_row(context, name), str(context.fresh() + 1)
    else:
        test, new = f"{name}.id < 40", f"{name}.id + {context.fresh()}"
    more = ", v = (v + 1) % 100" if context.dice.chance(0.4) else ""
    tail = context.returning("id, v, s")
    return Step(f"UPDATE {name} SET id = {new}{more} WHERE {test}{tail}")


def sources(context: Context, table: Table) -> tuple[Sql, str]:
    """Tables whose rows are joined with those of a target, one with each at most."""
    first = context.table(table)
    sql: Sql = f"{first.name} q"
    if context.dice.chance(0.3):
        second = context.table(table, first)
        sql = (sql, f" JOIN {second.name} o ON o.id = q.id")
    if context.dice.chance(0.15):
        sql = "generate_series(1, 20) q (id)"
        return sql, "q.id % 100"
    return sql, "q.v"


def update_from(context: Context, table: Table) -> Step:
    name = table.name
    sql, value = sources(context, table)
    conditions: list[Sql] = [f"q.id = {name}.id"]
    single = context.of(table).one_row
    conditions.append(one_row(context, name) if single else f"{name}.id < 3000")
    if context.dice.chance(0.5):
        conditions.append(condition(context, name))
    v = context.call("q.id", single, f"({name}.v + {value}) % 100")
    test = Many(tuple(conditions[2:]), " AND ", prefix=" AND ", empty="")
    tail = context.returning(f"{name}.id, {name}.v, q.id")
    fixed = f" WHERE {conditions[0]} AND {conditions[1]}"
    return Step((f"UPDATE {name} SET v = {v} FROM ", sql, fixed, test, tail), single)


def met_often(context: Context, table: Table) -> Step:
    """Rows that a join finds several times, which are changed once."""
    dice = context.dice
    name = table.name
    if table.is_guest or not context.buffers:
        return update_from(context, table)
    facts = context.of(table)
    link = dice.pick((f"q.p = {name}.p", f"q.s = {name}.s", f"q.id % 5 = {name}.id % 5"))
    test = one_row(context, name) if facts.one_row else f"{name}.id < 3000"
    where_sql = f"WHERE {link} AND q.id < 1010 AND {test}"
    tail = context.returning(f"{name}.id, {name}.v, {name}.s")
    other = context.table(table).name
    if dice.chance(0.3):
        return Step(f"DELETE FROM {name} USING {other} q {where_sql}{tail}")
    sets = assignments(context, name, None, False, may_call=False)
    return Step(f"UPDATE {name} SET {', '.join(sets)} FROM {other} q {where_sql}{tail}")


def delete_using(context: Context, table: Table) -> Step:
    name = table.name
    sql, _ = sources(context, table)
    single = context.of(table).one_row
    fixed = one_row(context, name) if single else condition(context, name)
    tail = context.returning(f"{name}.id, {name}.v, q.id")
    return Step((f"DELETE FROM {name} USING ", sql, f" WHERE q.id = {name}.id AND {fixed}", tail))


def subquery(context: Context, table: Table) -> str:
    """A number that belongs to a row of a table."""
    dice = context.dice
    itself = dice.chance(0.2) and context.buffers and not table.is_guest
    other = table if itself else context.table(table)
    what = dice.pick(("count(*)", "coalesce(max(z.v), 0)", "coalesce(sum(z.v), 0) % 100"))
    link = dice.pick(
        (f"z.id = {table.name}.id", f"z.p = {table.name}.p", f"z.id < {table.name}.id", "z.v > 50")
    )
    return f"(SELECT {what} FROM {other.name} z WHERE {link})"


def update_subquery(context: Context, table: Table) -> Step:
    test = row_test(context, table, table.name)
    sql = f"UPDATE {table.name} SET v = {subquery(context, table)}"
    tail = returning(context, table, False, both=not table.loose)
    return Step((sql, test, tail), is_single(test))


def by_subquery(context: Context, table: Table) -> Step:
    """Rows that are found by IN, EXISTS or NOT EXISTS."""
    dice = context.dice
    name = table.name
    other = context.table(table)
    found = dice.pick(
        (
            f"{name}.id IN (SELECT q.id FROM {other.name} q WHERE q.v < 50)",
            f"EXISTS (SELECT FROM {other.name} q WHERE q.id = {name}.id AND q.v > 20)",
            f"NOT EXISTS (SELECT FROM {other.name} q WHERE q.id = {name}.id AND q.s = 'x')",
            f"{name}.v > (SELECT avg(q.v) FROM {other.name} q)",
        )
    )
    test = one_row(context, name) if context.of(table).one_row else f"{name}.id < 2003"
    if dice.chance(0.5):
        sql = f"DELETE FROM {name} WHERE {found} AND {test}"
    else:
        sql = f"UPDATE {name} SET s = 'found', v = ({name}.v + 1) % 100 WHERE {found} AND {test}"
    return Step((sql, returning(context, table, False)))


def delete(context: Context, table: Table) -> Step:
    test = row_test(context, table, table.name)
    single = is_single(test)
    tail = returning(context, table, single, both=True)
    head = f"DELETE FROM {only(context, table.name)}{table.name}"
    return Step((head, test, tail), single)


def view_change(context: Context, table: Table) -> Step:
    dice = context.dice
    view, of = dice.pick((("va", "a"), ("vh", "h")))
    facts = context.facts.get(of)
    single = dice.chance(0.3) or (facts is not None and facts.one_row)
    test = f"id = {context.old_id()}" if single else "id < 8"
    if dice.chance(0.3):
        return Step(f"DELETE FROM {view} WHERE {test}" + context.returning("id, v"))
    wrong = context.poison(["check option"], 0.3) is not None
    new = VIEW_MOST_V + 1 if wrong else dice.between(0, 99)
    return Step(f"UPDATE {view} SET v = {new} WHERE {test}" + context.returning("id, v"))


def truncate(context: Context, table: Table) -> Step:
    return Step(f"TRUNCATE {table.name}")
