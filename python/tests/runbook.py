"""The runbook of docs/production.md: its rows, and what its tests share."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from conftest import run_on
from psycopg.errors import Diagnostic

from pgshuttle.base import connections
from pgshuttle.cluster import catalog
from pgshuttle.cluster.servers import Server
from pgshuttle.cluster.state import Cluster

PAGE = Path(__file__).resolve().parents[2] / "docs/production.md"
TIMEOUT_S = 30
ITEM = "CREATE TABLE item (id int PRIMARY KEY, v text)"
FOREIGN = "CREATE FOREIGN TABLE {} (id int, v text) SERVER {} OPTIONS (table_name 'item')"
WRITE_ONE = "INSERT INTO one VALUES (1, 'x')"
WRITE_TWO = "INSERT INTO two VALUES (1, 'x')"


@dataclass(frozen=True)
class Told:
    """A message of the server."""

    severity: str
    sqlstate: str
    text: str
    detail: str
    context: str


def read_message(told: Diagnostic) -> Told:
    fields = (told.severity, told.sqlstate, told.message_primary, told.message_detail, told.context)
    return Told(*(text or "" for text in fields))


@dataclass(frozen=True)
class Row:
    """What is seen, where to look, and what to do."""

    seen: str
    look: str
    do: str

    def tells(self, told: Told) -> bool:
        """Says if it is the row of a message: by its SQLSTATE, its level and a text."""
        codes = re.findall(r"\b[0-9]{2}[0-9A-Z]{3}\b", self.seen)
        level = re.search(r"ERROR|WARNING", self.seen)
        quoted = re.findall(r"`([^`]*)`", self.seen.split(": ")[0])
        patterns = [re.escape(text).replace(r"\.\.\.", ".*") for text in quoted]
        places = f"{told.text}\n{told.detail}\n{told.context}"
        return (
            (not codes or told.sqlstate in codes)
            and (level is None or told.severity == level[0])
            and any(re.search(pattern, places) for pattern in patterns)
        )

    def statements(self) -> list[str]:
        """The statements that the row names."""
        return re.findall(r"`((?:SELECT|SHOW|LOAD) [^`]*)`", f"{self.look} {self.do}")


def read_rows() -> list[Row]:
    chapter = PAGE.read_text().split("## When something fails", 1)[1]
    lines = [line for line in chapter.splitlines() if line.startswith("| ")][2:]
    return [Row(*(cell.strip() for cell in line.strip("|").split(" | "))) for line in lines]


def find_row(begin: str, word: str = "") -> Row:
    (row,) = [row for row in read_rows() if row.seen.startswith(begin) and word in row.seen]
    return row


@pytest.fixture(autouse=True)
def items(running: Cluster, nothing_is_left: None) -> Iterator[None]:  # noqa: ARG001
    """The table item of each node, here one and two."""
    for node, name in zip(running.nodes, ("one", "two"), strict=True):
        run_on(node.server, ITEM)
        run_on(running.query, FOREIGN.format(name, node.server.name))
    yield
    run_on(running.query, "SELECT shuttle.recover()")  # or locks hold up who drops the tables


@dataclass
class Session:
    """A session of the query node, or of a node, and what it was warned of."""

    connection: connections.Connection
    warnings: list[Told] = field(default_factory=list)

    def run(self, *statements: str) -> list[tuple[object, ...]]:
        """Runs statements; returns the rows of the last one."""
        for statement in statements:
            cursor = self.connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def fail(self, *statements: str) -> Told:
        """Runs statements of which the last one fails; returns what is told."""
        self.run("SELECT", *statements[:-1])
        with pytest.raises(psycopg.Error) as raised:
            self.run(statements[-1])
        told = read_message(raised.value.diag)
        self.run("ROLLBACK")
        self.warnings = [one for one in self.warnings if one.sqlstate != "25P01"]
        return told


@contextmanager
def session(place: Server, database: str = catalog.DATABASE) -> Iterator[Session]:
    with catalog.connect(place, database) as connection:
        made = Session(connection)
        connection.add_notice_handler(lambda told: made.warnings.append(read_message(told)))
        yield made
