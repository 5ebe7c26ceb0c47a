"""The transactions of pgbench (TPC-B), run by pgbench: over the query node and on a node.

And by a client that needs no query node, since it knows which node has what.
"""

import random
import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from psycopg import pq

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure, writes_tables
from pgshuttle.cluster import catalog, processes
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.cluster.servers import SUPERUSER

STATEMENTS = (
    "UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid",
    "SELECT abalance FROM accounts WHERE aid = :aid",
    "UPDATE tellers SET tbalance = tbalance + :delta WHERE tid = :tid",
    "UPDATE branches SET bbalance = bbalance + :delta WHERE bid = 1",
    "INSERT INTO history (tid, bid, aid, delta, mtime)"
    " VALUES (:tid, 1, :aid, :delta, CURRENT_TIMESTAMP)",
)
MOST_DELTA = 5000
SCRIPT = "\n".join(
    [
        r"\set aid random(1, :naccounts)",
        r"\set tid random(1, :ntellers)",
        rf"\set delta random(-{MOST_DELTA}, {MOST_DELTA})",
        *(f"{statement};" for statement in ("BEGIN", *STATEMENTS, "END")),
        "",
    ]
)
NSTATEMENTS = 2 + len(STATEMENTS)
NTRIPS = NSTATEMENTS - 1  # BEGIN need not be asked for by itself
NWARM = 3  # transactions of a new session that do not count
LIMIT_S = 120
US_PER_MS = 1000
ELAPSED_US = 2  # the column of pgbench's log


def read_log(directory: Path) -> list[float]:
    """Reads how long each transaction took, in milliseconds, from what pgbench wrote."""
    lines = [line for path in directory.glob("log.*") for line in path.read_text().splitlines()]
    try:
        return [int(line.split()[ELAPSED_US]) / US_PER_MS for line in lines]
    except (IndexError, ValueError):
        raise ToolError("pgbench wrote a log that is none") from None


def run_pgbench(build: ServerBuild, port: int, schema: str, ntransactions: int) -> list[float]:
    """Runs transactions one by one in one new session; returns milliseconds of each."""
    place = f"host=127.0.0.1 port={port} user={SUPERUSER} dbname={catalog.DATABASE}"
    target = f"{place} options='-c search_path={schema}'"
    with tempfile.TemporaryDirectory(prefix="pgshuttle-pgbench-") as name:
        directory = Path(name)
        script = directory / "script.sql"
        script.write_text(SCRIPT, encoding="utf-8")
        count = NWARM + ntransactions
        words = ["--no-vacuum", f"--file={script}", f"--transactions={count}"]
        words += [f"--define=naccounts={writes_tables.NACCOUNTS}"]
        words += [f"--define=ntellers={writes_tables.NTELLERS}"]
        words += ["--log", f"--log-prefix={directory}/log", target]
        processes.run([build.bin_dir / "pgbench", *words], timeout_s=LIMIT_S)
        found = read_log(directory)
    if len(found) != count:
        raise ToolError(f"pgbench ended {len(found)} of {count} transactions")
    return found[NWARM:]


class ByHand:
    """The same transactions on one node or two, each asked only for what depends on its answer.

    BEGIN travels with the first statement for a node. Two nodes prepare at once and commit at
    once; nothing is recorded that would end what a crash leaves.
    """

    def __init__(self, connections: Sequence[Connection]) -> None:
        for connection in connections:
            connection.execute("SET search_path = writes")
        self._nodes = [connection.pgconn for connection in connections]

    def _ask(self, nodes: Sequence[pq.abc.PGconn], statement: str) -> None:
        for node in nodes:
            node.send_query(statement.encode())
        for node in nodes:
            while (result := node.get_result()) is not None:
                measure.check_result(result, statement)

    def _transact(self, name: str) -> None:
        values = {
            ":aid": str(random.randint(1, writes_tables.NACCOUNTS)),
            ":tid": str(random.randint(1, writes_tables.NTELLERS)),
            ":delta": str(random.randint(-MOST_DELTA, MOST_DELTA)),
        }
        begun: list[pq.abc.PGconn] = []
        for statement in STATEMENTS:
            text = re.sub(r":\w+", lambda found: values[found[0]], statement)
            node = self._nodes[0 if "accounts" in statement else -1]
            self._ask([node], text if node in begun else f"BEGIN; {text}")
            begun.append(node)
        if len(self._nodes) == 1:
            self._ask(self._nodes, "COMMIT")
            return
        self._ask(self._nodes, f"PREPARE TRANSACTION '{name}'")
        self._ask(self._nodes, f"COMMIT PREPARED '{name}'")

    def run(self, ntransactions: int) -> list[float]:
        numbers = range(NWARM + ntransactions)
        runs = [partial(self._transact, f"by hand {number}") for number in numbers]
        return [measure.time_ms(run)[0] for run in runs][NWARM:]
