"""A connection that tells all that a client can see of a statement."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lib.randomqueries.session import FAILED, NO_SQLSTATE, Row, Session, SqlError, rows_of
from psycopg import pq

# Told once a session, where servers of postgres_fdw were written to as well.
NOT_ATOMIC = "is not atomic with that on storage nodes"


@dataclass(frozen=True)
class Outcome:
    """What a statement came to. error: SQLSTATE and constraint."""

    rows: list[Row] = field(default_factory=list)
    tag: str = ""
    error: tuple[str, str] | None = None
    message: str = ""
    notices: tuple[str, ...] = ()

    @property
    def is_lost(self) -> bool:
        return self.error is not None and len(self.error[0]) != len("00000")


@dataclass
class WriteSession(Session):
    """notices: messages that came since they were cleared."""

    notices: list[str] = field(default_factory=list)

    def take_notice(self, notice: pq.abc.PGresult) -> None:
        severity = notice.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) or b""
        message = (notice.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode()
        if NOT_ATOMIC not in message:
            self.notices.append(f"{severity.decode()}: {message}")

    def outcome(self, sql: str, lines: Sequence[str] = ()) -> Outcome:
        """Runs one statement; lines are what COPY gets."""
        self.notices.clear()
        try:
            self.connection.send_query(sql.encode())
            result = self.next_result()
            if result is not None and result.status == pq.ExecStatus.COPY_IN:
                for line in lines:
                    self.connection.put_copy_data(f"{line}\n".encode())
                self.connection.put_copy_end()
                result = self.next_result()
            while self.next_result() is not None:
                pass
        except SqlError as lost:
            return Outcome(error=(lost.sqlstate, ""), message=str(lost))
        except Exception as lost:  # in libpq's words
            return Outcome(error=(NO_SQLSTATE, ""), message=str(lost))
        if result is None or self.connection.status != pq.ConnStatus.OK:
            message = self.connection.get_error_message()
            return Outcome(error=(NO_SQLSTATE, ""), message=message)
        if result.status in FAILED:
            return self.failure(result)
        tag = (result.command_status or b"").decode()
        return Outcome(rows_of(result), tag, notices=tuple(self.notices))

    def failure(self, result: pq.abc.PGresult) -> Outcome:
        error = self.error_of(result)
        constraint = result.error_field(pq.DiagnosticField.CONSTRAINT_NAME) or b""
        return Outcome(
            error=(error.sqlstate, constraint.decode()),
            message=str(error),
            notices=tuple(self.notices),
        )
