"""All kinds of single statements that write."""

from collections.abc import Callable

from lib.randomwrites.changes import (
    by_subquery,
    delete,
    delete_using,
    met_often,
    truncate,
    update,
    update_from,
    update_key,
    update_subquery,
    view_change,
)
from lib.randomwrites.context import Context, Step
from lib.randomwrites.inserts import (
    copy,
    insert_conflict,
    insert_select,
    insert_serial,
    insert_series,
    insert_values,
    insert_view,
    merge,
)
from lib.randomwrites.keyed import (
    keyed_change,
    keyed_conflict,
    keyed_merge,
    keyed_outer,
    keyed_select,
    keyed_with,
)
from lib.randomwrites.tables import Table

Maker = Callable[[Context, Table], Step]

INSIDE: tuple[tuple[float, Maker], ...] = (
    (4, insert_values),
    (3, insert_series),
    (3, insert_select),
    (2, insert_conflict),
    (0.7, insert_serial),
    (1.2, insert_view),
    (4, update),
    (2, update_key),
    (3, update_from),
    (2.5, update_subquery),
    (2, by_subquery),
    (2, delete),
    (2, delete_using),
    (1.5, met_often),
    (1.2, view_change),
)
WRITES: tuple[tuple[float, Maker], ...] = (*INSIDE, (1.5, copy), (1, merge), (0.3, truncate))
# Of distributed tables: what is routed.
KEYED: tuple[tuple[float, Maker], ...] = (
    (4, keyed_change),
    (4, keyed_conflict),
    (2, keyed_merge),
    (1.5, keyed_outer),
)
KEYED_ALL: tuple[tuple[float, Maker], ...] = (*KEYED, (2, keyed_select), (2, keyed_with))
