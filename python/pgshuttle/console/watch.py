"""Looks at the cluster again and again, while somebody looks at the page."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.console import checks, commits, nodes, statements, tablets
from pgshuttle.console.board import Board
from pgshuttle.console.sessions import AwayError, Sessions
from pgshuttle.look import node_rates
from pgshuttle.look.target import first_line

TICK_S = 1.0
PROBE_S = 2.0  # a node is asked so often
MAP_S = 5.0
COMMITS_S = 3.0
STATEMENTS_S = 10.0
DOCTOR_S = 600.0
MOST_PROBES = 16  # at the same time: with more nodes away than that, it takes longer to see them
LINGER_S = 5.0  # after the last browser has gone

WHO = """
SELECT current_user::text, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
    current_database()::text, coalesce((SELECT extversion FROM pg_extension
        WHERE extname = 'pg_shuttle'), '')::text
"""


def read_who(connection: Connection) -> dict[str, Any]:
    ((user, is_superuser, database, extension),) = read_rows(connection, WHO)
    info = connection.info
    return {
        "user": user,
        "is_superuser": is_superuser,
        "database": database,
        "extension": extension,
        "host": f"{info.host or 'this host'}:{info.port}",
        "server": info.parameter_status("server_version"),
        "counts_all": node_rates.sees_all(connection),
    }


class Watch:
    """The loops behind the page. They run from the first browser to the last."""

    def __init__(self, dsn: str) -> None:
        self.board = Board()
        self.sessions = Sessions(dsn)
        self._askers = Sessions(dsn, MOST_PROBES)  # nodes without an answer keep these waiting
        self._doctors = Sessions(dsn, 1)
        self._viewers = 0
        self._task: asyncio.Task[None] | None = None
        self._last: node_rates.Moment | None = None
        self._probes: dict[str, nodes.Probe] = {}
        self._since: dict[str, float] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._asked_at: dict[str, float] = {}
        self._is_query_up: bool | None = None
        self._doctor_wanted = asyncio.Event()
        self._doctor: asyncio.Task[None] | None = None
        self._doctor_due_s = 0.0  # by the monotonic clock
        self._who: dict[str, Any] = {}

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """While somebody looks."""
        self._viewers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._viewers -= 1
            if self._viewers == 0:
                asyncio.get_running_loop().call_later(LINGER_S, self._rest)

    def _rest(self) -> None:
        if self._viewers == 0 and self._task is not None:
            self._task.cancel()
            self._task = None
            self._last = None  # rates over a long rest would be averages

    def want_doctor(self) -> None:
        self._doctor_wanted.set()

    async def close(self) -> None:
        self._viewers = 0
        self._rest()
        for each in (self.sessions, self._askers, self._doctors):
            await asyncio.to_thread(each.close)

    async def _run(self) -> None:
        try:
            await self._look()
        except* Exception as errors:  # a bug of ours: better a page that says so than an old one
            self._set_query_state(f"The console failed: {first_line(errors.exceptions[0])}")
            raise

    async def _look(self) -> None:
        async with asyncio.TaskGroup() as group:
            for look, every_s in (
                (self._look_at_nodes, TICK_S),
                (self._look_at_moves, TICK_S),
                (self._look_at_map, MAP_S),
                (self._look_at_commits, COMMITS_S),
                (self._look_at_statements, STATEMENTS_S),
            ):
                group.create_task(self._repeat(look, every_s))
            group.create_task(self._run_doctor())

    async def _repeat(self, look: Callable[[], Awaitable[None]], every_s: float) -> None:
        while True:
            start_s = time.monotonic()
            try:
                await look()
            except psycopg.Error as error:
                self._tell_error(look.__name__, error)
            await asyncio.sleep(max(0.1, every_s - (time.monotonic() - start_s)))

    def _tell_error(self, name: str, error: psycopg.Error) -> None:
        topic = name.removeprefix("_look_at_")
        if topic == "nodes":
            self._set_query_state(first_line(error))
        elif not isinstance(error, AwayError):  # of this, the nodes' loop tells
            self.board.put(topic, {"error": first_line(error), "actions": []})

    def _set_query_state(self, error: str) -> None:
        is_up = not error
        if is_up != self._is_query_up:
            self._is_query_up = is_up
            self._since["query"] = time.time()
        state = {"is_up": is_up, "error": error, "since": self._since["query"]}
        self.board.put("query", state | self._who)

    async def _look_at_nodes(self) -> None:
        if not self._is_query_up:  # the first look, or the first after it was away
            self._who = await self.sessions.read(read_who)
        look = await self.sessions.read(nodes.read_look)
        self._set_query_state("")
        last = self._last or look.moment
        rates = {one.server: one for one in node_rates.find_rates(last, look.moment).nodes}
        if self._last is None:
            rates = {}
        self._last = look.moment
        for server in look.servers:
            self._ask(server.name)
        own = nodes.describe_own(look.own, str(self._who["host"]))
        self.board.put("nodes", [own, *(self._describe(one, rates) for one in look.servers)])

    def _describe(
        self, server: nodes.Server, rates: dict[str, node_rates.NodeCounts]
    ) -> dict[str, Any]:
        since = self._since.get(server.name, 0.0)
        return nodes.describe(server, self._probes.get(server.name), since, rates.get(server.name))

    def _ask(self, name: str) -> None:
        """Begins to ask a node, unless it has been just now. A slow one delays no other."""
        asking = self._asking.get(name)
        is_due = time.monotonic() - self._asked_at.get(name, -PROBE_S) >= PROBE_S - 0.1
        if is_due and (asking is None or asking.done()):
            self._asked_at[name] = time.monotonic()
            self._asking[name] = asyncio.create_task(self._probe(name))

    async def _probe(self, name: str) -> None:
        try:
            found = await self._askers.read(nodes.probe, name)
        except AwayError:  # the next look tells
            return
        except Exception as error:  # noqa: BLE001  (better unknown than its last state)
            found = nodes.Probe(None, first_line(error))
        before = self._probes.get(name)
        if before is None or before.is_up != found.is_up:
            self._since[name] = time.time()
        self._probes[name] = found

    async def _look_at_moves(self) -> None:
        self.board.put("moves", await self.sessions.read(tablets.read_moves))

    async def _look_at_map(self) -> None:
        self.board.put("map", await self.sessions.read(tablets.read_map))

    async def _look_at_commits(self) -> None:
        self.board.put("commits", await self.sessions.read(commits.read_commits))

    async def _look_at_statements(self) -> None:
        found = await self.sessions.read(statements.read_statements)
        self.board.put("statements", found)

    async def _run_doctor(self) -> None:
        while True:
            if self._doctor is None or self._doctor.done():
                with suppress(TimeoutError):
                    due_in_s = max(0.0, self._doctor_due_s - time.monotonic())
                    await asyncio.wait_for(self._doctor_wanted.wait(), due_in_s)
                self._doctor_wanted.clear()
                self._doctor = asyncio.create_task(self._examine())
            # Its thread goes on when the last browser has gone: whoever comes next waits for it.
            await asyncio.shield(self._doctor)

    async def _examine(self) -> None:
        self.board.put("doctor", {"running": True})
        try:
            found = await self._doctors.read(checks.read_findings)
        except Exception as error:  # noqa: BLE001  (the page goes on without a doctor)
            found = {"error": first_line(error), "actions": []}
        self.board.put("doctor", found | {"at": time.time()})
        self._doctor_due_s = time.monotonic() + DOCTOR_S
