"""The joins that the planner has to choose for: their queries, delays and rivals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql

from pgshuttle import choice_tables as tables

ALL_RTTS_US = (0, 800, 10_000, 90_000)
# where each way takes seconds without any delay
FEW_RTTS_US = (0, 90_000)
# where waiting for three ways to be stopped takes minutes
GUEST_RTTS_US = (0, 10_000)


class Way(StrEnum):
    """How a query is joined."""

    CHOSEN = "chosen"
    HASH = "hash join"
    MERGE = "merge join"
    NESTED_LOOP = "nested loop"
    BATCHED = "batched join"


FORCED = (Way.BATCHED, Way.HASH, Way.MERGE, Way.NESTED_LOOP)


class Transport(StrEnum):
    """Whose servers the foreign tables are on."""

    ENGINE = "engine"
    GUEST = "guest"


# joined locally, so that the wire carries what the join needs
PLAIN = "SELECT count(*), sum(o.x), sum(i.x) FROM {} o JOIN {} i ON {}"


@dataclass(frozen=True)
class Shape:
    """One join. In its text, h100 is the table of 100 rows here, a100 and b100 those on the nodes.

    label: what a reader of the figure sees.
    """

    label: str
    text: str
    transport: Transport = Transport.ENGINE
    rtts_us: tuple[int, ...] = ALL_RTTS_US


@dataclass(frozen=True)
class Case:
    """One join under one delay."""

    shape: Shape
    rtt_us: int

    @property
    def query(self) -> sql.Composed:
        """The query itself."""
        return write_query(self.shape)


def join(outer: str, inner: str, condition: str) -> str:
    """Writes an inner join of two tables, o and i."""
    return PLAIN.format(f"{{{outer}}}", f"{{{inner}}}", condition)


def write_query(shape: Shape) -> sql.Composed:
    """Puts the names of tables into a shape's text."""
    schema = tables.ENGINE if shape.transport is Transport.ENGINE else tables.GUEST
    names: dict[str, sql.Composable] = {"parts": sql.Identifier(schema, tables.PARTITIONED)}
    for nrows in tables.SIZES:
        name = tables.name_table(nrows)
        names[f"h{nrows}"] = sql.Identifier(tables.HERE, name)
        names[f"a{nrows}"] = sql.Identifier(schema, f"{name}_1")
        names[f"b{nrows}"] = sql.Identifier(schema, f"{name}_2")
    return sql.SQL(shape.text).format(**names)


def write_size(nrows: int) -> str:
    """Writes a number of rows so that it can be taken in at a glance."""
    if nrows >= 1_000_000:
        return f"{nrows // 1_000_000}M"
    return f"{nrows // 1000}k" if nrows >= 1000 else str(nrows)


def list_local_outer() -> list[Shape]:
    """An outer side here, keys into a table on a node."""
    sizes = (
        *((outer, 1_000_000) for outer in (1, 10, 100, 1_000, 10_000, 100_000)),
        *((1_000, inner) for inner in (1_000, 10_000)),
        *((10_000, inner) for inner in (10_000, 100_000)),
        *((100_000, inner) for inner in (10, 1_000, 100_000)),
        (10, 10),
    )
    found = [
        Shape(
            f"{write_size(outer)} here, {write_size(inner)} there",
            join(f"h{outer}", f"b{inner}", f"i.id = o.r{inner}"),
        )
        for outer, inner in sizes
    ]
    largest = (
        ("1M here, 1M there", join("h1000000", "b1000000", "i.id = o.r1000000")),
        ("1M here, 1k there", join("h1000000", "b1000", "i.id = o.r1000")),
    )
    return found + [Shape(label, text, rtts_us=FEW_RTTS_US) for label, text in largest]


def list_foreign_outer() -> list[Shape]:
    """Both sides on nodes, or the smaller one there and the larger one here."""
    sizes = ((10, 1_000_000), (1_000, 1_000), (1_000, 1_000_000), (10_000, 100_000))
    found = [
        Shape(
            f"{write_size(outer)} on one node, {write_size(inner)} on another",
            join(f"a{outer}", f"b{inner}", f"i.id = o.r{inner}"),
        )
        for outer, inner in sizes
    ]
    return [
        *found,
        Shape(
            "1% of 10k on one node, 100k on another",
            join("a10000", "b100000", "i.id = o.r100000") + " WHERE o.thousandth < 10",
        ),
        Shape(
            "100k on one node, 100k on another",
            join("a100000", "b100000", "i.id = o.r100000"),
            rtts_us=FEW_RTTS_US,
        ),
        Shape("1k there, 1M here", join("a1000", "h1000000", "i.id = o.r1000000")),
        Shape("100k there, 100k here", join("a100000", "h100000", "i.id = o.r100000")),
    ]


def list_keys() -> list[Shape]:
    """Keys with several rows, keys that repeat, filters, other conditions than a primary key."""
    return [
        Shape("1k here, 10 rows a key of 100k", join("h1000", "b100000", "i.in10 = o.r10000")),
        Shape("1k here, 100 rows a key of 1M", join("h1000", "b1000000", "i.in100 = o.r10000")),
        Shape("10k here, 10 rows a key of 1M", join("h10000", "b1000000", "i.in10 = o.r100000")),
        Shape("10k here with 100 keys, 1M there", join("h10000", "b1000000", "i.id = o.repeated")),
        Shape(
            "1% of 10k here, 1M there",
            join("h10000", "b1000000", "i.id = o.r1000000") + " WHERE o.thousandth < 10",
        ),
        Shape(
            "1k here, 1% of 1M there",
            join("h1000", "b1000000", "i.id = o.r1000000") + " WHERE i.thousandth < 10",
        ),
        Shape(
            "1k here, a text key of 100k",
            join("h1000", "b100000", "i.name = 'name ' || o.r100000"),
        ),
        Shape(
            "100 here, ranges of 10 of 100k",
            join("h100", "b100000", "i.id BETWEEN o.r100000 AND o.r100000 + 9"),
        ),
    ]


def list_join_types() -> list[Shape]:
    """Joins that are no inner joins, and LIMIT."""
    left = "SELECT count(*), count(i.x) FROM {h1000} o LEFT JOIN {b100000} i ON i.id = o.r1000000"
    semi = "SELECT count(*) FROM {h1000} o WHERE EXISTS (SELECT FROM {b100000} i WHERE i.in10 = "
    anti = "SELECT count(*) FROM {h%s} o WHERE NOT EXISTS (SELECT FROM {b%s} i WHERE i.id = o.%s)"
    some = "SELECT sum(i.x) FROM {b1000000} i WHERE i.id IN (SELECT r1000000 FROM {h1000})"
    rows = "SELECT o.id, i.x FROM {%s} o JOIN {b%s} i ON i.id = o.%s"
    return [
        Shape("LEFT: 1k here, 100k there", left),
        Shape("EXISTS: 1k here, 10 rows a key of 100k", semi + "o.r10000)"),
        Shape("NOT EXISTS: 1k here, 100k there", anti % (1_000, 100_000, "r1000000")),
        Shape("NOT EXISTS: 100k here, 10k there", anti % (100_000, 10_000, "r100000")),
        Shape("IN: 1M there, 1k here", some),
        Shape("LIMIT 10: 10k here, 1M there", rows % ("h10000", 1_000_000, "r1000000 LIMIT 10")),
        Shape(
            "first 10 in order: 100k here, 1M there",
            rows % ("h100000", 1_000_000, "r1000000 ORDER BY o.id LIMIT 10"),
        ),
        Shape("LIMIT 1000: 100k, 100k", rows % ("a100000", 100_000, "r100000 LIMIT 1000")),
    ]


def list_several() -> list[Shape]:
    """Partitioned inner sides and joins of three tables."""
    three = (
        "SELECT count(*), sum(i.x), sum(p.x) FROM {h%s} o JOIN {a%s} i ON i.id = o.%s"
        " JOIN {b%s} p ON p.id = %s"
    )
    return [
        Shape("1k here, 1M in 16 partitions", join("h1000", "parts", "i.id = o.r1000000")),
        Shape("100k here, 1M in 16 partitions", join("h100000", "parts", "i.id = o.r1000000")),
        Shape("100 here, all 16 partitions asked", join("h100", "parts", "i.in100 = o.r10000")),
        Shape(
            "1k here, 100k there, 1M elsewhere",
            three % (1_000, 100_000, "r100000", 1_000_000, "i.r1000000"),
        ),
        Shape(
            "10k here, 1k there, 1M elsewhere",
            three % (10_000, 1_000, "r1000", 1_000_000, "o.r1000000"),
        ),
    ]


def list_guest() -> list[Shape]:
    """The same over stock servers: fewer, since there is less to choose."""
    guest = Transport.GUEST
    sizes = (
        (10, 1_000_000),
        (1_000, 1_000_000),
        (1_000, 1_000),
        (10_000, 10_000),
        (100_000, 1_000),
    )
    found = [
        Shape(
            f"{write_size(outer)} here, {write_size(inner)} there",
            join(f"h{outer}", f"b{inner}", f"i.id = o.r{inner}"),
            guest,
        )
        for outer, inner in sizes
    ]
    semi = "SELECT count(*) FROM {h1000} o WHERE EXISTS (SELECT FROM {b100000} i WHERE i.in10 = "
    rows = "SELECT o.id, i.x FROM {h10000} o JOIN {b100000} i ON i.id = o.r100000 LIMIT 10"
    return [
        *found,
        Shape("1k on one node, 1k on another", join("a1000", "b1000", "i.id = o.r1000"), guest),
        Shape(
            "10k on one node, 100k on another",
            join("a10000", "b100000", "i.id = o.r100000"),
            guest,
            GUEST_RTTS_US,
        ),
        Shape("EXISTS: 1k here, 10 rows a key of 100k", semi + "o.r10000)", guest),
        Shape("LIMIT 10: 10k here, 100k there", rows, guest),
    ]


def list_shapes() -> list[Shape]:
    """All joins, in the order of the figure."""
    return [
        *list_local_outer(),
        *list_foreign_outer(),
        *list_keys(),
        *list_join_types(),
        *list_several(),
        *list_guest(),
    ]


def list_cases() -> list[Case]:
    """All joins under all of their delays, one delay after the other."""
    shapes = list_shapes()
    return [
        Case(shape, rtt_us) for rtt_us in ALL_RTTS_US for shape in shapes if rtt_us in shape.rtts_us
    ]


def pick_cases(words: Sequence[str], rtts_ms: Sequence[float]) -> list[Case]:
    """Returns the cases whose label contains one of the words, under these delays.

    Without words, or delays: all.
    """
    rtts_us = [round(1000 * rtt_ms) for rtt_ms in rtts_ms] or ALL_RTTS_US
    return [
        case
        for case in list_cases()
        if case.rtt_us in rtts_us and (not words or any(word in case.shape.label for word in words))
    ]


def find_settings(way: Way) -> Mapping[str, str]:
    """Returns the settings that leave the planner only one way to join."""
    common = {"jit": "off"}  # which costs switch on, and forced plans have false ones
    off = {"enable_hashjoin": "off", "enable_mergejoin": "off", "enable_nestloop": "off"}
    stock = {"shuttle.enable_batched_join": "off"}
    match way:
        case Way.CHOSEN:
            return common
        case Way.HASH:
            return common | off | stock | {"enable_hashjoin": "on"}
        case Way.MERGE:
            return common | off | stock | {"enable_mergejoin": "on"}
        case Way.NESTED_LOOP:
            return common | off | stock | {"enable_nestloop": "on"}
        case Way.BATCHED:
            forced = {"shuttle.debug_force_batched_join": "on", "enable_nestloop": "on"}
            return common | off | forced
