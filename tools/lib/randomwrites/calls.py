"""Distributed functions and procedures, whose calls a node may execute as a whole."""

from lib.randomqueries.fragments import Many, Sql
from lib.randomwrites.context import Called, Context, Step
from lib.randomwrites.keyed import by_id, keyed_change, keyed_conflict, keyed_merge

DISTRIBUTE = (
    "DO $d$ BEGIN IF to_regnamespace('shuttle') IS NOT NULL"
    " AND to_regprocedure('{name}({types})') IS NOT NULL THEN"
    " PERFORM shuttle.distribute_function('{name}({types})', 'key1', '{table}'); END IF; END $d$"
)
OTHER_KEY = 0.15  # of the statements: their rows may be on another node


def one_key(context: Context) -> str:
    context.key = "key2" if context.dice.chance(OTHER_KEY) else "key1"
    return context.key


def write_part(context: Context) -> Sql:
    """A statement that writes, and what it tells of it."""
    dice = context.dice
    one_key(context)
    make = dice.weighted([(4, keyed_change), (3, keyed_conflict), (1, keyed_merge)])
    context.returns = False
    step = make(context, by_id(context))
    context.returns, context.key = True, ""
    tells = dice.pick(
        (
            "GET DIAGNOSTICS nrows = ROW_COUNT; total := total + nrows;",
            "IF FOUND THEN total := total + 10; END IF;",
            "NULL;",
        )
    )
    return (step.sql, "; ", tells)


def read_part(context: Context) -> Sql:
    dice = context.dice
    table, other, k = by_id(context), by_id(context), one_key(context)
    context.key = ""
    name = table.name
    return dice.pick(
        (
            f"SELECT v INTO nrows FROM {name} WHERE id = {k}; total := total + coalesce(nrows, 1);",
            f"total := total + (SELECT count(*) FROM {name} q JOIN {other.name} o ON o.id = q.id"
            f" WHERE q.id = {k});",
            f"FOR rec IN SELECT v, s FROM {name} WHERE id = {k} LOOP"
            " total := total + rec.v; RAISE NOTICE 'row % %', rec.v, rec.s; END LOOP;",
            "RAISE NOTICE 'so far %', total;",
            "IF total > 200 THEN RAISE EXCEPTION 'too much' USING ERRCODE = 'WR011'; END IF;",
        )
    )


def caught(context: Context, part: Sql) -> Sql:
    which = context.dice.pick(("OTHERS", "unique_violation OR check_violation", "WR011"))
    which = "SQLSTATE 'WR011'" if which == "WR011" else which
    return (
        "BEGIN ",
        part,
        f" EXCEPTION WHEN {which} THEN RAISE NOTICE 'caught %', SQLSTATE; total := total + 3; END;",
    )


def body(context: Context) -> Sql:
    parts: list[Sql] = []
    for _ in range(context.dice.between(1, 4)):
        part = write_part(context) if context.dice.chance(0.6) else read_part(context)
        parts.append(caught(context, part) if context.dice.chance(0.2) else part)
    return Many(tuple(parts), "\n    ", empty="NULL;")


def make_called(context: Context, number: int) -> list[Sql]:
    """A routine, and that it is distributed where there are nodes."""
    dice = context.dice
    name, first = f"c.q{number}", by_id(context).name
    kind = dice.weighted([(4, "scalar"), (2, "rows"), (2, "procedure"), (1, "sql")])
    declared = "DECLARE nrows bigint; rec record; total bigint := 0; BEGIN"
    head = f"CREATE FUNCTION {name}(key1 int, key2 int)"
    types = "int, int"
    if kind == "sql":
        columns = "RETURNS TABLE (i int, t text)"
        query = f"SELECT q.v, q.s FROM {first} q WHERE q.id = key1 ORDER BY q.v"
        made: Sql = f"{head} {columns} LANGUAGE sql AS $f$ {query} $f$"
    elif kind == "rows":
        query = f"SELECT q.v, q.s FROM {first} q WHERE q.id = key1"
        columns = "RETURNS TABLE (i int, t text) LANGUAGE plpgsql AS $f$"
        end = f"RETURN QUERY {query}; RETURN QUERY SELECT total::int, 'total'; END $f$"
        made = (f"{head} {columns} {declared}\n    ", body(context), f"\n    {end}")
    elif kind == "procedure":
        types += ", bigint"
        head = f"CREATE PROCEDURE {name}(key1 int, key2 int, INOUT total bigint)"
        declared = "DECLARE nrows bigint; rec record; BEGIN total := 0;"
        made = (f"{head} LANGUAGE plpgsql AS $f$ {declared}\n    ", body(context), "\n  END $f$")
    else:
        head += " RETURNS bigint LANGUAGE plpgsql AS $f$"
        made = (f"{head} {declared}\n    ", body(context), "\n    RETURN total;\n  END $f$")
    context.called.append(Called(name, kind))
    return [made, DISTRIBUTE.format(name=name, types=types, table=first)]


def call_step(context: Context) -> list[Step]:
    """A call as clients send it."""
    dice = context.dice
    if not context.called:
        return []
    called = dice.pick(context.called)
    key = str(context.old_id() if dice.chance(0.8) else context.fresh())
    arguments = f"{key}, {key if dice.chance(0.5) else context.old_id()}"
    if called.kind == "procedure":
        return [Step(f"CALL {called.name}({arguments}, NULL)", ordered=True)]
    if called.kind == "scalar" and dice.chance(0.5):
        return [Step(f"SELECT {called.name}({arguments})", ordered=True)]
    name = context.name("p")
    if dice.chance(0.25):
        sql = f"PREPARE {name} (int, int) AS SELECT * FROM {called.name}($1, $2)"
        keys = [f"{context.old_id()}, {context.old_id()}" for _ in range(dice.between(1, 6))]
        steps = [Step(f"EXECUTE {name} ({pair})", True, False) for pair in keys]
        return [Step(sql, guarded=False), *steps, Step(f"DEALLOCATE {name}", guarded=False)]
    return [Step(f"SELECT * FROM {called.name}({arguments})", ordered=True)]
