"""Clients that append to lists on several nodes and read them, and what they were answered.

Lists are rows of a distributed table; every fifth is one of a local table. Hot keys change with
time, so that lists stay short.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from lib.histories.history import APPEND, FAIL, INFO, NEVER, OK, READ, Operation, Transaction

NHOT = 8  # keys in use at the same time
EACH_KEY = 40  # transactions before the next key replaces one
LOCAL_EACH = 5
AFTER_LOSS_S = 0.1
REPEATABLE = "BEGIN ISOLATION LEVEL REPEATABLE READ"


@dataclass(frozen=True)
class Kind:
    """What clients do. consistency: shuttle.read_consistency."""

    consistency: str
    repeatable: bool  # transactions of several statements; else each reads by one statement
    local: bool  # some lists are in a local table


def table_of(key: int, kind: Kind) -> str:
    return "lists_here" if kind.local and key % LOCAL_EACH == 0 else "lists"


def read_sql(keys: list[int], kind: Kind) -> str:
    """One statement for all keys."""
    parts = (f"SELECT {key}, v FROM {table_of(key, kind)} WHERE id = {key}" for key in keys)
    return " UNION ALL ".join(parts)


class Client(threading.Thread):
    """One that goes on until the deadline."""

    def __init__(self, recorder: "Recorder", number: int) -> None:
        super().__init__(daemon=True)
        self.recorder = recorder
        self.number = number
        self.process = number
        self.dice = random.Random(f"{recorder.seed}/{number}")
        self.connection: psycopg.Connection | None = None
        self.found: list[Transaction] = []
        self.errors: dict[str, int] = {}

    def run(self) -> None:
        while not self.recorder.is_over():
            operations = self.recorder.draw(self.dice)
            self.found.append(self.attempt(operations))
        if self.connection is not None:
            self.connection.close()

    def connect(self) -> psycopg.Connection:
        while self.connection is None or self.connection.closed:
            try:
                self.connection = psycopg.connect(self.recorder.conninfo, autocommit=True)
                self.connection.execute(
                    f"SET shuttle.read_consistency = {self.recorder.kind.consistency}"
                )
            except psycopg.Error:
                self.connection = None
                if self.recorder.is_over():
                    raise
                time.sleep(AFTER_LOSS_S)
        return self.connection

    def attempt(self, operations: list[Operation]) -> Transaction:
        began = time.monotonic_ns()
        committing = False
        outcome = OK
        done: list[Operation] = list(operations)
        try:
            connection = self.connect()
            began = time.monotonic_ns()
            kinds = {kind for kind, _, _ in operations}
            alone = len(operations) == 1 or (kinds == {READ} and not self.recorder.kind.repeatable)
            if not alone:
                connection.execute(REPEATABLE if self.recorder.kind.repeatable else "BEGIN")
            committing = alone and APPEND in kinds
            done = self.execute(connection, operations)
            committing = committing or (not alone and APPEND in kinds)
            if not alone:
                connection.execute("COMMIT")
        except psycopg.Error as error:
            outcome = self.outcome_of(error, committing=committing)
        ended = time.monotonic_ns()
        process = self.process
        if outcome == INFO:
            self.process += self.recorder.nclients
        return Transaction(process, began, ended, outcome, tuple(done))

    def execute(
        self, connection: psycopg.Connection, operations: list[Operation]
    ) -> list[Operation]:
        kind = self.recorder.kind
        if not kind.repeatable and operations[0][0] == READ:
            keys = [key for _, key, _ in operations]
            rows: dict[int, list[int]] = dict(connection.execute(read_sql(keys, kind)).fetchall())
            return [(READ, key, tuple(rows[key])) for key in keys]
        done: list[Operation] = []
        for what, key, value in operations:
            if what == READ:
                row = connection.execute(read_sql([key], kind)).fetchone()
                done.append((READ, key, tuple(row[1]) if row else ()))
            else:
                table = table_of(key, kind)
                sql = f"UPDATE {table} SET v = v || {value} WHERE id = {key}"
                connection.execute(sql)
                done.append((APPEND, key, value))
        return done

    def outcome_of(self, error: psycopg.Error, *, committing: bool) -> str:
        """An error in front of COMMIT has committed nothing, nor has one that says so."""
        state = error.sqlstate or "lost"
        self.errors[state] = self.errors.get(state, 0) + 1
        certain = state[:2] in ("40", "0A", "55", "53") and state != "40003"
        connection = self.connection
        if connection is not None and not connection.closed:
            try:
                connection.execute("ROLLBACK")
            except psycopg.Error:
                connection.close()
        return INFO if committing and not certain else FAIL


class Recorder:
    """All clients of a run."""

    def __init__(self, conninfo: str, kind: Kind, nclients: int, seed: int) -> None:
        self.conninfo = conninfo
        self.kind = kind
        self.nclients = nclients
        self.seed = seed
        self.count = 0
        self.most = NEVER
        self.deadline = 0.0
        self.lock = threading.Lock()
        self.errors: dict[str, int] = {}

    def is_over(self) -> bool:
        return self.count >= self.most or time.monotonic() > self.deadline

    def draw(self, dice: random.Random) -> list[Operation]:
        """Operations of the next transaction."""
        with self.lock:
            self.count += 1
            first = 1 + self.count // EACH_KEY
            number = self.count * 10
        keys = [first + dice.randrange(NHOT) for _ in range(dice.choice((1, 2, 2, 3, 4)))]
        keys = sorted(set(keys))
        reads = dice.random() < 0.5  # noqa: PLR2004
        mixed = self.kind.repeatable and dice.random() < 0.5  # noqa: PLR2004
        operations: list[Operation] = []
        for i, key in enumerate(keys):
            if dice.random() < 0.5 if mixed else reads:  # noqa: PLR2004
                operations.append((READ, key, None))
            else:
                operations.append((APPEND, key, number + i))
        return operations

    def run(self, count: int, seconds: float, beside: Callable[[], None]) -> list[Transaction]:
        """Ends after so many transactions, or that time. beside: is called again and again."""
        self.most = count
        self.deadline = time.monotonic() + seconds
        clients = [Client(self, number) for number in range(self.nclients)]
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            beside()
            time.sleep(0.05)
        for client in clients:
            for state, times in client.errors.items():
                self.errors[state] = self.errors.get(state, 0) + times
        return sorted((done for client in clients for done in client.found), key=lambda t: t.began)


def make_tables(connection: psycopg.Connection, count: int) -> None:
    """Lists for so many transactions, on the nodes in use and here; older ones are dropped."""
    nkeys = count // EACH_KEY + NHOT + 1
    rows = f"SELECT i, '{{}}'::int[] FROM generate_series(1, {nkeys}) AS i"
    connection.execute("DROP TABLE IF EXISTS lists, lists_here")
    connection.execute("CREATE TABLE lists (id int PRIMARY KEY, v int[])")
    connection.execute("SELECT shuttle.distribute_table('lists', 'id', tablets => 6)")
    connection.execute("CREATE TABLE lists_here (id int PRIMARY KEY, v int[])")
    for table in ("lists", "lists_here"):
        connection.execute(f"INSERT INTO {table} {rows}")
