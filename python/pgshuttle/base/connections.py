"""Connections to servers, and what is read over them."""

import re
from typing import Any

import psycopg

CONNECT_TIMEOUT_S = 10
Connection = psycopg.Connection[tuple[object, ...]]


def connect_to(dsn: str, name: str = "pgshuttle", timeout_s: int = CONNECT_TIMEOUT_S) -> Connection:
    """Connects to where a connection string says; each statement commits. name: shown there."""
    return psycopg.connect(dsn, connect_timeout=timeout_s, application_name=name, autocommit=True)


# the schema in which this role makes tables, with a dot
OWN_SCHEMA = "current_setting('pgshuttle.own_schema')"
SHORT_NAME = (
    rf"CASE WHEN starts_with(\1::text, {OWN_SCHEMA}) "
    rf"THEN substr(\1::text, length({OWN_SCHEMA}) + 1) ELSE \1::text END"
)


def search_safely(connection: Connection) -> None:
    """Sets the search path for what we ask; RESET search_path is for what users wrote.

    Whoever may create in a schema of the search path could put a function or operator there that
    fits a call of ours better, and it would run with the rights of this role. A pooler's
    connections may have temporary objects: named in the path, their schema comes last.
    """
    connection.execute(
        "SELECT pg_catalog.set_config('pgshuttle.own_schema', pg_catalog.concat("
        "pg_catalog.quote_ident((pg_catalog.current_schemas(false))[1]), '.'), false)"
    )
    connection.execute("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)")


def with_short_names(query: str) -> str:
    """Has SHORT_NAME(relation) in a query be its name, without this role's own schema."""
    return re.sub(r"SHORT_NAME\(([\w.]+)\)", SHORT_NAME, query)


def read_rows(connection: Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Returns what a query finds; without values, % stands for itself."""
    return list(connection.execute(query.encode(), values or None))


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
