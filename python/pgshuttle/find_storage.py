"""What pgshuttle doctor finds out about storage nodes, which hold tables that are spread."""

import psycopg
from psycopg import sql

from pgshuttle.facts import Facts, StorageFacts
from pgshuttle.target import Connection, first_line

COMPARE_TIMEOUT_MS = 20_000

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
SELECT string_agg(nspname, ', ' ORDER BY nspname) AS closed FROM pg_catalog.pg_namespace
WHERE nspname = ANY ({}) AND NOT pg_catalog.has_schema_privilege(oid, 'CREATE')
"""


def read_names(connection: Connection, query: str) -> list[str]:
    """The first column of a query."""
    return [str(row[0]) for row in connection.execute(query.encode())]


def read_node(connection: Connection, name: str, schemas: list[str]) -> StorageFacts:
    """Repeats what shuttle.use_node() checks, and changes nothing."""
    facts = StorageFacts()
    closed = sql.SQL(CLOSED_SCHEMAS).format(sql.Literal(schemas)).as_string(connection)
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("SELECT shuttle.use_node(%s)", [name])
        found = connection.execute(
            "SELECT result->0->>'closed' FROM shuttle.run_on_nodes(%s, ARRAY[%s::name])",
            [closed, name],
        ).fetchone()
        facts.closed_schemas = str(found[0] or "") if found else ""
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
            for table, name, problem, hint in connection.execute(query):
                found = storage[str(name)]
                assert found is not None
                found.problems.append((f"{table} {problem}", str(hint)))
    except psycopg.Error as error:
        facts.not_compared = first_line(error)


def read_storage(connection: Connection, facts: Facts) -> None:
    """Adds what is known of storage nodes."""
    found = connection.execute("SELECT to_regclass('shuttle.storage_nodes')").fetchone()
    if found is None or found[0] is None or facts.is_standby:
        return
    names = read_names(connection, "SELECT node FROM shuttle.storage_nodes")
    schemas = read_names(connection, SCHEMAS)
    for node in facts.nodes:
        if node.name in names and not node.error:
            node.storage = read_node(connection, node.name, schemas)
    facts.used_extensions = read_names(connection, USED_EXTENSIONS)
    if names and all(node.storage for node in facts.nodes if node.name in names):
        compare_tables(connection, facts)
