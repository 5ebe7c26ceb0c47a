"""doctor, explain and top, on a cluster with the extension."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Invoke, invoke, run_on
from psycopg.conninfo import make_conninfo
from synthetic import make_node

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import builds, catalog, clusters, servers
from pgshuttle.cluster.state import Cluster
from pgshuttle.look import node_rates, plan_page, plan_view, target

# looked up before each test gets a cache of its own
SERVERS = {name: builds.find_pg_config(name) for name in ("15", "18")}
JOIN = "SELECT i, name FROM generate_series(1, 500) i JOIN product ON id = i * 7"


@pytest.fixture(params=SERVERS)
def running(request: pytest.FixtureRequest, work_dir: Path) -> Iterator[Cluster]:
    """A cluster of one storage node, whose query node has the extension."""
    found = SERVERS[request.param]
    if found is None or not builds.read_build(request.param, found).has_extension():
        pytest.skip(f"PostgreSQL {request.param} with the extension is not installed")
    directory = work_dir / "c"
    options = clusters.ClusterOptions(directory, 1, str(found), 0, True)
    yield clusters.up(options, lambda _step: None).cluster
    clusters.down(directory, remove=True)


@pytest.fixture
def look(running: Cluster) -> Invoke:
    return partial(invoke, directory=running.directory)


def read_findings(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(found["where"], found["check"]): found for found in json.loads(text)}


def make_tables(found: Cluster) -> None:
    """A table on the node, and the foreign table over it."""
    run_on(
        found.nodes[0].server,
        "CREATE TABLE product (id int PRIMARY KEY, name text)",
        "INSERT INTO product SELECT i, 'no ' || i FROM generate_series(1, 20000) i",
        "ANALYZE product",
    )
    run_on(found.query, "IMPORT FOREIGN SCHEMA public FROM SERVER node1 INTO public")


def test_a_cluster_is_looked_at(running: Cluster, look: Invoke, work_dir: Path) -> None:
    make_tables(running)
    check_doctor(running, look)
    check_doctor_of_a_user(running, look)
    check_explain(look, work_dir)
    check_top(running, look)
    check_other_encodings(running)
    check_doctor_sees_icu(running, look)


def check_doctor(running: Cluster, look: Invoke) -> None:
    found = read_findings(look("doctor", "--json"))
    assert found["node1", "reachable"]["level"] == "ok"
    assert found["fdw_node1", "reachable"]["level"] == "ok"
    assert found["node1", "statistics"]["advice"] == "ANALYZE public.product;"
    assert not any(finding["level"] == "error" for finding in found.values())
    run_on(
        running.query,
        "ANALYZE product",
        "ALTER SERVER node1 OPTIONS (ADD extensions 'cube')",
        "CREATE EXTENSION cube",
        "DROP USER MAPPING FOR PUBLIC SERVER fdw_node1",
    )
    found = read_findings(look("doctor", "--json", code=ExitCode.FAILED))
    assert "cube" in found["node1", "extensions"]["text"]
    assert found["node1", "statistics"]["level"] == "ok"
    assert "CREATE USER MAPPING" in found["fdw_node1", "privileges"]["advice"]
    assert "cube" in look("doctor", code=ExitCode.FAILED)
    run_on(
        running.query,
        "CREATE TABLE split (id int, name text) PARTITION BY RANGE (id)",
        "CREATE FOREIGN TABLE rest PARTITION OF split DEFAULT SERVER node1 "
        "OPTIONS (table_name 'product')",
        "ANALYZE rest",
    )
    found = read_findings(look("doctor", "--json", code=ExitCode.FAILED))
    assert found["query", "statistics"]["advice"].startswith("ANALYZE public.split;")
    cut = "ALTER SERVER node1 OPTIONS (DROP extensions, SET port '1')"
    run_on(running.query, "DROP TABLE split", cut)
    found = read_findings(look("doctor", "--json", code=ExitCode.FAILED))
    assert found["node1", "reachable"]["level"] == "error"
    with catalog.connect(running.query) as query:
        catalog.define_server(query, "node1", "shuttle", running.nodes[0].front.port)


def check_doctor_of_a_user(running: Cluster, look: Invoke) -> None:
    run_on(
        running.query,
        "CREATE ROLE clerk LOGIN",
        "GRANT USAGE ON FOREIGN SERVER node1 TO clerk",
        "CREATE USER MAPPING FOR clerk SERVER node1 OPTIONS (user 'shuttle')",
        "ALTER USER MAPPING FOR clerk SERVER node1 OPTIONS (ADD password 'shuttle')",
    )
    dsn = make_conninfo(target.write_cluster_dsn(running.directory) or "", user="clerk")
    found = read_findings(look("doctor", "--json", "--dsn", dsn))
    assert found["node1", "reachable"]["level"] == "ok"
    assert found["query", "library"]["level"] == "ok"  # its setting is not shown to him
    assert "USAGE" in found["fdw_node1", "privileges"]["advice"]
    assert "node1" in look("top", "--count", "1", "--interval", "0.1", "--dsn", dsn)
    run_on(running.query, "REVOKE SELECT ON pg_user_mappings FROM PUBLIC")
    refused = look("doctor", "--dsn", dsn, code=ExitCode.FAILED)
    assert refused == "pgshuttle: permission denied for view pg_user_mappings\n"


def check_explain(look: Invoke, work_dir: Path) -> None:
    page = work_dir / "plan.html"
    printed = look("explain", JOIN, "--html", str(page))
    assert "Look Ahead" in printed
    assert "Storage Read Requests: 1" in printed
    html = page.read_text()
    assert "Look Ahead" in html
    assert f"database {catalog.DATABASE} of " in html
    assert re.search(r"<p class=.faint.>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC, ", html)
    scan = re.search(r">Foreign Scan product +(\w+) ", printed.replace("└ ", ">"))
    assert scan is not None
    assert scan[1] == "node1"
    plan = json.loads(look("explain", JOIN, "--json", "--set", "shuttle.enable_batched_join=off"))
    assert "Look Ahead" not in json.dumps(plan)
    look("explain", "DELETE FROM product")
    assert "20 000" in look("explain", "SELECT * FROM product")  # nothing was deleted
    assert "does not exist" in look("explain", "SELECT nothing", code=ExitCode.FAILED)
    refused = look("explain", JOIN, "--set", "work_mem=much", code=ExitCode.FAILED)
    assert "work_mem" in refused
    second = look("explain", "SELECT 1; COMMIT; DELETE FROM product", code=ExitCode.FAILED)
    assert "multiple commands" in second
    assert "no statement" in look("explain", " ; ", code=ExitCode.USAGE)
    refused = look("explain", JOIN, "--html", "/nowhere/plan.html", code=ExitCode.FAILED)
    assert refused == "pgshuttle: /nowhere/plan.html: No such file or directory\n"


def check_other_encodings(running: Cluster) -> None:
    """Arguments and output where the locale knows no more than ASCII."""
    poor = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    query = JOIN.replace("SELECT i", 'SELECT i AS "\u00e4"')
    words = ["explain", "--dir", str(running.directory), query]
    done = subprocess.run(
        [sys.executable, "-m", "pgshuttle", *words],
        env=os.environ | poor,
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert b"Look Ahead" in done.stdout
    assert b"####" in done.stdout


def check_doctor_sees_icu(running: Cluster, look: Invoke) -> None:
    sort = "CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de'"
    run_on(running.nodes[0].server, sort, user=servers.SUPERUSER)
    run_on(running.query, "ALTER SERVER node1 OPTIONS (SET dbname 'sorted')")
    found = read_findings(look("doctor", "--json", code=ExitCode.FAILED))
    assert "C here and ICU de there" in found["node1", "collation"]["text"]
    assert ("node1", "statistics") not in found  # its table is not in this database


def check_top(running: Cluster, look: Invoke) -> None:
    rates = json.loads(look("top", "--count", "1", "--interval", "0.1", "--json"))
    assert [rate["server"] for rate in rates] == ["node1"]
    assert "node1" in look("top", "--count", "1", "--interval", "0.1")
    with target.connect(target.find_target(None, running.directory)) as connection:
        before = node_rates.read_moment(connection)
        connection.execute("SELECT count(*) FROM public.product WHERE id < 1001")
        after = node_rates.find_rates(before, node_rates.read_moment(connection))
    assert after.nodes[0].requests > 0
    assert after.nodes[0].bytes_received > 0


def test_time_below_what_is_never_executed() -> None:
    """An Append below a Routed Append is not, and its partitions are."""
    scan = make_node("Foreign Scan", actual_total_time=3.0, actual_loops=2)
    append = make_node("Append", scan, actual_total_time=0.0, actual_loops=0)
    routed = make_node("Custom Scan", append, actual_total_time=7.0, actual_loops=1)
    lines = list(plan_view.list_lines(routed, {}))
    assert [line.own_ms for line in lines] == [1.0, 0.0, 6.0]


def test_nothing_is_there(monkeypatch: pytest.MonkeyPatch, work_dir: Path) -> None:
    for name in target.LIBPQ_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolError, match="no cluster runs"):
        target.find_target(None, work_dir / "none")
    monkeypatch.setenv("PGHOST", str(work_dir))
    assert target.find_target(None, None).dsn == ""
    assert "pgshuttle up" in invoke("doctor", code=ExitCode.NOT_RUNNING)


HERE = make_node(
    "Seq Scan", relation_name="a", actual_total_time=1.0, actual_rows=4, actual_loops=1
)
THERE = make_node("Foreign Scan", relation_name="<b>", schema="public", storage_read_requests=2)
THERE |= {"Actual Total Time": 2.0, "Actual Rows": 1, "Actual Loops": 4}
JOINED = make_node(
    "Nested Loop", HERE, THERE, actual_total_time=10.0, actual_rows=4, actual_loops=1
)
PLAN = {"Plan": JOINED, "Planning Time": 0.5, "Storage Read Requests": 2}


def test_lines_of_a_plan() -> None:
    lines = list(plan_view.list_lines(JOINED, {'public."<b>"': "far"}))
    top, here, there = lines
    assert top.own_ms == 1.0  # 10 - 1 - 4 x 2
    assert (here.tree, here.requests, here.node) == ("├ ", None, "")
    assert (there.rows, there.own_ms, there.requests) == (4, 8.0, 2)
    assert (there.tree, there.node) == ("└ ", "far")
    shares = plan_view.Shares.of(lines)
    assert [shares.of_time(line) for line in lines] == [0.1, 0.1, 0.8]
    assert [shares.of_requests(line) for line in lines] == [0, 0, 1]


def test_branches_of_a_plan() -> None:
    """Only what comes last below its node has a corner; lines go on beside what is deeper."""
    leaf = make_node("Seq Scan")
    inner = make_node("Append", leaf, leaf)
    lines = plan_view.list_lines(make_node("Sort", make_node("Nested Loop", inner, inner)), {})
    trees = ["", "└ ", "  ├ ", "  │ ├ ", "  │ └ ", "  └ ", "    ├ ", "    └ "]
    assert [line.tree for line in lines] == trees


def test_servers_of_scans() -> None:
    """What EXPLAIN tells, then the table, then the first table of a join on the server."""
    servers = {"public.a": "one", 'public."B"': "two"}
    scan = {"Node Type": "Foreign Scan", "Schema": "public"}
    for node, server in (
        ({**scan, "Relation Name": "a", "Storage Node": "told"}, "told"),
        ({**scan, "Relation Name": "B"}, "two"),
        ({**scan, "Relations": "((public.a) INNER JOIN (public.c x)) LEFT JOIN (public.d)"}, "one"),
        ({**scan, "Relation Name": "c"}, ""),
        ({"Node Type": "Custom Scan", "Node": "n2"}, "n2"),
    ):
        assert plan_view.find_server(node, servers) == server


def test_lines_of_tables_that_are_written() -> None:
    requests = {"Storage Write Requests": 7, "Storage Flush Requests": 1}
    written = {"Operation": "Foreign Insert", "Relation Name": "t3"} | requests
    source = make_node("Result", actual_total_time=1.0, actual_loops=1)
    node = make_node("ModifyTable", source, written_tables=[written])
    top, table, below = plan_view.list_lines(node, {})
    assert (table.tree, table.name, table.requests) == ("├ ", "Foreign Insert on t3", 1)
    assert table.details == {"Storage Write Requests": 7}
    assert (top.requests, below.name) == (None, "Result")


def test_bars() -> None:
    assert plan_view.draw_bar(0).strip() == ""
    assert plan_view.draw_bar(1) == plan_view.FULL * plan_view.BAR_WIDTH
    assert plan_view.draw_bar(0.5).strip() == plan_view.FULL * (plan_view.BAR_WIDTH // 2)
    assert len(plan_view.draw_bar(0.33)) == plan_view.BAR_WIDTH


def test_a_page_shows_what_it_is_given_and_loads_nothing() -> None:
    taken = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    origin = plan_page.Origin("SELECT '<script>'", taken, "database <d>")
    page = plan_page.write_page(origin, PLAN, {'public."<b>"': "<far>"})
    assert "<script>" not in page
    assert "2030-01-02 03:04:05 UTC, database &lt;d&gt;" in page
    assert '<pre class="query">SELECT &#x27;&lt;script&gt;&#x27;</pre>' in page
    assert "└ Foreign Scan &lt;b&gt;</td><td>&lt;far&gt;</td>" in page
    assert "--part: 0.800" in page
    assert plan_view.SCALE in page
    assert "<dt>Storage Read Requests</dt><dd>2</dd>" in page
    assert "http" not in page
    assert "<h2>Details</h2>" not in page
