"""distribute and tables, on a cluster with the extension."""

import json
import unicodedata
from functools import partial

import psycopg
import pytest
from conftest import Invoke, invoke, run_on, small_cluster

from pgshuttle.base.errors import ExitCode
from pgshuttle.cluster import catalog, servers
from pgshuttle.cluster.state import Cluster
from pgshuttle.look import distribute, target

SHOP = """
CREATE TABLE product (id int PRIMARY KEY, name text);
CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int, customer_id int REFERENCES customer, product_id int REFERENCES product,
    PRIMARY KEY (customer_id, id));
CREATE TABLE log (what text);
INSERT INTO customer SELECT i, 'c' FROM generate_series(1, 100) i;
INSERT INTO product SELECT i, 'p' FROM generate_series(1, 10) i;
INSERT INTO orders SELECT i, 1 + i % 100, 1 + i % 10 FROM generate_series(1, 1000) i;
"""


running = small_cluster(2)


@pytest.fixture
def run(running: Cluster) -> Invoke:
    """Runs a command on a shop that is not distributed."""
    run_on(running.query, "DROP TABLE IF EXISTS orders, customer, product, log CASCADE", SHOP)
    return partial(invoke, directory=running.directory)


def test_what_is_advised_is_done(run: Invoke) -> None:
    advice = {one["table"]: one for one in json.loads(run("distribute", "--json"))}
    assert (advice["orders"]["kind"], advice["orders"]["key"]) == ("distribute", "customer_id")
    assert {name: one["kind"] for name, one in advice.items()} == {
        "customer": "distribute",
        "log": "local",
        "orders": "distribute",
        "product": "reference",
    }
    assert "No table is distributed" in run("tables")
    assert "customer_id" in run("distribute", "--yes", "--tablets", "3")
    found = {one["table"]: one for one in json.loads(run("tables", "--json"))}
    assert (found["orders"]["key"], found["orders"]["tablets"]) == ("customer_id", 3)
    assert found["orders"]["nodes"] == found["product"]["nodes"] == ["node1", "node2"]
    assert (found["orders"]["rows"], found["product"]["kind"]) == (1000, "reference")
    assert found["orders"]["bytes"] > 0
    assert "nothing to distribute" in run("distribute")


def test_nothing_is_done_without_a_yes(run: Invoke) -> None:
    assert "Distribute them?" in run("distribute", code=ExitCode.FAILED, typed="n\n")
    assert json.loads(run("tables", "--json")) == []
    run("distribute", typed="y\n")
    assert len(json.loads(run("tables", "--json"))) == 3


def test_tables_that_are_named(run: Invoke) -> None:
    run("distribute", "customer.id", "orders.customer_id", "--reference", "product", "--yes")
    assert len(json.loads(run("tables", "--json"))) == 3
    output = run("distribute", "log.number", "--yes", code=ExitCode.FAILED)
    assert 'column "number" of table "log" does not exist' in output


def test_names_are_printed_as_they_are(running: Cluster, run: Invoke) -> None:
    # markup that has no beginning, and what would set a terminal's title or turn words around
    name = "a[/b]\x1b]0;title\x07\x9b\u202e"
    shown = "a[/b]\N{REPLACEMENT CHARACTER}]0;title"
    drops = (f'DROP TABLE IF EXISTS "{name}"', f'DROP FOREIGN TABLE IF EXISTS "{name}lost"')
    run_on(
        running.query,
        *drops,
        f'CREATE TABLE "{name}" (id int PRIMARY KEY)',
        f'CREATE FOREIGN TABLE "{name}lost" (id int) SERVER node1',
    )
    try:
        printed = (
            run("distribute", f'"{name}".number', "--yes", code=ExitCode.FAILED),
            run("distribute", f'"{name}".id', "--yes"),
            run("tables"),
            run("doctor", code=ExitCode.FAILED),
        )
    finally:
        run_on(running.query, *drops)
    for one in printed:
        assert shown in one
        kinds = {unicodedata.category(character) for character in one.replace("\n", "")}
        assert kinds.isdisjoint({"Cc", "Cf"})


def test_a_refusal_has_its_hint_and_undoes_all(run: Invoke) -> None:
    words = ("distribute", "customer.id", "--reference", "log", "--yes")
    output = run(*words, code=ExitCode.FAILED)
    assert 'table "log" has no primary key' in output
    assert "Rows of copies are found by the primary key" in output
    assert json.loads(run("tables", "--json")) == []


def test_a_node_that_is_away(running: Cluster, run: Invoke) -> None:
    with catalog.connect(running.query) as query:
        port = query.execute(
            "SELECT port FROM shuttle.storage_nodes WHERE node = 'node2'"
        ).fetchone()
        assert port is not None
        query.execute("ALTER SERVER node2 OPTIONS (SET port '1')")
        output = run("distribute", "--yes", code=ExitCode.FAILED)
        query.execute(f"ALTER SERVER node2 OPTIONS (SET port '{port[0]}')".encode())
    assert 'could not connect to server "node2"' in output
    assert "Check the options host, port and dbname" in output
    assert json.loads(run("tables", "--json")) == []


def test_progress_is_shown_and_an_interrupt_cancels(
    running: Cluster, run: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribute, "LOOK_S", 0.001)
    place = target.find_target(None, running.directory)
    steps = distribute.make_steps(["log.what"], [], 2)
    seen: list[distribute.Progress] = []

    def stop(progress: distribute.Progress) -> None:
        seen.append(progress)
        if progress.rows > 0:
            raise KeyboardInterrupt

    with target.connect(place) as connection, target.connect(place) as watcher:
        watcher.execute("INSERT INTO public.log SELECT i FROM generate_series(1, 200000) i")
        with pytest.raises(KeyboardInterrupt):
            distribute.run_steps(connection, watcher, steps, stop)
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    assert seen[-1].table == "log"
    assert json.loads(run("tables", "--json")) == []


def test_the_doctor_compares_tables(running: Cluster, run: Invoke) -> None:
    def find(level: str) -> list[tuple[str, str]]:
        code = ExitCode.FAILED if level == "error" else ExitCode.OK
        found = json.loads(run("doctor", "--json", code=code))
        names = ("storage node", "tables")
        return [
            (one["where"], one["text"])
            for one in found
            if one["level"] == level and one["check"] in names
        ]

    run("distribute", "--yes", "--tablets", "3")
    assert find("ok") == [("query", "storage nodes have what they should have")]
    run_on(running.nodes[1].server, "UPDATE product SET name = 'other' WHERE id = 3")
    assert find("error") == [("node2", "public.product has other rows")]
    run_on(running.query, "SELECT shuttle.check(true)")
    assert find("ok") == [("query", "storage nodes have what they should have")]
    node = running.nodes[0].server
    run_on(
        node,
        "ALTER SYSTEM SET constraint_exclusion = off",
        "SELECT pg_reload_conf()",
        user=servers.SUPERUSER,
    )
    assert find("error") == [("node1", 'Its setting "constraint_exclusion" is off.')]
    run_on(
        node,
        "ALTER SYSTEM RESET constraint_exclusion",
        "SELECT pg_reload_conf()",
        user=servers.SUPERUSER,
    )


@pytest.mark.parametrize("command", ["top", "console", "distribute", "tables"])
def test_a_database_without_the_extension(running: Cluster, command: str) -> None:
    run_on(running.query, "DROP DATABASE IF EXISTS plain", "CREATE DATABASE plain")
    dsn = catalog.write_dsn(running.query, dbname="plain")
    output = invoke(command, "--dsn", dsn, code=ExitCode.FAILED)
    assert "the extension pg_shuttle is not in this database" in output
    assert "CREATE EXTENSION pg_shuttle CASCADE;" in output
