"""DO blocks: PL/pgSQL around statements that write."""

from lib.randomqueries.fragments import Many, Sql
from lib.randomwrites.bodies import DECLARED, block, piece_of
from lib.randomwrites.context import Context, Step
from lib.randomwrites.inserts import NAMES
from lib.randomwrites.makers import INSIDE, KEYED
from lib.randomwrites.values import condition

PROCEDURES = 0.3  # of the blocks


def inside(context: Context) -> Sql:
    """A statement as PL/pgSQL has it, and what it tells of it."""
    context.returns = False
    table = context.target()
    context.begin(table)
    keyed = context.tablets and context.dice.chance(0.4)
    step = context.dice.weighted(KEYED if keyed else INSIDE)(context, table)
    context.returns = True
    tells = context.dice.pick(
        (
            "GET DIAGNOSTICS nrows = ROW_COUNT; total := total + nrows;",
            "total := total + found::int;",
            "NULL;",
        )
    )
    return (step.sql, "; ", tells)


def returned_loop(context: Context) -> Sql:
    """A statement whose rows a loop gets."""
    table = context.table()
    test = f" WHERE {condition(context, table.name)}"
    one = context.of(table).one_row
    head = f"INSERT INTO {table.name} ({NAMES}) SELECT {context.fresh()} + i, NULL, i, 'l', NULL"
    sql = f"{head} FROM generate_series(1, 4) i"
    if not one and context.dice.chance(0.5):
        sql = f"UPDATE {table.name} SET v = ({table.name}.v + 1) % 100{test}"
    return (
        f"FOR rec IN {sql} RETURNING id, v LOOP total := total + rec.v;",
        Many((" INSERT INTO log1 (id, v, s) VALUES (1, 1, 'returned');",), "", empty=""),
        " END LOOP;",
    )


def ended_loop(context: Context) -> Sql:
    """A loop whose transaction ends with each row."""
    table = context.table()
    end = context.dice.pick(("COMMIT;", "ROLLBACK;", "IF rec.id % 2 = 0 THEN COMMIT; END IF;"))
    return (
        f"FOR rec IN SELECT id, v FROM {table.name} WHERE id < 6 ORDER BY id LOOP ",
        Many((piece_of(context, "rec.id", False), inside(context)), " ", empty=""),
        f" {end} END LOOP;",
    )


def part_of_block(context: Context) -> Sql:
    dice = context.dice
    kind = dice.weighted([(4, "piece"), (5, "inside"), (1, "loop"), (2, "block")])
    if context.autocommit and dice.chance(0.25):
        return dice.pick(("COMMIT;", "ROLLBACK;")) if dice.chance(0.7) else ended_loop(context)
    if kind == "piece":
        return piece_of(context, str(dice.between(0, 30)), False)
    if kind == "loop":
        return returned_loop(context)
    if kind == "block":
        parts = [inside(context) for _ in range(dice.between(1, 2))]
        return block(context, "7", parts, context.strict and dice.chance(0.6))
    return inside(context)


def procedure(context: Context, body: Sql) -> list[Step]:
    """The same, by CALL."""
    name = context.name("c.p")
    head = f"CREATE PROCEDURE {name}(INOUT result bigint) LANGUAGE plpgsql AS $d$ {DECLARED}"
    sql = (f"{head}\nBEGIN\n  ", body, "\n  result := total;\nEND $d$")
    return [Step(sql, guarded=False), Step(f"CALL {name}(0)")]


def do_block(context: Context) -> list[Step]:
    """A DO block; what may fail without being caught is its last statement."""
    context.may_poison = False
    parts = [part_of_block(context) for _ in range(context.dice.between(1, 4))]
    context.may_poison = True
    if context.dice.chance(0.4):
        context.keen = 0.5
        parts.append(inside(context))
        context.keen = 0.0
        if context.dice.chance(0.5):
            # which must not catch what was sent before it
            parts.append(block(context, "8", [piece_of(context, "8", True)], False))
    body = Many(tuple(parts), "\n  ", empty="NULL;")
    if context.dice.chance(PROCEDURES):
        return procedure(context, body)
    sql = (f"DO $d$ {DECLARED}\nBEGIN\n  ", body, "\n  RAISE NOTICE 'total %', total;\nEND $d$")
    return [Step(sql)]
