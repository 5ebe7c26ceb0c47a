"""Rows and queries of TPC-H and TPC-DS, made by the generators of DuckDB's extensions."""

import datetime
import importlib.util
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgshuttle.base.errors import ToolError

if TYPE_CHECKING:
    import duckdb


class Suite(StrEnum):
    """Named as DuckDB's extensions are."""

    TPCH = "tpch"
    TPCDS = "tpcds"


TITLES = {Suite.TPCH: "TPC-H", Suite.TPCDS: "TPC-DS"}
GENERATORS = {Suite.TPCH: "dbgen", Suite.TPCDS: "dsdgen"}
# below, DuckDB's generator goes on for ever
LEAST_SCALES = {Suite.TPCH: 0.001, Suite.TPCDS: 0.01}
TYPES = {"VARCHAR": "text", "INTEGER": "int", "BIGINT": "bigint", "DATE": "date"}
# values of texts that a literal can be drawn from
MOST_VALUES = 500
YEARS = (1998, 2002)  # of TPC-DS's sales
MONTHS = (1176, 1235)  # the same years as d_month_seq
DAYS = 45  # that dates are moved by at most
LITERAL = re.compile(
    r"""'(?:[^']|'')*'|"[^"]*"|\bLIMIT\s+\d+|(?<![\w.])\d+(?![\w.])""", re.IGNORECASE
)


@dataclass(frozen=True)
class Queries:
    """The queries of a suite. values: of the column that a text is one of."""

    texts: Mapping[int, str]
    values: Mapping[str, tuple[str, ...]]

    def write(self, number: int, seed: int | None) -> str:
        """Returns a query, with literals drawn anew if there is a seed."""
        text = self.texts[number]
        return text if seed is None else Draw(self.values, f"{seed} {number}").redraw(text)


@dataclass(frozen=True)
class Source:
    """A generated suite. columns: of each table, with their types in PostgreSQL."""

    connection: "duckdb.DuckDBPyConnection"
    columns: Mapping[str, Mapping[str, str]]
    queries: Queries

    def write_rows(self, table: str, path: Path) -> None:
        names = ", ".join(self.columns[table])
        self.connection.execute(
            f"COPY (SELECT {names} FROM {table}) TO '{path}' (FORMAT csv, HEADER false)"
        )


def find_extension(suite: Suite) -> Path:
    """Returns the file of DuckDB's extension for a suite."""
    found = importlib.util.find_spec(f"duckdb_extension_{suite}")
    for place in (found.submodule_search_locations or []) if found else []:
        for path in Path(place).rglob("*.duckdb_extension"):
            return path
    raise ToolError(
        f"the generator of {TITLES[suite]} is not installed",
        hint=f"Install it: pip install duckdb-extension-{suite}",
    )


def read_columns(connection: "duckdb.DuckDBPyConnection") -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for table, column, its_type in connection.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " ORDER BY table_name, ordinal_position"
    ).fetchall():
        wanted = TYPES.get(its_type) or its_type.replace("DECIMAL", "numeric")
        found.setdefault(table, {})[column] = wanted
    return found


def read_values(
    connection: "duckdb.DuckDBPyConnection", columns: Mapping[str, Mapping[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Returns, for each text of a column with few values, all values of that column."""
    found: dict[str, tuple[str, ...]] = {}
    for table, types in columns.items():
        for column in (name for name, its_type in types.items() if its_type == "text"):
            rows: list[tuple[Any, ...]] = connection.execute(
                f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"
                f" ORDER BY 1 LIMIT {MOST_VALUES + 1}"
            ).fetchall()
            if 1 < len(rows) <= MOST_VALUES:
                values = tuple(str(row[0]) for row in rows)
                found |= {value: values for value in values if value not in found}
    return found


@contextmanager
def generate(suite: Suite, scale: float) -> Iterator[Source]:
    """Generates a suite in memory. scale: 1 is about a gigabyte."""
    if scale < LEAST_SCALES[suite]:
        raise ToolError(f"the least scale of {TITLES[suite]} is {LEAST_SCALES[suite]:g}")
    extension = find_extension(suite)
    import duckdb  # noqa: PLC0415  (loads for long, and may be missing)

    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        connection.execute(f"CALL {GENERATORS[suite]}(sf = {scale})")
        columns = read_columns(connection)
        queries = connection.execute(f"SELECT query_nr, query FROM {suite}_queries()").fetchall()
        texts = {int(number): str(text).strip().rstrip(";") for number, text in queries}
        yield Source(connection, columns, Queries(texts, read_values(connection, columns)))


class Draw:
    """Draws literals of a query anew; equal ones stay equal."""

    def __init__(self, values: Mapping[str, tuple[str, ...]], seed: str) -> None:
        self._values = values
        self._random = random.Random(seed)
        self._days = datetime.timedelta(days=self._random.randint(-DAYS, DAYS))
        self._month = self._random.randint(-12, 12)
        self._drawn: dict[str, str] = {}

    def redraw(self, text: str) -> str:
        """Returns the query with other literals; a LIMIT stays."""
        return LITERAL.sub(lambda found: self._replace(found[0]), text)

    def _replace(self, literal: str) -> str:
        if literal not in self._drawn:
            if literal.startswith("'"):
                self._drawn[literal] = f"'{self._draw_text(literal[1:-1])}'"
            elif literal.isdigit():
                self._drawn[literal] = str(self._draw_number(int(literal)))
            else:
                self._drawn[literal] = literal
        return self._drawn[literal]

    def _draw_text(self, text: str) -> str:
        try:
            return str(datetime.date.fromisoformat(text) + self._days)
        except ValueError:
            pass
        values = self._values.get(text.replace("''", "'"))
        return self._random.choice(values).replace("'", "''") if values else text

    def _draw_number(self, number: int) -> int:
        if YEARS[0] <= number <= YEARS[1]:
            return min(max(number + self._random.randint(-1, 1), YEARS[0]), YEARS[1])
        if MONTHS[0] <= number <= MONTHS[1]:
            return min(max(number + self._month, MONTHS[0]), MONTHS[1])
        # small ones are months, numbers of columns, and quarters
        return number if number <= 12 else round(number * self._random.uniform(0.8, 1.2))
