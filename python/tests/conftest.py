"""What the tests share: places that servers can reach, a proxy, an echo server."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgshuttle import builds, cluster, processes, proxy
from pgshuttle.errors import ToolError
from pgshuttle.state import Cluster

STARTED_TIMEOUT_S = 10.0


@pytest.fixture
def work_dir() -> Iterator[Path]:
    """A short directory that the server's user can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="pgst-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


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


def small_cluster(
    name: str, nnodes: int, fill: Callable[[Cluster], object] = lambda _made: None
) -> Callable[[pytest.TempPathFactory], Iterator[Cluster]]:
    """A fixture for the tests of one module: a cluster with the extension and without a delay."""

    @pytest.fixture(scope="module")
    def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
        with run_small_cluster(tmp_path_factory, name, nnodes) as made:
            fill(made)
            yield made

    return running


@contextmanager
def run_small_cluster(factory: pytest.TempPathFactory, name: str, nnodes: int) -> Iterator[Cluster]:
    """Has a cluster with the extension and without a delay."""
    wanted = os.environ.get("PGSHUTTLE_TEST_PG")  # what tools/run_tests has built for
    best = builds.find_build(wanted) if wanted else builds.find_best_build()
    if not best.has_extension():
        pytest.skip("pg_shuttle is not installed in a server")
    directory = factory.mktemp(name)
    for path in (directory, *list(directory.parents)[:2]):
        path.chmod(0o755)
    options = cluster.ClusterOptions(
        directory=directory / "c",
        nnodes=nnodes,
        pg=str(best.pg_config),
        rtt_us=0,
        with_extension=True,
    )
    yield cluster.up(options, lambda _step: None).cluster
    cluster.down(directory / "c", remove=True)


class EchoServer:
    """Sends back what it gets; says when a client has gone."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.target = f"127.0.0.1:{listener.getsockname()[1]}"
        self.nclosed = 0
        self._threads: list[threading.Thread] = []

    def accept_all(self) -> None:
        """Serves until the listener is shut down."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            thread.start()
            self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                while data := connection.recv(65536):
                    connection.sendall(data)
            except OSError:
                pass
        self.nclosed += 1

    def join(self) -> None:
        """Waits for all connections to end."""
        for thread in self._threads:
            thread.join(STARTED_TIMEOUT_S)
            assert not thread.is_alive()


@pytest.fixture
def echo_server() -> Iterator[EchoServer]:
    """A server behind which nothing is."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = EchoServer(listener)
        thread = threading.Thread(target=server.accept_all)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(STARTED_TIMEOUT_S)
        server.join()


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
