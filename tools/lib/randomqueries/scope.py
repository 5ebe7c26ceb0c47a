"""What a query that is being made can refer to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Argument, Place, Sql
from lib.randomqueries.kinds import KINDS, Kind, literal
from lib.randomqueries.tables import COLUMNS, Table

MOST_ROWS = 2500  # of any join
LARGE = 1000  # rows of a table
ONLY = 0.05  # how often it stands before a table that has no parts
MOST_WORK = 150_000  # rows that are read for all outer rows together


@dataclass(frozen=True)
class Column:
    """A column that can be named in a query, by its full name."""

    sql: str
    name: str
    kind: Kind
    different: int
    source: str = "k"  # the column of a table whose values it may have


@dataclass(frozen=True)
class Relation:
    """What stands in FROM: its columns, how many rows, and what tells these apart."""

    alias: str
    columns: tuple[Column, ...]
    rows: float
    unique: tuple[str, ...] | None

    def of_families(self, families: Sequence[str]) -> list[Column]:
        return [column for column in self.columns if column.kind.family in families]


@dataclass(frozen=True)
class Item:
    """A relation and how FROM writes it."""

    sql: Sql
    relation: Relation


@dataclass
class Maker:
    """Makes one query: the dice, the tables, and what was used up already."""

    dice: Dice
    tables: tuple[Table, ...]
    prepared: bool = False  # may use arguments
    may_lock: bool = False  # one connection alone reads foreign tables, and waits for no other
    places: int = 0
    aliases: int = 0
    arguments: list[Argument] = field(default_factory=list)
    may_fail: bool = False
    depth: int = 0
    key: Sql | None = None  # a condition by which every table is read
    only_foreign: bool = False
    texts: float = 0.03  # how often texts are made that settings of the session change

    def alias(self) -> str:
        self.aliases += 1
        return f"r{self.aliases}"

    def table(self, most_rows: float, foreign_share: float) -> Item:
        """A table that is not larger than that, with an alias."""
        choices = [
            (weight_of(table, self.key is not None), table)
            for table in self.tables
            if table.size <= max(most_rows, 6)
        ]
        return self.table_of([self.dice.weighted(choices).name], foreign_share)

    def target_of(self, names: Sequence[str], foreign_share: float, only: float = 0) -> Item:
        """The same for a table that is written."""
        key, self.key = self.key, None
        item = self.table_of(names, foreign_share, only)
        self.key = key
        return item

    def table_of(self, names: Sequence[str], foreign_share: float, only: float = ONLY) -> Item:
        """One of these tables, with an alias. only: how often ONLY is in front of it."""
        table = self.dice.pick([table for table in self.tables if table.name in names])
        self.places += 1
        foreign = self.dice.chance(foreign_share) or self.only_foreign
        alone = self.dice.chance(only if table.shape.is_alone else 0)
        place = Place(table.name, foreign, self.places, alone)
        relation = table_relation(table, self.alias())
        if self.key is not None:
            sql = ("(SELECT * FROM ", place, " WHERE ", self.key, f") AS {relation.alias}")
            return Item(sql, relation)
        return Item((place, f" AS {relation.alias}"), relation)

    def constant(self, column: Column) -> Sql:
        """A value to compare a column with: a literal, or an argument."""
        text = self.literal(column)
        if not self.prepared or not self.dice.chance(0.5):
            return text
        values = [text] + [self.literal(column) for _ in range(6)]
        if self.dice.chance(0.3):
            values[self.dice.between(0, 6)] = f"NULL::{type_of(column)}"
        argument = Argument(len(self.arguments) + 1, type_of(column), tuple(values))
        self.arguments.append(argument)
        return argument

    def literal(self, column: Column) -> str:
        domain = max(2, min(column.different, 60))
        return literal(self.dice, column.source, domain)


def type_of(column: Column) -> str:
    return KINDS[column.source].type.split(" ")[0]


def weight_of(table: Table, has_key: bool) -> float:
    """Tables without rows are there, but tell little; nor does a barrier before a key."""
    if table.size <= 1 or (has_key and table.shape.is_barrier):
        return 0.15
    return 0.6 if table.size > LARGE else 1


def table_relation(table: Table, alias: str) -> Relation:
    columns = tuple(
        Column(f"{alias}.{name}", name, KINDS[name], table.different[name], name)
        for name in COLUMNS
    )
    return Relation(alias, columns, table.size, ("id",))


def column_named(relation: Relation, name: str) -> Column:
    return next(column for column in relation.columns if column.name == name)


def unique_of(scope: Sequence[Relation]) -> list[str] | None:
    """Columns that order the rows of a join in one way only."""
    found: list[str] = []
    for relation in scope:
        if relation.unique is None:
            return None
        found += [f"{relation.alias}.{name}" for name in relation.unique]
    return found
