"""How a query is run over foreign tables: as it is, prepared, or by cursors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Argument, Place, Side, arguments
from lib.randomqueries.query import Query
from lib.randomqueries.session import Row
from lib.randomqueries.texts import set_sql
from lib.randomqueries.writes import SHARE as WRITES_SHARE
from lib.randomqueries.writes import random_writes, written

# What may happen in a transaction before a query: {s} is a schema of foreign tables.
FAILING = (
    "SELECT * FROM {s}.middle WHERE 1 / (m - m) > 0",
    "SELECT * FROM {s}.few a JOIN {s}.middle b ON b.k = a.k AND 1 / (b.m - b.m) > a.m",
    "SELECT id, (SELECT 1 / (b.id - b.id) FROM {s}.many b WHERE b.id = a.id) FROM {s}.some a",
)
HALF_READ = (
    "SELECT a.id, b.id FROM local.many a JOIN {s}.most b ON b.k = a.k",
    "SELECT * FROM {s}.most",
    "SELECT a.id, b.n FROM {s}.middle a LEFT JOIN {s}.by_hash b ON b.k = a.m",
)
TROUBLE_SHARE = 0.12
HALF_CURSOR = "DECLARE half CURSOR"
TROUBLES = ("failed", "half read", "rolled back")


@dataclass(frozen=True)
class Step:
    """A statement, and which answer its rows belong to; None: to no one."""

    sql: str
    answer: int | None = None
    fails: bool = False  # on purpose


@dataclass(frozen=True)
class Way:
    """name: plain, prepared, cursor, scroll, hold, loop or two; details: how exactly."""

    name: str
    executions: int = 1  # of a prepared statement
    fetches: tuple[tuple[str, int], ...] = ()  # of a cursor: direction and number
    before: tuple[str, ...] = ()  # what happened in the transaction; see TROUBLES
    writes: tuple[str, ...] = ()  # in the transaction, see writes.py
    most: int = 0  # rows of a loop; 0: all
    session: tuple[tuple[str, str], ...] = ()  # settings of both sides
    later: tuple[tuple[str, str], ...] = ()  # set before the last execution


LOCAL_SCHEMA = "local"


def schema_of(place: Place, transport: str) -> str:
    if not place.foreign:
        return LOCAL_SCHEMA
    if transport == "both":
        return ("guest", "engine")[place.number % 2]
    return transport


def local_side(values: int) -> Side:
    """All tables are local, and arguments are written as their values."""
    return Side(
        lambda _: LOCAL_SCHEMA,
        lambda argument: argument.values[values % len(argument.values)],
    )


def literal_side(transport: str) -> Side:
    return Side(
        lambda place: schema_of(place, transport),
        lambda argument: argument.values[0],
    )


def random_company(dice: Dice, way: Way, transport: str) -> Way:
    """What else is done in the transaction of a query."""
    if transport != "both" and way.name != "hold" and dice.chance(WRITES_SHARE):
        way = replace(way, writes=random_writes(dice))
    return random_trouble(dice, way)


def random_trouble(dice: Dice, way: Way) -> Way:
    """Now and then something else happens in the transaction first."""
    if not dice.chance(TROUBLE_SHARE):
        return way
    kind = dice.pick(TROUBLES)
    statement = dice.pick(FAILING if kind == "failed" else HALF_READ)
    return replace(way, before=(kind, statement))


def trouble_steps(way: Way, transport: str) -> list[Step]:
    if not way.before:
        return []
    kind, statement = way.before
    sql = statement.format(s="guest" if transport == "both" else transport)
    if kind == "failed":
        return [
            Step("SAVEPOINT trouble"),
            Step(sql, fails=True),
            Step("ROLLBACK TO trouble"),
        ]
    half_read = [Step(f"{HALF_CURSOR} FOR {sql}"), Step("FETCH 2 FROM half")]
    if kind == "half read":
        return half_read
    return [Step("SAVEPOINT trouble"), *half_read, Step("ROLLBACK TO trouble")]


def random_way(dice: Dice, query: Query) -> Way:
    if arguments(query.sql):
        return Way("prepared", executions=dice.between(1, 7))
    if query.runs_plain:
        return Way("plain")
    name = dice.weighted([(15, "plain"), (4, "cursor"), (1, "hold"), (1.5, "loop")])
    if name == "loop":
        return Way(name, most=dice.pick((1, 3, 10)) if query.ordered and dice.chance(0.6) else 0)
    if name == "cursor" and query.ordered and dice.chance(0.5):
        return Way("scroll", fetches=tuple(random_moves(dice)))
    if name in ("cursor", "hold"):
        counts = [dice.pick((1, 1, 2, 3, 10, 100)) for _ in range(dice.between(1, 5))]
        return Way(name, fetches=tuple(("FORWARD", count) for count in counts))
    return Way(name)


def random_moves(dice: Dice) -> list[tuple[str, int]]:
    words = ("FORWARD", "FORWARD", "BACKWARD", "ABSOLUTE")
    return [(dice.pick(words), dice.pick((1, 2, 5, 30))) for _ in range(dice.between(2, 8))]


def company_steps(way: Way, transport: str) -> list[Step]:
    """What comes before the queries in their transaction."""
    writes = [Step(sql) for sql in written(way.writes, (LOCAL_SCHEMA, transport))]
    return trouble_steps(way, transport) + writes


def query_steps(queries: Sequence[Query], way: Way, transport: str) -> list[Step]:
    """The statements that run queries over foreign tables."""
    if way.name == "prepared":
        return prepared_steps(queries[0], way, transport)
    texts = [literal_side(transport).write(query.sql) for query in queries]
    if way.name == "two":
        return two_cursor_steps(texts, way)
    if way.name == "hold":
        return hold_steps(texts[0], way)
    if way.name == "loop":
        return [Step(loop_sql(texts[0], way), 0)]
    if way.name in ("cursor", "scroll"):
        word = "SCROLL" if way.name == "scroll" else "NO SCROLL"
        steps = [Step(f"DECLARE one {word} CURSOR FOR {texts[0]}")]
        steps += [Step(f"FETCH {word} {n} FROM one", 0) for word, n in way.fetches]
        if way.name == "cursor":
            steps.append(Step("FETCH ALL FROM one", 0))
        return [*steps, Step("CLOSE one")]
    return [Step(texts[0], 0)]


def hold_steps(text: str, way: Way) -> list[Step]:
    """A cursor that is read to its end behind its transaction."""
    steps = [Step(f"DECLARE one NO SCROLL CURSOR WITH HOLD FOR {text}")]
    steps += [Step(f"FETCH {word} {n} FROM one", 0) for word, n in way.fetches]
    return [*steps, Step("COMMIT"), Step("FETCH ALL FROM one", 0), Step("CLOSE one"), Step("BEGIN")]


def loop_sql(text: str, way: Way) -> str:
    """A loop of a function over the rows, with a subtransaction for each."""
    return f"SELECT * FROM own.loop($loop${text}$loop$, {way.most})"


def prepared_steps(query: Query, way: Way, transport: str) -> list[Step]:
    used = sorted(arguments(query.sql), key=lambda argument: argument.number)
    renumbered = {argument.number: i + 1 for i, argument in enumerate(used)}
    side = Side(
        lambda place: schema_of(place, transport),
        lambda argument: f"${renumbered[argument.number]}",
    )
    types = f" ({', '.join(argument.type for argument in used)})" if used else ""
    steps = [Step(f"PREPARE one{types} AS {side.write(query.sql)}")]
    for i in range(way.executions):
        if i == way.executions - 1:
            steps += [Step(set_sql(*setting)) for setting in way.later]
        steps.append(Step(f"EXECUTE one{argument_list(used, i)}", i))
    return [*steps, Step("DEALLOCATE one")]


def argument_list(used: Sequence[Argument], execution: int) -> str:
    if not used:
        return ""
    values = [argument.values[execution % len(argument.values)] for argument in used]
    return f" ({', '.join(values)})"


def two_cursor_steps(texts: Sequence[str], way: Way) -> list[Step]:
    """Two cursors that are read in turn."""
    cursors = ("one", "two")
    steps = [
        Step(f"DECLARE {name} NO SCROLL CURSOR FOR {text}")
        for name, text in zip(cursors, texts, strict=True)
    ]
    for _, count in way.fetches:
        steps += [Step(f"FETCH {count} FROM {name}", i) for i, name in enumerate(cursors)]
    steps += [Step(f"FETCH ALL FROM {name}", i) for i, name in enumerate(cursors)]
    return [*steps, *(Step(f"CLOSE {name}") for name in cursors)]


def local_texts(queries: Sequence[Query], way: Way) -> list[str]:
    """The queries whose answers are the expected ones, one for each answer."""
    if way.name == "prepared":
        return [local_side(i).write(queries[0].sql) for i in range(way.executions)]
    texts = [local_side(0).write(query.sql) for query in queries]
    return [loop_sql(text, way) for text in texts] if way.name == "loop" else texts


def fetched(rows: list[Row], way: Way) -> list[Row]:
    """What a way fetches of an answer, one fetch after the other."""
    if way.name != "scroll":
        return rows
    found: list[Row] = []
    at = 0  # 0: before the first row, then the number of a row, then behind the last one
    last = len(rows) + 1
    for word, count in way.fetches:
        if word == "ABSOLUTE":
            at = min(count, last)
            found += rows[at - 1 : at]
            continue
        step = 1 if word == "FORWARD" else -1
        for _ in range(count):
            at = min(max(at + step, 0), last)
            if not 0 < at < last:
                break
            found.append(rows[at - 1])
    return found
