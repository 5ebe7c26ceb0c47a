"""Nine queries of TPC-H, about the tables of a schema {s}, with the usual values."""

QUERIES = {
    "1, pricing summary": (
        "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),"
        " sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 -"
        " l_discount) * (1 + l_tax)), avg(l_quantity),"
        " avg(l_extendedprice), avg(l_discount), count(*) FROM {s}.lineitem"
        " WHERE l_shipdate <= date '1998-12-01' - interval '90 days'"
        " GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"
    ),
    "3, shipping priority": (
        "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue,"
        " o_orderdate, o_shippriority FROM"
        " {s}.orders JOIN {s}.lineitem ON l_orderkey = o_orderkey JOIN {s}.customer ON"
        " c_custkey = o_custkey"
        " WHERE c_mktsegment = 'BUILDING' AND o_orderdate < date '1995-03-15'"
        " AND l_shipdate > date '1995-03-15' GROUP BY l_orderkey, o_orderdate, o_shippriority"
        " ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10"
    ),
    "4, order priority": (
        "SELECT o_orderpriority, count(*) FROM {s}.orders WHERE o_orderdate >= date '1993-07-01'"
        " AND o_orderdate < date '1993-10-01' AND EXISTS (SELECT FROM {s}.lineitem"
        " WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)"
        " GROUP BY o_orderpriority ORDER BY o_orderpriority"
    ),
    "5, local suppliers": (
        "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM"
        " {s}.orders JOIN {s}.lineitem ON l_orderkey = o_orderkey"
        " JOIN {s}.customer ON c_custkey = o_custkey JOIN {s}.supplier ON s_suppkey = l_suppkey"
        " AND s_nationkey = c_nationkey JOIN {s}.nation ON n_nationkey = s_nationkey"
        " JOIN {s}.region ON r_regionkey = n_regionkey WHERE r_name = 'ASIA'"
        " AND o_orderdate >= date '1994-01-01' AND o_orderdate < date '1995-01-01'"
        " GROUP BY n_name ORDER BY revenue DESC"
    ),
    "6, revenue change": (
        "SELECT sum(l_extendedprice * l_discount) FROM {s}.lineitem"
        " WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'"
        " AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
    ),
    "10, returned items": (
        "SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue,"
        " c_acctbal, n_name, c_address, c_phone,"
        " c_comment FROM {s}.orders JOIN {s}.lineitem ON l_orderkey = o_orderkey JOIN"
        " {s}.customer ON c_custkey = o_custkey"
        " JOIN {s}.nation ON n_nationkey = c_nationkey WHERE o_orderdate >= date '1993-10-01'"
        " AND o_orderdate < date '1994-01-01' AND l_returnflag = 'R'"
        " GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment"
        " ORDER BY revenue DESC, c_custkey LIMIT 20"
    ),
    "12, shipping modes": (
        "SELECT l_shipmode, sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0"
        " END), sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 0 ELSE 1 END)"
        " FROM {s}.orders JOIN {s}.lineitem ON l_orderkey = o_orderkey WHERE"
        " l_shipmode IN ('MAIL', 'SHIP')"
        " AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate"
        " AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1995-01-01'"
        " GROUP BY l_shipmode ORDER BY l_shipmode"
    ),
    "14, promotion": (
        "SELECT 100 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount)"
        " ELSE 0 END) / sum(l_extendedprice * (1 - l_discount)) FROM {s}.lineitem JOIN"
        " {s}.part ON p_partkey = l_partkey"
        " WHERE l_shipdate >= date '1995-09-01' AND l_shipdate < date '1995-10-01'"
    ),
    "19, discounted revenue": (
        "SELECT sum(l_extendedprice * (1 - l_discount)) FROM {s}.lineitem JOIN"
        " {s}.part ON p_partkey = l_partkey"
        " WHERE l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON'"
        " AND ((p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM"
        " PACK', 'SM PKG') AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5)"
        " OR (p_brand = 'Brand#23' AND p_container IN ('MED CASE', 'MED BOX', 'MED"
        " PACK', 'MED BAG') AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND"
        " 10)"
        " OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK',"
        " 'LG PKG') AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15))"
    ),
}
