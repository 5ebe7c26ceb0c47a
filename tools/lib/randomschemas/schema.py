"""Random tables: keys, unique indexes, foreign keys, and how each table is spread.

Statements on one row and those on several have the same result in any order of rows: what
depends on the order is open on one server, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lib.randomqueries.dice import Dice

COLUMNS = ("id", "a", "b", "c", "r", "q")
TEXT = "c"
DISTRIBUTED, REFERENCE, LOCAL = "distributed", "reference", "local"
ACTIONS = ("NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT")
LATER = "DEFERRABLE INITIALLY DEFERRED"
DEFERRABLE = ("", "", "", "DEFERRABLE", LATER)
ROWS = 8  # ids at first
PASSES = 4  # of attempts to insert them: what a row refers to may come later
WORDS = ("x", "X", "y", "Y", "z", "w")


@dataclass(frozen=True)
class Unique:
    """A key; items: columns or one expression. predicate: of a partial index."""

    name: str
    items: tuple[str, ...]
    primary: bool = False
    predicate: str = ""
    with_nulls: bool = False  # NULLS NOT DISTINCT
    deferrable: str = ""

    @property
    def is_constraint(self) -> bool:
        return not self.predicate and all(item in COLUMNS for item in self.items)

    @property
    def may_be_referenced(self) -> bool:
        return self.is_constraint and not self.deferrable

    @property
    def target(self) -> str:
        """What ON CONFLICT names."""
        where = f" WHERE {self.predicate}" if self.predicate else ""
        return f"({', '.join(self.items)}){where}"

    def sql(self, table: str) -> str:
        items = ", ".join(self.items)
        nulls = " NULLS NOT DISTINCT" if self.with_nulls else ""
        if not self.is_constraint:
            where = f" WHERE {self.predicate}" if self.predicate else ""
            return f"CREATE UNIQUE INDEX {self.name} ON {table} ({items}){nulls}{where}"
        kind = "PRIMARY KEY" if self.primary else f"UNIQUE{nulls}"
        constraint = f"{kind} ({items}) {self.deferrable}".strip()
        return f"ALTER TABLE {table} ADD CONSTRAINT {self.name} {constraint}"

    def drop(self, table: str) -> str:
        return (
            drop_constraint(table, self.name) if self.is_constraint else f"DROP INDEX {self.name}"
        )


def drop_constraint(table: str, name: str) -> str:
    return f"ALTER TABLE {table} DROP CONSTRAINT {name} CASCADE"


@dataclass(frozen=True)
class ForeignKey:
    name: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    clauses: str

    def sql(self, table: str) -> str:
        key, target = ", ".join(self.columns), ", ".join(self.target_columns)
        return (
            f"ALTER TABLE {table} ADD CONSTRAINT {self.name} FOREIGN KEY ({key})"
            f" REFERENCES {self.target} ({target}) {self.clauses}".strip()
        )

    def drop(self, table: str) -> str:
        return drop_constraint(table, self.name)


@dataclass(frozen=True)
class Table:
    """kind: DISTRIBUTED by a column, REFERENCE or LOCAL."""

    name: str
    kind: str
    by: str
    tablets: int
    uniques: tuple[Unique, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()

    @property
    def arbiters(self) -> list[Unique]:
        later = {unique.items for unique in self.uniques if unique.deferrable}
        return [unique for unique in self.uniques if unique.items not in later]

    def has_equal_nulls(self, column: str) -> bool:
        """True if a row with a NULL there can be in conflict with another one."""
        return any(unique.with_nulls and column in unique.items for unique in self.uniques)

    @property
    def later_uniques(self) -> tuple[Unique, ...]:
        """A copied table has its primary key from the beginning."""
        return self.uniques[1:] if self.kind == REFERENCE else self.uniques

    def create(self) -> str:
        key = self.uniques[0].name
        inline = f", CONSTRAINT {key} PRIMARY KEY (id)" if self.kind == REFERENCE else ""
        return (
            f"CREATE TABLE {self.name} (id int NOT NULL, a int, b int DEFAULT 1, c text,"
            f" r int DEFAULT 1, q int{inline})"
        )

    def spread(self) -> str:
        if self.kind == REFERENCE:
            return f"SELECT shuttle.reference_table('{self.name}')"
        return f"SELECT shuttle.distribute_table('{self.name}', '{self.by}', {self.tablets})"


@dataclass(frozen=True)
class Schema:
    """filled_first: tables are spread when they have all keys and rows; else before."""

    tables: tuple[Table, ...]
    filled_first: bool

    @property
    def has_defaults(self) -> bool:
        keys = [key for table in self.tables for key in table.foreign_keys]
        return any("SET DEFAULT" in key.clauses for key in keys)

    def constraints(self) -> Iterator[tuple[str, str]]:
        """Statements that make them, and that drop them; what is referenced comes before."""
        for table in self.tables:
            for unique in table.later_uniques:
                yield unique.sql(table.name), unique.drop(table.name)
        for table in self.tables:
            for key in table.foreign_keys:
                yield key.sql(table.name), key.drop(table.name)


def random_uniques(dice: Dice, table: str) -> tuple[Unique, ...]:
    found = [Unique(f"{table}_pkey", ("id",), primary=True)]
    for number in range(dice.between(0, 2)):
        name = f"{table}_u{number}"
        items = dice.pick((("a",), ("a",), ("b", "a"), ("c",), ("r",), ("r", "q"), ("lower(c)",)))
        unique = Unique(
            name,
            items,
            predicate=dice.pick(("b > 2", "r IS NULL", "c <> 'w'")) if dice.chance(0.2) else "",
            with_nulls=dice.chance(0.2),
        )
        if unique.is_constraint and dice.chance(0.3):
            unique = replace(unique, deferrable=dice.pick(DEFERRABLE))
        found.append(unique)
    return tuple(found)


def columns_for(dice: Dice, target: Unique) -> tuple[str, ...]:
    """Columns that refer to a key: of its types, and not the same twice."""
    numbers = dice.sample(("r", "r", "q", "a", "b", "id"), 6)
    found: list[str] = []
    for item in target.items:
        wanted = [TEXT] if item == TEXT else [one for one in numbers if one not in found]
        found.append(wanted[0])
    return tuple(found)


def clauses(dice: Dice, several: bool, must_be_later: bool) -> str:
    found = ["MATCH FULL"] if several and dice.chance(0.3) else []
    for event in ("DELETE", "UPDATE"):
        if dice.chance(0.6):
            found.append(f"ON {event} {dice.pick(ACTIONS)}")
    found.append(LATER if must_be_later else dice.pick(DEFERRABLE))
    return " ".join(clause for clause in found if clause)


def random_foreign_keys(
    dice: Dice, tables: tuple[Table, ...], number: int
) -> tuple[ForeignKey, ...]:
    """A key to a table that is filled later is checked at commit."""
    found = []
    for i in range(dice.weighted(((2, 0), (5, 1), (3, 2)))):
        target = dice.between(0, len(tables) - 1)
        unique = dice.pick([one for one in tables[target].uniques if one.may_be_referenced])
        columns = columns_for(dice, unique)
        found.append(
            ForeignKey(
                f"{tables[number].name}_f{i}",
                columns,
                tables[target].name,
                unique.items,
                clauses(dice, len(columns) > 1, target > number),
            )
        )
    return tuple(found)


def random_table(dice: Dice, name: str) -> Table:
    kind = dice.weighted(((8, DISTRIBUTED), (1, REFERENCE), (1, LOCAL)))
    by = dice.pick(("id", "a", "b", "c", "r", "q"))
    return Table(name, kind, by, dice.between(1, 4), random_uniques(dice, name))


def make_schema(seed: int, number: int) -> Schema:
    dice = Dice(seed, "schema", number)
    tables = tuple(random_table(dice, f"t{i}") for i in range(dice.between(2, 4)))
    with_keys = tuple(
        replace(table, foreign_keys=random_foreign_keys(dice, tables, i))
        for i, table in enumerate(tables)
    )
    return Schema(with_keys, dice.chance(0.4))


def random_value(dice: Dice, column: str) -> str:
    if column != "id" and dice.chance(0.15):
        return "NULL"
    if column == "id":
        return str(dice.between(1, ROWS + 6))
    if column == TEXT:
        return f"'{dice.pick(WORDS)}'"
    return str(dice.between(1, 4 if column == "b" else ROWS + 2))


def first_rows(seed: int, number: int, schema: Schema) -> Iterator[str]:
    """Inserts of one row each; those that a constraint refuses are left out."""
    dice = Dice(seed, "rows", number)
    for table in schema.tables * PASSES:
        for identity in range(1, ROWS + 1):
            values = [str(identity)] + [random_value(dice, column) for column in COLUMNS[1:]]
            yield f"INSERT INTO {table.name} VALUES ({', '.join(values)})"
