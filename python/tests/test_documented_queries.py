"""The monitoring queries of docs/operations.md, as they stand there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_small_cluster
from psycopg.rows import dict_row

from pgshuttle import catalog
from pgshuttle.state import Cluster

PAGE = Path(__file__).resolve().parents[2] / "docs/operations.md"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a foreign table that nobody has analyzed, and read once."""
    with run_small_cluster(tmp_path_factory, "queries", 2) as made:
        with catalog.connect(made.nodes[0].server) as node:
            node.execute("CREATE TABLE seen (id int)")
        with catalog.connect(made.query) as query:
            query.execute("CREATE FOREIGN TABLE seen (id int) SERVER node1")
            query.execute("SELECT count(*) FROM seen")
        yield made


def read_queries() -> list[str]:
    """The blocks of SQL in the chapter."""
    chapter = re.search(r"^## Monitoring queries$(.*?)^## ", PAGE.read_text(), re.M | re.DOTALL)
    assert chapter is not None
    found: list[str] = re.findall(r"^```sql\n(.*?)^```$", chapter[1], re.M | re.DOTALL)
    return found


def test_monitoring_queries(running: Cluster) -> None:
    with catalog.connect(running.query) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        answers = [cursor.execute(query.encode()).fetchall() for query in read_queries()]
    nodes, stats, waiting, left, never = answers
    assert [row["server"] for row in nodes] == ["node1", "node2"]
    assert {row["server"]: row["wait_ms_a_request"] for row in stats}["node1"] > 0
    assert (waiting, left) == ([], [])
    assert [row["never_analyzed"] for row in never] == ["seen"]
