"""What the query node must know of its storage nodes: extension, servers, mappings."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgshuttle.base.connections import Connection, connect_to, search_safely
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster.builds import EXTENSION
from pgshuttle.cluster.servers import SUPERUSER, Server
from pgshuttle.cluster.state import Cluster, StorageNode

DATABASE = "shuttle"
ENGINE_WRAPPER = "shuttle"
STOCK_WRAPPER = "postgres_fdw"
# The query node comes to storage nodes as this role, whose password is its name.
REMOTE_USER = "shuttle"
REMOTE_LOGIN = {"user": REMOTE_USER, "password": REMOTE_USER}
FIRST_WITH_SUBSCRIBERS = 160_000  # where who is no superuser can be one


def engine_server_name(number: int) -> str:
    """Names the server of our wrapper for storage node number 1, 2, ..."""
    return f"node{number}"


def stock_server_name(number: int) -> str:
    """Names the server of stock postgres_fdw for the same storage node."""
    return f"fdw_node{number}"


def write_dsn(server: Server, **parts: str) -> str:
    """Writes how to connect to a server itself, not through its proxy. parts: others of libpq."""
    place = {"host": str(server.socket_dir), "port": str(server.port), "user": SUPERUSER}
    return make_conninfo("", **place | {"dbname": DATABASE} | parts)


def connect(server: Server, database: str = DATABASE, **parts: str) -> Connection:
    """Connects to a server itself; each statement commits. parts: others of libpq."""
    try:
        return connect_to(write_dsn(server, dbname=database, **parts))
    except psycopg.OperationalError as error:
        raise ToolError(
            f"could not connect to {server.name}: {error}".strip(),
            exit_code=ExitCode.NOT_RUNNING,
        ) from None


def connect_to_node(node: StorageNode) -> Connection:
    """Connects to a storage node as the remote user: what is made there can be used from here."""
    return connect(node.server, user=REMOTE_USER)


def forget_round_trips(connection: Connection) -> None:
    """Has the planner measure anew how far the nodes are: it keeps the shortest for minutes."""
    connection.execute("SELECT shuttle.reset_node_stats()")


def write_options(options: Mapping[str, str]) -> sql.Composed:
    """Writes what stands between the parentheses of OPTIONS (...)."""
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.Literal(value))
        for name, value in options.items()
    )


def create_remote_user(connection: Connection) -> None:
    """Makes the remote user of a storage node, unless it is there.

    It is no superuser, for then nodes would run no functions of ordinary roles. From version 16 on
    it may do what moves of tablets need; before, only superusers subscribe.
    """
    found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [REMOTE_USER])
    if found.fetchone() is not None:
        return
    role = sql.Identifier(REMOTE_USER)
    create = sql.SQL("CREATE ROLE {} LOGIN REPLICATION PASSWORD {}")
    connection.execute(create.format(role, sql.Literal(REMOTE_USER)))
    if connection.info.server_version >= FIRST_WITH_SUBSCRIBERS:
        connection.execute(sql.SQL("GRANT pg_create_subscription TO {}").format(role))


def create_database(connection: Connection, owner: str = SUPERUSER) -> None:
    """Makes the database that everything happens in, unless it is there."""
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
    if found.fetchone() is None:
        create = sql.SQL("CREATE DATABASE {} OWNER {}")
        connection.execute(create.format(sql.Identifier(DATABASE), sql.Identifier(owner)))


def create_on_node(connection: Connection) -> None:
    """Makes what a storage node must have, unless it is there: the remote user, its database."""
    search_safely(connection)
    create_remote_user(connection)
    create_database(connection, REMOTE_USER)


def create_extension(connection: Connection, name: str) -> None:
    """Creates an extension and what it needs, unless it is there."""
    create = sql.SQL("CREATE EXTENSION IF NOT EXISTS {} CASCADE")
    connection.execute(create.format(sql.Identifier(name)))


def define_server(
    connection: Connection,
    name: str,
    wrapper: str,
    port: int,
    extra: Mapping[str, str] | None = None,
) -> None:
    """Makes a foreign server, for tablets too if it is on ours, or changes its port.

    extra: further options of a new server.
    """
    found = connection.execute("SELECT 1 FROM pg_foreign_server WHERE srvname = %s", [name])
    if found.fetchone() is not None:
        change = sql.SQL("ALTER SERVER {} OPTIONS (SET port {})")
        connection.execute(change.format(sql.Identifier(name), sql.Literal(str(port))))
        return
    options = {"host": "127.0.0.1", "port": str(port), "dbname": DATABASE, **(extra or {})}
    make_server(connection, name, wrapper, options)


@contextmanager
def may_subscribe(cluster: Cluster) -> Iterator[None]:
    """Meanwhile nodes can take tablets from each other: before version 16 as superusers only."""

    def change(word: str) -> None:
        for node in cluster.nodes:
            with connect(node.server) as connection:
                if connection.info.server_version < FIRST_WITH_SUBSCRIBERS:
                    alter = sql.SQL("ALTER ROLE {} " + word)
                    connection.execute(alter.format(sql.Identifier(REMOTE_USER)))

    change("SUPERUSER")
    try:
        yield
    finally:
        change("NOSUPERUSER")


@contextmanager
def without_proxies(cluster: Cluster) -> Iterator[None]:
    """Meanwhile the query node reaches the storage nodes by their Unix sockets."""
    with connect(cluster.query) as connection:

        def point(place_of: Callable[[StorageNode], tuple[str, int]]) -> None:
            change = sql.SQL("ALTER SERVER {} OPTIONS (SET host {}, SET port {})")
            for number, node in enumerate(cluster.nodes, start=1):
                host, port = place_of(node)
                for name in (engine_server_name(number), stock_server_name(number)):
                    connection.execute(change.format(sql.Identifier(name), host, str(port)))

        point(lambda node: (str(node.server.socket_dir), node.server.port))
        try:
            yield
        finally:
            point(lambda node: ("127.0.0.1", node.front.port))


def make_server(
    connection: Connection, name: str, wrapper: str, options: Mapping[str, str]
) -> None:
    """Makes a foreign server that everybody may use, unless it is there."""
    found = connection.execute("SELECT 1 FROM pg_foreign_server WHERE srvname = %s", [name])
    if found.fetchone() is not None:
        return
    create = sql.SQL("CREATE SERVER {} FOREIGN DATA WRAPPER {} OPTIONS ({})")
    connection.execute(
        create.format(sql.Identifier(name), sql.Identifier(wrapper), write_options(options))
    )
    mapping = sql.SQL("CREATE USER MAPPING FOR PUBLIC SERVER {} OPTIONS ({})")
    connection.execute(mapping.format(sql.Identifier(name), write_options(REMOTE_LOGIN)))
    if wrapper == ENGINE_WRAPPER:
        connection.execute("SELECT shuttle.use_node(%s)", [name])


def define_servers(cluster: Cluster) -> None:
    """Brings the query node's catalog in line with the cluster; may be repeated."""
    with connect(cluster.query) as connection:
        search_safely(connection)
        extensions = [STOCK_WRAPPER]
        wrappers = {STOCK_WRAPPER: stock_server_name}
        if cluster.with_extension:
            extensions.append(EXTENSION)
            wrappers[ENGINE_WRAPPER] = engine_server_name
        try:
            for extension in extensions:
                create_extension(connection, extension)
            for wrapper, name_of in wrappers.items():
                for number, node in enumerate(cluster.nodes, start=1):
                    if node.proxy is not None:
                        define_server(connection, name_of(number), wrapper, node.proxy.port)
        except psycopg.Error as error:
            raise ToolError(f"the query node refused its set-up: {error}".strip()) from None
