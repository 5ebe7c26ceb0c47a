"""Clients that transfer through the query node, and direct ones of each node, to compare with."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from time import monotonic, sleep

import psycopg
from lib.hafaults import bank
from pgshuttle.base.connections import Connection
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.state import HaCluster, HaNode
from psycopg.pq import TransactionStatus

NCLIENTS = 6
NREADERS = 2
INTRANS, INERROR = TransactionStatus.INTRANS, TransactionStatus.INERROR
PAUSE_S = 0.02
AFTER_ERROR_S = 0.05
FIRST_NUMBER = 10_000_000  # of a client's transfers
UNKNOWN = ("08007", "40003")  # errors behind which nobody knows
LOST = "connection lost"
JOIN_LIMIT_S = 120


def repeat(
    ends: Callable[[], bool], node: HaNode, act: Callable[[Connection], None], *, keep: bool
) -> None:
    """Acts again and again in a session of a node. keep: unless it was lost, also after errors."""
    connection: Connection | None = None
    while not ends():
        try:
            if connection is None or connection.closed:
                connection = ha_state.connect(node)
            act(connection)
        except psycopg.Error:
            if connection is not None and (connection.broken or not keep):
                connection.close()
        sleep(PAUSE_S)


class CounterClients:
    """One client counts on node 1; others, on sessions that they keep, must not see less."""

    def __init__(self, cluster: HaCluster, ends: Callable[[], bool]) -> None:
        self.cluster = cluster
        self.ends = ends
        self._acknowledged = 0
        self._nstale = 0
        self.threads = [threading.Thread(target=self._repeat, args=(self._count,))]
        self.threads += [
            threading.Thread(target=self._repeat, args=(self._read,)) for _ in range(NREADERS)
        ]

    def take_stale(self) -> int:
        """Returns how many reads missed an acknowledged write since the last call."""
        found, self._nstale = self._nstale, 0
        return found

    def _repeat(self, act: Callable[[Connection], None]) -> None:
        repeat(self.ends, self.cluster.nodes[0], act, keep=True)

    def _count(self, connection: Connection) -> None:
        number = self._acknowledged + 1
        connection.execute("UPDATE counter1 SET n = greatest(n, %s)", [number])
        self._acknowledged = number

    def _read(self, connection: Connection) -> None:
        acknowledged = self._acknowledged
        row = connection.execute("SELECT n FROM counter1").fetchone()
        assert row is not None
        if int(str(row[0])) < acknowledged:
            self._nstale += 1


class SumClients:
    """Clients that sum up what is transferred: in one state of all nodes, no sum is wrong."""

    def __init__(self, cluster: HaCluster, ends: Callable[[], bool]) -> None:
        self.cluster = cluster
        self.ends = ends
        self.nsums = 0
        self._nwrong = 0
        self.threads = [threading.Thread(target=self._repeat) for _ in range(NREADERS)]

    def take_wrong(self) -> int:
        """Returns how many sums were wrong since the last call."""
        found, self._nwrong = self._nwrong, 0
        return found

    def _repeat(self) -> None:
        repeat(self.ends, self.cluster.nodes[0], self._read, keep=True)

    def _read(self, connection: Connection) -> None:
        connection.execute("SET shuttle.read_consistency = atomic")
        row = connection.execute(bank.SUM).fetchone()
        assert row is not None
        self.nsums += 1
        self._nwrong += int(str(row[0])) != bank.TOTAL


class Load:
    """Runs clients in threads. All of it is read when they have ended, or are held."""

    def __init__(self, cluster: HaCluster, seed: int, *, pause_s: float = 0) -> None:
        self.cluster = cluster
        self._ends = threading.Event()
        self.pause_s = pause_s  # of each client between two transfers
        self.acknowledged: dict[int, float] = {}
        self.failed: set[int] = set()
        self.errors: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.counter = CounterClients(cluster, self._ends.is_set)
        self.sums = SumClients(cluster, self._ends.is_set)
        self.beats: dict[str, list[float]] = {node.name: [] for node in cluster.nodes}
        self._goes = threading.Event()
        self._goes.set()
        self._busy = [threading.Lock() for _ in range(NCLIENTS)]
        self._threads = [
            threading.Thread(target=self._transfer, args=(number, random.Random(seed + number)))
            for number in range(NCLIENTS)
        ]
        self._threads += [
            threading.Thread(target=self._beat, args=(node,)) for node in cluster.nodes[1:]
        ]
        self._threads += self.counter.threads + self.sums.threads

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._ends.set()
        self._goes.set()
        for thread in self._threads:
            thread.join(JOIN_LIMIT_S)
        stuck = sum(thread.is_alive() for thread in self._threads)
        if stuck:
            raise RuntimeError(f"{stuck} clients do not come back")

    def hold(self) -> None:
        """Returns when no client is in a transfer; none begins one before go()."""
        self._goes.clear()
        for busy in self._busy:
            if not busy.acquire(timeout=JOIN_LIMIT_S):
                raise RuntimeError("a client does not come back")
            busy.release()

    def go(self) -> None:
        self._goes.set()

    def longest_gap(self, since: float, until: float) -> float:
        """The longest time without a transfer, in seconds."""
        return longest_gap(sorted(self.acknowledged.values()), since, until)

    def longest_direct_gap(self, since: float, until: float) -> float:
        """The longest time in which one of the nodes answered no direct client."""
        return max(longest_gap(self.beats[n.name], since, until) for n in self.cluster.nodes[1:])

    def _note(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            self.warnings[str(diagnostic.sqlstate)] += 1

    def _transfer(self, client: int, dice: random.Random) -> None:
        connection: Connection | None = None
        number = (client + 1) * FIRST_NUMBER
        while not self._ends.is_set():
            self._goes.wait()
            number += 1
            source, target = dice.randint(1, bank.NACCOUNTS), dice.randint(1, bank.NACCOUNTS)
            text = bank.write_transfer(number, source, target, dice.randint(1, 9))
            with self._busy[client]:
                if connection is None or connection.closed:
                    connection = self._try_connect()
                if connection is not None:
                    self._run(connection, number, text)
            sleep(self.pause_s)

    def _try_connect(self) -> Connection | None:
        try:
            connection = ha_state.connect(self.cluster.nodes[0])
        except psycopg.Error:
            self.errors["cannot connect"] += 1
            sleep(AFTER_ERROR_S)
            return None
        connection.add_notice_handler(self._note)
        return connection

    def _run(self, connection: Connection, number: int, text: str) -> None:
        try:
            connection.execute(text.encode())
            self.acknowledged[number] = monotonic()
            return
        except psycopg.Error as error:
            state = error.sqlstate
            self.errors[state or LOST] += 1
        if state is not None and state not in UNKNOWN and not connection.broken:
            self.failed.add(number)
        if connection.info.transaction_status in (INTRANS, INERROR):
            try:
                connection.execute("ROLLBACK")
            except psycopg.Error:
                connection.close()
        sleep(AFTER_ERROR_S)

    def _beat(self, node: HaNode) -> None:
        """What libpq alone makes of the same hosts."""

        def beat(connection: Connection) -> None:
            connection.execute("UPDATE heartbeat SET n = n + 1")
            self.beats[node.name].append(monotonic())

        repeat(self._ends.is_set, node, beat, keep=False)


def longest_gap(times: list[float], since: float, until: float) -> float:
    """The longest distance between neighbours, with the two ends."""
    inside = [since, *(time for time in times if since < time < until), until]
    return max(later - earlier for earlier, later in pairwise(inside))
