"""Rows of the runbook about commits: a node's answer is lost, by a relay in front of it."""

import threading
import time
from collections.abc import Iterator

import pytest
from conftest import run_on, small_cluster
from doctoring import nothing_is_left
from relay import Fate, Relay, relay_to
from runbook import TIMEOUT_S, WRITE_ONE, WRITE_TWO, Session, find_row, items, session

from pgshuttle.cluster.state import Cluster

__all__ = ["items", "nothing_is_left"]  # fixtures of each test

running = small_cluster(2)
COUNTS = "SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two)"


@pytest.fixture
def relay(running: Cluster) -> Iterator[Relay]:
    """The way to the second node, on which a COMMIT can be lost."""
    place = "ALTER SERVER node2 OPTIONS (SET port '{}')"
    with relay_to(running.nodes[1].server.port) as made:
        run_on(running.query, place.format(made.port))
        yield made
        run_on(running.query, place.format(running.nodes[1].front.port))


@pytest.fixture
def here(running: Cluster) -> Iterator[Session]:
    with session(running.query) as made:
        yield made


def is_there(running: Cluster) -> bool:
    """Looks on the second node for the row."""
    return run_on(running.nodes[1].server, "SELECT * FROM item") != []


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
def test_an_answer_is_lost(running: Cluster, relay: Relay, here: Session, fate: Fate) -> None:
    """Only this node was written to, and only it knows."""
    row = find_row("ERROR, 08007")
    here.run("BEGIN", WRITE_TWO)
    relay.fate = fate
    assert row.tells(here.fail("COMMIT"))
    assert is_there(running) == (fate is Fate.UNANSWERED)
    if not is_there(running):
        here.run("BEGIN", WRITE_TWO, "COMMIT")
    assert here.run(COUNTS) == [(0, 1)]


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
def test_a_node_has_not_committed_yet(relay: Relay, here: Session, fate: Fate) -> None:
    row = find_row("WARNING, 08007", "not committed yet")
    look, recover = row.statements()
    here.run("BEGIN", WRITE_ONE, WRITE_TWO)
    relay.fate = fate
    here.run("COMMIT")
    assert [row.tells(warning) for warning in here.warnings] == [True]
    assert len(here.run(look)) == (fate is Fate.LOST)
    here.run(recover)
    assert here.run(look) == []
    assert here.run(COUNTS) == [(1, 1)]


def set_standbys(running: Cluster, names: str) -> None:
    run_on(
        running.query,
        f"ALTER SYSTEM SET synchronous_standby_names = '{names}'",
        "SELECT pg_reload_conf()",
    )


def test_the_wait_for_a_standby_is_cancelled(running: Cluster, here: Session) -> None:
    row = find_row("WARNING, 40003")
    (look,) = row.statements()
    waits = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    set_standbys(running, "nobody")
    here.run("BEGIN", WRITE_ONE, WRITE_TWO)
    commit = threading.Thread(target=lambda: here.run("COMMIT"))
    commit.start()
    deadline = time.monotonic() + TIMEOUT_S
    while run_on(running.query, waits) == [] and time.monotonic() < deadline:
        time.sleep(0.1)
    commit.join(TIMEOUT_S)
    assert [warning.sqlstate for warning in here.warnings if row.tells(warning)] == ["40003"] * 2
    assert len(here.run(look)) == 2
    set_standbys(running, "")
    here.run("SELECT * FROM shuttle.recover()")
    assert here.run(COUNTS) == [(1, 1)]


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_somebody_ends_it(running: Cluster, relay: Relay, here: Session, end: str) -> None:
    """While COMMIT PREPARED is on its way."""
    row = find_row("WARNING, 08007", "may not have")
    node = running.nodes[1].server
    here.run("BEGIN", WRITE_ONE, WRITE_TWO)
    relay.fate = Fate.HELD
    commit = threading.Thread(target=lambda: here.run("COMMIT"))
    commit.start()
    assert relay.held.wait(TIMEOUT_S)
    ((gid,),) = run_on(node, "SELECT gid FROM pg_prepared_xacts")
    run_on(node, f"{end} PREPARED '{gid}'")
    relay.released.set()
    commit.join(TIMEOUT_S)
    assert [row.tells(warning) for warning in here.warnings] == [True]
    assert is_there(running) == (end == "COMMIT")
    if not is_there(running):
        here.run(WRITE_TWO)
    assert here.run(COUNTS) == [(1, 1)]


def test_a_node_has_committed_beside_an_error(running: Cluster, here: Session) -> None:
    """Nothing is prepared, and the other node refuses at its commit."""
    row = find_row("WARNING, 08007", "beside an ERROR")
    node = running.nodes[0].server
    run_on(
        node,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'no'; END$$",
        "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON item INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    option = "ALTER SERVER {} OPTIONS ({} shuttle_two_phase{})"
    here.run(*(option.format(name, "ADD", " 'off'") for name in ("node1", "node2")))
    assert here.fail("BEGIN", WRITE_ONE, WRITE_TWO, "COMMIT").sqlstate == "P0001"
    here.run(*(option.format(name, "DROP", "") for name in ("node1", "node2")))
    assert [row.tells(warning) for warning in here.warnings] == [True]
    assert here.run(COUNTS) == [(0, 1)]
    here.run("DELETE FROM two")
    run_on(node, "DROP FUNCTION refuse() CASCADE")


def test_locks_are_left(running: Cluster, relay: Relay, here: Session) -> None:
    row = find_row("locks")
    look, recover = row.statements()
    insert = "INSERT INTO item VALUES (1, 'y')"
    here.run("BEGIN", WRITE_ONE, WRITE_TWO)
    relay.fate = Fate.LOST
    here.run("COMMIT")
    with session(running.nodes[1].server) as there:
        there.run("SET lock_timeout = '10ms'")
        assert there.fail(insert).sqlstate == "55P03"
        ((*_, state),) = here.run(look)
        assert state == "to be committed"
        here.run(recover)
        assert there.fail(insert).sqlstate == "23505"
