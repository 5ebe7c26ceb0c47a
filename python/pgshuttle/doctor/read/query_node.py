"""What pgshuttle doctor finds out, read from the query node and, through it, from the nodes.

Nodes are read by temporary foreign tables over their catalogs, in a transaction
that is rolled back: on the way that queries take, with the rights that they
have, and over servers of postgres_fdw as well.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import Facts, NodeFacts, ServerFacts, TableFacts
from pgshuttle.doctor.read import access, check_constraints, relation_kinds, relations, types
from pgshuttle.doctor.read.standbys import read_standbys
from pgshuttle.look.target import first_line

NODE_TIMEOUT_MS = 20_000
NTRIPS = 5
# waits of a small scan within a transaction: DECLARE, FETCH and CLOSE; one packet of ours
TRIPS_OF = {"postgres_fdw": 3, "shuttle": 1}

SETTINGS = (
    "server_version",
    "server_version_num",
    "server_encoding",
    "block_size",
    "max_prepared_transactions",
    "synchronous_standby_names",
    "enable_nestloop",
    "enable_partitionwise_join",
    "shared_preload_libraries",
    "session_preload_libraries",
    "shuttle.enable_batched_join",
    "shuttle.batch_size",
    "shuttle.debug_force_batched_join",
    "shuttle.debug_spoil_look_ahead",
)

SERVERS = """
SELECT s.srvname, CASE h.proname WHEN 'postgres_fdw_handler' THEN 'postgres_fdw' ELSE 'shuttle' END,
    has_server_privilege(s.oid, 'USAGE'),
    EXISTS (SELECT FROM pg_user_mappings m
            WHERE m.srvid = s.oid
                AND m.umuser IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user))),
    coalesce((SELECT o.option_value FROM pg_options_to_table(s.srvoptions) o
              WHERE o.option_name = 'extensions'), ''),
    (SELECT coalesce(bool_or(o.option_name IN ('host', 'hostaddr') AND o.option_value LIKE '%,%')
            AND bool_or(o.option_name = 'target_session_attrs'
                        AND o.option_value IN ('read-write', 'primary')), false)
     FROM pg_options_to_table(s.srvoptions) o)
FROM pg_foreign_server s
    JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
    JOIN pg_proc h ON h.oid = w.fdwhandler
WHERE h.proname = 'postgres_fdw_handler' OR h.oid = to_regprocedure('shuttle.fdw_handler()')
ORDER BY 1
"""

TABLES = """
SELECT c.oid::regclass::text, c.reltuples,
    coalesce((SELECT o.option_value FROM pg_options_to_table(t.ftoptions) o
              WHERE o.option_name = 'schema_name'), n.nspname),
    coalesce((SELECT o.option_value FROM pg_options_to_table(t.ftoptions) o
              WHERE o.option_name = 'table_name'), c.relname),
    coalesce(pg_partition_root(c.oid)::text, '')
FROM pg_foreign_table t
    JOIN pg_class c ON c.oid = t.ftrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_foreign_server s ON s.oid = t.ftserver
WHERE s.srvname = %s
ORDER BY 1
"""

# partitioned tables of which servers of our wrapper hold partitions
PARTITIONED = """
SELECT DISTINCT pg_partition_root(t.ftrelid)::text
FROM pg_foreign_table t
    JOIN pg_foreign_server s ON s.oid = t.ftserver
    JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
WHERE w.fdwhandler = to_regprocedure('shuttle.fdw_handler()')
    AND pg_partition_root(t.ftrelid) IS NOT NULL
ORDER BY 1
"""

# partitioned tables above foreign tables that were never analyzed
UNKNOWN_PARENTS = """
SELECT DISTINCT c.oid::regclass::text
FROM pg_foreign_table t
    CROSS JOIN pg_partition_ancestors(t.ftrelid) a(relid)
    JOIN pg_class c ON c.oid = a.relid
WHERE c.relkind = 'p' AND c.reltuples < 0
ORDER BY 1
"""

TABLE_COLUMNS = "schemaname name, relname name, n_live_tup int8"
# remote relations that are read: name here and there, and the columns with their types
NODE_TABLES = (
    ("pg_settings", "pg_settings", "name text, setting text"),
    ("pg_database", "pg_database", "datname name, datcollate text, datcollversion text"),
    ("pg_locale", "pg_database", 'datname name, datlocprovider "char", datlocale text'),
    ("pg_icu", "pg_database", 'datname name, datlocprovider "char", daticulocale text'),
    ("pg_extension", "pg_extension", "extname name, extversion text"),
    ("pg_stat_user_tables", "pg_stat_user_tables", TABLE_COLUMNS),
    ("pg_timezone_names", "pg_timezone_names", "name text, utc_offset interval"),
    *relations.NODE_TABLES,
    *access.NODE_TABLES,
    *types.NODE_TABLES,
    *relation_kinds.NODE_TABLES,
)
# what a database sorts by where that is not the C library's collation: from 17 on, and before
LOCALES = (
    "SELECT datlocprovider, datlocale FROM pg_database WHERE datname = %s",
    "SELECT datlocprovider, daticulocale FROM pg_database WHERE datname = %s",
)
NODE_LOCALES = (
    "SELECT datlocprovider, datlocale FROM pg_temp.node_pg_locale WHERE datname = %s",
    "SELECT datlocprovider, daticulocale FROM pg_temp.node_pg_icu WHERE datname = %s",
)
# settings, collation, extensions and time zones of a server
SERVER = (
    "SELECT name, setting FROM of.pg_settings WHERE name = ANY (%s)",
    "SELECT datcollate, coalesce(datcollversion, '') FROM of.pg_database WHERE datname = %s",
    "SELECT extname, extversion FROM of.pg_extension",
    "SELECT name, utc_offset::text FROM of.pg_timezone_names",
)
PROVIDERS = {"i": "ICU", "b": "builtin"}


Read = Callable[..., list[tuple[Any, ...]]]


def digest(rows: list[tuple[Any, ...]]) -> str:
    """Makes a short text that differs where rows differ."""
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()[:12]


def read_server(
    connection: Connection, database: str, read: Read = read_rows, catalogs: str = "pg_catalog."
) -> ServerFacts:
    """Reads the query node itself, or the server behind the temporary tables.

    catalogs: what stands before their names. read: for what may be missing there.
    """
    settings, collations, extensions, zones = (query.replace("of.", catalogs) for query in SERVER)
    found = read(connection, collations, database)
    collation, version = found[0] if found else ("", "")
    locales = LOCALES if read is read_rows else NODE_LOCALES
    offsets = read(connection, zones)
    return ServerFacts(
        settings=dict(read_rows(connection, settings, list(SETTINGS))),
        collation=read_locale(connection, database, locales) or collation,
        collation_version=version,
        extensions=dict(read(connection, extensions)),
        time_zones=digest(offsets) if offsets else "",
    )


def read_locale(connection: Connection, database: str, queries: tuple[str, ...]) -> str:
    """What a database sorts by; empty where that is the C library's collation."""
    for query in queries:
        for provider, locale in read_part(connection, query, database):
            return f"{PROVIDERS[provider]} {locale}" if provider in PROVIDERS else ""
    return ""


@contextmanager
def node_tables(connection: Connection, server: str) -> Iterator[None]:
    """Has temporary foreign tables over a node's catalogs."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"SET LOCAL statement_timeout = {NODE_TIMEOUT_MS}".encode())
        for name, remote_name, columns in NODE_TABLES:
            create = sql.SQL(
                "CREATE FOREIGN TABLE pg_temp.{} ({}) SERVER {} "
                "OPTIONS (schema_name {}, table_name {})"
            )
            connection.execute(
                create.format(
                    sql.Identifier(f"node_{name}"),
                    sql.SQL(columns),
                    sql.Identifier(server),
                    *map(sql.Literal, ("pg_catalog." + remote_name).split(".")[-2:]),
                )
            )
        yield


def read_part(connection: Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Reads what an older node, or one with fewer rights, may refuse; then nothing."""
    try:
        with connection.transaction():
            return read_rows(connection, query, *values)
    except psycopg.Error:
        return []


def measure_round_trip(connection: Connection, wrapper: str) -> float:
    """Times a scan of one row; the first ones connect and prepare, the shortest counts."""
    samples = []
    for _ in range(NTRIPS):
        start_s = time.perf_counter()
        read_rows(connection, "SELECT datname FROM pg_temp.node_pg_database LIMIT 1")
        samples.append(time.perf_counter() - start_s)
    return round(min(samples) * 1000 / TRIPS_OF[wrapper], 3)


def read_planned_trip(connection: Connection, node: NodeFacts) -> None:
    """Reads what plans are made for; nothing before the extension has the view's column."""
    found = read_part(
        connection,
        "SELECT s.round_trip_ms, coalesce((SELECT option_value "
        "FROM pg_options_to_table(f.srvoptions) "
        "WHERE option_name = 'shuttle_round_trip_cost'), '') "
        "FROM shuttle.node_stats s JOIN pg_foreign_server f ON f.srvname = s.server "
        "WHERE s.server = %s",
        node.name,
    )
    if found:
        node.planned_trip_ms, node.trip_cost = found[0]


def node_database(connection: Connection) -> str:
    """Names the database behind the temporary tables; libpq takes the user's name without one."""
    found = read_rows(
        connection,
        "SELECT o.option_value FROM pg_foreign_server s, pg_options_to_table(s.srvoptions) o "
        "WHERE o.option_name = 'dbname' AND s.oid = (SELECT ftserver FROM pg_foreign_table "
        "WHERE ftrelid = 'pg_temp.node_pg_database'::regclass)",
    )
    return str(found[0][0]) if found else str(read_rows(connection, "SELECT current_user")[0][0])


def read_tables(connection: Connection, server: str) -> list[TableFacts]:
    """Lists the foreign tables of a server, with the rows that its statistics tell."""
    there = {
        (schema, name): rows
        for schema, name, rows in read_part(
            connection,
            "SELECT schemaname, relname, n_live_tup FROM pg_temp.node_pg_stat_user_tables",
        )
    }
    return [
        TableFacts(name, rows_here, there.get((schema, remote_name)), root)
        for name, rows_here, schema, remote_name, root in read_rows(connection, TABLES, server)
        if not name.startswith(("pg_temp", "node_pg_"))
    ]


def read_node(connection: Connection, node: NodeFacts) -> None:
    """Reads what is behind a server; what prevents that is kept as its error."""
    try:
        asked: check_constraints.Asked = {}
        if node.wrapper == "shuttle":
            asked = relations.ask_texts(connection, node.name)
        with node_tables(connection, node.name):
            node.round_trip_ms = measure_round_trip(connection, node.wrapper)
            read_planned_trip(connection, node)
            database = node_database(connection)
            node.server = read_server(connection, database, read_part, "pg_temp.node_")
            node.tables = read_tables(connection, node.name)
            node.remote_user = access.read_user(connection, node.name)
            node.relations = relations.read_relations(connection, node.name, asked)
            node.types = types.read_types(connection, node.name)
    except psycopg.Error as error:
        node.error = first_line(error)


def read_facts(connection: Connection, load_error: str | None, *, was_loaded: bool) -> Facts:
    user, is_superuser, is_standby, has_files = read_rows(
        connection,
        "SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user), "
        "pg_is_in_recovery(), coalesce((SELECT default_version FROM pg_available_extensions "
        "WHERE name = 'pg_shuttle'), '')",
    )[0]
    nodes = [
        NodeFacts(
            name, wrapper, may_use, mapped, shipped.replace(",", " ").split(), follows_primary=ha
        )
        for name, wrapper, may_use, mapped, shipped, ha in read_rows(connection, SERVERS)
    ]
    for node in nodes:
        if node.may_use and node.has_mapping and not is_standby:
            read_node(connection, node)
    return Facts(
        query=read_server(connection, connection.info.dbname),
        user=user,
        is_superuser=is_superuser,
        is_standby=is_standby,
        has_files=has_files,
        load_error=load_error or "",
        was_loaded=was_loaded,
        nodes=nodes,
        partitioned=[name for (name,) in read_rows(connection, PARTITIONED)],
        unknown_parents=[name for (name,) in read_rows(connection, UNKNOWN_PARENTS)],
        standbys=read_standbys(connection, is_standby=is_standby),
    )
