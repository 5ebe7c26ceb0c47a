"""docs/start.md typed word by word: three servers, passwords, and an ordinary role."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import invoke, short_directory
from psycopg.conninfo import make_conninfo

from pgshuttle.cluster import builds, servers

PAGE = Path(__file__).resolve().parents[2] / "docs/start.md"
SPREAD = "## You spread tables over servers"
PLACED = "## You place rows yourself"
PASSWORD = "secret"  # noqa: S105
TIMEOUT_S = 60
LIMITS = {"max_prepared_transactions": "0"}  # as a server has it that nobody has changed
RULES = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


@dataclass
class Machine:
    """A server as it is after installation, on which passwords are asked for."""

    build: builds.ServerBuild
    server: servers.Server

    def restart(self) -> None:
        servers.stop_server(self.server)
        self.server = servers.start_server(self.build, self.server)

    def psql(self, text: str, user: str = "postgres", database: str = "postgres") -> str:
        """Has psql read a block; it stops at an error."""
        place = {"host": "127.0.0.1"} if user == "app" else {"host": str(self.server.socket_dir)}
        dsn = make_conninfo(dbname=database, user=user, port=str(self.server.port), **place)
        ended = subprocess.run(
            [self.build.bin_dir / "psql", "-X", "-v", "ON_ERROR_STOP=1", dsn],
            input=text,
            env=os.environ | {"PGPASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture
def machines(extended_build: builds.ServerBuild) -> Iterator[list[Machine]]:
    """The query node and two nodes."""
    made: list[Machine] = []
    with short_directory() as directory:
        directory.chmod(0o777)
        try:
            for name in ("query", "node1", "node2"):
                server = servers.create_server(extended_build, name, directory, directory, LIMITS)
                (server.data_dir / "pg_hba.conf").write_text(RULES)
                made.append(Machine(extended_build, servers.start_server(extended_build, server)))
            yield made
        finally:
            for machine in made:
                servers.stop_server(machine.server)


def read_chapter(heading: str) -> list[str]:
    """The chapter's blocks of SQL, with the password."""
    chapter = PAGE.read_text().split(heading, 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"^```sql\n(.*?)^```$", chapter, re.M | re.DOTALL)
    return [block.replace("'...'", f"'{PASSWORD}'") for block in blocks]


def place_nodes(block: str, nodes: list[Machine]) -> str:
    for number, node in enumerate(nodes, start=1):
        here = f"host '127.0.0.1', port '{node.server.port}'"
        block = block.replace(f"host '10.0.0.{number}'", here)
        argument = f"'127.0.0.1', port => {node.server.port}"
        block = block.replace(f"'10.0.0.{number}'", argument)
    assert "10.0.0" not in block
    return block


def set_up(heading: str, query: Machine, nodes: list[Machine]) -> str:
    """Types the chapter up to its last block, and returns that."""
    of_nodes, preload, of_query, tables = read_chapter(heading)
    for node in nodes:
        node.psql(of_nodes)
        node.restart()
    query.psql(preload)
    query.restart()
    query.psql(place_nodes(of_query, nodes))
    return tables


def ask_doctor(query: Machine) -> None:
    port = str(query.server.port)
    dsn = make_conninfo(host="127.0.0.1", port=port, dbname="shop", user="app", password=PASSWORD)
    assert "error" not in invoke("doctor", "--dsn", dsn)


def test_tables_are_spread(machines: list[Machine]) -> None:
    query, *nodes = machines
    printed = query.psql(set_up(SPREAD, query, nodes), "app", "shop")
    for table in ("customer", "orders"):
        for node in ("node1", "node2"):
            assert re.search(rf"^ {table} +\| {node} +\| +6$", printed, re.MULTILINE)
    ask_doctor(query)


def test_rows_are_placed(machines: list[Machine]) -> None:
    query, *nodes = machines
    tables = set_up(PLACED, query, nodes)
    there = re.search(r"^-- on both nodes: (.*)$", tables, re.MULTILINE)
    assert there is not None
    for node in nodes:
        node.psql(there[1], "app", "shop")
    printed = query.psql(tables, "app", "shop")
    assert "Look Ahead" in printed
    assert "Storage Read Requests: 2" in printed
    counts = [node.psql("SELECT count(*) FROM orders", "app", "shop") for node in nodes]
    assert all(re.search(r"^ +[45]\d{4}$", count, re.MULTILINE) for count in counts)
    ask_doctor(query)
