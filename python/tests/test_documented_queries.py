"""The monitoring queries of docs/operations.md, as they stand there."""

import re
from pathlib import Path

from conftest import small_cluster
from psycopg.rows import dict_row

from pgshuttle import catalog
from pgshuttle.state import Cluster

PAGE = Path(__file__).resolve().parents[2] / "docs/operations.md"


def read_once(made: Cluster) -> None:
    """Makes a foreign table that nobody has analyzed, and reads it once."""
    with catalog.connect(made.nodes[0].server) as node:
        node.execute("CREATE TABLE seen (id int)")
    with catalog.connect(made.query) as query:
        query.execute("CREATE FOREIGN TABLE seen (id int) SERVER node1")
        query.execute("SELECT count(*) FROM seen")


running = small_cluster(2, read_once)


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
