"""A connection that keeps all that a client is told."""

from dataclasses import dataclass, field

from lib.randomqueries.session import FAILED, NO_SQLSTATE, Row, Session, SqlError, rows_of
from psycopg import pq

FIELDS = (
    pq.DiagnosticField.MESSAGE_PRIMARY,
    pq.DiagnosticField.MESSAGE_DETAIL,
    pq.DiagnosticField.MESSAGE_HINT,
    pq.DiagnosticField.CONTEXT,
    pq.DiagnosticField.INTERNAL_QUERY,
)


@dataclass(frozen=True)
class Outcome:
    """What a statement came to. told: messages with all their parts, and rows as they came."""

    sqlstate: str
    tag: str
    rows: list[Row]
    told: tuple[str, ...]

    @property
    def is_lost(self) -> bool:
        return len(self.sqlstate) != len("00000")

    def summary(self, exact: bool) -> tuple[str, str, list[Row]]:
        """What is the same on both sides; exact: which rows come is not left open."""
        return self.sqlstate, self.tag, sorted(self.rows, key=str) if exact else []


def parts_of(result: pq.abc.PGresult) -> str:
    parts = (result.error_field(name) for name in FIELDS)
    return "\n".join(part.decode() for part in parts if part)


@dataclass
class AttackSession(Session):
    messages: list[str] = field(default_factory=list)

    def take_notice(self, notice: pq.abc.PGresult) -> None:
        self.messages.append(parts_of(notice))

    def outcome(self, sql: str) -> Outcome:
        """Runs one statement."""
        self.messages.clear()
        rows: list[Row] = []
        sqlstate, tag = "00000", ""
        try:
            self.connection.send_query(sql.encode())
            while (result := self.next_result()) is not None:
                if result.status == pq.ExecStatus.COPY_OUT:
                    rows += self.copied_rows()
                elif result.status in FAILED:
                    sqlstate = self.error_of(result).sqlstate
                    self.messages.append(parts_of(result))
                else:
                    tag = (result.command_status or b"").decode()
                    rows += rows_of(result)
        except SqlError as lost:
            return Outcome(lost.sqlstate, "", [], (str(lost),))
        if self.connection.status != pq.ConnStatus.OK:
            return Outcome(NO_SQLSTATE, "", [], (self.connection.get_error_message(),))
        shown = [str(value.decode()) for row in rows for value in row if value is not None]
        return Outcome(sqlstate, tag, rows, (*self.messages, *shown))

    def copied_rows(self) -> list[Row]:
        rows: list[Row] = []
        while True:
            length, line = self.connection.get_copy_data(0)
            if length < 0:
                return rows
            rows.append((bytes(line),))
