"""The slowest statements, by pg_stat_statements, and the plan of one."""

from datetime import UTC, datetime
from typing import Any

import psycopg

from pgshuttle.base.connections import Connection, quote, read_rows
from pgshuttle.console.texts import Action, refuse
from pgshuttle.look import explain as look_explain
from pgshuttle.look import plan_page
from pgshuttle.look.target import first_line

NSHOWN = 15  # by each order

SCHEMA = """
SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'
"""
# A role that may not see a text gets no number either: such rows have no queryid.
STATEMENTS = """
WITH ranked AS (
    SELECT s.*, rank() OVER (ORDER BY total_exec_time DESC) AS by_total,
        rank() OVER (ORDER BY mean_exec_time DESC) AS by_mean
    FROM {} s
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND toplevel)
SELECT queryid::text, userid::int8, pg_get_userbyid(userid)::text, left(query, 600),
    length(query) > 600, calls, total_exec_time, mean_exec_time, max_exec_time, rows
FROM ranked WHERE by_total <= %s OR by_mean <= %s
ORDER BY total_exec_time DESC
"""
FIELDS = (
    "id",
    "user_id",
    "user",
    "query",
    "cut",
    "calls",
    "total_ms",
    "mean_ms",
    "max_ms",
    "rows",
)
INSTALL = (
    Action(
        "add pg_stat_statements to this list, and restart the server",
        "SHOW shared_preload_libraries;",
    ),
    Action("then, in this database", "CREATE EXTENSION pg_stat_statements;"),
)

ONE = """
SELECT query FROM {}
WHERE queryid = %s AND userid = %s AND toplevel
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
LIMIT 1
"""
PLAN_YOURSELF = (
    "Plan it as that role: EXPLAIN (GENERIC_PLAN, VERBOSE) and its text, from PostgreSQL 16 on."
)
# Planning runs functions of the statement, with the rights of whoever plans it.
TRUSTED = "SELECT rolsuper OR rolname = current_user FROM pg_roles WHERE oid = %s"
# Whoever may create in a schema of the search path could put a function there that fits a call
# of the statement better. Left are pg_catalog and the schemas in which only superusers, the
# database's owner and this role may create. All names have their schema for the same reason.
SAFE_PATH = """
SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', 'pg_catalog',
    pg_catalog.string_agg(pg_catalog.quote_ident(n.nspname), ', ' ORDER BY s.place),
    'pg_temp'), true)
FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY s (name, place)
    JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) s.name
    JOIN pg_catalog.pg_database d
        ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
    WHERE r.rolname OPERATOR(pg_catalog.<>) ALL (ARRAY['pg_database_owner', current_user])
        AND NOT pg_catalog.pg_has_role(r.oid, d.datdba, 'MEMBER')
        AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE'))
"""
# Planning computes constants in defaults, checks, indexes and views of a relation, as its owner
# wrote them. A statement that was prepared has locked its relations, all but those below them.
NOT_TRUSTED = """
WITH RECURSIVE used AS (
    SELECT l.relation FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation'
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION
    SELECT i.inhrelid FROM used u JOIN pg_inherits i ON i.inhparent = u.relation)
SELECT c.oid::regclass::text, r.rolname::text
FROM used u JOIN pg_class c ON c.oid = u.relation JOIN pg_roles r ON r.oid = c.relowner
WHERE NOT r.rolsuper AND r.rolname <> current_user
ORDER BY 1 LIMIT 1
"""
# The planner also computes constants in domains of columns, in functions that it inlines, and
# behind operators and casts. Which ones cannot be told before; roles without functions and domains
# in this database have written none of them.
MAKERS = """
SELECT r.rolname::text FROM pg_roles r
WHERE NOT r.rolsuper AND r.rolname <> current_user
    AND (EXISTS (SELECT FROM pg_proc p WHERE p.proowner = r.oid)
        OR EXISTS (SELECT FROM pg_type t WHERE t.typowner = r.oid AND t.typtype = 'd'))
ORDER BY 1 LIMIT 1
"""
PREPARED = """
SELECT coalesce(array_length(parameter_types, 1), 0) FROM pg_prepared_statements
WHERE name = 'shuttle_console'
"""


def find_view(connection: Connection) -> str | None:
    """Returns the view's name with its schema, as SQL."""
    for (schema,) in read_rows(connection, SCHEMA):
        return f"{quote(schema)}.pg_stat_statements"
    return None


def read_statements(connection: Connection) -> dict[str, Any]:
    view = find_view(connection)
    if view is None:
        return {
            "error": "The extension pg_stat_statements is not in this database.",
            "actions": [action.describe() for action in INSTALL],
        }
    try:
        rows = read_rows(connection, STATEMENTS.replace("{}", view), NSHOWN, NSHOWN)
    except psycopg.Error as error:
        return refuse(error, *INSTALL[:1])
    reset = Action("count anew", f"SELECT {view}_reset();")
    return {
        "statements": [dict(zip(FIELDS, row, strict=True)) for row in rows],
        "actions": [reset.describe()],
    }


class NoPlanError(Exception):
    """Says why there is no plan, to people."""


def read_text(connection: Connection, query_id: int, user_id: int) -> str:
    view = find_view(connection)
    found = []
    if view is not None:
        found = read_rows(connection, ONE.replace("{}", view), query_id, user_id)
    if not found:
        raise NoPlanError("pg_stat_statements does not know this statement any more.")
    if read_rows(connection, TRUSTED, user_id) != [(True,)]:
        raise NoPlanError(
            "This statement is of another role, and to plan it is to run functions that it "
            "names. " + PLAN_YOURSELF
        )
    return str(found[0][0])


def refuse_code_of_others(connection: Connection) -> None:
    """Raises NoPlanError if to plan what was prepared may run what other roles wrote."""
    for relation, owner in read_rows(connection, NOT_TRUSTED):
        raise NoPlanError(
            f'"{relation}" is of the role "{owner}", and to plan this statement is to run '
            "functions that its definition names. " + PLAN_YOURSELF
        )
    for (maker,) in read_rows(connection, MAKERS):
        raise NoPlanError(
            f'The role "{maker}" has functions or domains in this database, and to plan this '
            "statement may be to run them. " + PLAN_YOURSELF
        )


def plan(connection: Connection, text: str) -> dict[str, Any]:
    """Plans a statement for parameters that are not known, without running it.

    Sent as a prepared statement, the server takes no second one behind it.
    """
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("SET LOCAL search_path TO DEFAULT")
            read_rows(connection, SAFE_PATH)
            connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            connection.execute(f"PREPARE shuttle_console AS {text}".encode(), prepare=True)
            refuse_code_of_others(connection)
            ((nvalues,),) = read_rows(connection, PREPARED)
            values = f"({', '.join(['NULL'] * nvalues)})" if nvalues else ""
            explain = f"EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE shuttle_console{values}"
            ((answer,),) = read_rows(connection, explain)
    finally:
        if read_rows(connection, PREPARED):  # a rollback keeps it
            connection.execute("DEALLOCATE shuttle_console")
    found: dict[str, Any] = answer[0]
    return found


def write_plan(connection: Connection, query_id: int, user_id: int) -> str:
    """Writes the page of a statement's plan."""
    text = read_text(connection, query_id, user_id)
    try:
        answer = plan(connection, text)
        servers = dict(read_rows(connection, look_explain.FOREIGN_TABLES))
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction) as error:
        raise NoPlanError(
            f"The server cannot plan it: {first_line(error)}. Schemas in which other roles may "
            "create are not searched."
        ) from None
    except psycopg.Error as error:
        raise NoPlanError(f"The server cannot plan it: {first_line(error)}") from None
    origin = plan_page.Origin(text, datetime.now(UTC), look_explain.name_server(connection))
    return plan_page.write_page(origin, answer, servers)
