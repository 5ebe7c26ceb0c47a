"""A psql that gets a script piece by piece, and says what it prints for each."""

import os
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from lib.testrun.cluster import Cluster, as_server_user, kill_session

MARK = "== end of piece =="
OPTIONS = ("-X", "-q", "-v", "HIDE_TABLEAM=on", "-v", "HIDE_TOAST_COMPRESSION=on")


class PsqlError(Exception):
    """psql has ended, or has not answered in time."""


class PsqlEndedError(PsqlError):
    """psql has ended."""


class Psql:
    """One session; what pg_regress sets is in its environment."""

    def __init__(self, cluster: Cluster, database: str, variables: Mapping[str, str]) -> None:
        self._cluster = cluster
        self._database = database
        self._variables = dict(variables)

    def __enter__(self) -> "Psql":
        self._process = subprocess.Popen(
            [self._cluster.installed.program("psql"), *OPTIONS, "-d", self._database],
            env=self._cluster.environment() | self._variables,
            cwd=Path(self._variables["PG_ABS_BUILDDIR"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **as_server_user(),
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            kill_session(self._process)
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def run(self, text: str, limit_s: float) -> tuple[list[str], str]:
        """Returns the lines that it prints, and the SQLSTATE of the last statement."""
        assert self._process.stdin is not None
        request = f"{text}\n\\echo '{MARK}' :SQLSTATE '{MARK}'\n"
        try:
            self._process.stdin.write(request.encode(errors="surrogateescape"))
            self._process.stdin.flush()
        except OSError as error:
            raise PsqlEndedError(f"psql has ended: {error}") from error
        return self._read(limit_s)

    def _read(self, limit_s: float) -> tuple[list[str], str]:
        assert self._process.stdout is not None
        deadline = time.monotonic() + limit_s
        printed = b""
        mark = MARK.encode()
        while printed[-200:].count(mark + b"\n") == 0:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([self._process.stdout], [], [], left_s)[0]:
                raise PsqlError(f"no answer after {limit_s:.0f} s; so far: {printed[-500:]!r}")
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                raise PsqlEndedError(f"psql has ended; so far: {printed[-500:]!r}")
            printed += more
        lines = printed.decode(errors="replace").split("\n")
        state = lines[-2].removesuffix(MARK).rpartition(MARK)[2].strip()
        rest = lines[-2].partition(MARK)[0]
        kept = lines[:-2] + ([rest] if rest else [])
        # a test may have it echo its input
        return [line for line in kept if MARK not in line], state
