"""Published figures of a system that does the same join inside a fork of PostgreSQL.

YugabyteDB, batched nested loop, a self-join of demo(id bigint primary key, x
int) with 2000 rows. They come from another machine: compare how the time
falls with the batch size, not the milliseconds.
"""

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
