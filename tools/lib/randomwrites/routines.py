"""The functions and triggers of a case."""

from dataclasses import dataclass

from lib.randomqueries.fragments import Many, Sql
from lib.randomwrites.bodies import DECLARED, log, piece_of, pieces
from lib.randomwrites.calls import make_called
from lib.randomwrites.context import Context, Function
from lib.randomwrites.tables import BY_NAME, SIDE, Table

EVENTS = ("INSERT", "UPDATE", "DELETE")
READERS = ("a", "b", "c", "h", "r", "l")  # which no function writes


def make_function(context: Context, number: int) -> Sql:
    kind = context.dice.weighted([(5, "commutes"), (4, "ordered"), (2, "stable"), (1.5, "sql")])
    name = f"c.f{number}"
    function = Function(name, kind in ("commutes", "sql"), kind == "stable")
    if kind == "stable":
        sql = stable_function(context, name)
    elif kind == "sql":
        sql = sql_function(context, name)
    else:
        body = pieces(context, "arg", function.commutes)
        sql = (
            f"CREATE FUNCTION {name}(arg int) RETURNS int LANGUAGE plpgsql AS $f$\n  {DECLARED}\n"
            "  BEGIN\n    ",
            body,
            "\n    RETURN total % 100;\n  END $f$",
        )
    context.functions.append(function)
    return sql


def stable_function(context: Context, name: str) -> Sql:
    table = context.dice.pick(READERS)
    what = context.dice.pick(("count(*)", "sum(v)", f"max(v) FILTER (WHERE id < {BLOCK_END})"))
    test = context.dice.pick(("true", "id = arg", "id < arg", "v > 50"))
    query = f"SELECT coalesce({what}, 0) % 100 FROM {table} WHERE {test}"
    if context.dice.chance(0.5):
        return f"CREATE FUNCTION {name}(arg int) RETURNS int STABLE LANGUAGE sql AS $f$ {query} $f$"
    return (
        f"CREATE FUNCTION {name}(arg int) RETURNS int STABLE LANGUAGE plpgsql AS"
        f" $f$ BEGIN RETURN ({query}); END $f$"
    )


BLOCK_END = 1010


def sql_function(context: Context, name: str) -> Sql:
    statements: list[Sql] = [log(context, "arg") for _ in range(context.dice.between(1, 2))]
    if context.dice.chance(0.5):
        statements.append("UPDATE y SET v = v + 1 WHERE id = abs(arg) % 12 + 1;")
    return (
        f"CREATE FUNCTION {name}(arg int) RETURNS int LANGUAGE sql AS $f$ ",
        Many(tuple(statements), " ", empty=""),
        " SELECT abs(arg) % 100 $f$",
    )


def make_trigger(context: Context, number: int) -> list[Sql]:
    """Its function and itself."""
    dice = context.dice
    side = dice.chance(0.25) and not context.upserts
    table = (
        dice.pick(SIDE[:2]) if side else dice.pick([one for one in context.main if not one.loose])
    )
    level = dice.weighted([(4, "ROW"), (2, "STATEMENT")])
    timing = dice.pick(("BEFORE", "AFTER"))
    events = dice.sample(EVENTS, dice.between(1, 3))
    facts = context.of(table)
    for event in events:
        facts.events.add((timing, level, event))
    if table.is_local and dice.chance(0.5):
        return local_trigger(context, table, number)
    body = row_body(context, table, timing) if level == "ROW" else statement_body(context, table)
    made = Trigger(table.name, f"{timing} {' OR '.join(events)}", level)
    return trigger(number, made, body)


@dataclass(frozen=True)
class Trigger:
    """event: BEFORE INSERT and the like; more: what follows its table."""

    table: str
    event: str
    level: str
    more: str = ""


def trigger(number: int, made: Trigger, body: Sql) -> list[Sql]:
    """A trigger and its function."""
    name = f"t{number}"
    function: Sql = (
        f"CREATE FUNCTION c.{name}() RETURNS trigger LANGUAGE plpgsql AS $f$\n  {DECLARED}"
        " arg int := 0;\n  BEGIN\n    ",
        body,
        "\n  END $f$",
    )
    kind = "CONSTRAINT TRIGGER" if "DEFERRABLE" in made.more else "TRIGGER"
    return [
        function,
        f"CREATE {kind} {name} {made.event} ON {made.table} {made.more}FOR EACH {made.level}"
        f" EXECUTE FUNCTION c.{name}()",
    ]


TOLD = (
    "RAISE NOTICE '% % % %', TG_WHEN, TG_LEVEL, TG_OP,"
    " CASE TG_OP WHEN 'DELETE' THEN row(old.id, old.v, old.s)::text"
    " WHEN 'UPDATE' THEN row(old.v, new.id, new.v, new.k, new.s)::text"
    " ELSE row(new.id, new.v, new.s)::text END;"
)
MARKED = (
    "IF TG_OP <> 'DELETE' THEN IF new.s = 'null' THEN RETURN NULL;"
    " ELSIF new.s = 'change' THEN new.v := (new.v + 1) % 100; new.s := 'changed'; END IF;"
    " ELSIF old.s = 'null' THEN RETURN NULL; END IF;"
)
RAISES = (
    "IF TG_OP <> 'DELETE' THEN IF new.s = 'raise' THEN"
    " RAISE EXCEPTION 'no' USING ERRCODE = 'WR010'; END IF; END IF;"
)
ROW = "arg := CASE WHEN TG_OP = 'DELETE' THEN old.id ELSE new.id END; "
RETURNS = " IF TG_OP = 'DELETE' THEN RETURN old; END IF; RETURN new;"


def row_body(context: Context, table: Table, timing: str) -> Sql:
    dice = context.dice
    facts = context.of(table)
    commutes = dice.chance(0.7)
    parts: list[Sql] = []
    if dice.chance(0.4):
        parts.append(TOLD)
    if dice.chance(0.25):
        parts.append(RAISES)
        facts.raises = True
    if timing == "BEFORE" and dice.chance(0.4):
        parts.append(MARKED)
    if dice.chance(0.75) or not parts:
        if commutes and dice.chance(0.8):
            parts += [side_piece(context, table, True) for _ in range(dice.between(1, 2))]
        elif timing == "AFTER" and table in context.main:
            parts.append(after_read(context, table))
        else:
            if dice.chance(0.5):
                parts.append(own_read(context, table))
            parts += [side_piece(context, table, False) for _ in range(dice.between(0, 2))]
            facts.one_row = True
            if timing == "BEFORE" and dice.chance(0.7):
                parts.append("IF TG_OP <> 'DELETE' THEN new.v := (new.v + total) % 100; END IF;")
    return (ROW, Many(tuple(parts), "\n    ", empty=""), RETURNS)


def side_piece(context: Context, table: Table, commutes: bool) -> Sql:
    """Triggers of side tables write what has no triggers."""
    return piece_of(context, "arg", commutes) if table in context.main else log(context, "arg")


def own_read(context: Context, table: Table) -> Sql:
    """Rows of a statement are there that were written before this one."""
    what = context.dice.pick(("count(*)", "coalesce(sum(v), 0)", "coalesce(max(id), 0)"))
    return f"SELECT {what} INTO nrows FROM {table.name}; total := total + nrows;"


def after_read(context: Context, table: Table) -> Sql:
    """All rows of the statement are there by then."""
    return (
        f"SELECT count(*) + coalesce(sum(v), 0) INTO nrows FROM {table.name};"
        " RAISE NOTICE 'after it: %', nrows;"
    )


def statement_body(context: Context, table: Table) -> Sql:
    dice = context.dice
    parts: list[Sql] = ["RAISE NOTICE '% % %', TG_WHEN, TG_LEVEL, TG_OP;"]
    if dice.chance(0.5):
        context.of(table).reads = True
        parts.append(
            f"SELECT count(*) + coalesce(sum(v), 0) INTO nrows FROM {table.name};"
            " RAISE NOTICE 'rows: %', nrows;"
        )
    if dice.chance(0.6):
        parts.append(side_piece(context, table, True))
    return (Many(tuple(parts), "\n    ", empty=""), "\n    RETURN NULL;")


def local_trigger(context: Context, table: Table, number: int) -> list[Sql]:
    """What only tables of here can have: transition tables, and triggers at the commit."""
    facts = context.of(table)
    if context.dice.chance(0.4):
        facts.events.add(("AFTER", "ROW", "INSERT"))
        # an assertion of PostgreSQL's fails where a block catches an error at the commit
        strict, context.strict = context.strict, False
        body: Sql = (ROW, side_piece(context, table, True), " RETURN NULL;")
        context.strict = strict
        more = "DEFERRABLE INITIALLY DEFERRED "
        made = Trigger(table.name, "AFTER INSERT OR UPDATE", "ROW", more)
        return trigger(number, made, body)
    event = context.dice.pick(("INSERT", "UPDATE", "DELETE"))
    facts.events.add(("AFTER", "STATEMENT", event))
    rows = "OLD" if event == "DELETE" else "NEW"
    body = (
        Many(
            (
                "INSERT INTO log1 (id, v, s) SELECT id, v, s FROM moved;",
                "UPDATE y SET v = y.v + 1 FROM moved WHERE moved.id = y.id;",
                "DELETE FROM x USING moved WHERE moved.id = x.id AND x.v > 60;",
            ),
            " ",
            empty="",
        ),
        " RETURN NULL;",
    )
    more = f"REFERENCING {rows} TABLE AS moved "
    return trigger(number, Trigger(table.name, f"AFTER {event}", "STATEMENT", more), body)


def make_routines(context: Context) -> list[Sql]:
    """Statements that make the functions and triggers of a case."""
    dice = context.dice
    found = [make_function(context, i) for i in range(dice.between(0, 3))]
    ntriggers = dice.weighted([(4, 0), (3, 1), (3, 2), (1, 4)])
    # a trigger that fails, and a policy that refuses: it is open which of them comes first
    for i in range(0 if context.guarded else ntriggers):
        found += make_trigger(context, i)
    if context.tablets:
        for i in range(dice.weighted([(5, 0), (3, 1), (2, 2)])):
            found += make_called(context, i)
    assert all(name in BY_NAME for name in context.facts)
    return found
