"""The joins of bench star: their queries, how they are planned, and one run of them."""

from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql

from pgshuttle import star_disk
from pgshuttle.errors import ToolError
from pgshuttle.measure import Session
from pgshuttle.star_disk import PAGE_BYTES
from pgshuttle.star_tables import SAMPLED_PERCENT, SCHEMA
from pgshuttle.state import Cluster

CONCURRENCIES = (16, 128)
COLD_SHARE = 0.5  # of the pages that a cold run read, at least, have to come from the disk
CACHED_SHARE = 0.02  # and of those of a cached one at most
NTRIES = 5  # of a cached run


class State(StrEnum):
    """Where the pages are."""

    COLD = "cold"
    KERNEL = "in the kernel's cache"
    BUFFERS = "in shared buffers"


@dataclass(frozen=True)
class Plan:
    """How it is joined. concurrency: effective_io_concurrency; 0: without looking ahead."""

    concurrency: int

    @property
    def settings(self) -> dict[str, str]:
        """The settings that lead to it."""
        ahead = {"shuttle.enable_local_look_ahead": "on" if self.concurrency else "off"}
        if self.concurrency:
            ahead["effective_io_concurrency"] = str(self.concurrency)
        return {**COMMON, **ahead}


# all that could replace a nested loop over an index scan
COMMON = {
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_memoize": "off",
    "enable_material": "off",
    "enable_bitmapscan": "off",
    "join_collapse_limit": "1",
}
PLANS = (Plan(0), *(Plan(concurrency) for concurrency in CONCURRENCIES))


@dataclass(frozen=True)
class Sample:
    """One run: how long it took, pages that were read, and how many bytes the disk had to."""

    elapsed_ms: float
    npages: int
    disk_bytes: int


def write_query(ndimensions: int, seed: int) -> sql.Composed:
    """Writes the join. seed: which rows of the fact table are sampled."""
    numbers = range(1, ndimensions + 1)
    sums = [sql.SQL("sum({})").format(sql.Identifier(f"dim{n}", "x")) for n in numbers]
    joins = [
        sql.SQL(" JOIN {} ON {} = {}").format(
            sql.Identifier(SCHEMA, f"dim{n}"),
            sql.Identifier(f"dim{n}", "id"),
            sql.Identifier("fact", f"d{n}"),
        )
        for n in numbers
    ]
    query = sql.SQL("SELECT count(*), {} FROM {} TABLESAMPLE SYSTEM ({}) REPEATABLE ({}){}")
    return query.format(
        sql.SQL(", ").join(sums),
        sql.Identifier(SCHEMA, "fact"),
        sql.Literal(SAMPLED_PERCENT),
        sql.Literal(seed),
        sql.SQL("").join(joins),
    )


def prepare(session: Session, plan: Plan, query: sql.Composed) -> str:
    """Has the query planned, and makes sure that it is as asked for; returns the shape."""
    session.apply(plan.settings)
    facts = session.explain(query, analyze=False)
    expected = "batched join" if plan.concurrency else "nested loop"
    nindex = facts.shape.count("Index Scan dim")
    if set(facts.joins) != {expected} or nindex != len(facts.joins):
        raise ToolError(f"the planner made another plan: {facts.shape}")
    return facts.shape


def count_pages(session: Session) -> int:
    """Counts the pages of the tables that were read into shared buffers so far."""
    session.connection.execute("SELECT pg_stat_force_next_flush()")
    found = session.connection.execute(
        "SELECT sum(heap_blks_read + coalesce(idx_blks_read, 0))::bigint"
        " FROM pg_statio_user_tables WHERE schemaname = %s",
        [SCHEMA],
    ).fetchone()
    return int(str(found[0])) if found else 0


def run_once(cluster: Cluster, session: Session, query: sql.Composed) -> Sample:
    """Runs a query that was planned before."""
    pid = cluster.query.process.pid if cluster.query.process else 0
    pages, disk_bytes = count_pages(session), star_disk.count_disk_bytes(pid)
    elapsed = session.time(query)
    disk_bytes = star_disk.count_disk_bytes(pid) - disk_bytes
    npages = count_pages(session) - pages
    return Sample(round(elapsed.elapsed_ms, 3), npages, disk_bytes)


def check_state(state: State, sample: Sample, table_bytes: int) -> None:
    """Raises an error if the pages were not where they should be.

    table_bytes: of the tables and indexes; a page that shared buffers had to let go is read again,
    but not from the disk.
    """
    share = sample.disk_bytes / max(1, min(sample.npages * PAGE_BYTES, table_bytes))
    if state is State.COLD and share < COLD_SHARE:
        raise ToolError(f"a run was not cold: {share:.0%} of its pages came from the disk")
    if state is State.KERNEL and share > CACHED_SHARE:
        raise ToolError(f"a run was not cached: {share:.0%} of its pages came from the disk")
    if state is State.BUFFERS and sample.npages > 0:
        raise ToolError(f"{sample.npages} pages were not in shared buffers")


def run_cached_once(
    cluster: Cluster, session: Session, query: sql.Composed, state: State, table_bytes: int
) -> Sample:
    """Runs a query again until its pages were where they should be.

    The kernel may drop pages of its own accord in between; the run that finds that out reads them.
    """
    for number in range(NTRIES):
        sample = run_once(cluster, session, query)
        try:
            check_state(state, sample, table_bytes)
            break
        except ToolError:
            if number == NTRIES - 1:
                raise
    return sample
