"""What nodes are asked for a second: shuttle.node_stats at two moments."""

import time
from dataclasses import dataclass, fields, replace

from rich.table import Table

from pgshuttle.base.connections import Connection, read_rows

QUERY = """
SELECT s.server, s.requests, s.rows_read, s.rows_written, s.bytes_sent, s.bytes_received,
    s.wait_time_ms, s.errors, n.sessions, n.round_trip_ms
FROM shuttle.node_stats s
    LEFT JOIN (SELECT server, count(pid) AS sessions, min(round_trip_min_ms) AS round_trip_ms
               FROM shuttle.nodes GROUP BY server) n USING (server)
ORDER BY 1
"""


@dataclass(frozen=True)
class NodeCounts:
    """Counters of a node: since they were reset, or a second."""

    server: str
    requests: float
    rows_read: float
    rows_written: float
    bytes_sent: float
    bytes_received: float
    waiting_ms: float
    errors: float
    sessions: int
    round_trip_ms: float | None


COUNTERS = [field.name for field in fields(NodeCounts)][1:-2]


@dataclass(frozen=True)
class Moment:
    at_s: float
    nodes: tuple[NodeCounts, ...]


def sees_all(connection: Connection) -> bool:
    """Says if the counters are those of all sessions, as far as this user may know."""
    query = "SELECT setting FROM pg_settings WHERE name = 'shared_preload_libraries'"
    return all("pg_shuttle" in setting for (setting,) in read_rows(connection, query))


def read_moment(connection: Connection) -> Moment:
    nodes = tuple(NodeCounts(*row) for row in read_rows(connection, QUERY))
    return Moment(time.monotonic(), nodes)


def find_rates(before: Moment, after: Moment) -> Moment:
    """Counts a second between two moments; counters that were reset began at 0."""
    seconds = max(after.at_s - before.at_s, 0.001)
    old = {node.server: node for node in before.nodes}
    rates = []
    for node in after.nodes:
        base = old.get(node.server)
        if base is None or base.requests > node.requests:
            base = NodeCounts(node.server, 0, 0, 0, 0, 0, 0, 0, 0, None)
        grown = {name: getattr(node, name) - getattr(base, name) for name in COUNTERS}
        rates.append(replace(node, **{name: round(n / seconds, 3) for name, n in grown.items()}))
    return Moment(after.at_s, tuple(rates))


def make_rates_table(moment: Moment) -> Table:
    table = Table("node")
    for name in ("sessions", "RTT", "requests /s", "rows read /s", "rows written /s"):
        table.add_column(name)
    for name in ("kB out /s", "kB in /s", "sessions waiting", "errors /s"):
        table.add_column(name)
    table.padding, table.show_edge = (0, 0), False
    for column in table.columns[1:]:
        column.justify = "right"
    for node in moment.nodes:
        table.add_row(
            node.server,
            str(node.sessions),
            "-" if node.round_trip_ms is None else f"{node.round_trip_ms:.2g} ms",
            f"{node.requests:.4g}",
            f"{node.rows_read:.4g}",
            f"{node.rows_written:.4g}",
            f"{node.bytes_sent / 1000:.4g}",
            f"{node.bytes_received / 1000:.4g}",
            f"{node.waiting_ms / 1000:.2f}",
            f"{node.errors:.4g}",
        )
    return table
