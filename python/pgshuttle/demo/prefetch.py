"""Part 4 of the demo: nested loops over local indexes, whose pages are read ahead.

A server of its own has a fact table and four dimensions, which are much larger than its buffers.
It starts anew for each cold run, and the kernel forgets the files of the tables.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg import sql
from rich.table import Table

from pgshuttle.base import connections
from pgshuttle.base.printing import format_ms, make_part_table
from pgshuttle.bench import measure
from pgshuttle.bench.making_tables import execute, making
from pgshuttle.bench.measure import Session
from pgshuttle.bench.results import OnStep
from pgshuttle.cluster import builds, catalog, servers
from pgshuttle.cluster.servers import Server
from pgshuttle.cluster.state import Cluster
from pgshuttle.demo import file_cache, published_figures
from pgshuttle.demo.claims import Claim, check
from pgshuttle.look import plan_facts

NAME = "prefetch"
NDIMENSIONS = 4
COLD_ROUNDS = 1
CACHED_ROUNDS = 5
MOST_CACHED = 0.05  # of files that are called cold
LIMIT_S = 60.0  # after which no further dimension is joined cold: disks may be slow
SETTINGS = {
    "shared_preload_libraries": builds.EXTENSION,
    "shuttle.recovery_interval": "0",
    "shuttle.statistics_interval": "0",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "effective_io_concurrency": "128",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_memoize": "off",
    "enable_bitmapscan": "off",
}
SWITCH = "shuttle.enable_local_look_ahead"
MAKE_FACT = """
CREATE TABLE {s}.fact AS
SELECT (hashint8(i) & 1073741823) % {nrows} AS d1,
    (hashint8(i + 10000000) & 1073741823) % {nrows} AS d2,
    (hashint8(i + 20000000) & 1073741823) % {nrows} AS d3,
    (hashint8(i + 30000000) & 1073741823) % {nrows} AS d4
FROM generate_series(1, {nouter}::bigint) AS i;
ANALYZE {s}.fact"""
MAKE_DIMENSION = """
CREATE TABLE {s}.{name} AS
SELECT i AS id, i * 7919::bigint % 100000 AS x, repeat('x', 90) AS filler
FROM generate_series(0, {nrows} - 1) AS i;
ALTER TABLE {s}.{name} ADD PRIMARY KEY (id);
VACUUM (FREEZE, ANALYZE) {s}.{name}"""
FILES = """
SELECT pg_relation_filepath(c.oid) FROM pg_class c
WHERE c.relname LIKE 'dim%' AND c.relkind IN ('r', 'i')"""


@dataclass(frozen=True)
class Sizes:
    """Rows: of the fact table, and of each dimension."""

    nouter: int = 3000
    nrows: int = 400_000


@dataclass(frozen=True)
class Times:
    """The shortest times of a join without and with reading ahead."""

    off_ms: float
    on_ms: float
    npages: int  # read ahead
    same_answer: bool

    @property
    def ratio(self) -> float:
        return self.on_ms / self.off_ms


@dataclass(frozen=True)
class Joined:
    """A join of so many dimensions. cold: None if files stay cached, or if that took too long."""

    ndimensions: int
    cold: Times | None
    cached: Times


@dataclass(frozen=True)
class Prefetch:
    sizes: Sizes
    part_left_cached: float  # of the files, where the kernel was to forget them
    joins: tuple[Joined, ...]

    @property
    def can_be_cold(self) -> bool:
        return self.part_left_cached <= MOST_CACHED


@dataclass
class Place:
    """The server that has the tables, started or not."""

    cluster: Cluster
    server: Server
    files: Sequence[Path] = ()

    def start(self) -> None:
        self.server = servers.start_server(self.cluster.build, self.server)

    def stop(self) -> None:
        servers.stop_server(self.server)

    @contextmanager
    def open_session(self) -> Iterator[Session]:
        """A session that has run a query before: the catalog is cached."""
        timeout = f"-c statement_timeout={measure.STATEMENT_TIMEOUT_S}s"
        session = Session(catalog.connect(self.server, "postgres", options=timeout))
        with session.connection:
            session.explain(write_query(NDIMENSIONS), analyze=False)
            yield session


def write_query(ndimensions: int) -> sql.Composed:
    numbers = range(1, ndimensions + 1)
    names = [sql.Identifier(f"dim{number}") for number in numbers]
    total = sql.SQL(" + ").join(sql.SQL("{}.x").format(name) for name in names)
    joins = sql.SQL(" ").join(
        sql.SQL("JOIN {name} ON {name}.id = {key}").format(
            name=name, key=sql.Identifier(f"d{number}")
        )
        for number, name in zip(numbers, names, strict=True)
    )
    return sql.SQL("SELECT count(*), sum({}) FROM fact {}").format(total, joins)


@contextmanager
def make_place(cluster: Cluster, sizes: Sizes) -> Iterator[Place]:
    """Makes the server with its tables, which runs; it goes at the end."""
    query = cluster.query
    shutil.rmtree(cluster.directory / NAME, ignore_errors=True)  # of a run that was killed
    server = servers.create_server(
        cluster.build, NAME, cluster.directory, query.socket_dir, SETTINGS
    )
    place = Place(cluster, server)
    try:
        place.start()
        with making("the dimensions"), catalog.connect(place.server, "postgres") as connection:
            execute(connection, MAKE_FACT, "public", nrows=sizes.nrows, nouter=sizes.nouter)
            for number in range(1, NDIMENSIONS + 1):
                name = sql.Identifier(f"dim{number}")
                execute(connection, MAKE_DIMENSION, "public", name=name, nrows=sizes.nrows)
            connection.execute("CHECKPOINT")
            found = connections.read_rows(connection, FILES)
        place.files = [place.server.data_dir / str(row[0]) for row in found]
        yield place
    finally:
        place.stop()
        shutil.rmtree(server.directory)


def run_once(session: Session, ndimensions: int, *, is_on: bool) -> tuple[float, int]:
    """Returns the milliseconds of a join and how many pages were read ahead."""
    session.apply({SWITCH: "on" if is_on else "off"})
    options = "ANALYZE, TIMING OFF, FORMAT JSON"
    answer = session.explain_with(options, write_query(ndimensions))[0]
    npages = plan_facts.add_up(list(plan_facts.walk(answer["Plan"])), "Prefetched Pages")
    return float(answer["Execution Time"]), npages or 0


def run_cold(place: Place, ndimensions: int, *, is_on: bool) -> tuple[float, int]:
    place.stop()
    file_cache.drop(place.files)
    place.start()
    with place.open_session() as session:
        return run_once(session, ndimensions, is_on=is_on)


def summarize(runs: dict[bool, list[tuple[float, int]]], *, same_answer: bool) -> Times:
    off_ms, on_ms = (min(time_ms for time_ms, _ in runs[is_on]) for is_on in (False, True))
    npages = max(npages for _, npages in runs[True])
    return Times(round(off_ms, 3), round(on_ms, 3), npages, same_answer)


def compare_answers(session: Session, ndimensions: int) -> bool:
    """Says if a join answers the same with and without reading ahead, and as a hash join."""
    answers = []
    for settings in ({SWITCH: "off"}, {SWITCH: "on"}, {"enable_hashjoin": "on"}):
        session.apply(settings)
        answers.append(session.connection.execute(write_query(ndimensions)).fetchall())
    return all(answer == answers[0] for answer in answers)


def join_cached(place: Place, ndimensions: int) -> Times:
    """Joins with all files in the kernel's cache, where the first round puts them."""
    with place.open_session() as session:
        same_answer = compare_answers(session, ndimensions)
        runs = measure.take_turns(
            (False, True), CACHED_ROUNDS, lambda on: run_once(session, ndimensions, is_on=on)
        )
    return summarize(runs, same_answer=same_answer)


def join_cold(place: Place, ndimensions: int, *, same_answer: bool) -> Times:
    runs: dict[bool, list[tuple[float, int]]] = {False: [], True: []}
    for _ in range(COLD_ROUNDS):
        for is_on, found in runs.items():
            found.append(run_cold(place, ndimensions, is_on=is_on))
    return summarize(runs, same_answer=same_answer)


def run(cluster: Cluster, sizes: Sizes, on_step: OnStep) -> Prefetch:
    on_step("prefetching: filling four dimensions")
    found = []
    with make_place(cluster, sizes) as place:
        place.stop()
        part_left = file_cache.drop(place.files)
        place.start()
        start_s = time.monotonic()
        for ndimensions in range(1, NDIMENSIONS + 1):
            on_step(f"prefetching: {ndimensions} dimensions")
            cached = join_cached(place, ndimensions)
            cold = None
            if part_left <= MOST_CACHED and time.monotonic() - start_s < LIMIT_S:
                cold = join_cold(place, ndimensions, same_answer=cached.same_answer)
            found.append(Joined(ndimensions, cold, cached))
    return Prefetch(sizes, round(part_left, 4), tuple(found))


def check_claims(found: Prefetch) -> Iterator[Claim]:
    """Cold joins gain as much as the published ones, cached ones lose less, answers are equal."""
    unit = "of the time"
    for one in found.joins:
        name = f"prefetching; {one.ndimensions} dimensions"
        if one.cold is not None:
            bound = published_figures.PREFETCH_COLD[one.ndimensions - 1]
            yield check(f"{name}, cold", unit, round(one.cold.ratio, 3), bound)
            unread = int(one.cold.npages == 0)
            yield check(f"{name}, cold, nothing read ahead", "joins", unread, 0)
        bound = published_figures.PREFETCH_CACHED[0]
        yield check(f"{name}, cached", unit, round(one.cached.ratio, 3), bound)
        yield check(f"{name}, other answers", "joins", int(not one.cached.same_answer), 0)


def format_times(times: Times | None) -> tuple[str, str, str]:
    if times is None:
        return "-", "-", "-"
    return format_ms(times.off_ms), format_ms(times.on_ms), f"{times.ratio:.2f}"


def describe_cold(found: Prefetch) -> str:
    if not found.can_be_cold:
        return (
            f"The kernel keeps {100 * found.part_left_cached:.0f} % of the files here though it "
            "was told to forget them, so nothing could be measured cold."
        )
    return "Cold: the server starts anew, and the kernel forgets the files."


def make_table(found: Prefetch) -> Table:
    table = make_part_table(
        "dimensions", "cold, off", "on", "part", "published", "cached, off", "on ", "part "
    )
    table.add_column("published ", justify="right")
    least, most = published_figures.PREFETCH_CACHED
    for one in found.joins:
        published = f"{published_figures.PREFETCH_COLD[one.ndimensions - 1]:.2f}"
        row = (*format_times(one.cold), published, *format_times(one.cached))
        table.add_row(str(one.ndimensions), *row, f"{least} to {most}")
    table.title = (
        f"4. Prefetching: nested loops of {found.sizes.nouter} rows over local indexes, "
        "without and with it"
    )
    table.caption = describe_cold(found)
    return table
