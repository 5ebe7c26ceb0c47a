"""A cluster from beginning to end, without the extension."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from conftest import exit_message, run_on, short_directory
from psycopg import sql

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.bench import measure
from pgshuttle.cluster import builds, catalog, clusters, processes, proxy, servers, state
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.cluster.state import Cluster


def make_options(directory: Path, build: ServerBuild, nnodes: int = 1) -> clusters.ClusterOptions:
    """A cluster of stock servers."""
    return clusters.ClusterOptions(directory, nnodes, str(build.pg_config), 800, False)


def say_nothing(_step: str) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """Where the cluster of these tests is."""
    with short_directory() as path:
        yield path / "c"
        if state.load_cluster(path / "c") is not None:
            clusters.down(path / "c", remove=True)


@pytest.fixture
def running(directory: Path, build: ServerBuild) -> Cluster:
    """A cluster of one storage node, of which each test may stop what it likes."""
    return clusters.up(make_options(directory, build), say_nothing).cluster


def list_processes(found: Cluster) -> list[processes.ProcessId]:
    parts = [found.query.process]
    for node in found.nodes:
        parts += [node.server.process, node.proxy.process if node.proxy else None]
    return [part for part in parts if part is not None]


def test_up_down_up(running: Cluster, build: ServerBuild) -> None:
    parts = list_processes(running)
    assert len(parts) == 3
    assert all(part.is_running for part in clusters.read_status(running))

    again = clusters.up(make_options(running.directory, build), say_nothing)
    assert again.was_running
    assert list_processes(again.cluster) == parts

    run_on(running.nodes[0].server, "CREATE TABLE kept (i int)")
    clusters.down(running.directory, remove=False)
    assert not any(processes.is_running(part) for part in parts)
    stopped = clusters.load(running.directory)
    assert not any(part.is_running for part in clusters.read_status(stopped))
    with pytest.raises(ToolError, match="does not run"):
        clusters.set_rtt(stopped, 1000)

    started = clusters.up(make_options(running.directory, build), say_nothing)
    assert not started.was_running
    run_on(started.cluster.nodes[0].server, "SELECT * FROM kept")
    clusters.down(running.directory, remove=True)
    assert not running.directory.exists()
    assert list(running.directory.parent.iterdir()) == []


def test_query_node_reads_through_the_proxy(running: Cluster) -> None:
    front = running.nodes[0].front
    run_on(running.nodes[0].server, "CREATE TABLE t AS SELECT 42 AS i")
    with (
        catalog.connect(running.query) as connection,
        proxy.open_control(front.control_path) as control,
    ):
        connection.execute("CREATE FOREIGN TABLE t (i int) SERVER fdw_node1")
        assert connection.execute("SELECT i FROM t").fetchall() == [(42,)]
        assert control.stats().rtt_us == 800
        before = control.stats().total.round_trips
        connection.execute("SELECT i FROM t")
        # START TRANSACTION, DECLARE, FETCH, CLOSE, COMMIT
        assert control.stats().total.round_trips - before == 5
        clusters.set_rtt(running, 5000)
        assert control.stats().rtt_us == 5000
        with pytest.raises(psycopg.OperationalError), connection.transaction():
            connection.execute("SELECT i FROM t")
            control.command("drop")
            connection.execute("SELECT i FROM t")


def test_servers_listen_on_the_loopback_only(running: Cluster) -> None:
    assert run_on(running.query, "SHOW listen_addresses") == [("127.0.0.1",)]
    if os.geteuid() == 0:
        assert running.query.data_dir.owner() == "postgres"


def test_another_cluster_is_not_touched(running: Cluster, build: ServerBuild) -> None:
    with pytest.raises(ToolError) as caught:
        clusters.up(make_options(running.directory, build, nnodes=2), say_nothing)
    assert "1 storage nodes" in exit_message(caught.value)
    assert clusters.is_running(running)


def test_up_starts_what_has_died(running: Cluster, build: ServerBuild) -> None:
    victim = running.nodes[0].server.process
    assert victim is not None
    processes.stop(victim, [signal.SIGQUIT], 10)
    assert not clusters.is_running(running)
    front = running.nodes[0].front
    processes.stop(front.process, [signal.SIGKILL], 10)
    result = clusters.up(make_options(running.directory, build), say_nothing)
    assert clusters.is_running(result.cluster)
    assert result.cluster.query == running.query
    there = (
        "CREATE FOREIGN TABLE d (datname name) SERVER fdw_node1"
        " OPTIONS (schema_name 'pg_catalog', table_name 'pg_database')"
    )
    assert run_on(result.cluster.query, there, "SELECT count(*) > 2 FROM d") == [(True,)]


def test_only_our_processes_are_stopped(running: Cluster) -> None:
    """A process that got the id of one of ours, later, is none of our business."""
    impostor = processes.identify(os.getpid())
    state.save_cluster(
        replace(running, query=replace(running.query, process=replace(impostor, started_ticks=1)))
    )
    assert not clusters.is_running(clusters.load(running.directory))
    clusters.stop_parts(clusters.load(running.directory))
    assert processes.is_running(impostor)
    servers.stop_server(running.query)


def test_failed_start_leaves_nothing(
    work_dir: Path, build: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSHUTTLE_DELAY_PROXY", "/bin/false")
    directory = work_dir / "c"
    with pytest.raises(ToolError, match="false failed"):
        clusters.up(make_options(directory, build), say_nothing)
    assert state.load_cluster(directory) is None
    assert [path.name for path in directory.iterdir()] == ["lock"]


def test_long_directories_get_short_socket_paths(work_dir: Path, build: ServerBuild) -> None:
    directory = work_dir / ("long" * 25)
    result = clusters.up(make_options(directory, build), say_nothing)
    try:
        assert clusters.is_running(result.cluster)
        assert not result.cluster.query.socket_dir.is_relative_to(directory)
        assert servers.read_complaints(result.cluster.query) == []
    finally:
        clusters.down(directory, remove=True)
    assert not result.cluster.query.socket_dir.exists()


def test_two_commands_at_once(work_dir: Path, build: ServerBuild) -> None:
    directory = work_dir / "c"
    directory.mkdir()
    with (
        clusters.lock_directory(directory),
        pytest.raises(ToolError, match="another command"),
    ):
        clusters.up(make_options(directory, build), say_nothing)


def test_damaged_state(work_dir: Path) -> None:
    (work_dir / state.STATE_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(ToolError, match="damaged"):
        clusters.load(work_dir)
    (work_dir / state.STATE_FILE).write_text(json.dumps({"format": 99}), encoding="utf-8")
    with pytest.raises(ToolError, match="another version"):
        clusters.load(work_dir)
    (work_dir / state.STATE_FILE).unlink()


def test_unknown_server() -> None:
    with pytest.raises(ToolError) as caught:
        builds.find_build("7")
    assert caught.value.exit_code is ExitCode.NOT_INSTALLED
    with pytest.raises(ToolError):
        builds.find_build("/nowhere/pg_config")


def test_missing_extension_is_said_at_once(
    work_dir: Path, build: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServerBuild, "has_extension", lambda _build: False)
    options = replace(make_options(work_dir / "c", build), with_extension=True)
    with pytest.raises(ToolError) as caught:
        clusters.up(options, say_nothing)
    assert "make install PG_CONFIG=" in caught.value.hint


@pytest.mark.usefixtures("as_root")
def test_directory_that_servers_cannot_reach(work_dir: Path, build: ServerBuild) -> None:
    closed = work_dir / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ToolError, match="can't reach"):
        clusters.up(make_options(closed / "c", build), say_nothing)


def test_session_measures(running: Cluster) -> None:
    session = measure.open_session(running)
    with session.connection:
        session.apply({"enable_seqscan": "off"})
        query = sql.SQL("SELECT current_setting('enable_seqscan')").format()
        elapsed = session.time(query)
        assert elapsed.nrows == 1
        assert elapsed.elapsed_ms > 0
        assert session.explain(query, analyze=False).shape == "Result"
        session.apply({})
        shown = session.connection.execute("SHOW enable_seqscan").fetchall()
        assert shown == [("on",)]
        with pytest.raises(ToolError, match="refused"):
            session.apply({"work_mem": "-7"})
        with pytest.raises(ToolError, match="division by zero"):
            session.time(sql.SQL("SELECT 1/0").format())


def test_summary() -> None:
    timing = measure.summarize([3.0, 1.0, 2.0, 10.0])
    assert timing.samples_ms == (3.0, 1.0, 2.0, 10.0)
    assert (timing.min_ms, timing.median_ms, timing.max_ms) == (1.0, 2.5, 10.0)
    assert (timing.quartile_1_ms, timing.quartile_3_ms) == (1.75, 4.75)
    assert measure.summarize([4.0]).quartile_3_ms == 4.0


def test_complaints_of_a_log(running: Cluster) -> None:
    before = servers.read_complaints(running.query)
    with pytest.raises(psycopg.errors.DivisionByZero):
        run_on(running.query, "SELECT 1 / 0")
    (found,) = servers.read_complaints(running.query)[len(before) :]
    assert "division by zero" in found
