"""What the tests share: places that servers can reach, a proxy, an echo server."""

import os
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql
from typer.testing import CliRunner

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import builds, catalog, clusters, processes, proxy, servers, state
from pgshuttle.cluster.state import Cluster, StorageNode
from pgshuttle.commands import cli

STARTED_TIMEOUT_S = 10.0
SHARED_NODES = 3  # as many as a module needs at most


ORDERS = """
CREATE TABLE orders (id bigint, total numeric) PARTITION BY HASH (id);
CREATE FOREIGN TABLE orders_0 PARTITION OF orders FOR VALUES WITH (MODULUS 2, REMAINDER 0)
    SERVER node1 OPTIONS (table_name 'orders');
CREATE FOREIGN TABLE orders_1 PARTITION OF orders FOR VALUES WITH (MODULUS 2, REMAINDER 1)
    SERVER node2 OPTIONS (table_name 'orders');
"""


Invoke = Callable[..., str]


def invoke(
    *words: object, directory: Path | None = None, code: ExitCode = ExitCode.OK, typed: str = ""
) -> str:
    """Runs a command, of the cluster in a directory; returns what it printed."""
    place = [] if directory is None else ["--dir", directory]
    line = [str(word) for word in (*words[:1], *place, *words[1:])]
    done = CliRunner().invoke(cli.app, line, input=typed)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    return done.stdout if "--json" in words else done.output


def run_on(
    server: servers.Server, *statements: str, user: str | None = None
) -> list[tuple[Any, ...]]:
    """Runs statements in a session of their own; returns the rows of the last one.

    Without a user it is a superuser of the query node, and on storage nodes the remote user: what
    is made there is then the remote user's.
    """
    if user is None:
        is_node = server.name.startswith("node")
        user = catalog.REMOTE_USER if is_node else servers.SUPERUSER
    with catalog.connect(server, user=user) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


@contextmanager
def made_powerful(node: StorageNode) -> Iterator[None]:
    """Meanwhile the remote user may run programs on a node."""
    role = f"pg_execute_server_program {{}} {catalog.REMOTE_USER}"
    run_on(node.server, f"GRANT {role.format('TO')}", user=servers.SUPERUSER)
    try:
        yield
    finally:
        run_on(node.server, f"REVOKE {role.format('FROM')}", user=servers.SUPERUSER)


def make_orders(made: Cluster) -> None:
    for node in made.nodes:
        run_on(node.server, "CREATE TABLE orders (id bigint PRIMARY KEY, total numeric)")
    run_on(made.query, ORDERS)


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory that the server's user can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="pgst-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def work_dir() -> Iterator[Path]:
    """A short directory of one test."""
    with short_directory() as path:
        yield path


@pytest.fixture(scope="session")
def proxy_program() -> Iterator[Path]:
    """The delay proxy, compiled from the source."""
    with tempfile.TemporaryDirectory(prefix="pgst-", dir="/tmp") as directory:
        yield proxy.compile_proxy(Path(directory))


@pytest.fixture(autouse=True)
def own_cache(work_dir: Path, proxy_program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the tests out of the user's cache."""
    monkeypatch.setenv("SHUTTLE_CACHE", str(work_dir / "cache"))
    monkeypatch.setenv("PGSHUTTLE_DELAY_PROXY", str(proxy_program))


@pytest.fixture(scope="session")
def build() -> builds.ServerBuild:
    """Any installed server."""
    for name in ("15", *builds.KNOWN_BUILDS):
        found = builds.find_pg_config(name)
        if found is not None:
            return builds.read_build(name, found)
    pytest.skip("no PostgreSQL server is installed")


@pytest.fixture(scope="session", autouse=True)
def quick_initdb() -> Iterator[None]:
    """Has initdb run once for each build: it takes a second. Other servers get a copy."""
    run_initdb = servers.make_data_dir
    with short_directory() as directory, pytest.MonkeyPatch.context() as patch:
        directory.chmod(0o777)

        def copy(build: builds.ServerBuild, data_dir: Path) -> None:
            template = directory / str(build.bin_dir).replace("/", "_")
            if not template.exists():
                run_initdb(build, template)
                # If a table that autovacuum has listed becomes a distributed one, autovacuum
                # fails an assertion of core (surgery.c). JIT compiles queries of a moment.
                with (template / "postgresql.conf").open("a") as conf:
                    conf.write("autovacuum = off\njit = off\n")
            command = ["cp", "-R", template, data_dir]
            processes.run(command, timeout_s=STARTED_TIMEOUT_S, as_server_user=True)

        patch.setattr(servers, "make_data_dir", copy)
        yield


@pytest.fixture(scope="session")
def extended_build() -> builds.ServerBuild:
    """A server with the extension."""
    wanted = os.environ.get("PGSHUTTLE_TEST_PG")  # what tools/run_tests has built for
    best = builds.find_build(wanted)
    if not best.has_extension():
        pytest.skip("pg_shuttle is not installed in a server")
    return best


@pytest.fixture(scope="session")
def shared_cluster(extended_build: builds.ServerBuild) -> Iterator[Cluster]:
    """Servers with the extension and without a delay, which most modules share."""
    with short_directory() as directory:
        options = clusters.ClusterOptions(
            directory=directory / "c",
            nnodes=SHARED_NODES,
            pg=str(extended_build.pg_config),
            rtt_us=0,
            with_extension=True,
        )
        made = clusters.up(options, lambda _step: None).cluster
        yield made
        query = clusters.load(options.directory).query
        state.save_cluster(replace(made, query=query))
        clusters.down(options.directory, remove=True)


def small_cluster(
    nnodes: int, fill: Callable[[Cluster], object] = lambda _made: None
) -> Callable[[Cluster], Cluster]:
    """A fixture for the tests of one module: empty databases here and on so many nodes."""

    @pytest.fixture(scope="module")
    def running(shared_cluster: Cluster) -> Cluster:
        query = clusters.load(shared_cluster.directory).query  # a test may have started it again
        made = replace(shared_cluster, query=query, nodes=shared_cluster.nodes[:nnodes])
        for server in (made.query, *(node.server for node in made.nodes)):
            with catalog.connect(server, "postgres") as connection:
                drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
                connection.execute(drop.format(sql.Identifier(catalog.DATABASE)))
                if server is made.query:
                    catalog.create_database(connection)
                else:
                    catalog.create_on_node(connection)
        catalog.define_servers(made)
        clusters.set_rtt(made, 0)  # writes down how many nodes there are, too
        fill(made)
        return made

    return running


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it gets."""

    server: "EchoServer"

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError):
            while data := self.request.recv(65536):
                self.request.sendall(data)
        self.server.nclosed += 1


class EchoServer(socketserver.ThreadingTCPServer):
    """Counts the clients that have gone."""

    nclosed = 0

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield
        server.shutdown()
        thread.join(STARTED_TIMEOUT_S)


@pytest.fixture
def echo_server() -> Iterator[EchoServer]:
    """A server behind which nothing is."""
    server = EchoServer(("127.0.0.1", 0), Echo)
    with serving(server):
        yield server


@pytest.fixture
def echo_proxy(
    echo_server: EchoServer, proxy_program: Path, work_dir: Path
) -> Iterator[proxy.Proxy]:
    """A delay proxy in front of the echo server; it ends with the test."""
    control_path = work_dir / "proxy"
    with start_foreground(proxy_program, echo_server.target, control_path) as running:
        yield running


@contextmanager
def start_foreground(program: Path, target: str, control_path: Path) -> Iterator[proxy.Proxy]:
    """Runs a proxy as our child."""
    command = [str(program), "--target", target, "--control", str(control_path), "--with-parent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        running = proxy.Proxy(int(words[1]), control_path, processes.identify(process.pid))
        try:
            yield running
        finally:
            process.terminate()
            process.wait(STARTED_TIMEOUT_S)


@pytest.fixture
def as_root() -> None:
    """Skips what only means something to root."""
    if os.geteuid() != 0:
        pytest.skip("runs as root only")


def exit_message(error: ToolError) -> str:
    """Joins message and hint."""
    return f"{error.message} {error.hint}"
