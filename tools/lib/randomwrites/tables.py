"""The tables that are written, as they are on each side.

All have the same columns.  On the plain side they are local, on the far side foreign
tables, with their rows on two nodes; but for a local table, and a local partition.
Or they are distributed tables and reference tables there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lib.randomwrites.shapes import Shape

COLUMNS = ("id", "k", "v", "s", "p")
# Columns whose parts are written, and which nothing else names. An INSERT ON CONFLICT with
# a default of a user's type is not routed, and then takes no part of a column.
PART_COLUMNS = (
    "arr int[] DEFAULT '{1,2,3}'",
    """js jsonb DEFAULT '{"a": 1}'""",
    "comp own.spot",
    "dom own.numbers",
)
PARENTS = 5  # rows of the tables that p refers to
MOST_V = 1000
TABLETS = "tablets"  # the far side with distributed tables


@dataclass(frozen=True)
class Leaf:
    """What has rows: a table or a partition. server: None is here; within: a middle."""

    name: str
    server: str | None
    bound: str = ""
    within: str = ""


@dataclass(frozen=True)
class Middle:
    """A partition that has partitions."""

    name: str
    bound: str
    partition_by: str


@dataclass(frozen=True)
class Table:
    """parent: what p refers to; logs: no keys at all.

    serial: id has a default; numbered: one that the node gives.
    loose: distributed by another column than id, which has no key.
    """

    name: str
    leaves: tuple[Leaf, ...]
    partition_by: str = ""
    middles: tuple[Middle, ...] = ()
    unique_k: bool = False
    parent: str = ""
    deferred: bool = False
    generated: bool = False
    serial: bool = False
    numbered: bool = False
    logs: bool = False
    loose: bool = False

    @property
    def has_parts(self) -> bool:
        return not (self.logs or self.serial or self.numbered)

    @property
    def is_guest(self) -> bool:
        return any(leaf.server == "guest" for leaf in self.leaves)

    @property
    def is_local(self) -> bool:
        return all(leaf.server is None for leaf in self.leaves)

    @property
    def keeps_order(self) -> bool:
        """Rows that ON CONFLICT leaves out are only counted: those of partitions change places."""
        return self.is_local or not self.partition_by

    @property
    def returns_in_order(self) -> bool:
        """Local partitions return their rows as they write them, before those of nodes."""
        return len({leaf.server is None for leaf in self.leaves}) == 1

    @property
    def updates_conflicts(self) -> bool:
        """ON CONFLICT with columns can be had of all its leaves."""
        nodes = ("one", "two", TABLETS)
        return self.is_local or (
            not self.loose and all(leaf.server in nodes for leaf in self.leaves)
        )


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
            Leaf("h1", "one", "FOR VALUES FROM (0) TO (1000)", "hm"),
            Leaf("h2", "two", "FOR VALUES FROM (1000) TO (2000)", "hm"),
            Leaf("h3", None, "FOR VALUES FROM (2000) TO (3000)"),
        ),
        partition_by="RANGE (id)",
        middles=(Middle("hm", "FOR VALUES FROM (0) TO (2000)", "RANGE (id)"),),
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
    single("i", "two", numbered=True),
    single("log1", "one", logs=True),
    single("log2", "two", logs=True),
)
# Statements of the role write these too, which sees and writes some of their rows only.
WATCHED = (single("m", "one"),)
CLERK = "clerk"
POLICIES = (
    "CREATE POLICY seen ON m USING (v < 60)",
    "CREATE POLICY written ON m AS RESTRICTIVE USING (true) WITH CHECK (v <> 2 AND v < 90)",
)
TABLES = MAIN + SIDE + WATCHED


def distributed(table: Table) -> Table:
    """A table as tablets, or as a reference table, where a key is not that of its tablets."""
    if table.is_local:
        return table
    made = replace(table, leaves=(Leaf(table.name, TABLETS),), middles=(), partition_by="")
    if table.unique_k:
        return made
    return replace(made, partition_by="HASH", loose=table.is_guest)


BY_NAME = {table.name: table for table in TABLES}
# Conditions of views that check what is written through them.
VIEWS = {"va": "a", "vh": "h", "vm": "m"}
VIEW_MOST_V = 500


def column_types(table: Table, far: bool = False) -> list[str]:
    """far: as the foreign table has them."""
    types = ["id int", "k int", "v int", "s text DEFAULT 'none'", "p int"]
    if table.serial:
        types[0] += " DEFAULT nextval('numbers')"
    if table.numbered and not far:
        types[0] += " GENERATED BY DEFAULT AS IDENTITY"
    if table.generated:
        types.append("twice int GENERATED ALWAYS AS (v * 2) STORED")
    return [*types, *PART_COLUMNS] if table.has_parts else types


def constraints(table: Table, leaf: str) -> list[str]:
    """As the leaf of a local table has them, by the same names."""
    if table.logs:
        return []
    found = [f"CONSTRAINT {table.name}_v_check CHECK (v < {MOST_V})"]
    if not table.loose:
        found.insert(0, f"CONSTRAINT {leaf}_pkey PRIMARY KEY (id)")
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


def create_local(table: Table, name: str, shape: Shape | None = None) -> str:
    """A local table, or a leaf on its node, whose columns are in another order there."""
    columns = column_types(table)
    if not table.logs:
        columns[3] += " NOT NULL"
    if shape is not None:
        columns = shape.columns(columns)
    definition = ", ".join(columns + constraints(table, name))
    by = f" PARTITION BY {table.partition_by}" if table.partition_by else ""
    end = "" if shape is None else shape.end("TABLE", name)
    return f"CREATE TABLE {name} ({definition}){by if name == table.name else ''}{end}"


def plain_tables() -> Iterator[str]:
    for table in TABLES:
        yield create_local(table, table.name)
        for middle in table.middles:
            yield (
                f"CREATE TABLE {middle.name} PARTITION OF {table.name} {middle.bound}"
                f" PARTITION BY {middle.partition_by}"
            )
        if table.partition_by:
            for leaf in table.leaves:
                parent = leaf.within or table.name
                yield f"CREATE TABLE {leaf.name} PARTITION OF {parent} {leaf.bound}"


def views() -> Iterator[str]:
    for view, table in VIEWS.items():
        yield (
            f"CREATE VIEW {view} AS SELECT {', '.join(COLUMNS)} FROM {table}"
            f" WHERE v < {VIEW_MOST_V} WITH CHECK OPTION"
        )
    yield "ALTER VIEW vm SET (security_invoker)"


def policies() -> Iterator[str]:
    """What the role may do; all others that write are superusers."""
    yield "ALTER TABLE m ENABLE ROW LEVEL SECURITY"
    yield from POLICIES
    yield f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {CLERK}"
    yield "GRANT USAGE ON SCHEMA own TO PUBLIC"
    yield f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {CLERK}"


def leaves_on(server: str | None) -> list[tuple[Table, Leaf]]:
    """The leaves whose rows are on a node; the guest's are on the second one."""
    names = {"two": ("two", "guest")}.get(server or "", (server,))
    return [(table, leaf) for table in TABLES for leaf in table.leaves if leaf.server in names]
