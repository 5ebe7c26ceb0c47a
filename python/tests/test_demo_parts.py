"""The parts of the demo behind the join: on small tables, and what their claims and tables say."""

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import synthetic
from conftest import run_on, small_cluster
from rich.console import Console
from rich.table import Table

from pgshuttle.bench.tpcc.tables import Way
from pgshuttle.cluster import servers
from pgshuttle.cluster.state import Cluster
from pgshuttle.demo import (
    all_parts,
    file_cache,
    join_points,
    prefetch,
    procedures,
    push_downs,
    spreading,
)
from pgshuttle.demo import report as demo_report
from pgshuttle.demo.claims import Claim
from pgshuttle.demo.push_downs import Case

MOST_LINES = 13  # of a part's table, its title included
TIMES = ("ms", "of the time")

running = small_cluster(3)


def list_missed(found: Sequence[Claim], *, times: bool) -> list[Claim]:
    return [claim for claim in found if not claim.ok and (times or claim.unit not in TIMES)]


def print_table(table: Table) -> str:
    printed = io.StringIO()
    Console(file=printed, width=110).print(table)
    return printed.getvalue()


def test_tables_are_spread_and_moved(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "BEFORE_S", 0.3)
    run_on(running.query, "ALTER DATABASE shuttle SET shuttle.tablets = 3")
    spreading.leave_last_node(running)
    found = spreading.run(running, spreading.Sizes(100, 1000), lambda _: None)
    run_on(running.query, "ALTER DATABASE shuttle RESET shuttle.tablets")
    assert list_missed(list(spreading.check_claims(found)), times=False) == []
    tablets = [stage.tablets for stage in found.stages]
    assert sorted(tablets[1].values()) == [1, 2]
    assert tablets[2] == {"node1": 1, "node2": 1, "node3": 1}
    assert tablets[0] == tablets[3] == {}
    assert found.writing.nmoves == 1
    assert sum(one.ntransactions for one in found.writing.buckets) == found.writing.ncommitted
    spreading.leave_last_node(running)  # as a second run on a cluster that was kept


def test_push_downs_and_buffered_writes(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_downs, "RTT_US", 100)  # postgres_fdw waits for 2678 round trips
    found = push_downs.run(running, lambda _: None)
    assert list_missed(list(push_downs.check_claims(found)), times=False) == []
    by_case = {one.case: one for one in found.statements}
    assert list(by_case) == list(Case)
    update = by_case[Case.UPDATE]
    assert update.stock_ms > 2 * update.ours_ms


def test_procedures(running: Cluster) -> None:
    small = replace(procedures.LOAD, nwarehouses=2, scale=0.01, seconds=1, ramp_s=0.5, nclients=2)
    load = replace(small, rtt_us=5000)  # longer than a busy machine lets a process wait
    found = procedures.run(running, load, lambda _: None)
    assert list_missed(list(procedures.check_claims(found)), times=False) == []
    for case in load.cases:
        trips = [procedures.find_call(found, way, case).round_trips for way in load.ways]
        assert trips[1] < trips[0] < trips[2]
    assert found.clients.way == Way.CALLS


def test_prefetching(running: Cluster) -> None:
    found = prefetch.run(running, prefetch.Sizes(nouter=300, nrows=60_000), lambda _: None)
    assert len(found.joins) == prefetch.NDIMENSIONS
    assert list_missed(list(prefetch.check_claims(found)), times=False) == []
    assert all((one.cold is not None) is found.can_be_cold for one in found.joins)
    assert not (running.directory / prefetch.NAME).exists()


def test_a_file_is_put_out_of_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(300_000))
    descriptor = os.open(path, os.O_RDONLY)
    assert file_cache.measure_cached(descriptor, 300_000) >= 300_000
    os.close(descriptor)
    assert 0 <= file_cache.drop([path]) <= 1
    (tmp_path / "empty").touch()
    assert file_cache.drop([tmp_path / "empty"]) == 0


def test_errors_that_were_asked_for_are_no_complaints(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"x 12 [3] ERROR:  {text}" for text in (*all_parts.EXPECTED, "another one")]
    monkeypatch.setattr(servers, "read_complaints", lambda _server: lines)
    only_query = cast(Cluster, SimpleNamespace(query=None, nodes=()))
    assert all_parts.read_complaints(only_query) == lines[-1:]


def test_each_table_is_short() -> None:
    headline = [synthetic.make_result(point) for point in join_points.list_headline_points()]
    join = demo_report.make_headline_table(headline)
    for number, table in enumerate([join, *all_parts.list_tables(synthetic.make_parts())], start=1):
        lines = [line for line in print_table(table).splitlines() if line.strip()]
        assert lines[0].startswith(f"{number}. ")
        assert len(lines) <= MOST_LINES


def test_a_cache_that_cannot_be_dropped_is_told() -> None:
    found = synthetic.make_prefetch(part_left_cached=0.97)
    assert "keeps 97 % of the files" in print_table(prefetch.make_table(found))
    claims = list(prefetch.check_claims(found))
    assert claims
    assert not any("cold" in claim.detail for claim in claims)


def test_what_goes_wrong_is_missed() -> None:
    lost = list(spreading.check_claims(synthetic.make_spreading(lost=1)))
    (missed,) = list_missed(lost, times=True)
    assert missed.part == float("inf")
    assert "1 rows lost" in print_table(spreading.make_table(synthetic.make_spreading(lost=1)))
    pushed = synthetic.make_push_downs()
    wrong = replace(pushed.statements[1], flush_requests=2, ndifferent=3)
    pushed = replace(pushed, statements=(wrong,))
    assert len(list_missed(list(push_downs.check_claims(pushed)), times=True)) == 2
    assert "3 ROWS ARE NOT" in print_table(push_downs.make_table(pushed))
    called = synthetic.make_procedures()
    clients = replace(called.clients, failed={"payment 40P01": 2}, broken=(3,))
    called = replace(called, clients=clients)
    assert len(list_missed(list(procedures.check_claims(called)), times=True)) == 2
    assert "2 payment 40P01" in print_table(procedures.make_table(called))
