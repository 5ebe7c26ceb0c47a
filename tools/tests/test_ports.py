"""Ports of servers of tests: below those of outgoing connections, and nobody else's."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.testrun import cluster, ports
from lib.testrun.cluster import temporary_cluster
from lib.testrun.installed import clean_up, run_directory, server_given
from lib.testrun.kinds import KINDS
from lib.testrun.progress import Progress
from lib.testrun.wanted import Wanted

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
CONFIG = os.environ.get("PGSHUTTLE_TEST_PG")
needs_server = pytest.mark.skipif(not CONFIG, reason="tools/run_tests gives the server")
NO_PROCESS = 2**22 + 1  # above all that Linux gives


@pytest.fixture
def taken() -> Iterator[int]:
    """A port where somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_is_not_one_of_outgoing_connections() -> None:
    if not OUTGOING.exists():
        pytest.skip("this system does not say which ports it gives")
    assert ports.free_port() < int(OUTGOING.read_text().split()[0])


def test_a_port_is_reserved_while_its_process_runs() -> None:
    port = ports.free_port()
    assert not ports.reserve(port)
    (ports.port_directory() / f"{port}.rsv").write_text(f"{NO_PROCESS}\n")
    assert ports.reserve(port)


def test_a_port_in_use_is_not_free(taken: int) -> None:
    assert not ports.can_bind(taken)


@needs_server
def test_a_server_whose_port_was_taken_gets_another(
    monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    given = [taken, free := ports.free_port()]
    monkeypatch.setattr(cluster, "free_port", lambda: given.pop(0))
    base = run_directory()
    with temporary_cluster(server_given(str(CONFIG)), base) as started:
        assert started.port == free
    clean_up(base, keep=False)


@needs_server
@pytest.mark.parametrize("kind", ["regress", "isolation"])
def test_tests_whose_server_does_not_start_fail_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], taken: int, kind: str
) -> None:
    monkeypatch.setattr(cluster, "free_port", lambda: taken)
    wanted = Wanted((), progress=Progress(times={}, first_times={}))
    names = ["join_groups", "write_buffer"]
    installed = server_given(str(CONFIG))
    outcome = KINDS[kind].run(installed, wanted, names)
    assert (outcome.passed, outcome.failed) == (0, len(names))
    assert sorted(test.name for test in wanted.progress.failed) == names
    for test in wanted.progress.failed:
        assert any(cluster.PORT_TAKEN in line for line in wanted.progress.reasons[test])
    assert cluster.PORT_TAKEN in capsys.readouterr().out
