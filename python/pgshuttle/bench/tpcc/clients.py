"""Clients of bench tpcc: each a process with a session, which asks for what terminals enter.

A terminal belongs to a district of a warehouse. Without keying each client is one terminal that
never waits. With keying there are ten a warehouse, which wait as the specification says; a
client serves many of them, as a transaction monitor does. A transaction that is due while its
client is busy waits for it, and that wait counts.
"""

import heapq
import multiprocessing
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

from pgshuttle.base import connections
from pgshuttle.base.errors import ToolError
from pgshuttle.bench import measure
from pgshuttle.bench.tpcc.statements import TRANSACTIONS, Kind, Style, write_prepared
from pgshuttle.bench.tpcc.tables import NDISTRICTS, SYLLABLES, Sizes

Values = dict[str, object]


class Pace(NamedTuple):
    """How often a kind of transaction is chosen, and how a terminal waits before and behind it."""

    weight: int
    keying_s: int
    mean_thinking_s: int


PACES = {
    Kind.NEW_ORDER: Pace(45, 18, 12),
    Kind.PAYMENT: Pace(43, 3, 12),
    Kind.ORDER_STATUS: Pace(4, 2, 10),
    Kind.DELIVERY: Pace(4, 2, 5),
    Kind.STOCK_LEVEL: Pace(4, 2, 5),
}
MOST_THINKING = 10  # times the mean
NO_DATA_FOUND = "P0002"
DONE = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)


class RolledBackError(Exception):
    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


def encode(value: object) -> bytes | None:
    if isinstance(value, list):
        return b"{%s}" % b",".join(b"%d" % one for one in value)
    return None if value is None else str(value).encode()


class Inputs:
    """What terminals enter: random, mostly of some customers and items."""

    def __init__(self, sizes: Sizes, seed: int) -> None:
        self._sizes = sizes
        self._chance = random.Random(seed)

    def _number(self, most: int, spread: int, shift: int) -> int:
        """A number from 0 up to below this, some much more often than others."""
        mixed = self._chance.randint(0, spread) | self._chance.randrange(most)
        return (mixed + shift) % most

    def choose_kind(self) -> Kind:
        weights = [pace.weight for pace in PACES.values()]
        return self._chance.choices(list(PACES), weights)[0]

    def choose_wait_s(self, before: Kind, following: Kind) -> float:
        """How long a terminal thinks about the last answer, and keys in what follows."""
        mean_s = PACES[before].mean_thinking_s
        thinking_s = min(self._chance.expovariate(1 / mean_s), MOST_THINKING * mean_s)
        return thinking_s + PACES[following].keying_s

    def _customer(self) -> int:
        return 1 + self._number(self._sizes.ncustomers, 1023, 259)

    def _last_name(self) -> str:
        number = self._number(self._sizes.nnames, 255, 123)
        return "".join(SYLLABLES[int(digit)] for digit in f"{number:03}")

    def _other_warehouse(self, warehouse: int) -> int:
        """Another warehouse, if there is one."""
        if self._sizes.nwarehouses == 1:
            return warehouse
        other = self._chance.randint(1, self._sizes.nwarehouses - 1)
        return other + (other >= warehouse)

    def _lines(self, warehouse: int, *, plain: bool) -> Values:
        """Lines of different items, in their order, so that all orders lock stock in this order."""
        chance = self._chance
        nlines = 10 if plain else chance.randint(5, 15)
        chosen: set[int] = set()
        while len(chosen) < nlines:
            chosen.add(1 + self._number(self._sizes.nitems, 8191, 5987))
        items = sorted(chosen)
        if not plain and chance.random() < 0.01:
            items[-1] = self._sizes.nitems + 1  # which there is not
        supplies = [
            self._other_warehouse(warehouse) if not plain and chance.random() < 0.01 else warehouse
            for _ in items
        ]
        quantities = [chance.randint(1, 10) for _ in items]
        return {"nlines": nlines, "items": items, "supplies": supplies, "quantities": quantities}

    def enter(
        self, kind: Kind, terminal: int, *, plain: bool = False, by_name: bool | None = None
    ) -> Values:
        """What a terminal enters. plain: ten lines, and nothing of another warehouse."""
        chance = self._chance
        w = 1 + terminal % self._sizes.nwarehouses
        d = chance.randint(1, NDISTRICTS)
        if kind is Kind.NEW_ORDER:
            return {"w": w, "d": d, "c": self._customer(), **self._lines(w, plain=plain)}
        if kind is Kind.DELIVERY:
            return {"w": w, "carrier": chance.randint(1, 10)}
        if kind is Kind.STOCK_LEVEL:
            own = 1 + terminal // self._sizes.nwarehouses % NDISTRICTS
            return {"w": w, "d": own, "threshold": chance.randint(10, 20)}
        if by_name is None:
            by_name = chance.random() < 0.6
        by = {"c": None, "name": self._last_name()} if by_name else {"c": self._customer()}
        if kind is Kind.ORDER_STATUS:
            return {"c_w": w, "c_d": d, "name": None, **by}
        is_remote = not plain and chance.random() < 0.15
        c_w, c_d = (self._other_warehouse(w), chance.randint(1, 10)) if is_remote else (w, d)
        amount = chance.randint(100, 500_000) / 100
        return {"w": w, "d": d, "c_w": c_w, "c_d": c_d, "name": None, **by, "amount": amount}


class Client:
    """A session that runs transactions. Closing its connection is the caller's."""

    def __init__(self, connection: connections.Connection, style: Style) -> None:
        self._server = connection.pgconn
        self._style = style
        self._names: dict[tuple[Kind, int], tuple[str, ...]] = {}
        if style is Style.STATEMENTS:
            for kind, made in TRANSACTIONS.items():
                for number, step in enumerate(made.steps):
                    text, self._names[kind, number] = write_prepared(kind, step)
                    name = f"{kind} {number}".encode()
                    measure.check_result(self._server.prepare(name, text.encode()), text)

    def _check(self, result: PGresult) -> PGresult:
        if result.status not in DONE:
            state = result.error_field(DiagnosticField.SQLSTATE)
            if state is None:  # of libpq
                raise ToolError(result.error_message.decode(errors="replace").strip())
            raise RolledBackError(state.decode())
        return result

    def _execute(self, statement: bytes) -> None:
        self._check(self._server.exec_(statement))

    def _call(self, kind: Kind, values: Values) -> None:
        """Calls the function or procedure of a transaction. No value has a quote."""
        parameters = [encode(values[name]) for name in TRANSACTIONS[kind].parameters]
        words = [b"NULL" if one is None else b"'%s'" % one for one in parameters]
        if self._style is Style.PROCEDURES:
            words.append(b"NULL")
        verb = b"CALL" if self._style is Style.PROCEDURES else b"SELECT"
        self._execute(b"%s %s(%s)" % (verb, kind.encode(), b", ".join(words)))

    def _run_steps(self, kind: Kind, entered: Values) -> None:
        values = {name: encode(value) for name, value in entered.items()}
        for number, step in enumerate(TRANSACTIONS[kind].steps):
            if step.unless_null and values[step.unless_null] is None:
                continue
            given = [values[name] for name in self._names[kind, number]]
            prepared = f"{kind} {number}".encode()
            answer = self._server.exec_prepared(prepared, given)  # type: ignore[arg-type]  # NULLs
            result = self._check(answer)
            for column, name in enumerate(step.into.split()):
                values[name] = result.get_value(0, column)
            if step.equal and values[step.equal[0]] != values[step.equal[1]]:
                raise RolledBackError(NO_DATA_FOUND)

    def run(self, kind: Kind, values: Values) -> str:
        """Runs a transaction; returns the SQLSTATE of what it was rolled back for, or nothing."""
        try:
            if self._style is not Style.STATEMENTS:
                self._call(kind, values)
                return ""
            self._execute(b"BEGIN")
            self._run_steps(kind, values)
            self._execute(b"COMMIT")
        except RolledBackError as error:
            if self._style is Style.STATEMENTS:
                self._execute(b"ROLLBACK")
            return error.sqlstate
        return ""


@dataclass(frozen=True)
class Job:
    """What one client does. begin_s, end_s: by the monotonic clock; what ends between counts."""

    dsn: str
    style: Style
    sizes: Sizes
    terminals: tuple[int, ...]
    with_keying: bool
    start_s: float
    begin_s: float
    end_s: float
    seed: int


@dataclass(frozen=True)
class Sample:
    """One transaction; sqlstate: empty unless it was rolled back."""

    kind: Kind
    elapsed_ms: float
    sqlstate: str


@dataclass(frozen=True)
class Served:
    """What a client did, and the processor time that it took."""

    samples: tuple[Sample, ...]
    cpu_s: float


def serve(job: Job) -> Served:
    """Runs transactions until the time is over."""
    inputs = Inputs(job.sizes, job.seed)
    samples: list[Sample] = []
    cpu_s: float | None = None
    with connections.connect_to(job.dsn) as connection:
        client = Client(connection, job.style)
        spread_s = (job.begin_s - job.start_s) / len(job.terminals) if job.with_keying else 0.0
        due = [
            (job.start_s + spread_s * place, terminal, inputs.choose_kind())
            for place, terminal in enumerate(job.terminals)
        ]
        while True:
            due_s, terminal, kind = due[0]
            time.sleep(max(0.0, min(due_s, job.end_s) - time.monotonic()))
            if time.monotonic() >= job.end_s:
                break
            values = inputs.enter(kind, terminal)
            if not job.with_keying:
                due_s = time.monotonic()
            sqlstate = client.run(kind, values)
            now_s = time.monotonic()
            if job.begin_s <= now_s < job.end_s:
                cpu_s = time.process_time() if cpu_s is None else cpu_s
                samples.append(Sample(kind, 1000 * (now_s - due_s), sqlstate))
            following = inputs.choose_kind()
            wait_s = inputs.choose_wait_s(kind, following) if job.with_keying else 0.0
            heapq.heapreplace(due, (now_s + wait_s, terminal, following))
    return Served(tuple(samples), time.process_time() - (cpu_s or 0.0))


def serve_all(jobs: Sequence[Job]) -> list[Served]:
    """Runs the clients, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(jobs), mp_context=context) as pool:
        return list(pool.map(serve, jobs))
