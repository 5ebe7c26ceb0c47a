"""The tables that are queried, and what is in them."""

from dataclasses import dataclass, field

from lib.randomqueries.dice import Dice
from lib.randomqueries.kinds import KINDS, value

COLUMNS = tuple(KINDS)


@dataclass(frozen=True)
class Part:
    """A partition, which may be partitioned itself."""

    name: str
    bound: str
    local: bool = False  # stays on the query node, also among foreign ones
    partition_by: str | None = None
    parts: "tuple[Part, ...]" = ()


@dataclass(frozen=True)
class Shape:
    """What a table is to be like; domain is how many different values a column may have."""

    name: str
    size: int
    domain: int
    nulls: float
    partition_by: str | None = None
    parts: tuple[Part, ...] = ()
    view_of: str | None = None  # another table, of which it shows the rows with m < 8
    union_of: tuple[str, str] | None = None  # two tables, whose rows it shows
    inherited: bool = False  # its parts inherit it; it keeps rows of its own

    @property
    def is_view(self) -> bool:
        return self.is_barrier or self.union_of is not None

    @property
    def is_alone(self) -> bool:
        """ONLY changes nothing."""
        return not self.is_view and not self.parts

    @property
    def is_barrier(self) -> bool:
        return self.view_of is not None and self.union_of is None


@dataclass(frozen=True)
class Table:
    """A table with its rows, as texts in the order of COLUMNS."""

    shape: Shape
    rows: list[list[str | None]]
    different: dict[str, int] = field(default_factory=dict)  # values of each column

    @property
    def name(self) -> str:
        return self.shape.name

    @property
    def size(self) -> int:
        return len(self.rows)


HASH_PARTS = tuple(
    Part(f"by_hash_{i}", f"FOR VALUES WITH (MODULUS 4, REMAINDER {i})", local=i == 1)
    for i in range(4)
)
LIST_PARTS = (
    Part("by_list_a", "FOR VALUES IN (0, 1, 2)"),
    Part("by_list_b", "FOR VALUES IN (3, 4, NULL)"),
    Part("by_list_c", "FOR VALUES IN (5)", local=True),
    Part("by_list_d", "DEFAULT"),
)
RANGE_PARTS = (
    Part("by_range_a", "FOR VALUES FROM (MINVALUE) TO (60)"),
    Part(
        "by_range_b",
        "FOR VALUES FROM (60) TO (150)",
        partition_by="LIST (o)",
        parts=(
            Part("by_range_b_true", "FOR VALUES IN (true)"),
            Part("by_range_b_rest", "DEFAULT"),
        ),
    ),
    Part("by_range_c", "FOR VALUES FROM (200) TO (300)"),
    Part("by_range_d", "DEFAULT", local=True),
)
EXPRESSION_PARTS = (
    Part("by_expression_a", "FOR VALUES FROM (MINVALUE) TO (2)"),
    Part("by_expression_b", "FOR VALUES FROM (2) TO (4)", local=True),
    Part(
        "by_expression_c",
        "DEFAULT",
        partition_by="HASH (t)",
        parts=(
            Part("by_expression_c_0", "FOR VALUES WITH (MODULUS 2, REMAINDER 0)"),
            Part("by_expression_c_1", "FOR VALUES WITH (MODULUS 2, REMAINDER 1)"),
        ),
    ),
)

HEIRS = (
    Part("heir_a", "id % 4 = 1"),
    Part("heir_b", "id % 4 = 2", local=True),
    Part("heir_c", "id % 4 = 3"),
)
UNION_STEP = 100_000  # the ids of a union's second table are that much larger

SHAPES = (
    Shape("nothing", 0, 1, 0),
    Shape("single", 1, 3, 0.1),
    Shape("few", 6, 6, 0.2),
    Shape("no_nulls", 30, 20, 0),
    Shape("some", 45, 30, 0.12),
    Shape("holes", 80, 30, 0.5),
    Shape("middle", 200, 90, 0.1),
    Shape("many", 600, 250, 0.1),
    Shape("most", 1500, 400, 0.05),
    Shape("by_hash", 300, 120, 0.1, "HASH (k)", HASH_PARTS),
    Shape("by_list", 150, 60, 0.1, "LIST (m)", LIST_PARTS),
    Shape("by_range", 400, 150, 0.1, "RANGE (id)", RANGE_PARTS),
    Shape("by_expression", 250, 80, 0.1, "RANGE ((k % 6))", EXPRESSION_PARTS),
    Shape("seen", 200, 90, 0.1, view_of="middle"),
    Shape("seen_parts", 300, 120, 0.1, view_of="by_hash"),
    Shape("heirs", 160, 70, 0.1, parts=HEIRS, inherited=True),
    Shape("united", 245, 60, 0.1, union_of=("some", "middle")),
)
UNIONS = frozenset(shape.name for shape in SHAPES if shape.union_of is not None)


def make_table(dice: Dice, shape: Shape) -> Table:
    ids = dice.sample(range(1, shape.size + 1), shape.size)
    rows = [make_row(dice, shape, identity) for identity in ids]
    different = {column: max(1, len({row[i] for row in rows})) for i, column in enumerate(COLUMNS)}
    return Table(shape, rows, different)


def make_row(dice: Dice, shape: Shape, identity: int) -> list[str | None]:
    row: list[str | None] = [str(identity)]
    for column in COLUMNS[1:]:
        is_null = dice.chance(shape.nulls)
        row.append(None if is_null else value(dice, column, shape.domain))
    return row


def make_tables(seed: int) -> tuple[Table, ...]:
    return tuple(make_table(Dice(seed, "table", shape.name), shape) for shape in SHAPES)


def leaves(parts: tuple[Part, ...]) -> list[Part]:
    """The partitions that hold rows."""
    return [leaf for part in parts for leaf in (leaves(part.parts) if part.parts else [part])]
