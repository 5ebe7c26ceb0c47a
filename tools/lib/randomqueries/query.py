"""What a query is to those who run it."""

from dataclasses import dataclass

from lib.randomqueries.fragments import Sql


@dataclass(frozen=True)
class Query:
    """A query, and what can be expected of it."""

    sql: Sql
    ordered: bool = False  # its ORDER BY leaves nothing open
    may_fail: bool = False  # there is an expression that may raise an error
    limited: bool = False
    locks: bool = False
    writes: bool = False
    key: Sql | None = None  # a condition by which every table is read

    @property
    def runs_plain(self) -> bool:
        """It can be run by itself only, not as a cursor or beside another."""
        return self.may_fail or self.locks or self.writes
