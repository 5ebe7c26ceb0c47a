"""Statements whose distributed tables all have one key, which a node executes as a whole."""

import re

from lib.randomqueries.fragments import Sql
from lib.randomwrites.context import Context, Facts, Step
from lib.randomwrites.parts import only, part_sets, setting_step, text_of
from lib.randomwrites.tables import (
    COLUMNS,
    PARENTS,
    VIEW_MOST_V,
    VIEWS,
    WATCHED,
    Table,
    distributed,
)

NAMES = ", ".join(COLUMNS)


def by_id(context: Context, *others: Table) -> Table:
    """A table that is distributed by id."""
    tables = [t for t in context.main if t.partition_by and not t.loose and t not in others]
    return context.dice.pick(tables)


def target(context: Context, table: Table) -> Table:
    """The table that is to be written, or one that is distributed by id."""
    if context.guarded and context.dice.chance(0.6):
        return distributed(WATCHED[0])
    return table if table.partition_by and not table.loose else by_id(context)


def view_of(context: Context, name: str, share: float = 0.2) -> str:
    """A view that checks what is written through it, where the table has one."""
    view = {"h": "vh", "m": "vm"}.get(name)
    return view if view is not None and context.dice.chance(share) else name


def key(context: Context) -> str:
    if context.key:
        return context.key
    return str(context.old_id() if context.dice.chance(0.8) else context.fresh())


def read(context: Context, table: Table, name: str) -> str:
    """A value of other rows with the same key. name: of the table, or of its view."""
    other = by_id(context, table)
    what = context.dice.pick(("count(*)", "coalesce(max(z.v), 0)", "coalesce(sum(z.v % 7), 0)"))
    return f"(SELECT {what} FROM {other.name} z WHERE z.id = {name}.id)"


def keyed_select(context: Context, _table: Table) -> Step:
    dice = context.dice
    first = by_id(context)
    second, name = by_id(context, first), first.name
    value = read(context, first, name)
    joined = f"{dice.pick(('JOIN', 'LEFT JOIN'))} {second.name} o ON o.id = {name}.id"
    sql = dice.pick(
        (
            f"SELECT {name}.id, {name}.k, o.v, o.s FROM {name} {joined} WHERE {name}.id = {{k}}",
            f"SELECT count(*), sum(o.v + {name}.v) FROM {name} {joined} WHERE {{k}} = {name}.id",
            f"SELECT {name}.s, {value} FROM {name} WHERE id = {{k}} AND v < 90",
            f"SELECT id, v FROM {name} WHERE id = {{k}} FOR UPDATE",
            f"SELECT id, {text_of(context, f'{name}.v')} FROM {only(context, name)}{name}"
            f" WHERE id = {{k}} AND s <> {text_of(context, f'{name}.id')}",
            f"SELECT s, v, id FROM {view_of(context, first.name, 1.0)} WHERE id = {{k}}",
            # keys that one node has or not
            f"SELECT {name}.v, o.v, o.id FROM {name}, {second.name} o"
            f" WHERE {name}.id = {{k}} AND o.id = {key(context)}",
            f"SELECT count(*) FROM {name} LEFT JOIN {second.name} o ON o.id = {{k}}"
            f" WHERE {name}.id = {key(context)} AND (o.v > 5 OR o.v IS NULL)",
            f"WITH w AS (SELECT id, v FROM {name} WHERE id = {{k}})"
            f" SELECT w.id, c.v FROM w LEFT JOIN c ON c.id = w.v % 12 + 1",
        )
    )
    return Step(with_more_keys(context, sql.format(k=key(context))))


def with_more_keys(context: Context, sql: str) -> str:
    """Makes some keys lists, of one node or of several."""
    dice = context.dice
    if not dice.chance(0.25):
        return sql
    other = key(context)
    ways = (
        rf"id IN (\1, {other})",
        rf"id = ANY (ARRAY[\1, NULL, {other}])",
        rf"(id = \1 OR id = {other})",
        r"id + 0 = \1",
    )
    return re.sub(r"(?<!\.)\bid = (\d+)\b", dice.pick(ways), sql)


def keyed_change(context: Context, table: Table) -> Step:
    dice = context.dice
    table = target(context, table)
    name, other = view_of(context, table.name), by_id(context, table).name
    tail = context.returning(f"{name}.id, {name}.v, {name}.s")
    k = key(context)
    changed = (
        dice.pick(
            (
                f"UPDATE {name} SET v = ({name}.v + q.v) % 100, s = coalesce(q.s, 'x')"
                f" FROM {other} q WHERE q.id = {name}.id AND q.id = {k}",
                f"UPDATE {name} SET v = {read(context, table, name)} % 100 WHERE id = {k}",
                f"UPDATE {name} SET (v, p) = (SELECT q.v, q.p FROM {other} q"
                f" WHERE q.id = {name}.id) WHERE id = {k}",
                f"DELETE FROM {name} USING {other} q WHERE q.id = {name}.id AND {name}.id = {k}",
                f"UPDATE {only(context, table.name)}{table.name} AS {name}"
                f" SET {', '.join(part_sets(context, f'{name}.v', '8'))} WHERE id = {k}",
                f"UPDATE {name} SET s = {text_of(context, f'{name}.v')} WHERE id = {k}",
                # a value that a policy or a view may refuse
                f"UPDATE {name} SET v = {dice.pick((2, 70, VIEW_MOST_V + 1))} WHERE id = {k}",
                f"UPDATE {name} SET v = q.v FROM {other} q WHERE {name}.id = {k}"
                f" AND q.id = {key(context)}",
                f"DELETE FROM {name} WHERE id = {k} AND v >= {read(context, table, name)}",
            )
        )
        + tail
    )
    return Step(with_more_keys(context, changed))


def conflict_action(context: Context, name: str) -> str:
    dice = context.dice
    sets = dice.pick(
        (
            f"v = ({name}.v + excluded.v) % 100",
            f"s = excluded.s, v = {name}.v + 1",
            f"s = excluded.s || {name}.s, p = {name}.p",
            "id = excluded.id, (v, s) = (excluded.v, excluded.s)",
            f"s = {text_of(context, 'excluded.v')}",
            f"v = CASE WHEN {name}.v > 50 THEN 1000 ELSE 2 END",
            f"s = concat({name}.s, excluded.v, '-', {name}.id)",
            f"v = (SELECT count(*) % 50 FROM {by_id(context).name})",
            f"v = (SELECT max(o.v) FROM {by_id(context).name} AS o WHERE o.id = {name}.v)",
            f"(v, s) = (SELECT count(*) % 50, min(o.s) FROM {name} AS o WHERE o.v < excluded.v)",
        )
    )
    test = f" WHERE {name}.v < 60" if dice.chance(0.3) else ""
    update = f"(id) DO UPDATE SET {sets}{test}"
    nothing = ("(id) DO NOTHING", "DO NOTHING")
    # which is refused where policies or a view check the new row
    checked = name in VIEWS or name == WATCHED[0].name
    return dice.pick(nothing if checked else (update, update, update, *nothing))


def keyed_conflict(context: Context, table: Table) -> Step:
    dice = context.dice
    table = target(context, table)
    name, other = view_of(context, table.name), by_id(context, table).name
    k = key(context)
    v = context.call(k, True, str(dice.pick((dice.between(0, 99), 2, VIEW_MOST_V + 1))), 0.3)
    fresh = context.fresh()
    number = dice.pick(("7", "(SELECT 3)", "length('abc')", "NULL"))
    source = dice.pick(
        (
            f"({NAMES}) VALUES ({k}, {number}, {v}, 'key', NULL)",
            f"(s, v, id) VALUES ('a', {v}, {k})",
            f"(s, id, v) VALUES ('a', {k}, 1), ('b', {k}, 2)",
            f"(s, v, id) VALUES ('a', {v}, {k}), ('b', 2, {key(context)}), ('c', 3, {fresh})",
            f"({NAMES}) SELECT id, k, v, s, NULL FROM {other} WHERE id = {k}",
            f"(s, v, k, id) SELECT s, v, k, id FROM {other} WHERE id = {k}",
            f"(k, s, id) SELECT v, s, id FROM {other} WHERE id = {k} AND v < 70",
            f"(v, id) SELECT count(*), {k} FROM {other} WHERE id = {k}",
        )
    )
    # core keeps no xmax of a row that went to a partition
    xmax = dice.chance(0.3) and name == "b"
    tail = context.returning(f"id, v, s, {name}.xmax = 0" if xmax else "v, id, s")
    action = conflict_action(context, name)
    if routes_parts(context, table) and dice.chance(0.3):
        source = f"(s, v, id) VALUES ('a', {v}, {k})"
        name = table.name
        sets = ", ".join(part_sets(context, "excluded.v", f"{name}.v", conflict=True))
        action = f"(id) DO UPDATE SET {sets}"
        # a statement that asks for xmax may not be routed
        tail = context.returning("v, id, s")
    return Step(f"INSERT INTO {name} {source} ON CONFLICT {action}{tail}")


def routes_parts(context: Context, table: Table) -> bool:
    """What is not routed leaves no assignment to a part of a column to a node."""
    watched = table.name == WATCHED[0].name
    return context.routes and not watched and not context.facts.get(table.name, Facts()).events


def keyed_merge(context: Context, table: Table) -> Step:
    """Not where there are triggers or policies: that is refused here."""
    dice = context.dice
    table = target(context, table)
    if context.facts.get(table.name, Facts()).events or table.name == WATCHED[0].name:
        return keyed_change(context, table)
    other, k = by_id(context, table).name, key(context)
    matched = dice.pick(
        (
            "DELETE",
            "UPDATE SET v = (t.v + q.v) % 100, s = q.s",
            "DO NOTHING",
            "UPDATE SET v = 1000",
            f"UPDATE SET {', '.join(part_sets(context, 'q.v', 't.v'))}",
        )
    )
    source = dice.pick(
        (f"(SELECT * FROM {other} WHERE id = {k})", f"(SELECT {k} AS id, 60 AS v, 'm' AS s)")
    )
    return Step(
        f"MERGE INTO {table.name} t USING {source} q ON t.id = q.id"
        f" WHEN MATCHED AND q.v > 50 THEN {matched} WHEN MATCHED THEN UPDATE SET s = 'merged'"
        f" WHEN NOT MATCHED AND q.v > 10 THEN INSERT (s, v, id) VALUES (q.s, q.v, q.id)"
    )


def keyed_outer(context: Context, table: Table) -> Step:
    """A column that an outer join makes NULL, of a table that may be distributed by it."""
    dice = context.dice
    loose = [one for one in context.main if one.loose]
    if not loose or not context.buffers:
        return keyed_change(context, table)
    name, column, fresh = loose[0].name, dice.pick(("k", "v", "p")), context.fresh()
    joined = dice.pick(
        (
            f"{name} q LEFT JOIN {name} o ON o.{column} = q.{column} AND o.id > q.id",
            f"{name} o RIGHT JOIN {name} q ON o.{column} = q.{column} AND o.v < q.v",
            f"{name} q LEFT JOIN (SELECT * FROM {name} WHERE v > 50) o USING ({column})",
        )
    )
    # each row has an id of its own: only the plain table has the key
    new_id = f"q.id + {fresh} + coalesce(o.id, 0) * 10000"
    found = f"SELECT {new_id}, o.{column}, 'outer' FROM {joined} WHERE q.{column} = "
    values = {"k": context.old_id() * 10, "v": dice.between(0, 30), "p": dice.between(1, PARENTS)}
    return Step(f"INSERT INTO {name} (id, {column}, s) {found}{values[column]} AND q.id < 40")


def keyed_with(context: Context, table: Table) -> Step:
    dice = context.dice
    table = target(context, table)
    if context.of(table).one_row or context.of(table).reads:
        return keyed_change(context, table)
    other = by_id(context, table)
    k, fresh, name = key(context), context.fresh(), table.name
    action = conflict_action(context, name)
    part = dice.pick(
        (
            f"UPDATE {name} SET v = (v + 1) % 100 WHERE id = {k}",
            f"DELETE FROM {name} WHERE id = {k}",
            f"INSERT INTO {name} (id, v) VALUES ({k}, 5) ON CONFLICT {action}",
        )
    )
    main = dice.pick(
        (
            f"SELECT w.id, w.v, o.v FROM w LEFT JOIN {other.name} o ON o.id = w.id",
            f"SELECT count(*), (SELECT sum(v) FROM {other.name} o WHERE o.id = {k}) FROM w",
        )
    )
    if dice.chance(0.3) and not context.facts.get(other.name, Facts()).events:
        part = f"INSERT INTO {name} (id, v) VALUES ({fresh}, 5)"
        main = f"INSERT INTO {other.name} (v, id) SELECT 7, w.id FROM w"
    return Step(f"WITH w AS ({part} RETURNING id, v) {main}")


NCHECKED = 2
PREPARED: tuple[str, ...] = (
    "INSERT INTO {t} (s, id, v) VALUES ('p', $1, $2) ON CONFLICT (id) DO UPDATE"
    " SET v = ({t}.v + $2) % 100 RETURNING v, id",
    "INSERT INTO {t} (s, id, v) VALUES ('p', $1, $2) ON CONFLICT (id) DO UPDATE"
    " SET arr[1] = $2, js['a'] = excluded.v::text::jsonb, arr[2] = excluded.v RETURNING arr, js",
    "INSERT INTO {t} (id, v) VALUES ($1, $2), ($1, $2 + 1) ON CONFLICT DO NOTHING",
    "SELECT q.v, o.s, $2 FROM {t} q LEFT JOIN {o} o ON o.id = q.id WHERE q.id = $1",
    "UPDATE {t} SET v = (q.v + $2) % 100 FROM {o} q WHERE q.id = {t}.id AND q.id = $1",
    "SELECT q.v, o.v FROM {t} q, {o} o WHERE q.id = $1 AND o.id = $2 % 12",
    "UPDATE {t} SET arr[1] = $2, arr[2] = $2 + 1, comp.x = $2, comp.t = 'p' WHERE id = $1"
    " RETURNING id, arr, comp",
    "UPDATE {t} SET js['a'] = to_jsonb($2), dom[1] = $2, js['b'] = '1', dom[3] = 5 WHERE id = $1",
    "SELECT id, date '2024-01-01' + v, quote_literal('x'), ($2 / 3.0::float8)::text FROM {t}"
    " WHERE id = $1",
    "DELETE FROM {t} WHERE id = $1 AND v <> (SELECT count(*) + $2 FROM {o} o WHERE o.id = $1)",
)


def keyed_prepared(context: Context) -> list[Step]:
    """One plan for several keys."""
    dice = context.dice
    table = by_id(context)
    # the first ones are refused where policies check the new row, or where they are not routed
    texts = PREPARED if routes_parts(context, table) else PREPARED[NCHECKED:]
    sql: Sql = dice.pick(texts).format(t=table.name, o=by_id(context, table).name)
    name = context.name("p")
    steps = [Step(f"PREPARE {name} (int, int) AS {sql}", guarded=False)]
    for _ in range(dice.between(1, 7)):
        if dice.chance(0.2):
            steps.append(setting_step(context))
        steps.append(Step(f"EXECUTE {name} ({key(context)}, {dice.between(0, 99)})", guarded=False))
    return [*steps, Step(f"DEALLOCATE {name}", guarded=False)]
