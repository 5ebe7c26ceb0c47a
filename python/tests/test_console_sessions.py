"""The sessions of the console, without a server: many threads, and what ends them."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from pgshuttle.console import checks, nodes, sessions, tablets
from pgshuttle.console.watch import Watch

NREADS = sessions.MOST_SESSIONS


class Session:
    """A session of no server."""

    def __init__(self) -> None:
        self.closed = False
        self.was_cancelled = False

    def cancel(self) -> None:
        self.was_cancelled = True
        raise psycopg.OperationalError("the connection is lost")

    def fileno(self) -> int:
        raise psycopg.OperationalError("the connection is lost")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """The sessions that were opened."""
    found: list[Session] = []

    def open_session(_dsn: str) -> Session:
        found.append(Session())
        return found[-1]

    monkeypatch.setattr(sessions, "open_session", open_session)
    return found


def test_all_sessions_are_ended_though_one_cannot_be_cancelled(opened: list[Session]) -> None:
    made = sessions.Sessions("")
    barrier = threading.Barrier(NREADS)

    async def read() -> None:
        await asyncio.gather(*(made.read(lambda _one: barrier.wait(10)) for _ in range(NREADS)))

    asyncio.run(read())
    made.close()
    assert len(opened) == NREADS
    assert all(one.was_cancelled and one.closed for one in opened)


def test_a_silent_query_node_is_noticed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def connect(_dsn: str, **values: object) -> None:
        asked.update(values)
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(psycopg.OperationalError):
        sessions.open_session("host=/nowhere")
    assert asked["connect_timeout"] == sessions.CONNECT_S


def test_nodes_without_an_answer_delay_no_read(
    opened: list[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def wait(_session: Session, _name: str) -> nodes.Probe:
        is_over.wait(20)
        return nodes.Probe(False, "no answer")

    async def check() -> None:
        watch = Watch("")
        for number in range(20):
            watch._ask(f"node{number}")  # noqa: SLF001
        await asyncio.sleep(0.1)
        assert await asyncio.wait_for(watch.sessions.read(lambda _one: 1), 5) == 1
        is_over.set()
        await watch.close()

    monkeypatch.setattr(nodes, "probe", wait)
    asyncio.run(check())
    assert all(one.closed for one in opened)


def look_once(watch: Watch, reader: Callable[[Session], None]) -> dict[str, Any]:
    """Has the map be read once; returns what the page is told."""

    async def check() -> dict[str, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tablets, "read_map", reader)
            looking = asyncio.create_task(watch._repeat(watch._look_at_map, 60))  # noqa: SLF001
            _, new = await watch.board.read(0, 0.5)
            looking.cancel()
        await watch.close()
        return new

    return {topic: json.loads(text) for topic, text in asyncio.run(check()).items()}


@pytest.mark.usefixtures("opened")
def test_a_map_that_takes_too_long_says_so() -> None:
    def cancel(_session: Session) -> None:
        raise psycopg.errors.QueryCanceled("canceling statement due to statement timeout")

    found = look_once(Watch(""), cancel)
    assert "statement timeout" in found["map"]["error"]


@pytest.mark.usefixtures("opened")
def test_of_a_lost_session_the_nodes_tell_alone() -> None:
    def lose(session: Session) -> None:
        session.closed = True
        raise psycopg.errors.AdminShutdown("terminating connection")

    assert look_once(Watch(""), lose) == {}


@pytest.mark.usefixtures("opened")
def test_a_node_of_which_the_console_fails_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_session: Session, _name: str) -> nodes.Probe:
        raise KeyError("max_prepared")

    async def check() -> nodes.Probe:
        watch = Watch("")
        await watch._probe("node1")  # noqa: SLF001
        await watch.close()
        return watch._probes["node1"]  # noqa: SLF001

    monkeypatch.setattr(nodes, "probe", fail)
    assert asyncio.run(check()) == nodes.Probe(None, "'max_prepared'")


@pytest.mark.usefixtures("opened")
def test_one_doctor_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    started: list[object] = []

    def examine(session: object) -> dict[str, Any]:
        started.append(session)
        is_over.wait(20)
        return {"findings": []}

    async def look(watch: Watch) -> None:
        """A viewer comes, and goes before the doctor is done."""
        task = asyncio.create_task(watch._run_doctor())  # noqa: SLF001
        await asyncio.sleep(0.2)
        task.cancel()

    async def check() -> None:
        watch = Watch("")
        await look(watch)
        await look(watch)
        assert len(started) == 1
        is_over.set()
        await look(watch)
        await look(watch)
        assert len(started) == 1  # what it found is young
        watch.want_doctor()
        await look(watch)
        assert len(started) == 2
        await watch.close()

    monkeypatch.setattr(checks, "read_findings", examine)
    asyncio.run(check())
