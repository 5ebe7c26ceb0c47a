"""Writes in the transaction of a query, which has to see them; they are rolled back."""

from collections.abc import Sequence

from lib.randomqueries.dice import Dice

SHARE = 0.08
TABLES = ("few", "no_nulls", "some", "holes", "middle", "many")
# {s} is a schema, {a} and {b} are tables; what is written does not depend on the plan.
WRITES = (
    "UPDATE {s}.{a} SET k = coalesce(k, 0) + 1 WHERE id % 3 = 0",
    "UPDATE {s}.{a} SET t = upper(t), n = n + 1 WHERE own.is_odd(id)",
    "UPDATE {s}.{a} x SET k = y.m, u = NULL FROM {s}.{b} y WHERE y.id = x.k",
    "UPDATE {s}.{a} x SET m = (SELECT count(*) FROM {s}.{b} y WHERE y.k = x.k) WHERE x.id < 20",
    "DELETE FROM {s}.{a} WHERE k < 5",
    "DELETE FROM {s}.{a} x USING {s}.{b} y WHERE y.k = x.k AND y.id < 10",
    "DELETE FROM {s}.{a} x WHERE NOT EXISTS (SELECT FROM {s}.{b} y WHERE y.k = x.g)",
    "INSERT INTO {s}.{a} (id, k, t) SELECT id + 5000, m, t FROM {s}.{b} WHERE id < 30",
    "INSERT INTO {s}.{a} (id, k, m, d) SELECT x.id + 7000, y.k, y.m, y.d"
    " FROM {s}.{b} x LEFT JOIN {s}.{a} y ON y.id = x.k WHERE x.id < 30",
)


def random_writes(dice: Dice) -> tuple[str, ...]:
    """Statements with {s} for the schema that they write to."""
    writes = dice.sample(WRITES, dice.between(1, 2))
    return tuple(text.format(s="{s}", a=dice.pick(TABLES), b=dice.pick(TABLES)) for text in writes)


def written(writes: Sequence[str], schemas: Sequence[str]) -> list[str]:
    """Writes to the tables of several schemas, which are thought of as copies."""
    return [text.format(s=schema) for text in writes for schema in schemas]
