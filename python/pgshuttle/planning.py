"""What the loaded library costs a query that has nothing to do with it.

A server of its own, in single-user mode under valgrind's callgrind, plans
queries over local tables; instructions inside of the server's planner() are
counted. Unlike times, they are the same on a busy machine.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from pgshuttle import processes, servers
from pgshuttle.builds import EXTENSION, ServerBuild
from pgshuttle.errors import ToolError
from pgshuttle.servers import Server
from pgshuttle.state import Cluster

NPLANNINGS = 1000
TIMEOUT_S = 300
TABLES = (
    "CREATE TABLE a (id bigint PRIMARY KEY, x int, b_id bigint)",
    "CREATE TABLE b (id bigint PRIMARY KEY, x int)",
)
QUERIES = {
    "no table": "SELECT 1",
    "by primary key": "SELECT * FROM a WHERE id = 7",
    "join": "SELECT a.x, b.x FROM a JOIN b ON b.id = a.b_id WHERE a.x = 3 ORDER BY a.id LIMIT 10",
    "EXISTS": "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.b_id)",
}


@dataclass(frozen=True)
class PlanningCost:
    """Instructions of NPLANNINGS plannings of one query."""

    name: str
    query: str
    nplannings: int
    instructions_without: int
    instructions_with: int

    @property
    def increase(self) -> float:
        """The part by which the library adds to the instructions; 0.01 is one percent."""
        return self.instructions_with / self.instructions_without - 1


def can_measure() -> bool:
    """Says if callgrind is installed."""
    return shutil.which("valgrind") is not None


def write_script(server: Server, statements: list[str]) -> Path:
    """Writes statements, a line each, to where the server's user can read them."""
    path = server.directory / "planning.sql"
    path.write_text("\n".join(statements) + "\n", encoding="utf-8")
    path.chmod(0o644)
    return path


def run_single(
    build: ServerBuild, server: Server, statements: list[str], words: list[str], library: str
) -> None:
    """Runs statements in single-user mode. words: what goes before the command."""
    processes.run(
        [*words, build.bin_dir / "postgres", "--single", "-D", server.data_dir]
        + ["-c", f"shared_preload_libraries={library}", "postgres"],
        timeout_s=TIMEOUT_S,
        as_server_user=True,
        stdin_path=write_script(server, statements),
    )


def count_instructions(build: ServerBuild, server: Server, query: str, library: str) -> int:
    """Counts what planning a query takes, many times over."""
    counts = server.directory / "callgrind.out"
    counts.unlink(missing_ok=True)
    callgrind = ["valgrind", "--tool=callgrind", "--toggle-collect=planner"]
    callgrind.append(f"--callgrind-out-file={counts}")
    run_single(build, server, [f"EXPLAIN {query}"] * NPLANNINGS, callgrind, library)
    found = re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.MULTILINE)
    if found is None or int(found.group(1)) == 0:
        raise ToolError("callgrind counted no instructions of the planner")
    return int(found.group(1))


def measure_planning(cluster: Cluster) -> tuple[PlanningCost, ...]:
    """Measures each query with the library and without; nothing if callgrind is missing."""
    if not cluster.with_extension or not can_measure():
        return ()
    build = cluster.build
    directory = cluster.directory / "planning"
    try:
        server = servers.create_server(
            build, directory.name, cluster.directory, cluster.query.socket_dir, {}
        )
        run_single(build, server, list(TABLES), [], "")
        return tuple(
            PlanningCost(
                name=name,
                query=query,
                nplannings=NPLANNINGS,
                instructions_without=count_instructions(build, server, query, ""),
                instructions_with=count_instructions(build, server, query, EXTENSION),
            )
            for name, query in QUERIES.items()
        )
    finally:
        shutil.rmtree(directory, ignore_errors=True)
