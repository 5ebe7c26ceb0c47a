"""What making tables takes everywhere: schemas, statements about them, foreign tables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ToolError
from pgshuttle.cluster import catalog

# of the schemas of two ways
SERVER_NAMES = {"OURS": catalog.engine_server_name, "STOCK": catalog.stock_server_name}


@contextmanager
def making(what: str) -> Iterator[None]:
    """Tells which tables could not be made."""
    try:
        yield
    except psycopg.Error as error:
        raise ToolError(f"could not make {what}: {error}".strip()) from None


def write(text: str, schema: str, **values: object) -> sql.Composed:
    """Writes a statement about the tables of a schema, {s}. values: literals, or parts of SQL."""
    parts = {
        name: value if isinstance(value, sql.Composable) else sql.Literal(value)
        for name, value in values.items()
    }
    return sql.SQL(text).format(s=sql.Identifier(schema), **parts)


def execute(connection: Connection, text: str, schema: str, **values: object) -> None:
    """Executes statements about the tables of a schema, {s}."""
    for statement in text.split(";"):
        connection.execute(write(statement, schema, **values))


def make_schema(connection: Connection, schema: str) -> None:
    execute(connection, "DROP SCHEMA IF EXISTS {s} CASCADE; CREATE SCHEMA {s}", schema)


def in_parentheses(columns: str) -> sql.Composed:
    return sql.SQL("({})").format(sql.SQL(columns))


def part_of(parent: sql.Identifier, bounds: str, **values: int) -> sql.Composed:
    """What makes a table a partition. bounds: FROM ... or WITH ..., with places for values."""
    literals = {name: sql.Literal(value) for name, value in values.items()}
    written = sql.SQL(bounds).format(**literals)
    return sql.SQL("PARTITION OF {} FOR VALUES {}").format(parent, written)


def make_foreign_table(
    connection: Connection,
    table: sql.Identifier,
    shape: sql.Composable,
    server: str,
    options: Mapping[str, str],
) -> None:
    """Makes a foreign table. shape: its columns, or whose partition it is."""
    create = sql.SQL("CREATE FOREIGN TABLE {} {} SERVER {} OPTIONS ({})")
    listed = catalog.write_options(options)
    connection.execute(create.format(table, shape, sql.Identifier(server), listed))


def analyze(connection: Connection, table: sql.Identifier) -> None:
    connection.execute(sql.SQL("ANALYZE {}").format(table))


def is_made(connection: Connection, schema: str, what: str) -> bool:
    """Says if a schema was made by set_made(), of the same."""
    query = "SELECT obj_description(to_regnamespace(%s), 'pg_namespace') = %s"
    return connection.execute(query, [schema, what]).fetchone() == (True,)


def set_made(connection: Connection, schema: str, what: str) -> None:
    """Writes down what a schema and all that was made before it are, for runs to come."""
    execute(connection, "COMMENT ON SCHEMA {s} IS {what}", schema, what=what)
