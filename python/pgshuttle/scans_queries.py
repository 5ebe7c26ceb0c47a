"""The queries of bench scans: text about the tables of a schema {s}."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """One query, and what someone would ask each node by hand, to combine the answers."""

    label: str
    text: str
    node_text: str = ""  # empty: the query itself

    @property
    def by_hand(self) -> str:
        """Returns the statement of a node."""
        return self.node_text or self.text


PRICING = (
    "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),"
    " sum(l_extendedprice * (1 - l_discount)),"
    " sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity),"
    " avg(l_extendedprice), avg(l_discount), count(*) FROM {s}.lineitem"
    " WHERE l_shipdate <= date '1998-09-02' GROUP BY l_returnflag, l_linestatus"
)
QUERIES = (
    Query("pricing (TPC-H 1)", PRICING),
    Query(
        "revenue (TPC-H 6)",
        "SELECT sum(l_extendedprice * l_discount) FROM {s}.lineitem"
        " WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'"
        " AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    ),
    Query("count", "SELECT count(*) FROM {s}.lineitem"),
    Query("sum and average", "SELECT sum(l_quantity), avg(l_extendedprice) FROM {s}.lineitem"),
    Query(
        "extremes",
        "SELECT l_returnflag, min(l_shipdate), max(l_extendedprice) FROM {s}.lineitem"
        " GROUP BY l_returnflag",
    ),
    # deviations of parts do not say that of the whole; these sums do, to the last digit
    Query(
        "deviation",
        "SELECT stddev(l_quantity), var_pop(l_discount) FROM {s}.lineitem",
        "SELECT count(*), sum(l_quantity), sum(l_quantity * l_quantity), sum(l_discount),"
        " sum(l_discount * l_discount) FROM {s}.lineitem",
    ),
    Query("by mode", "SELECT l_shipmode, count(*) FROM {s}.lineitem GROUP BY l_shipmode"),
    Query(
        "by year",
        "SELECT (o_orderdate - date '1992-01-01') / 365, count(*), sum(o_totalprice)"
        " FROM {s}.orders GROUP BY 1",
    ),
    Query(
        "by supplier, 1000 groups",
        "SELECT l_suppkey, count(*), avg(l_discount) FROM {s}.lineitem GROUP BY l_suppkey",
    ),
    Query(
        "with FILTER",
        "SELECT l_shipmode, count(*) FILTER (WHERE l_returnflag = 'R'),"
        " sum(l_quantity) FILTER (WHERE l_linestatus = 'O') FROM {s}.lineitem GROUP BY l_shipmode",
    ),
    Query(
        "with HAVING",
        "SELECT l_suppkey, sum(l_quantity) FROM {s}.lineitem GROUP BY l_suppkey"
        " HAVING sum(l_quantity) > 15500",
        "SELECT l_suppkey, sum(l_quantity) FROM {s}.lineitem GROUP BY l_suppkey",
    ),
    Query("distinct", "SELECT DISTINCT o_orderpriority, o_orderstatus FROM {s}.orders"),
    Query("a condition on few", "SELECT count(*) FROM {s}.orders WHERE o_custkey = 77"),
    Query(
        "late lines (of TPC-H 12)",
        "SELECT l_shipmode, count(*) FROM {s}.lineitem WHERE l_shipmode IN ('MAIL', 'SHIP')"
        " AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate GROUP BY l_shipmode",
    ),
    Query(
        "dearest orders",
        "SELECT o_orderkey, o_totalprice FROM {s}.orders"
        " ORDER BY o_totalprice DESC, o_orderkey LIMIT 10",
    ),
    Query(
        "dearest lines, by column",
        "SELECT l_orderkey, l_linenumber, l_extendedprice FROM {s}.lineitem"
        " ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 100",
    ),
    Query(
        "a later page",
        "SELECT o_orderkey FROM {s}.orders ORDER BY o_orderdate, o_orderkey LIMIT 20 OFFSET 200",
        "SELECT o_orderkey, o_orderdate FROM {s}.orders ORDER BY o_orderdate, o_orderkey LIMIT 220",
    ),
    Query(
        "by the index",
        "SELECT o_orderkey, o_totalprice FROM {s}.orders ORDER BY o_orderkey LIMIT 10",
    ),
    Query(
        "top of a filter",
        "SELECT l_orderkey, l_linenumber FROM {s}.lineitem WHERE l_quantity = 50"
        " ORDER BY l_shipdate, l_orderkey, l_linenumber LIMIT 10",
    ),
    Query(
        "rows of a filter",
        "SELECT o_orderkey, o_totalprice, o_orderdate FROM {s}.orders"
        " WHERE o_custkey BETWEEN 100 AND 109",
    ),
)
