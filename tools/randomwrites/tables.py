"""The tables that are written, as they are on each side.

All have the same columns.  On the plain side they are local, on the far side foreign
tables, with their rows on two nodes; but for a local table, and a local partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

COLUMNS = ("id", "k", "v", "s", "p")
PARENTS = 5  # rows of the tables that p refers to
MOST_V = 1000


@dataclass(frozen=True)
class Leaf:
    """What has rows: a table or a partition. server: None is here."""

    name: str
    server: str | None
    bound: str = ""


@dataclass(frozen=True)
class Table:
    """parent: what p refers to; serial: id has a default; logs: no keys at all."""

    name: str
    leaves: tuple[Leaf, ...]
    partition_by: str = ""
    unique_k: bool = False
    parent: str = ""
    deferred: bool = False
    generated: bool = False
    serial: bool = False
    logs: bool = False

    @property
    def is_guest(self) -> bool:
        return any(leaf.server == "guest" for leaf in self.leaves)

    @property
    def is_local(self) -> bool:
        return all(leaf.server is None for leaf in self.leaves)

    @property
    def updates_conflicts(self) -> bool:
        """ON CONFLICT with columns can be had of all its leaves."""
        return self.is_local or all(leaf.server in ("one", "two") for leaf in self.leaves)


def single(name: str, server: str | None, **properties: bool | str) -> Table:
    return Table(name, (Leaf(name, server),), **properties)  # type: ignore[arg-type]


# Statements write and read these; the number of each is the base of its own keys.
MAIN = (
    single("a", "one", unique_k=True, parent="par1"),
    single("b", "one", generated=True, parent="par1"),
    single("c", "two", unique_k=True, parent="par2", deferred=True),
    single("g", "guest"),
    single("l", None, unique_k=True),
    Table(
        "h",
        (
            Leaf("h1", "one", "FOR VALUES FROM (0) TO (1000)"),
            Leaf("h2", "two", "FOR VALUES FROM (1000) TO (2000)"),
            Leaf("h3", None, "FOR VALUES FROM (2000) TO (3000)"),
        ),
        partition_by="RANGE (id)",
    ),
    Table(
        "r",
        (
            Leaf("r1", "one", "FOR VALUES WITH (MODULUS 2, REMAINDER 0)"),
            Leaf("r2", "two", "FOR VALUES WITH (MODULUS 2, REMAINDER 1)"),
        ),
        partition_by="HASH (id)",
    ),
)
# Functions and triggers write these; statements read them as a whole only.
SIDE = (
    single("x", "one", unique_k=True),
    single("y", "two"),
    single("n", "one", serial=True),
    single("log1", "one", logs=True),
    single("log2", "two", logs=True),
)
TABLES = MAIN + SIDE
BY_NAME = {table.name: table for table in TABLES}
# Conditions of views that check what is written through them.
VIEWS = {"va": "a", "vh": "h"}
VIEW_MOST_V = 500


def column_types(table: Table) -> list[str]:
    types = ["id int", "k int", "v int", "s text DEFAULT 'none'", "p int"]
    if table.serial:
        types[0] += " DEFAULT nextval('numbers')"
    if table.generated:
        types.append("twice int GENERATED ALWAYS AS (v * 2) STORED")
    return types


def constraints(table: Table, leaf: str) -> list[str]:
    """As the leaf of a local table has them, by the same names."""
    if table.logs:
        return []
    found = [
        f"CONSTRAINT {leaf}_pkey PRIMARY KEY (id)",
        f"CONSTRAINT {table.name}_v_check CHECK (v < {MOST_V})",
    ]
    if table.unique_k:
        found.append(f"CONSTRAINT {leaf}_k_key UNIQUE (k)")
    if table.parent:
        deferred = " DEFERRABLE INITIALLY DEFERRED" if table.deferred else ""
        found.append(
            f"CONSTRAINT {table.name}_p_fkey FOREIGN KEY (p) REFERENCES {table.parent}{deferred}"
        )
    return found


def not_null(table: Table) -> str:
    return "" if table.logs else f"ALTER TABLE {table.name} ALTER COLUMN s SET NOT NULL"


def create_local(table: Table, name: str) -> str:
    """A local table, or a leaf on its node."""
    columns = column_types(table)
    if not table.logs:
        columns[3] += " NOT NULL"
    definition = ", ".join(columns + constraints(table, name))
    by = f" PARTITION BY {table.partition_by}" if table.partition_by else ""
    return f"CREATE TABLE {name} ({definition}){by if name == table.name else ''}"


def plain_tables() -> Iterator[str]:
    for table in TABLES:
        yield create_local(table, table.name)
        if table.partition_by:
            for leaf in table.leaves:
                yield f"CREATE TABLE {leaf.name} PARTITION OF {table.name} {leaf.bound}"


def views() -> Iterator[str]:
    for view, table in VIEWS.items():
        yield (
            f"CREATE VIEW {view} AS SELECT {', '.join(COLUMNS)} FROM {table}"
            f" WHERE v < {VIEW_MOST_V} WITH CHECK OPTION"
        )


def leaves_on(server: str | None) -> list[tuple[Table, Leaf]]:
    """The leaves whose rows are on a node; the guest's are on the second one."""
    names = {"two": ("two", "guest")}.get(server or "", (server,))
    return [(table, leaf) for table in TABLES for leaf in table.leaves if leaf.server in names]
