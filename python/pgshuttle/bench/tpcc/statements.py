"""The five transactions of TPC-C: their statements, written once for routines and for clients.

Lines of an order and districts of a delivery travel as arrays, so that a transaction has as many
statements as it has steps that depend on each other.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

PLACE = re.compile(r"(?<!:):(\w+)")


class Style(StrEnum):
    """How a client asks for a transaction."""

    FUNCTIONS = "functions"
    PROCEDURES = "procedures"
    STATEMENTS = "statements"  # one by one, prepared, in a transaction block


class Kind(StrEnum):
    NEW_ORDER = "new_order"
    PAYMENT = "payment"
    ORDER_STATUS = "order_status"
    DELIVERY = "delivery"
    STOCK_LEVEL = "stock_level"


@dataclass(frozen=True)
class Step:
    """One statement; :name stands for a parameter or a variable.

    into: names of what the columns of its row are assigned to. unless_null: it is left out if
    this is NULL. equal: all is rolled back if these two differ behind it.
    """

    text: str
    into: str = ""
    unless_null: str | None = None
    equal: tuple[str, str] | None = None


class Transaction:
    """The steps, and parameters and variables with their types. The first variable is returned."""

    def __init__(self, parameters: str, variables: str, *steps: Step) -> None:
        self.parameters, self.variables = (
            dict(one.split() for one in text.split(",")) for text in (parameters, variables)
        )
        self.result = next(iter(self.variables))
        self.steps = steps


# the middle one of the customers with a last name
BY_NAME = """
SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] FROM customer
WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_last = :name"""

TRANSACTIONS = {
    Kind.NEW_ORDER: Transaction(
        "w int, d int, c int, nlines int, items int[], supplies int[], quantities int[]",
        "total numeric, discount numeric, last text, credit text, w_tax numeric, d_tax numeric,"
        "o int, nfound int, texts text[], amounts numeric[], brands text[]",
        Step(
            """
            SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
            WHERE w_id = :w AND c_w_id = :w AND c_d_id = :d AND c_id = :c""",
            into="discount last credit w_tax",
        ),
        Step(
            """
            UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d
            RETURNING d_next_o_id - 1, d_tax""",
            into="o d_tax",
        ),
        Step(
            """
            INSERT INTO orders
                (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
            VALUES (:w, :d, :o, :c, now(), :nlines, (:w = ALL (:supplies))::int)"""
        ),
        Step("INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (:w, :d, :o)"),
        Step(
            """
            WITH changed AS (
                UPDATE stock SET s_ytd = s_ytd + quantity,
                    s_quantity = s_quantity - quantity
                        + CASE WHEN s_quantity < quantity + 10 THEN 91 ELSE 0 END,
                    s_order_cnt = s_order_cnt + 1,
                    s_remote_cnt = s_remote_cnt + (supply <> :w)::int
                FROM unnest(:items, :supplies, :quantities) AS line (i, supply, quantity)
                WHERE s_w_id = supply AND s_w_id = ANY (:supplies) AND s_i_id = i
                RETURNING i, supply, quantity, s_data, (ARRAY[s_dist_01, s_dist_02, s_dist_03,
                    s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09,
                    s_dist_10])[:d] AS info)
            SELECT count(*), array_agg(i ORDER BY i), array_agg(supply ORDER BY i),
                array_agg(quantity ORDER BY i), array_agg(info ORDER BY i),
                array_agg(quantity * i_price ORDER BY i),
                array_agg(CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%'
                    THEN 'B' ELSE 'G' END ORDER BY i),
                sum(quantity * i_price) * (1 - :discount) * (1 + :w_tax + :d_tax)
            FROM changed JOIN item ON i_id = i""",
            into="nfound items supplies quantities texts amounts brands total",
            equal=("nfound", "nlines"),
        ),
        Step(
            """
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id,
                ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
            SELECT :w, :d, :o, n, i, supply, quantity, amount, info
            FROM unnest(:items, :supplies, :quantities, :amounts, :texts) WITH ORDINALITY
                AS line (i, supply, quantity, amount, info, n)"""
        ),
    ),
    Kind.PAYMENT: Transaction(
        "w int, d int, c_w int, c_d int, c int, name text, amount numeric",
        "last text, first text, credit text, balance numeric, w_name text, d_name text",
        Step(
            "UPDATE warehouse SET w_ytd = w_ytd + :amount WHERE w_id = :w RETURNING w_name",
            into="w_name",
        ),
        Step(
            """
            UPDATE district SET d_ytd = d_ytd + :amount WHERE d_w_id = :w AND d_id = :d
            RETURNING d_name""",
            into="d_name",
        ),
        Step(BY_NAME, into="c", unless_null="name"),
        Step(
            """
            SELECT c_last, c_first, c_credit, c_balance FROM customer
            WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c""",
            into="last first credit balance",
        ),
        Step(
            """
            UPDATE customer SET c_balance = c_balance - :amount,
                c_ytd_payment = c_ytd_payment + :amount, c_payment_cnt = c_payment_cnt + 1,
                c_data = CASE WHEN c_credit = 'BC'
                    THEN left(:c::text || ' ' || :c_d::text || ' ' || :c_w::text || ' '
                        || :d::text || ' ' || :w::text || ' ' || :amount::text || ' ' || c_data,
                        500)
                    ELSE c_data END
            WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c"""
        ),
        Step(
            """
            INSERT INTO history
                (h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_date, h_amount, h_data)
            VALUES (:w, :d, :c_w, :c_d, :c, now(), :amount, :w_name || '    ' || :d_name)"""
        ),
    ),
    Kind.ORDER_STATUS: Transaction(
        "c_w int, c_d int, c int, name text",
        "items int[], supplies int[], quantities int[], amounts numeric[], dates timestamptz[],"
        "first text, last text, balance numeric, o int, entered timestamptz, carrier int",
        Step(BY_NAME, into="c", unless_null="name"),
        Step(
            """
            SELECT c_first, c_last, c_balance FROM customer
            WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c""",
            into="first last balance",
        ),
        Step(
            """
            SELECT o_id, o_entry_d, o_carrier_id FROM orders
            WHERE o_w_id = :c_w AND o_d_id = :c_d AND o_c_id = :c ORDER BY o_id DESC LIMIT 1""",
            into="o entered carrier",
        ),
        Step(
            """
            SELECT array_agg(ol_i_id), array_agg(ol_supply_w_id), array_agg(ol_quantity),
                array_agg(ol_amount), array_agg(ol_delivery_d)
            FROM order_line WHERE ol_w_id = :c_w AND ol_d_id = :c_d AND ol_o_id = :o""",
            into="items supplies quantities amounts dates",
        ),
    ),
    Kind.DELIVERY: Transaction(
        "w int, carrier int",
        "orders int[], districts int[], customers int[], amounts numeric[]",
        Step(
            """
            WITH gone AS (
                DELETE FROM new_order AS n
                USING unnest(ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) AS d
                WHERE no_w_id = :w AND no_d_id = d AND no_o_id = (SELECT min(no_o_id)
                    FROM new_order AS o WHERE o.no_w_id = :w AND o.no_d_id = d)
                RETURNING no_d_id, no_o_id)
            SELECT array_agg(no_d_id), array_agg(no_o_id) FROM gone""",
            into="districts orders",
        ),
        Step(
            """
            UPDATE orders SET o_carrier_id = :carrier
            FROM unnest(:districts, :orders) AS due (d, o)
            WHERE o_w_id = :w AND o_d_id = d AND o_id = o"""
        ),
        Step(
            """
            WITH changed AS (
                UPDATE order_line SET ol_delivery_d = now()
                FROM unnest(:districts, :orders) AS due (d, o)
                WHERE ol_w_id = :w AND ol_d_id = d AND ol_o_id = o RETURNING d, o, ol_amount)
            SELECT array_agg(d), array_agg(c), array_agg(amount) FROM (
                SELECT d, (SELECT o_c_id FROM orders
                    WHERE o_w_id = :w AND o_d_id = d AND o_id = o) AS c, sum(ol_amount) AS amount
                FROM changed GROUP BY d, o) AS summed""",
            into="districts customers amounts",
        ),
        Step(
            """
            UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            FROM unnest(:districts, :customers, :amounts) AS due (d, c, amount)
            WHERE c_w_id = :w AND c_d_id = d AND c_id = c"""
        ),
    ),
    Kind.STOCK_LEVEL: Transaction(
        "w int, d int, threshold int",
        "nlow int",
        Step(
            """
            SELECT count(DISTINCT s_i_id) FROM district, order_line, stock
            WHERE d_w_id = :w AND d_id = :d AND ol_w_id = :w AND ol_d_id = :d
                AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
                AND s_w_id = :w AND s_i_id = ol_i_id AND s_quantity < :threshold""",
            into="nlow",
        ),
    ),
}


def write_prepared(kind: Kind, one: Step) -> tuple[str, tuple[str, ...]]:
    """Writes a statement to be prepared; returns what its parameters are, too."""
    types = TRANSACTIONS[kind].parameters | TRANSACTIONS[kind].variables
    names = list(dict.fromkeys(PLACE.findall(one.text)))
    text = PLACE.sub(lambda place: f"${names.index(place[1]) + 1}::{types[place[1]]}", one.text)
    return text, tuple(names)
