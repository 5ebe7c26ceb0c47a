"""Accounts and journals on two nodes, a ledger on the query node, and what must hold of them."""

from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import psycopg
from pgshuttle.cluster import catalog
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.state import HaCluster, HaNode

NACCOUNTS = 100
BALANCE = 1000
TOTAL = 2 * NACCOUNTS * BALANCE
SUM = "SELECT (SELECT sum(v) FROM account1) + (SELECT sum(v) FROM account2)"
NODE_TABLES = """
DROP TABLE IF EXISTS account, journal, heartbeat, counter;
CREATE TABLE account AS SELECT i AS id, %d AS v FROM generate_series(1, %d) i;
ALTER TABLE account ADD PRIMARY KEY (id);
CREATE TABLE journal (transfer bigint PRIMARY KEY, amount int);
CREATE TABLE heartbeat AS SELECT 0 AS n;
CREATE TABLE counter AS SELECT 0 AS n;
"""
FOREIGN_TABLES = """
CREATE FOREIGN TABLE account%(i)d (id int, v int) SERVER node%(i)d OPTIONS (table_name 'account');
CREATE FOREIGN TABLE journal%(i)d (transfer bigint, amount int) SERVER node%(i)d
    OPTIONS (table_name 'journal');
CREATE FOREIGN TABLE counter%(i)d (n int) SERVER node%(i)d OPTIONS (table_name 'counter');
"""
QUERY_TABLES = """
DROP FOREIGN TABLE IF EXISTS account1, account2, journal1, journal2, counter1, counter2;
DROP TABLE IF EXISTS ledger;
CREATE TABLE ledger (transfer bigint PRIMARY KEY, amount int);
"""
NPREPARED = "SELECT count(*) FROM pg_prepared_xacts"
LOOK_S = 0.1


@dataclass(frozen=True)
class Verdict:
    """What is left when all servers are back. left_prepared_s: None: longer than was waited."""

    total_is_right: bool
    half_done: list[int]
    lost: list[int]
    done_in_spite_of_error: list[int]
    left_prepared_s: float | None
    nstale: int = 0  # reads behind an acknowledged write that they did not see
    nwrong: int = 0  # sums with shuttle.read_consistency = atomic that are not the total

    @property
    def is_good(self) -> bool:
        return (
            self.total_is_right
            and not self.half_done
            and not self.lost
            and not self.nstale
            and not self.nwrong
            and self.left_prepared_s is not None
        )


def read(node: HaNode, query: str) -> list[Any]:
    """Returns rows of numbers."""
    with ha_state.connect(node) as connection:
        return [
            tuple(int(str(value)) for value in row) for row in connection.execute(query.encode())
        ]


def make(cluster: HaCluster) -> None:
    query, *nodes = cluster.nodes
    for node in nodes:
        with ha_state.connect(node, **catalog.REMOTE_LOGIN) as connection:
            connection.execute((NODE_TABLES % (BALANCE, NACCOUNTS)).encode())
    with ha_state.connect(query) as connection:
        connection.execute(QUERY_TABLES.encode())
        for i in (1, 2):
            connection.execute((FOREIGN_TABLES % {"i": i}).encode())


def write_transfer(number: int, source: int, target: int, amount: int) -> str:
    """Writes a transfer from node 1 to node 2, whose rows are locked in this order."""
    return f"""BEGIN;
        UPDATE account1 SET v = v - {amount} WHERE id = {source};
        INSERT INTO journal1 VALUES ({number}, -{amount});
        UPDATE account2 SET v = v + {amount} WHERE id = {target};
        INSERT INTO journal2 VALUES ({number}, {amount});
        INSERT INTO ledger VALUES ({number}, {amount});
        COMMIT"""


def count_prepared(nodes: tuple[HaNode, ...]) -> int | None:
    """How many transactions the nodes hold prepared; None: one does not answer."""
    try:
        return sum(int(read(node, NPREPARED)[0][0]) for node in nodes)
    except psycopg.Error:
        return None


def wait_for_none_prepared(cluster: HaCluster, limit_s: float) -> float | None:
    """Returns the seconds until no node holds anything prepared."""
    start = monotonic()
    while count_prepared(cluster.nodes[1:]) != 0:
        if monotonic() - start > limit_s:
            return None
        sleep(LOOK_S)
    return monotonic() - start


def read_transfers(node: HaNode, table: str) -> dict[int, int]:
    return {
        number: amount for number, amount in read(node, f"SELECT transfer, amount FROM {table}")
    }


def judge(
    cluster: HaCluster,
    acknowledged: set[int],
    failed: set[int],
    left_prepared_s: float | None,
    nstale: int,
) -> Verdict:
    """Compares each transfer on all servers with what its client was told.

    failed: those whose client got an error that says that nothing was committed.
    """
    query, first, second = cluster.nodes[:3]
    journals = [read_transfers(first, "journal"), read_transfers(second, "journal")]
    ledger = read_transfers(query, "ledger")
    everywhere = set(ledger) & set(journals[0]) & set(journals[1])
    anywhere = set(ledger) | set(journals[0]) | set(journals[1])
    expected = [NACCOUNTS * BALANCE + sum(journal.values()) for journal in journals]
    found = [read(node, "SELECT sum(v) FROM account")[0][0] for node in (first, second)]
    return Verdict(
        total_is_right=found == expected and sum(found) == TOTAL,
        half_done=sorted(anywhere - everywhere),
        lost=sorted(acknowledged - everywhere),
        done_in_spite_of_error=sorted(failed & anywhere),
        left_prepared_s=left_prepared_s,
        nstale=nstale,
    )
