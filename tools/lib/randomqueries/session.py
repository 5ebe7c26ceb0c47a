"""One connection to the server under test, with a limit for every wait."""

import json
import select
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import pq

Row = tuple[bytes | None, ...]

FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE)
NO_SQLSTATE = "lost"  # instead of an SQLSTATE: the server went away
HANGS = "hangs"


class SqlError(Exception):
    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(f"{sqlstate} {message}")
        self.sqlstate = sqlstate

    @property
    def is_lost(self) -> bool:
        return self.sqlstate in (NO_SQLSTATE, HANGS)


@dataclass
class Session:
    """A connection; plans and warnings are what notices brought since they were cleared."""

    host: str
    port: int
    user: str
    database: str
    limit_s: float = 180.0  # above the time that a query may take on a busy machine
    plans: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def connect(self) -> None:
        parts = {"host": self.host, "port": self.port, "user": self.user, "dbname": self.database}
        text = " ".join(f"{key}='{part}'" for key, part in parts.items())
        self.connection = pq.PGconn.connect(f"{text} connect_timeout=20".encode())
        if self.connection.status != pq.ConnStatus.OK:
            raise SqlError(NO_SQLSTATE, self.connection.get_error_message())
        self.connection.notice_handler = self.take_notice

    def close(self) -> None:
        self.connection.finish()

    def take_notice(self, notice: pq.abc.PGresult) -> None:
        """Plans come as notices of auto_explain; a warning is nothing that we expect."""
        severity = notice.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) or b""
        message = (notice.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode()
        if message.startswith("duration: ") and "plan:" in message:
            self.plans.append(json.loads(message[message.index("{") :]))
        elif severity == b"WARNING":
            self.warnings.append(message)

    def run(self, sql: str) -> list[Row]:
        """Runs statements, and returns the rows of the last one."""
        self.connection.send_query(sql.encode())
        last: pq.abc.PGresult | None = None
        error: SqlError | None = None
        while (result := self.next_result()) is not None:
            if result.status in FAILED and error is None:
                error = self.error_of(result)
            last = result
        if self.connection.status != pq.ConnStatus.OK:
            raise SqlError(NO_SQLSTATE, self.connection.get_error_message())
        if error is not None:
            raise error
        return rows_of(last)

    def define_server(
        self, name: str, wrapper: str, database: str, user: str = "CURRENT_USER"
    ) -> None:
        """A foreign server that leads to a database of this very server."""
        self.run(
            f"CREATE SERVER {name} FOREIGN DATA WRAPPER {wrapper} OPTIONS"
            f" (host '{self.host}', port '{self.port}', dbname '{database}');"
            f"CREATE USER MAPPING FOR {user} SERVER {name}"
        )

    def next_result(self) -> pq.abc.PGresult | None:
        """Waits in turns of a second: a machine that stood still meanwhile is no hanging server."""
        turns = int(self.limit_s)
        while self.connection.is_busy():
            if not select.select([self.connection.socket], [], [], 1.0)[0]:
                turns -= 1
                if turns <= 0:
                    raise SqlError(HANGS, f"no answer within {self.limit_s:.0f} s")
                continue
            try:
                self.connection.consume_input()
            except Exception as lost:
                raise SqlError(NO_SQLSTATE, str(lost)) from None
        return self.connection.get_result()

    def error_of(self, result: pq.abc.PGresult) -> SqlError:
        sqlstate = result.error_field(pq.DiagnosticField.SQLSTATE)
        message = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b""
        return SqlError((sqlstate or NO_SQLSTATE.encode()).decode(), message.decode())

    def copy(self, sql: str, rows: Iterable[Sequence[str | None]]) -> None:
        self.connection.send_query(sql.encode())
        self.next_result()
        for row in rows:
            line = "\t".join("\\N" if text is None else escaped(text) for text in row)
            self.connection.put_copy_data(f"{line}\n".encode())
        self.connection.put_copy_end()
        while (result := self.next_result()) is not None:
            if result.status in FAILED:
                raise self.error_of(result)


def escaped(text: str) -> str:
    for char, escape in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(char, escape)
    return text


def rows_of(result: pq.abc.PGresult | None) -> list[Row]:
    if result is None or result.status != pq.ExecStatus.TUPLES_OK:
        return []
    columns = range(result.nfields)
    return [tuple(result.get_value(i, j) for j in columns) for i in range(result.ntuples)]
