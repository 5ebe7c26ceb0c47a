"""INSERT, COPY and MERGE statements."""

from lib.randomqueries.fragments import Many
from lib.randomwrites.context import OLD_IDS, Context, Facts, Step
from lib.randomwrites.parts import part_sets
from lib.randomwrites.tables import COLUMNS, MOST_V, PARENTS, VIEW_MOST_V, Table
from lib.randomwrites.values import condition, poison_of, row

NAMES = ", ".join(COLUMNS)


def returning(
    context: Context, table: Table, ordered: bool, share: float = 0.4, both: bool = False
) -> str:
    """both: OLD and NEW may be told apart."""
    dice = context.dice
    if not context.returns or not dice.chance(share):
        return ""
    if both and context.old_and_new and dice.chance(0.4):
        names = ", ".join(f"{row}.{column}" for row in ("old", "new") for column in COLUMNS)
        return dice.pick((f" RETURNING {names}", " RETURNING id, old.v, new.v + 1, new IS NULL"))
    # rows that functions read here are all those of the statement, and not those so far
    function = dice.pick([f for f in context.functions if f.commutes] or [None])
    call = f", {function.name}({table.name}.id)" if function and dice.chance(0.3) else ""
    extra = ", twice" if table.generated else ""
    return dice.pick((f" RETURNING {NAMES}{extra}", " RETURNING id, v + 1", f" RETURNING id{call}"))


def rows_sql(rows: list[list[str]]) -> Many:
    return Many(tuple(f"({', '.join(values)})" for values in rows), ", ")


def values_rows(context: Context, table: Table, nrows: int) -> Many:
    first = context.fresh()
    poison = poison_of(context, table)
    at = context.dice.between(0, nrows - 1)
    return rows_sql(
        [row(context, str(first + i), poison if i == at else None, True) for i in range(nrows)]
    )


def insert_values(context: Context, table: Table) -> Step:
    rows = values_rows(context, table, context.dice.weighted([(3, 1), (2, 3), (1, 12)]))
    tail = returning(context, table, True)
    return Step(
        (f"INSERT INTO {table.name} ({NAMES}) VALUES ", rows, tail), ordered=table.returns_in_order
    )


def series_values(context: Context, first: int, poison: str | None) -> list[str]:
    values = row(context, f"{first} + i", None, True)
    if poison == "check":
        values[2] = f"CASE i WHEN 2 THEN {MOST_V} ELSE i END"
    elif poison == "null":
        values[3] = "CASE WHEN i <> 2 THEN 'x' END"
    elif poison == "unique":
        values[0] = f"CASE i WHEN 2 THEN {context.old_id()} ELSE {first} + i END"
        values[1] = "NULL"
    elif poison == "unique k":
        values[1] = f"CASE i WHEN 2 THEN {context.old_id() * 10} ELSE ({first} + i) * 10 END"
    elif poison == "parent":
        values[4] = f"CASE i WHEN 2 THEN 77 ELSE i % {PARENTS} + 1 END"
    elif poison == "raise":
        values[3] = "CASE i WHEN 2 THEN 'raise' ELSE 'x' END"
    return values


def insert_series(context: Context, table: Table) -> Step:
    first = context.fresh()
    values = series_values(context, first, poison_of(context, table))
    most = context.dice.pick((1, 2, 5, 40))
    tail = returning(context, table, True)
    head = f"INSERT INTO {table.name} ({NAMES}) SELECT {', '.join(values)}"
    return Step((head, f" FROM generate_series(1, {most}) i", tail), ordered=table.returns_in_order)


def insert_select(context: Context, table: Table) -> Step:
    """Of rows of another table, or of the same one."""
    dice = context.dice
    source = table if dice.chance(0.2) and may_read_itself(context, table) else context.table(table)
    first = context.fresh()
    v = context.call("q.id", True, "q.v", 0.2)
    joined = other_join(context, table, source) if dice.chance(0.35) else ("", "q.s")
    columns = f"q.id + {first}, (q.id + {first}) * 10, {v}, {joined[1]}, q.p"
    conditions = Many((condition(context, "q"),), " AND ", prefix=" AND ", empty="")
    return Step(
        (
            f"INSERT INTO {table.name} ({NAMES}) SELECT {columns} FROM {source.name} q",
            joined[0],
            " WHERE q.id < 40",
            conditions,
            " ORDER BY q.id",
            returning(context, table, True),
        ),
        ordered=True,
    )


def may_read_itself(context: Context, table: Table) -> bool:
    """Row by row a statement would see its own rows."""
    return context.buffers and not table.is_guest


def other_join(context: Context, table: Table, source: Table) -> tuple[str, str]:
    other = context.table(table, source)
    kind = context.dice.pick(("JOIN", "LEFT JOIN"))
    return f" {kind} {other.name} o ON o.id = q.id", "coalesce(o.s, 'x')"


def conflict_values(name: str, other: str) -> tuple[str, ...]:
    """What DO UPDATE may set in a table; other: a table that it may read."""
    return (
        f"v = ({name}.v + excluded.v) % 100",
        f"s = excluded.s, v = {name}.v + 1",
        "p = excluded.p",
        "s = concat(excluded.s, '-', excluded.id)",
        f"s = format('%s', excluded.v) || {name}.s, v = excluded.v",
        f"s = concat({name}.s, excluded.v, '-', {name}.id)",
        f"v = (SELECT count(*) % 50 FROM {other})",
        f"s = concat({name}.v), v = (SELECT max(v) FROM {other})",
        f"v = (SELECT max(o.v) FROM {other} AS o WHERE o.id = {name}.id)",
        f"v = (SELECT count(*) FROM {name} AS o WHERE o.v < excluded.v) % 50",
        f"(v, s) = (SELECT max(o.v), min(o.s) FROM {other} AS o WHERE o.id = excluded.id)",
        f"v = 3 + ({name}.v IN (SELECT o.v FROM {other} AS o))::int",
    )


def insert_conflict(context: Context, table: Table) -> Step:
    """Rows of which some are there."""
    if table.loose:
        return insert_values(context, table)
    dice = context.dice
    first = context.fresh()
    ids = [str(i) for i in dice.sample(OLD_IDS, dice.between(1, 3))]
    ids += [str(first + i) for i in range(dice.between(0, 2))]
    if dice.chance(0.1):
        ids.append(ids[0])
    rows = rows_sql([row(context, i, None, True) for i in dice.sample(ids, len(ids))])
    action = "DO NOTHING"
    other = context.table(table).name
    if table.updates_conflicts:
        if dice.chance(0.6):
            sets = dice.pick(conflict_values(table.name, other))
            if dice.chance(0.3):
                sets = ", ".join(part_sets(context, "excluded.v", f"{table.name}.v"))
            test = f" WHERE {table.name}.v < 60" if dice.chance(0.3) else ""
            action = f"(id) DO UPDATE SET {sets}{test}"
        elif dice.chance(0.5):
            action = "(id) DO NOTHING"
    tail = returning(context, table, True)
    sql = (f"INSERT INTO {table.name} ({NAMES}) VALUES ", rows, f" ON CONFLICT {action}", tail)
    return Step(sql, ordered=table.keeps_order)


def insert_serial(context: Context, _table: Table) -> Step:
    """Numbers of a sequence."""
    most = context.dice.pick((1, 3, 8))
    source = f"SELECT i, 'serial' FROM generate_series(1, {most}) i"
    name = context.dice.pick(("n", "i"))
    return Step(
        f"INSERT INTO {name} (v, s) {source}" + context.returning("id, v", 0.8), ordered=True
    )


def insert_view(context: Context, table: Table) -> Step:
    """Through a view, whose rows have a v below its limit."""
    name = context.dice.pick(("va", "vh"))
    first = context.fresh()
    wrong = context.poison(["check option"], 0.25) is not None
    rows = [
        [str(first + i), "NULL", str(VIEW_MOST_V + 1 if wrong and i == 1 else i), "'x'", "NULL"]
        for i in range(context.dice.between(1, 3))
    ]
    tail = context.returning("id, v")
    return Step((f"INSERT INTO {name} ({NAMES}) VALUES ", rows_sql(rows), tail), ordered=True)


def copy(context: Context, table: Table) -> Step:
    first = context.fresh()
    poison = poison_of(context, table)
    lines = []
    nrows = context.dice.pick((0, 1, 3, 20))
    at = context.dice.between(0, max(nrows - 1, 0))
    for i in range(nrows):
        values = row(context, str(first + i), None, False)
        plain = [values[0], str((first + i) * 10), str(i), values[3].strip("'"), values[4]]
        if i == at and poison == "check":
            plain[2] = str(MOST_V)
        elif i == at and poison == "null":
            plain[3] = "NULL"
        elif i == at and poison == "parent":
            plain[4] = "77"
        elif i == at and poison == "raise":
            plain[3] = "raise"
        elif i == at and poison == "unique":
            plain[0] = str(context.old_id())
        lines.append("\t".join("\\N" if value == "NULL" else value for value in plain))
    # core sorts rows by partition, as far as it likes
    ordered = not table.partition_by
    return Step(f"COPY {table.name} ({NAMES}) FROM STDIN", ordered, rows=tuple(lines))


def merge(context: Context, table: Table) -> Step:
    """Into the table of here or one with partitions; with triggers it is refused there."""
    tables = [table for table in context.main if not table.is_local]
    names = [table.name for table in tables] if context.tablets else "hr"
    plain = [name for name in names if not context.facts.get(name, Facts()).events]
    target = context.dice.pick(["l", *plain])
    source = context.dice.pick(("a", "c", "h", "r"))
    first = context.fresh()
    parts = f"UPDATE SET {', '.join(part_sets(context, 'q.v', 't.v'))}"
    matched = context.dice.pick(("DELETE", "UPDATE SET v = (t.v + q.v) % 100", "DO NOTHING", parts))
    return Step(
        (
            f"MERGE INTO {target} t USING (SELECT * FROM {source} WHERE id < 40) q ON t.id = q.id",
            f" WHEN MATCHED AND q.v > 50 THEN {matched}",
            " WHEN MATCHED THEN UPDATE SET s = 'merged'",
            f" WHEN NOT MATCHED THEN INSERT ({NAMES})",
            f" VALUES (q.id + {first}, NULL, q.v, 'm', NULL)",
        ),
    )
