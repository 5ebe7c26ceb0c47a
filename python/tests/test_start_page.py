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
CHAPTER = "## You set up several nodes"
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


def read_chapter() -> list[str]:
    """The chapter's blocks of SQL, with the password."""
    chapter = PAGE.read_text().split(CHAPTER, 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"^```sql\n(.*?)^```$", chapter, re.M | re.DOTALL)
    return [block.replace("'...'", f"'{PASSWORD}'") for block in blocks]


def place_nodes(block: str, nodes: list[Machine]) -> str:
    for number, node in enumerate(nodes, start=1):
        here = f"host '127.0.0.1', port '{node.server.port}'"
        block = block.replace(f"host '10.0.0.{number}'", here)
    assert "10.0.0" not in block
    return block


def test_several_nodes(machines: list[Machine]) -> None:
    query, *nodes = machines
    of_nodes, preload, set_up, tables = read_chapter()
    for node in nodes:
        node.psql(of_nodes)
        node.restart()
    query.psql(preload)
    query.restart()
    query.psql(place_nodes(set_up, nodes))
    there = re.search(r"^-- on both nodes: (.*)$", tables, re.MULTILINE)
    assert there is not None
    for node in nodes:
        node.psql(there[1], "app", "shop")
    printed = query.psql(tables, "app", "shop")
    assert "Look Ahead" in printed
    assert "Storage Read Requests: 2" in printed
    counts = [node.psql("SELECT count(*) FROM orders", "app", "shop") for node in nodes]
    assert all(re.search(r"^ +[45]\d{4}$", count, re.MULTILINE) for count in counts)
    port = str(query.server.port)
    dsn = make_conninfo(host="127.0.0.1", port=port, dbname="shop", user="app", password=PASSWORD)
    assert "error" not in invoke("doctor", "--dsn", dsn)
