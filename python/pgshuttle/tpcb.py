"""The transactions of pgbench (TPC-B), run by pgbench: over the query node and on a node."""

import tempfile
from pathlib import Path

from psycopg import conninfo

from pgshuttle import catalog, processes, writes_tables
from pgshuttle.builds import ServerBuild
from pgshuttle.errors import ToolError
from pgshuttle.servers import SUPERUSER

SCRIPT = r"""\set aid random(1, :naccounts)
\set tid random(1, :ntellers)
\set delta random(-5000, 5000)
BEGIN;
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM accounts WHERE aid = :aid;
UPDATE tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE branches SET bbalance = bbalance + :delta WHERE bid = 1;
INSERT INTO history (tid, bid, aid, delta, mtime)
VALUES (:tid, 1, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""
NSTATEMENTS = 7
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
    target = conninfo.make_conninfo(
        host="127.0.0.1",
        port=port,
        user=SUPERUSER,
        dbname=catalog.DATABASE,
        options=f"-c search_path={schema}",
    )
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
