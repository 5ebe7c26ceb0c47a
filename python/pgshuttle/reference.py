"""Published figures of a system that does the same join inside a fork of PostgreSQL.

YugabyteDB, batched nested loop, a self-join of demo(id bigint primary key, x
int) with 2000 rows. They come from another machine: compare how the time
falls with the batch size, not the milliseconds.
"""

from typing import Any

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

# batch size: ms at RTT 0.8 ms, ms at RTT 90 ms
BY_RTT_MS = {
    1000: (208.0, 1474.0),
    100: (61.0, 3879.0),
    10: (164.0, 13_377.0),
    1: (1176.0, 126_277.0),
}


def list_published() -> dict[str, Any]:
    """The figures as files of results keep them."""
    one_node = [
        {"batch_size": batch_size, "request_limit": limit, "elapsed_ms": elapsed_ms}
        for (batch_size, limit), elapsed_ms in ONE_NODE_MS.items()
    ]
    by_rtt = [
        {"batch_size": batch_size, "rtt_us": rtt_us, "elapsed_ms": elapsed_ms}
        for batch_size, times_ms in BY_RTT_MS.items()
        for rtt_us, elapsed_ms in zip((800, 90_000), times_ms, strict=True)
    ]
    return {"source": SOURCE, "one_node_ms": one_node, "by_rtt_ms": by_rtt}
