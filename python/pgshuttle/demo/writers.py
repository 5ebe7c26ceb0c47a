"""Writers that write beside what the last part of the demo does, and how long they wait."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from pgshuttle.base import connections
from pgshuttle.base.connections import Connection
from pgshuttle.bench.making_tables import write
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

NWRITERS = 4
BUCKET_S = 0.1  # of their longest waits, over time
NEW_IDS = 1_000_000  # of each writer's orders, above those that are there
INSERT = "INSERT INTO {s}.orders VALUES ({id}, {customer}, {total})"
UPDATE = "UPDATE {s}.customer SET spent = spent + {total} WHERE id = {customer}"


@dataclass(frozen=True)
class Bucket:
    """Transactions of all writers that ended within BUCKET_S, from then on."""

    at_s: float
    ntransactions: int
    longest_ms: float


@dataclass
class Writer:
    """A session that writes an order in each transaction, until it is told to stop."""

    dsn: str
    number: int
    schema: str
    ncustomers: int
    stop: threading.Event
    written: list[int] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)  # ended at, ms
    failed: Counter[str] = field(default_factory=Counter)

    def write_order(self, connection: Connection, number: int) -> None:
        customer = 1 + number * 7919 % self.ncustomers
        values = {"id": number, "customer": customer, "total": number % 100}
        with connection.transaction():
            for statement in (UPDATE, INSERT):
                connection.execute(write(statement, self.schema, **values))

    def run(self) -> None:
        number = NEW_IDS * self.number
        with connections.connect_to(self.dsn) as connection:
            while not self.stop.is_set():
                number += 1
                start_s = time.monotonic()
                try:
                    self.write_order(connection, number)
                    self.written.append(number)
                except psycopg.Error as error:
                    self.failed[error.sqlstate or type(error).__name__] += 1
                now_s = time.monotonic()
                self.waits.append((now_s, 1000 * (now_s - start_s)))


def fill_buckets(waits: Sequence[tuple[float, float]], start_s: float) -> Iterator[Bucket]:
    """Sums up waits, which are in the order of their ends."""
    buckets: dict[int, list[float]] = {}
    for at_s, wait_ms in waits:
        buckets.setdefault(int((at_s - start_s) / BUCKET_S), []).append(wait_ms)
    for number, found in buckets.items():
        yield Bucket(round(number * BUCKET_S, 3), len(found), round(max(found), 3))


@contextmanager
def run_writers(cluster: Cluster, schema: str, ncustomers: int) -> Iterator[list[Writer]]:
    """Has writers write meanwhile; they have ended behind it."""
    stop = threading.Event()
    dsn = catalog.write_dsn(cluster.query)
    writers = [Writer(dsn, number, schema, ncustomers, stop) for number in range(1, NWRITERS + 1)]
    with ThreadPoolExecutor(NWRITERS) as pool:
        ended = [pool.submit(writer.run) for writer in writers]
        try:
            yield writers
        finally:
            stop.set()
        for one in ended:
            one.result()
