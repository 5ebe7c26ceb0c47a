"""Runs a statement under EXPLAIN, without its changes."""

from typing import Any

import psycopg

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.look import target

# for scans whose server EXPLAIN does not name: those of postgres_fdw
FOREIGN_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname), s.srvname
FROM pg_foreign_table t
    JOIN pg_class c ON c.oid = t.ftrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_foreign_server s ON s.oid = t.ftserver
"""


def explain_query(connection: Connection, query: str, *, has_dist: bool) -> dict[str, Any]:
    """Runs a statement under EXPLAIN and takes back what it changed.

    It is sent as a prepared one, of which the server takes no more than one: a
    second would run without EXPLAIN, and could commit. has_dist: with the counters of DIST.
    """
    options = "ANALYZE, VERBOSE, FORMAT JSON" + (", DIST" if has_dist else "")
    try:
        with connection.transaction(force_rollback=True):
            statement = f"EXPLAIN ({options}) {query}".encode()
            row = connection.execute(statement, prepare=True).fetchone()
    except psycopg.Error as error:
        raise ToolError(f"the server says: {target.first_line(error)}") from None
    if row is None or not isinstance(row[0], list):
        raise ToolError("the server gave no plan")
    found: dict[str, Any] = row[0][0]
    return found


def name_server(connection: Connection) -> str:
    """Says to people which database of which server this is."""
    info = connection.info
    return (
        f"database {info.dbname} of {info.host or 'this host'}, port {info.port}, "
        f"PostgreSQL {info.parameter_status('server_version')}"
    )
