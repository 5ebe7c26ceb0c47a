"""What functions, triggers and DO blocks consist of.

{x} is an int expression. What commutes leaves the same behind, and returns the same,
in whatever order it is done for several rows.
"""

from collections.abc import Callable

from lib.randomqueries.fragments import Many, Sql
from lib.randomwrites.context import Context

DECLARED = "DECLARE nrows bigint := 0; word text; rec record; total bigint := 0; cur refcursor;"
CAUGHT = ("unique_violation", "integrity_constraint_violation", "OTHERS")
EVERY = ("a", "b", "c", "l", "h", "r", "x", "y")

Piece = Callable[[Context, str], Sql]


def log(context: Context, x: str) -> Sql:
    name = context.dice.pick(("log1", "log2"))
    return f"INSERT INTO {name} (id, v, s) VALUES ({x}, {context.dice.between(0, 9)}, 'log');"


def log_loop(context: Context, x: str) -> Sql:
    name = context.dice.pick(("log1", "log2"))
    return (
        f"FOR i IN 1..{context.dice.between(1, 4)} LOOP ",
        f"INSERT INTO {name} (id, v, s) VALUES ({x}, i, 'loop'); ",
        Many(("GET DIAGNOSTICS nrows = ROW_COUNT; total := total + nrows;",), " ", empty=""),
        Many((log(context, x),), " ", empty=""),
        " END LOOP;",
    )


def log_several(context: Context, x: str) -> Sql:
    name = context.dice.pick(("log1", "log2"))
    return (
        f"INSERT INTO {name} (id, v, s) SELECT {x}, i, 'several'"
        f" FROM generate_series(1, {context.dice.between(0, 5)}) i;"
        " GET DIAGNOSTICS nrows = ROW_COUNT; total := total + nrows + found::int;"
    )


def count_up(context: Context, x: str) -> Sql:
    name = context.dice.pick(("x", "y"))
    test = context.dice.pick((f"id = abs({x}) % 12 + 1", "id < 5", "id % 5 = 2"))
    return f"UPDATE {name} SET v = v + 1 WHERE {test};"


def say(context: Context, x: str) -> Sql:
    return f"RAISE NOTICE 'says %', {x};"


def log_read(context: Context, x: str) -> Sql:
    return (
        "FOR rec IN SELECT id FROM y WHERE id < 4 ORDER BY id LOOP",
        f" INSERT INTO log1 (id, v, s) VALUES ({x}, rec.id, 'read'); END LOOP;",
    )


def failing(context: Context, x: str) -> Sql:
    """A statement that fails."""
    return context.dice.pick(
        (
            "INSERT INTO x (id, v) VALUES (905, 1), (905, 2);",
            "INSERT INTO y (id, v) SELECT 904, 1 FROM generate_series(1, 2);",
            f"INSERT INTO y (id, v) VALUES (abs({x}) % 100 + 700, 1000);",
            "UPDATE x SET v = 5000 WHERE id = 2;",
            "UPDATE y SET s = NULL WHERE id = 5;",
            f"RAISE EXCEPTION 'raised' USING ERRCODE = 'WR00{context.dice.between(1, 9)}';",
            "total := total / (total - total);",
        )
    )


def block(context: Context, x: str, pieces: list[Sql], fails: bool) -> Sql:
    """A subtransaction."""
    inner: list[Sql] = [Many(tuple(pieces), " ", empty="NULL;")]
    if fails:
        inner.append(Many((failing(context, x),), " ", empty=""))
        if context.dice.chance(0.3):
            inner.append(Many((log(context, x),), " ", empty=""))
    what = context.dice.pick(CAUGHT) if context.dice.chance(0.12) else "OTHERS"
    handler = context.dice.pick(
        (
            "NULL;",
            "RAISE NOTICE 'caught %', SQLSTATE;",
            f"INSERT INTO log2 (id, v, s) VALUES ({x}, 0, SQLSTATE);",
            "GET STACKED DIAGNOSTICS word = CONSTRAINT_NAME; RAISE NOTICE 'caught %', word;",
            "RAISE;" if context.dice.chance(0.2) else "total := total + 1000;",
        )
    )
    return ("BEGIN ", *inner, f" EXCEPTION WHEN {what} THEN {handler} END;")


def random_block(context: Context, x: str) -> Sql:
    pieces = [piece_of(context, x, True) for _ in range(context.dice.between(0, 2))]
    if context.dice.chance(0.3):
        pieces.append(block(context, x, [log(context, x)], context.strict))
    return block(context, x, pieces, context.strict and context.dice.chance(0.7))


# These do not commute.
def read(context: Context, x: str) -> Sql:
    name = context.dice.pick(EVERY)
    what = context.dice.pick(("count(*)", "coalesce(sum(v), 0)", "count(*) FILTER (WHERE v > 50)"))
    test = context.dice.pick(("true", "id < 1000", f"id = {x}", "s <> 'x'"))
    return f"SELECT {what} INTO nrows FROM {name} WHERE {test}; total := total + nrows;"


def read_side(context: Context, x: str) -> Sql:
    name = context.dice.pick(("x", "y", "log1", "log2", "n", "i"))
    return f"total := total + (SELECT count(*) + coalesce(sum(v), 0) FROM {name});"


CHANGES = (
    "DELETE FROM {t} WHERE id = abs({x}) % 12 + 1 RETURNING v INTO nrows;",
    "UPDATE {t} SET v = (v + abs({x})) % 100 WHERE id = 3 RETURNING v INTO nrows;",
    "UPDATE {t} SET v = (v + 7) % 100 WHERE id < 8; GET DIAGNOSTICS nrows = ROW_COUNT;",
    "DELETE FROM {t} WHERE v < abs({x}) % 20; GET DIAGNOSTICS nrows = ROW_COUNT;",
    "INSERT INTO {t} (id, v) VALUES (abs({x}) % 40, 5) ON CONFLICT DO NOTHING;"
    " GET DIAGNOSTICS nrows = ROW_COUNT;",
    "EXECUTE 'UPDATE {t} SET v = v + 1 WHERE id > $1' USING abs({x}) % 12;"
    " GET DIAGNOSTICS nrows = ROW_COUNT;",
)
UPSERT = (
    "INSERT INTO {t} (id, v) VALUES (abs({x}) % 20, 5)"
    " ON CONFLICT (id) DO UPDATE SET v = ({t}.v + excluded.v) % 100 RETURNING v INTO nrows;"
)


def change(context: Context, x: str) -> Sql:
    texts = (*CHANGES, UPSERT) if context.upserts else CHANGES
    statement = context.dice.pick(texts).format(t=context.dice.pick(("x", "y")), x=x)
    return (statement, " total := total + coalesce(nrows, 0) + found::int;")


def serial(context: Context, x: str) -> Sql:
    name = context.dice.pick(("n", "i"))
    return f"INSERT INTO {name} (v, s) VALUES ({x} % 100, 'number') RETURNING id INTO nrows;" + (
        " total := total + nrows;"
    )


def loop_and_change(context: Context, x: str) -> Sql:
    name = context.dice.pick(("x", "y"))
    other = context.dice.pick(("x", "y"))
    return (
        f"FOR rec IN SELECT id, v FROM {name} WHERE id < 6 ORDER BY id LOOP ",
        f"UPDATE {other} SET v = (v + rec.v) % 100 WHERE id = rec.id + 1;",
        Many((" total := total + found::int;",), "", empty=""),
        Many((log(context, "rec.id"),), " ", empty=""),
        " END LOOP;",
    )


def loop_returned(context: Context, x: str) -> Sql:
    name = context.dice.pick(("x", "y"))
    return (
        f"FOR rec IN UPDATE {name} SET v = v + 1 WHERE id < 6 RETURNING id, v LOOP",
        " total := total + rec.v; END LOOP;",
    )


def cursor(context: Context, x: str) -> Sql:
    name = context.dice.pick(("x", "y", "log1", "h"))
    between = change(context, x) if context.dice.chance(0.6) else log(context, x)
    return (
        f"OPEN cur FOR SELECT id, v FROM {name} ORDER BY id, v, s; FETCH cur INTO rec;",
        " total := total + coalesce(rec.v, 0); ",
        Many((between,), " ", empty=""),
        " FETCH cur INTO rec; total := total + coalesce(rec.v, 0); CLOSE cur;",
    )


def call(context: Context, x: str) -> Sql:
    if not context.functions:
        return log(context, x)
    function = context.dice.pick(context.functions)
    return f"total := total + {function.name}({x});"


COMMUTING: tuple[tuple[float, Piece], ...] = (
    (3, log),
    (2, log_loop),
    (1.5, log_several),
    (2, count_up),
    (1, say),
    (1, log_read),
    (3, random_block),
)
ORDERED: tuple[tuple[float, Piece], ...] = (
    *COMMUTING,
    (4, read),
    (3, read_side),
    (4, change),
    (2, serial),
    (2, loop_and_change),
    (1.5, loop_returned),
    (1.5, cursor),
    (1, call),
)


def piece_of(context: Context, x: str, commutes: bool) -> Sql:
    return context.dice.weighted(COMMUTING if commutes else ORDERED)(context, x)


def pieces(context: Context, x: str, commutes: bool, most: int = 3) -> Many:
    found = [piece_of(context, x, commutes) for _ in range(context.dice.between(1, most))]
    return Many(tuple(found), "\n    ", empty="NULL;")
