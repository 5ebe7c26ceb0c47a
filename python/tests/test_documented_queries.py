"""Queries of README.md and of pages in docs/ for users, as they stand there."""

import re
from contextlib import ExitStack
from pathlib import Path

from conftest import run_on, small_cluster
from psycopg.rows import dict_row

from pgshuttle.cluster import catalog
from pgshuttle.cluster.servers import SUPERUSER
from pgshuttle.cluster.state import Cluster

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = DOCS / "tables.md", DOCS / "moving.md"


def read_once(made: Cluster) -> None:
    """Makes a foreign table that nobody has analyzed, and reads it once."""
    run_on(made.nodes[0].server, "CREATE TABLE seen (id int)")
    there = "CREATE FOREIGN TABLE seen (id int) SERVER node1"
    run_on(made.query, there, "SELECT count(*) FROM seen")


running = small_cluster(2, read_once)


def read_queries(page: str, heading: str) -> list[str]:
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
    nodes, stats, waiting, left, standbys, never = answers
    assert [row["server"] for row in nodes] == ["node1", "node2"]
    assert {row["server"]: row["wait_ms_a_request"] for row in stats}["node1"] > 0
    assert (waiting, left, standbys) == ([], [], [])
    assert [row["never_analyzed"] for row in never] == ["seen"]


def test_sizes(running: Cluster) -> None:
    """All connections of a node are counted, also by a role that sees its own only."""
    sizes, mapping = read_queries("production.md", "Sizes")
    with ExitStack() as open_ones:
        for node in running.nodes:
            run_on(node.server, "CREATE ROLE app LOGIN", user=SUPERUSER)
            for _ in range(5):
                open_ones.enter_context(catalog.connect(node.server))
        servers = ("node1", "node2")
        mappings = [mapping.replace("node1", server) for server in servers]
        rows = run_on(running.query, *mappings, sizes)
        drops = [f"DROP USER MAPPING FOR CURRENT_USER SERVER {server}" for server in servers]
        run_on(running.query, *drops)
    assert [row[0] for row in rows] == ["node1", "node2"]
    assert [row[4] for row in rows] == [None, None]
    assert all(int(str(row[1])) > 0 and int(str(row[2])) > 0 for row in rows)
    assert all(int(str(row[3])) >= 6 for row in rows)


def test_commits_after_a_restore_and_a_node_that_moves(running: Cluster) -> None:
    recover, move = read_queries("production.md", "Backups and lost nodes")
    with catalog.connect(running.query) as connection:
        connection.execute(recover.encode())
        assert connection.execute("SELECT * FROM shuttle.transactions").fetchall() == []
        with connection.transaction(force_rollback=True):
            connection.execute(move.encode())


GUEST = """
CREATE ROLE app;
GRANT CREATE ON SCHEMA public TO app;
CREATE SERVER my_server FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '127.0.0.1', port '{port}', dbname '{database}');
GRANT USAGE ON FOREIGN SERVER my_server TO app;
CREATE USER MAPPING FOR app SERVER my_server OPTIONS (user '{user}', password '{user}');
SET ROLE app;
CREATE TABLE orders AS SELECT i AS id, i * 7 AS product_id FROM generate_series(1, 200) AS i;
CREATE FOREIGN TABLE product (id int, name text) SERVER my_server;
RESET ROLE;
ANALYZE orders, product;
"""


def test_the_first_statements_of_readme(running: Cluster) -> None:
    """They spread tables over two nodes, which are there already, and take them back."""
    (block,) = read_queries("../README.md", "Spread tables over servers")
    statements = split_statements(block)
    assert len(statements) <= 12
    first, spread = statements[:3], statements[3:]
    words = ("EXTENSION", "'node1'", "'node2'")
    assert all(word in one for word, one in zip(words, first, strict=True))
    with catalog.connect(running.query) as connection:
        answers = [connection.execute(one.encode()) for one in spread]
        rows, tablets = (answer.fetchall() for answer in answers[5:7])
    assert len(rows) == 5
    assert {row[1] for row in tablets} == {"node1", "node2"}
    assert {str(row[0]) for row in tablets} == {"customer", "orders"}
    assert run_on(running.query, "SELECT count(*) FROM orders") == [(10000,)]
    run_on(running.query, "DROP TABLE orders, customer")


def test_a_server_of_postgres_fdw(running: Cluster) -> None:
    """It is used by a role with a mapping, then moved to the wrapper and back."""
    look, preload, move = read_queries("start.md", "You join across servers with postgres_fdw")
    node = running.nodes[0].server
    run_on(
        node,
        "CREATE TABLE product (id int PRIMARY KEY, name text)",
        "INSERT INTO product SELECT i, 'no ' || i FROM generate_series(1, 100000) i",
        "ANALYZE product",
    )
    with catalog.connect(running.query) as query:
        query.execute(
            GUEST.format(
                port=node.port, database=catalog.DATABASE, user=catalog.REMOTE_USER
            ).encode()
        )
        *statements, join = split_statements(look)
        for statement in statements:
            query.execute(statement.encode())
        plan = "\n".join(str(line) for (line,) in query.execute(join.encode()).fetchall())
        query.execute("RESET ROLE")
        for statement in split_statements(preload):
            query.execute(statement.encode())
        query.execute("ALTER SYSTEM RESET session_preload_libraries")
        changes = [query.execute(one.encode()).fetchall() for one in split_statements(move)[1:]]
        query.execute("DROP SERVER my_server CASCADE")
        query.execute("DROP TABLE orders")
        query.execute("REVOKE CREATE ON SCHEMA public FROM app")
        query.execute("DROP ROLE app")
    run_on(node, "DROP TABLE product")
    assert "Look Ahead" in plan
    assert "Storage Read Requests: 1" in plan
    assert [rows[0][:2] for rows in changes] == [("server my_server", "wrapper")] * 2


def split_statements(block: str) -> list[str]:
    """The statements of a block, without what stands behind their semicolons."""
    return re.split(r";.*\n", block)[:-1]


def make_orders_of_start(running: Cluster) -> list[str]:
    """Makes the table of start.md over two nodes; returns the plan of its join."""
    (*_, block) = read_queries("start.md", "You place rows yourself")
    there = re.search(r"^-- on both nodes: (.*)$", block, re.MULTILINE)
    assert there is not None
    for node in running.nodes:
        run_on(node.server, there[1])
    statements = split_statements(block.replace(there[0] + "\n", ""))
    return [line for (line,) in run_on(running.query, *statements)]


def test_a_table_over_two_nodes_whose_columns_come_and_go(running: Cluster) -> None:
    plan = make_orders_of_start(running)
    assert "Storage Read Requests: 2" in plan  # one of each node
    (changes,) = read_queries("production.md", "Changes of the schema")
    with catalog.connect(running.query) as connection:
        for change in changes.split(";\n")[:-1]:
            rows = connection.execute(change.encode())
            if rows.description:
                assert [row[1] for row in rows] == [True, True]
            row = "SELECT i, i, i FROM generate_series(200001, 200009) i"
            connection.execute(f"INSERT INTO orders {row}".encode())
            (count,) = connection.execute("SELECT count(total) FROM orders").fetchone() or ()
            assert count == 100009
            connection.execute("DELETE FROM orders WHERE id > 200000")


def test_nodes_of_examples_were_added_before() -> None:
    """So that a reader can type the examples in their order."""
    added = set()
    text = "".join(page.read_text() for page in TABLES)
    for block in re.findall(r"^```sql\n(.*?)^```$", text, re.M | re.DOTALL):
        added |= set(re.findall(r"shuttle\.add_node\('(\w+)'", block))
        assert set(re.findall(r"'(n(?:ode)?\d+)'", block)) <= added, block
    assert len(added) == 4


def test_what_the_page_on_production_calls(running: Cluster) -> None:
    """Its statements within sentences; those of the runbook are in test_runbook."""
    page = (DOCS / "production.md").read_text().split("## When something fails")[0]
    named = re.findall(r"`((?:SELECT|CALL|ALTER EXTENSION) [^`]*)`", page)
    assert len(named) >= 6
    # a drain refuses a node with foreign tables that are no tablets
    run_on(running.query, "DROP FOREIGN TABLE IF EXISTS seen", "DROP TABLE IF EXISTS orders")
    run_on(running.query, *dict.fromkeys(named))
