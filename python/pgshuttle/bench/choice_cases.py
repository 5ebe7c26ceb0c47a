"""The joins that the planner has to choose for: their queries, delays and rivals."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from psycopg import sql

from pgshuttle.bench import choice_tables as tables

ALL_RTTS_US = (0, 800, 10_000, 90_000)
SHAPES = Path(__file__).with_name("choices.toml")


class Way(StrEnum):
    """How a query is joined."""

    CHOSEN = "chosen"
    HASH = "hash join"
    MERGE = "merge join"
    NESTED_LOOP = "nested loop"
    BATCHED = "batched join"


FORCED = (Way.BATCHED, Way.HASH, Way.MERGE, Way.NESTED_LOOP)
SWITCHES = {
    Way.HASH: "enable_hashjoin",
    Way.MERGE: "enable_mergejoin",
    Way.NESTED_LOOP: "enable_nestloop",
    Way.BATCHED: "enable_nestloop",
}


class Transport(StrEnum):
    """Whose servers the foreign tables are on."""

    ENGINE = "engine"
    GUEST = "guest"


# joined locally, so that the wire carries what the join needs
SUMS = "SELECT count(*), sum(o.x), sum(i.x) FROM "
SECTIONS: Mapping[str, tuple[Transport, tuple[int, ...]]] = {
    "engine": (Transport.ENGINE, ALL_RTTS_US),
    "engine_few": (Transport.ENGINE, (0, 90_000)),
    "guest": (Transport.GUEST, ALL_RTTS_US),
    "guest_few": (Transport.GUEST, (0, 10_000)),
}


@dataclass(frozen=True)
class Shape:
    """One join, see choices.toml. label: what a reader of the tables sees."""

    label: str
    text: str
    transport: Transport
    rtts_us: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    shape: Shape
    rtt_us: int

    @property
    def query(self) -> sql.Composed:
        return write_query(self.shape)


def write_query(shape: Shape) -> sql.Composed:
    schema = tables.ENGINE if shape.transport is Transport.ENGINE else tables.GUEST
    names: dict[str, sql.Composable] = {"parts": sql.Identifier(schema, tables.PARTITIONED)}
    for nrows in tables.SIZES:
        name = tables.name_table(nrows)
        names[f"h{nrows}"] = sql.Identifier(tables.HERE, name)
        names[f"a{nrows}"] = sql.Identifier(schema, f"{name}_1")
        names[f"b{nrows}"] = sql.Identifier(schema, f"{name}_2")
    return sql.SQL(shape.text).format(**names)


def list_shapes() -> list[Shape]:
    """All joins, in the order of their file."""
    found = tomllib.loads(SHAPES.read_text(encoding="utf-8"))
    return [
        Shape(label, text if text.startswith("SELECT ") else SUMS + text, transport, rtts_us)
        for section, (transport, rtts_us) in SECTIONS.items()
        for label, text in found[section].items()
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
    if way is Way.CHOSEN:
        return common
    only = dict.fromkeys(SWITCHES.values(), "off") | {SWITCHES[way]: "on"}
    if way is Way.BATCHED:
        return common | only | {"shuttle.debug_force_batched_join": "on"}
    return common | only | {"shuttle.enable_batched_join": "off"}
