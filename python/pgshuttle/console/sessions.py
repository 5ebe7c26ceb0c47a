"""Sessions of the query node for the page: as many as reads run at the same time, and read-only."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection

MOST_SESSIONS = 8
LIMIT_MS = 5000  # of a statement
# a query node that is gone without a word is noticed after so long
CONNECT_S = 3
LIBPQ = {"tcp_user_timeout": "3000"}
SETTINGS = (
    f"SET statement_timeout = {LIMIT_MS}",
    "SET lock_timeout = 1000",
    "SET default_transaction_read_only = on",
)

Found = TypeVar("Found")


class AwayError(psycopg.OperationalError):
    """The query node cannot be reached, or has ended the session."""


def hide_statements(connection: Connection) -> None:
    """Keeps the page's own statements out of pg_stat_statements, if this role may."""
    with suppress(psycopg.errors.InsufficientPrivilege):
        connection.execute("SET pg_stat_statements.track = 'none'")


def open_session(dsn: str) -> Connection:
    """Connects for reading; each statement is a transaction of its own."""
    connection = connections.connect_to(make_conninfo(dsn, **LIBPQ), "pgshuttle console", CONNECT_S)
    connections.search_safely(connection)
    for setting in SETTINGS:
        connection.execute(setting.encode())
    hide_statements(connection)
    return connection


def end(connection: Connection) -> None:
    """Ends what a session runs, and has what its thread would run next fail."""
    with suppress(psycopg.Error):  # it may have ended by itself
        connection.cancel()
    with (
        suppress(psycopg.Error, OSError),
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)


class Sessions:
    """Runs reads in threads, each of which has a session."""

    def __init__(self, dsn: str, most: int = MOST_SESSIONS) -> None:
        self.dsn = dsn
        self._pool = ThreadPoolExecutor(most, "session")
        self._own = threading.local()
        self._lock = threading.Lock()
        self._opened: set[Connection] = set()  # under the lock: each thread adds its own
        self._is_closed = False

    async def read(self, reader: Callable[..., Found], *values: Any) -> Found:  # noqa: ANN401
        """Calls a function with a connection and these values, without waiting in this thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: self._call(reader, *values))

    def _call(self, reader: Callable[..., Found], *values: object) -> Found:
        connection: Connection | None = getattr(self._own, "connection", None)
        if connection is not None and not connection.closed:
            try:
                return reader(connection, *values)
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
        # The server was started again since, or this thread is new.
        self._own.connection = connection = self._open()
        try:
            return reader(connection, *values)
        except psycopg.OperationalError as error:
            if not connection.closed:
                raise
            raise AwayError(str(error)) from error

    def _open(self) -> Connection:
        try:
            connection = open_session(self.dsn)
        except psycopg.OperationalError as error:
            raise AwayError(str(error)) from error
        with self._lock:
            self._opened = {one for one in self._opened if not one.closed} | {connection}
            if not self._is_closed:
                return connection
        connection.close()
        raise AwayError("The console ends.")

    def _list_opened(self) -> set[Connection]:
        with self._lock:
            return set(self._opened)

    def close(self) -> None:
        """Ends all sessions, and the reads that run."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._is_closed = True
        for connection in self._list_opened():
            end(connection)
        self._pool.shutdown(wait=True)
        for connection in self._list_opened():
            connection.close()
