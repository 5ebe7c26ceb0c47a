"""What pgshuttle doctor finds out about storage nodes, which hold tables that are spread."""

import re

import psycopg
from psycopg import sql

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import Facts, StorageFacts
from pgshuttle.look.target import first_line

COMPARE_TIMEOUT_MS = 20_000
LOST = re.compile("has no column |has column .* in the place of ")  # what shuttle.check() says

# extensions whose types the columns of tables have
USED_EXTENSIONS = """
SELECT DISTINCT e.extname::text
FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = a.atttypid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid
WHERE c.relkind IN ('r', 'p')
"""

SCHEMAS = """
SELECT DISTINCT n.nspname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_'
    AND n.nspname NOT IN ('information_schema', 'shuttle')
"""

CLOSED_SCHEMAS = """
SELECT pg_catalog.string_agg(pg_catalog.quote_ident(nspname), ', ' ORDER BY nspname) AS closed,
    pg_catalog.quote_ident(current_user) AS "user"
FROM pg_catalog.pg_namespace
WHERE nspname = ANY ({}) AND NOT pg_catalog.has_schema_privilege(oid, 'CREATE')
"""

USE_NODE = "SELECT subject, verdict, coalesce(hint, '') FROM shuttle.use_node(%s)"

# foreign tables that stand for those that shuttle.check() compares
COMPARED = """
SELECT tablet::text FROM shuttle.tablets
UNION ALL
SELECT c.oid::regclass::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'pg_shuttle_copies' AND c.relkind = 'f'
"""


def read_node(connection: Connection, name: str, schemas: list[str]) -> StorageFacts:
    """Repeats what shuttle.use_node() checks, and changes nothing."""
    facts = StorageFacts()
    closed = sql.SQL(CLOSED_SCHEMAS).format(sql.Literal(schemas)).as_string(connection)
    try:
        with connection.transaction(force_rollback=True):
            found = {row[0]: row for row in read_rows(connection, USE_NODE, name)}
            _, facts.power, facts.advice = found["privileges"]
        query = (
            "SELECT result->0->>'closed', result->0->>'user' "
            "FROM shuttle.run_on_nodes(%s, ARRAY[%s::name])"
        )
        for names, user in read_rows(connection, query, closed, name):
            facts.closed_schemas, facts.remote_user = names or "", user or ""
    except psycopg.errors.InsufficientPrivilege:
        facts.may_look = False
    except psycopg.Error as error:
        facts.refusal = error.diag.message_detail or first_line(error)
        facts.hint = error.diag.message_hint or ""
    return facts


def compare_tables(connection: Connection, facts: Facts) -> None:
    """Has the server compare tables on nodes with what they should be."""
    storage = {node.name: node.storage for node in facts.nodes}
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(f"SET LOCAL statement_timeout = {COMPARE_TIMEOUT_MS}".encode())
            query = "SELECT relation::text, node::text, problem, hint FROM shuttle.check()"
            # constraints and indexes need columns: first those that are lost
            problems = sorted(read_rows(connection, query), key=lambda row: not LOST.match(row[2]))
            for table, name, problem, hint in problems:
                found = storage[name]
                if found is not None:  # else it cannot be reached, which is said already
                    found.problems.append((f"{table} {problem}", hint))
    except psycopg.Error as error:
        facts.not_compared = first_line(error)


def leave_out_compared(connection: Connection, facts: Facts) -> None:
    """Tablets need no comparison of ours, whose statements nodes refuse for them."""
    compared = {name for (name,) in read_rows(connection, COMPARED)}
    for node in facts.nodes:
        node.relations = [one for one in node.relations if one.name not in compared]


def read_storage(connection: Connection, facts: Facts, *, compare: bool = True) -> None:
    """compare: by shuttle.check(), for which writers of reference tables wait."""
    ((view,),) = read_rows(connection, "SELECT to_regclass('shuttle.storage_nodes')")
    if view is None or facts.is_standby:
        return
    names = [name for (name,) in read_rows(connection, "SELECT node FROM shuttle.storage_nodes")]
    schemas = [name for (name,) in read_rows(connection, SCHEMAS)]
    for node in facts.nodes:
        if node.name in names and not node.error:
            node.storage = read_node(connection, node.name, schemas)
    facts.used_extensions = [name for (name,) in read_rows(connection, USED_EXTENSIONS)]
    if not names:
        return
    if compare:
        compare_tables(connection, facts)
    else:
        facts.not_compared = "writers would wait for shuttle.check()"
    if not (compare and facts.not_compared):
        leave_out_compared(connection, facts)
