"""The files of monitoring/ with postgres_exporter and Prometheus, over a cluster under load."""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import made_powerful, make_orders, run_on, short_directory, small_cluster

from pgshuttle.cluster import catalog, clusters, servers
from pgshuttle.cluster.state import Cluster

PAGE = Path(__file__).resolve().parents[2] / "docs/monitoring.md"
MONITORING = Path(__file__).resolve().parents[2] / "monitoring"
EXPORTER = "prometheus-postgres-exporter"
TIMEOUT_S = 60.0
METRIC = re.compile(r"\bshuttle_\w+")
NODE_AWAY = 'ALERTS{alertname="ShuttleNodeAway"}'
INSERT = "INSERT INTO orders SELECT i, i FROM generate_series(%s::int, %s::int) AS i"


def set_up(made: Cluster) -> None:
    """Makes a table over two nodes, and what the exporter needs, twice: that may be repeated."""
    make_orders(made)
    script = (MONITORING / "setup.sql").read_text().replace("\\set ON_ERROR_STOP on", "")
    run_on(made.query, script, script)


running = small_cluster(2, set_up)


@dataclass(frozen=True)
class Watchers:
    """Ports of the exporter and of Prometheus."""

    exporter: int
    prometheus: int


@contextmanager
def start(*command: object, log: Path, **environment: str) -> Iterator[None]:
    """Runs a program until the end of the block."""
    words = [str(word) for word in command]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            words, stdout=output, stderr=output, env={**os.environ, **environment}
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


@contextmanager
def load(made: Cluster) -> Iterator[None]:
    """Writes to both nodes in one transaction, and reads, in sessions of half a second."""
    stop = threading.Event()

    def work() -> None:
        number = 0
        while not stop.is_set():
            try:
                with catalog.connect(made.query) as connection:
                    until = time.monotonic() + 0.5
                    while time.monotonic() < until and not stop.is_set():
                        number += 10
                        connection.execute(INSERT, (number, number + 9))
                        connection.execute("SELECT count(*) FROM orders")
            except psycopg.Error:  # a node is away
                stop.wait(0.2)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join(TIMEOUT_S)


def exporter_command(made: Cluster) -> tuple[list[str], dict[str, str]]:
    """The command of the page and its environment, with the place of this database."""
    block = re.search(r"^```\n(DATA_SOURCE_NAME=.*?)^```$", PAGE.read_text(), re.M | re.DOTALL)
    assert block is not None
    source, program, *options = shlex.split(block[1].replace("\\\n", ""))
    place = f"127.0.0.1:{made.query.port}/{catalog.DATABASE}"
    name, found = source.replace("127.0.0.1:5432/shop", place).split("=", 1)
    options = [one.replace("=monitoring/", f"={MONITORING}/") for one in options]
    return [program, *options], {name: found}


def write_config(ports: Watchers) -> str:
    target = {"targets": [f"127.0.0.1:{ports.exporter}"]}
    times = ("scrape_interval", "scrape_timeout", "evaluation_interval")
    return json.dumps(
        {
            "global": dict.fromkeys(times, "1s"),
            "rule_files": [str(MONITORING / "alerts.yml")],
            "scrape_configs": [{"job_name": "pg_shuttle", "static_configs": [target]}],
        }
    )


@pytest.fixture(scope="module")
def watchers(running: Cluster) -> Iterator[Watchers]:
    """Exporter and Prometheus over the cluster, which is under load."""
    for program in (EXPORTER, "prometheus"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: tools/servers test-packages")
    found = Watchers(*servers.find_free_ports(2))
    command, environment = exporter_command(running)
    with ExitStack() as stack:
        directory = stack.enter_context(short_directory())
        (directory / "prometheus.yml").write_text(write_config(found))
        stack.enter_context(
            start(
                *command,
                f"--web.listen-address=127.0.0.1:{found.exporter}",
                "--disable-settings-metrics",
                log=directory / "exporter.log",
                **environment,
            )
        )
        stack.enter_context(
            start(
                "prometheus",
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{found.prometheus}",
                log=directory / "prometheus.log",
            )
        )
        stack.enter_context(load(running))
        yield found


def wait_for(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + TIMEOUT_S
    while True:
        try:
            if condition():
                return
        except OSError:  # not up yet
            pass
        assert time.monotonic() < until, what
        time.sleep(0.2)


def ask(watchers: Watchers, query: str) -> list[dict[str, Any]]:
    """What Prometheus answers to a query."""
    words = urllib.parse.urlencode({"query": query})
    url = f"http://127.0.0.1:{watchers.prometheus}/api/v1/query?{words}"
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:  # noqa: S310
        found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    return found


def by_node(watchers: Watchers, query: str) -> dict[str, float]:
    return {one["metric"].get("node", ""): float(one["value"][1]) for one in ask(watchers, query)}


def read_node1(watchers: Watchers, metric: str) -> float:
    """Not a number, which compares as neither less nor more, while there is no value."""
    return by_node(watchers, metric).get("node1", math.nan)


def wait_for_values(watchers: Watchers, metric: str, **by_name: float) -> None:
    """Waits: a scrape that took too long leaves no values until the next one."""
    wait_for(lambda: by_node(watchers, metric) == by_name, f"{metric} does not become {by_name}")


def is_counted(watchers: Watchers, counter: str) -> bool:
    """Says if the counter of each node has grown."""
    return min(by_node(watchers, counter).values(), default=0) > 0


def read_exporter(watchers: Watchers) -> str:
    url = f"http://127.0.0.1:{watchers.exporter}/metrics"
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:  # noqa: S310
        text: str = answer.read().decode()
    return text


def read_panels() -> list[str]:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def read_metrics() -> set[str]:
    """The metrics that the file of queries describes."""
    found = set()
    for line in (MONITORING / "queries.yaml").read_text().splitlines():
        if line.endswith(":") and not line.startswith((" ", "#")):
            key = line[:-1]
        elif (column := re.match(r" +- (\w+): {usage: (GAUGE|COUNTER)", line)) is not None:
            found.add(f"{key}_{column[1]}")
    return found


def test_every_metric_is_served_and_read_back(running: Cluster, watchers: Watchers) -> None:
    def served() -> set[str]:
        return set(re.findall(r"^(shuttle_\w+)\{", read_exporter(watchers), re.M))

    metrics = read_metrics()
    wait_for(lambda: metrics <= served(), "a metric is not served")
    assert served() == metrics
    wait_for(lambda: all(ask(watchers, metric) for metric in metrics), "a metric was not read back")
    for name in ("requests", "rows_read", "rows_written", "prepares", "commits", "wait_seconds"):
        query = f"shuttle_stats_{name}_total"
        wait_for(partial(is_counted, watchers, query), f"{query} stays 0")
    for name in ("node_up", "tables_tables", "tables_never_analyzed"):
        wait_for_values(watchers, f"shuttle_{name}", node1=1, node2=1)
    with made_powerful(running.nodes[1]):
        wait_for_values(watchers, "shuttle_node_powerful", node1=0, node2=1)
    wait_for(
        lambda: by_node(watchers, "pg_exporter_user_queries_load_error") == {"": 0},
        "a query of the exporter fails",
    )
    ((most,),) = run_on(running.nodes[0].server, "SHOW max_connections")
    allowed = int(most) - 3  # superuser_reserved_connections
    wait_for_values(watchers, "shuttle_node_max_connections", node1=allowed, node2=allowed)


def test_all_counters_are_exported_and_told(running: Cluster) -> None:
    """Columns of shuttle.node_stats, in queries.yaml and in docs/operations.md."""
    query = "SELECT attname FROM pg_attribute WHERE attrelid = 'shuttle.node_stats'::regclass"
    columns = {str(name) for (name,) in run_on(running.query, query)} - {"server"}
    told_elsewhere = {"since", "round_trip_ms"}
    assert len(columns) > 10
    in_seconds = {"wait_time_ms": "wait_seconds", "window_wait_ms": "window_wait_seconds"}
    counters = {in_seconds.get(name, name) for name in columns - told_elsewhere}
    assert {f"shuttle_stats_{name}_total" for name in counters} <= read_metrics()
    page = (PAGE.parent / "operations.md").read_text()
    chapter = page.split("## What was asked of nodes")[1].split("\n## ")[0]
    assert {name for name in columns if f"`{name}`" not in chapter} == set()


def test_dashboard_and_alerts_name_metrics_that_are_served(watchers: Watchers) -> None:
    panels = read_panels()
    metrics = read_metrics()
    assert set(METRIC.findall(" ".join(panels))) == metrics
    for query in panels:
        runnable = query.replace("$__rate_interval", "10s")
        wait_for(partial(ask, watchers, runnable), f"no answer to {query}")
    expressions = re.findall(r"expr: (?:>-\n)?(.*?)\n +for:", ALERTS, re.DOTALL)
    assert len(expressions) == ALERTS.count("alert:")
    assert set(METRIC.findall(" ".join(expressions))) <= metrics
    assert ALERTS.count("reason:") == ALERTS.count("action:") == len(expressions)


ALERTS = (MONITORING / "alerts.yml").read_text()


@pytest.mark.parametrize("check", [("check", "alerts.yml"), ("test", "alerts_test.yml")])
def test_alert_rules(check: tuple[str, str]) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: tools/servers test-packages")
    command = ["promtool", check[0], "rules", check[1]]
    done = subprocess.run(command, cwd=MONITORING, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_longer_way_is_seen(running: Cluster, watchers: Watchers) -> None:
    way_s = 0.02
    trip = partial(read_node1, watchers, "shuttle_link_round_trip_seconds")
    # On a busy machine the first answer of a connection can take as long without a way.
    wait_for(lambda: trip() < way_s, "the round trip is long from the beginning")
    clusters.set_rtt(running, round(way_s * 1e6))
    wait_for(lambda: trip() >= way_s, "the round trip stays what it was")
    wait_for(partial(is_counted, watchers, "shuttle_node_probe_seconds"), "no probe takes time")
    assert ask(watchers, NODE_AWAY) == []
    clusters.set_rtt(running, 0)


def test_a_node_away_is_seen(running: Cluster, watchers: Watchers) -> None:
    wait_for_values(watchers, "shuttle_node_up", node1=1, node2=1)
    wait_for_values(watchers, NODE_AWAY)
    node = running.nodes[1].server
    with catalog.connect(node, "postgres") as connection:
        connection.execute("ALTER DATABASE shuttle ALLOW_CONNECTIONS false")
        wait_for_values(watchers, "shuttle_node_up", node1=1, node2=0)
        wait_for_values(watchers, NODE_AWAY, node2=1)
        connection.execute("ALTER DATABASE shuttle ALLOW_CONNECTIONS true")
    wait_for_values(watchers, "shuttle_node_up", node1=1, node2=1)
