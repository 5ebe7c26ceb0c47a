"""Published figures of systems that do the same work inside a fork or a patch of PostgreSQL.

They come from other machines: compare counts and how times change, not milliseconds. The join,
the employees and the procedures are YugabyteDB's, the join of demo(id bigint primary key, x int)
with 2000 rows by its batched nested loop.
"""

from typing import NamedTuple

SOURCE = "YugabyteDB, batched nested loop, 2000 rows joined with 2000 rows; another machine"

# (batch size, request limit): ms, one node
ONE_NODE_MS = {
    (2000, 2000): 495.0,
    (1024, 1024): 208.0,
    (1024, 2000): 274.0,
    (2000, 1024): 260.0,
    (100, 2000): 58.0,
    (100, 1024): 60.0,
    (100, 100): 64.0,
    (1024, 100): 62.0,
    (2000, 100): 79.0,
    (10, 100): 83.0,
    (10, 1024): 95.0,
    (10, 2000): 121.0,
    (1, 100): 572.0,
    (1, 2000): 645.0,
    (1, 1024): 812.0,
}


class Published(NamedTuple):
    """Milliseconds of a procedure before and after statistics and batching."""

    before: float
    tuned: float


# read requests and flushes, by the case of pgshuttle.demo.push_downs; the first was read in two
# requests, one of them for each loop
PUSH_DOWNS = {
    "first 5 of a join, by number": ("2 + 1 a loop", ""),
    "UPDATE of 2678 rows in a CTE": ("3", "1"),
    "29 names, ON CONFLICT DO NOTHING": ("43", "15"),
    "29 names, anti join in a CTE": ("1", "1"),
}

# HammerDB's procedures of TPC-C, by the case of bench tpcc
PROCEDURES_MS = {
    "payment by id": Published(111.0, 6.2),
    "new-order, 10 lines": Published(180.0, 17.5),
}

# PostgreSQL's mailing list, a proof of concept of 2024: time with prefetching as a part of the
# time without, one to four dimensions
PREFETCH_COLD = (0.66, 0.63, 0.62, 0.61)
PREFETCH_CACHED = (1.21, 1.33)  # the least and the most
