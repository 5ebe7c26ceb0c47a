"""The delay proxy: delays, order, counts."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import EchoServer

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import processes, proxy

US_PER_S = 1e6
WAIT_S = 5.0
BUSY_S = 60.0  # others may have the machine for as long


@contextmanager
def connect(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield client


@pytest.fixture
def control(echo_proxy: proxy.Proxy) -> Iterator[proxy.ProxyControl]:
    with proxy.open_control(echo_proxy.control_path) as control:
        yield control


@pytest.fixture
def client(echo_proxy: proxy.Proxy) -> Iterator[socket.socket]:
    with connect(echo_proxy.port) as client:
        yield client


def ask(client: socket.socket, text: bytes) -> bytes:
    """Sends a text and waits for its echo."""
    client.sendall(text)
    received = b""
    while len(received) < len(text):
        received += client.recv(65536)
    return received


def time_round_trips_us(client: socket.socket, count: int) -> list[float]:
    """Measures round trips one after the other."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        ask(client, b"x")
        times.append((time.perf_counter() - start) * US_PER_S)
    return times


def wait_until_open(control: proxy.ProxyControl, nopen: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while control.stats().connections_open != nopen:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("rtt_us", [800, 5000, 20_000])
def test_delay_is_exact(control: proxy.ProxyControl, client: socket.socket, rtt_us: int) -> None:
    base_us = min(time_round_trips_us(client, 50))
    control.set_rtt_us(rtt_us)
    deadline = time.monotonic() + BUSY_S
    fastest_us = min(time_round_trips_us(client, 50))
    # never early; late only by what waking up costs, as soon as the machine has time for us
    while fastest_us > rtt_us + base_us + 400:
        assert time.monotonic() < deadline
        fastest_us = min(time_round_trips_us(client, 50))
    assert fastest_us >= rtt_us


def test_pieces_wait_side_by_side(control: proxy.ProxyControl, client: socket.socket) -> None:
    control.set_rtt_us(100_000)
    start = time.perf_counter()
    for _ in range(20):
        client.sendall(b"x")
        time.sleep(0.002)  # so that each is a piece of its own
    received = b""
    while len(received) < 20:
        received += client.recv(100)
    elapsed_s = time.perf_counter() - start
    assert control.stats().total.sent_pieces > 10
    assert 0.1 <= elapsed_s < 1.5


def test_large_data_keeps_its_order(control: proxy.ProxyControl, client: socket.socket) -> None:
    data = bytes(range(256)) * 40_000
    received = bytearray()
    control.set_rtt_us(2000)
    sender = threading.Thread(target=client.sendall, args=(data,))
    sender.start()
    while len(received) < len(data):
        received += client.recv(1 << 20)
    sender.join(WAIT_S)
    total = control.stats().total
    assert bytes(received) == data
    assert total.sent_bytes == total.received_bytes == len(data)


def test_change_of_delay_applies_to_what_waits(
    control: proxy.ProxyControl, client: socket.socket
) -> None:
    control.set_rtt_us(4_000_000)
    start = time.perf_counter()
    client.sendall(b"x")
    time.sleep(0.02)
    control.set_rtt_us(0)
    assert client.recv(10) == b"x"
    assert time.perf_counter() - start < 3


def test_round_trips_are_changes_of_direction(
    control: proxy.ProxyControl, client: socket.socket
) -> None:
    for _ in range(7):
        ask(client, b"question")
    before = control.stats().total
    assert before.round_trips == 7
    control.set_rtt_us(400_000)
    for _ in range(3):  # one flight, of three pieces where the proxy is quick
        client.sendall(b"x")
        time.sleep(0.002)
    while len(client.recv(10)) == 0:
        pass
    total = control.stats().total
    assert total.round_trips == before.round_trips + 1
    assert 1 <= total.sent_pieces - before.sent_pieces <= 3


def test_counts_are_of_all_connections(echo_proxy: proxy.Proxy) -> None:
    with (
        proxy.open_control(echo_proxy.control_path) as control,
        connect(echo_proxy.port) as first,
        connect(echo_proxy.port) as second,
    ):
        ask(first, b"12345")
        ask(second, b"123")
        ask(second, b"123")
        stats = control.stats()
        assert stats.connections_open == stats.connections_opened == 2
        assert stats.total.round_trips == 3
        assert stats.total.sent_bytes == stats.total.received_bytes == 11


def test_end_travels_with_the_delay(
    echo_proxy: proxy.Proxy, control: proxy.ProxyControl, echo_server: EchoServer
) -> None:
    control.set_rtt_us(100_000)
    with connect(echo_proxy.port) as client:
        client.sendall(b"last words")
        client.shutdown(socket.SHUT_WR)
        start = time.perf_counter()
        assert client.recv(100) == b"last words"
        assert client.recv(100) == b""
        assert time.perf_counter() - start >= 0.05
    wait_until_open(control, 0)
    assert echo_server.nclosed == 1


def test_drop_resets_all_connections(echo_proxy: proxy.Proxy, control: proxy.ProxyControl) -> None:
    with connect(echo_proxy.port) as client:
        ask(client, b"x")
        control.command("drop")
        with pytest.raises(ConnectionResetError):
            client.recv(10)
    with connect(echo_proxy.port) as client:
        assert ask(client, b"x") == b"x"


def test_server_that_does_not_answer(proxy_program: Path, work_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        target = f"127.0.0.1:{gone.getsockname()[1]}"
    started = proxy.start_proxy(
        proxy_program, target=target, control_path=work_dir / "proxy", rtt_us=0
    )
    try:
        with pytest.raises(ConnectionResetError), connect(started.port) as client:
            client.recv(10)
    finally:
        proxy.stop_proxy(started)


def test_daemon_starts_and_stops(
    echo_server: EchoServer, proxy_program: Path, work_dir: Path
) -> None:
    control_path = work_dir / "proxy"
    started = proxy.start_proxy(
        proxy_program, target=echo_server.target, control_path=control_path, rtt_us=1500
    )
    with proxy.open_control(control_path) as control:
        assert control.stats().rtt_us == 1500
    proxy.stop_proxy(started)
    assert not processes.is_running(started.process)
    with pytest.raises(ToolError) as caught, proxy.open_control(control_path):
        pass
    assert caught.value.exit_code is ExitCode.NOT_RUNNING


@pytest.mark.parametrize("line", ["rtt x", "rtt -1", "nonsense", ""])
def test_bad_commands(control: proxy.ProxyControl, line: str) -> None:
    with pytest.raises(ToolError):
        control.command(line)
    assert control.command("rtt") == "ok 0"


def test_bad_arguments(proxy_program: Path) -> None:
    done = subprocess.run([proxy_program], capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode == 2
    assert "usage" in done.stderr
