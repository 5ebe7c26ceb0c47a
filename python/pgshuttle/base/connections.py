"""Connections to servers, and what is read over them."""

from typing import Any

import psycopg

CONNECT_TIMEOUT_S = 10
Connection = psycopg.Connection[tuple[object, ...]]


def connect_to(dsn: str, name: str = "pgshuttle", timeout_s: int = CONNECT_TIMEOUT_S) -> Connection:
    """Connects to where a connection string says; each statement commits. name: shown there."""
    return psycopg.connect(dsn, connect_timeout=timeout_s, application_name=name, autocommit=True)


def search_pg_catalog_only(connection: Connection) -> None:
    """Sets search_path for what a superuser may read.

    Whoever may create in a schema of the search path could put a function or operator there that
    fits a call of ours better, and it would run with the rights of this role. A pooler's
    connections may have temporary objects: named in the path, their schema comes last.
    """
    connection.execute("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)")


def read_rows(connection: Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Returns what a query finds; without values, % stands for itself."""
    return list(connection.execute(query.encode(), values or None))


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
