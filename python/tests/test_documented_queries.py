"""Queries of docs/operations.md and docs/production.md, as they stand there."""

import re
from pathlib import Path

from conftest import small_cluster
from psycopg.rows import dict_row

from pgshuttle import catalog
from pgshuttle.state import Cluster

DOCS = Path(__file__).resolve().parents[2] / "docs"
ORDERS = """
CREATE TABLE orders (id bigint, total numeric) PARTITION BY HASH (id);
CREATE FOREIGN TABLE orders_0 PARTITION OF orders FOR VALUES WITH (MODULUS 2, REMAINDER 0)
    SERVER node1 OPTIONS (table_name 'orders');
CREATE FOREIGN TABLE orders_1 PARTITION OF orders FOR VALUES WITH (MODULUS 2, REMAINDER 1)
    SERVER node2 OPTIONS (table_name 'orders');
"""


def read_once(made: Cluster) -> None:
    """Makes a foreign table that nobody has analyzed, and reads it once."""
    with catalog.connect(made.nodes[0].server) as node:
        node.execute("CREATE TABLE seen (id int)")
    with catalog.connect(made.query) as query:
        query.execute("CREATE FOREIGN TABLE seen (id int) SERVER node1")
        query.execute("SELECT count(*) FROM seen")


running = small_cluster(2, read_once)


def read_queries(page: str, heading: str) -> list[str]:
    """The blocks of SQL in a chapter."""
    text = (DOCS / page).read_text()
    chapter = re.search(rf"^## {heading}$(.*?)^## ", text, re.M | re.DOTALL)
    assert chapter is not None
    found: list[str] = re.findall(r"^```sql\n(.*?)^```$", chapter[1], re.M | re.DOTALL)
    return found


def test_monitoring_queries(running: Cluster) -> None:
    with catalog.connect(running.query) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        answers = [
            cursor.execute(query.encode()).fetchall()
            for query in read_queries("operations.md", "Monitoring queries")
        ]
    nodes, stats, waiting, left, never = answers
    assert [row["server"] for row in nodes] == ["node1", "node2"]
    assert {row["server"]: row["wait_ms_a_request"] for row in stats}["node1"] > 0
    assert (waiting, left) == ([], [])
    assert [row["never_analyzed"] for row in never] == ["seen"]


def test_sizes(running: Cluster) -> None:
    (query,) = read_queries("production.md", "Sizes")
    with catalog.connect(running.query) as connection:
        rows = connection.execute(query.encode()).fetchall()
    assert [row[0] for row in rows] == ["node1", "node2"]
    assert all(int(str(value)) > 0 for row in rows for value in row[1:])


def test_commits_after_a_restore_and_a_node_that_moves(running: Cluster) -> None:
    recover, move = read_queries("production.md", "Backups and lost nodes")
    with catalog.connect(running.query) as connection:
        connection.execute(recover.encode())
        assert connection.execute("SELECT * FROM shuttle.transactions").fetchall() == []
        with connection.transaction(force_rollback=True):
            connection.execute(move.encode())


def test_columns_that_come_and_go(running: Cluster) -> None:
    (changes,) = read_queries("production.md", "Changes of the schema")
    for node in running.nodes:
        with catalog.connect(node.server) as connection:
            connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY, total numeric)")
    with catalog.connect(running.query) as connection:
        connection.execute(ORDERS.encode())
        for change in changes.split(";\n")[:-1]:
            rows = connection.execute(change.encode())
            if rows.description:
                assert [row[1] for row in rows] == [True, True]
            connection.execute("INSERT INTO orders SELECT i, i FROM generate_series(1, 9) i")
            (count,) = connection.execute("SELECT count(total) FROM orders").fetchone() or ()
            assert count == 9
            connection.execute("DELETE FROM orders")
