"""Consistency conditions of TPC-C's specification."""

# by the number that the specification has for them: each finds what is not consistent
CONDITIONS = {
    1: """
SELECT w_id FROM warehouse
JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY 1) AS d ON d_w_id = w_id
WHERE w_ytd <> ytd""",
    2: """
SELECT d_id FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS o FROM orders GROUP BY 1, 2) AS placed
    ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS n FROM new_order GROUP BY 1, 2) AS due
    ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_next_o_id - 1 IS DISTINCT FROM o OR n <> o""",
    3: """
SELECT no_d_id FROM new_order GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)""",
    4: """
SELECT o_d_id FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS n FROM orders GROUP BY 1, 2) AS placed
FULL JOIN (SELECT ol_w_id, ol_d_id, count(*) AS l FROM order_line GROUP BY 1, 2) AS lines
    ON o_w_id = ol_w_id AND o_d_id = ol_d_id
WHERE n IS DISTINCT FROM l""",
    5: """
SELECT o_id FROM orders
FULL JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_id IS NULL OR (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)""",
    6: """
SELECT o_id FROM orders
FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS n FROM order_line GROUP BY 1, 2, 3) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_ol_cnt IS DISTINCT FROM n""",
    7: """
SELECT o_id FROM orders
JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL)""",
    8: """
SELECT w_id FROM warehouse
JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY 1) AS h ON h_w_id = w_id
WHERE w_ytd <> paid""",
    9: """
SELECT d_id FROM district
JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2) AS h
    ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_ytd <> paid""",
    12: """
SELECT c_id FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS owed FROM orders
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL GROUP BY 1, 2, 3) AS delivered
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment <> coalesce(owed, 0)""",
}
