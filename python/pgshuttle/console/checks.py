"""What the doctor finds, as far as it can look without making anybody wait."""

import dataclasses
import time
from typing import Any

from pgshuttle.base.connections import Connection
from pgshuttle.doctor.check import query_node as check_query_node
from pgshuttle.doctor.findings import Level
from pgshuttle.doctor.read import query_node as read_query_node
from pgshuttle.doctor.read import storage_nodes
from pgshuttle.look import target

ORDER = (Level.ERROR, Level.WARNING, Level.NOTE, Level.OK)
LIMIT_MS = 30000  # of a statement: some ask all nodes
SETTINGS = (  # other than those of sessions that only read
    f"SET statement_timeout = {LIMIT_MS}",
    "RESET lock_timeout",
    "RESET default_transaction_read_only",
)


def read_findings(connection: Connection) -> dict[str, Any]:
    """Runs the doctor, and ends the session, which has temporary foreign tables and the library.

    shuttle.check() is left out: while it reads copies of reference tables, their writers wait.
    """
    start_s = time.monotonic()
    with connection:
        for setting in SETTINGS:
            connection.execute(setting.encode())
        was_loaded = target.is_loaded(connection)
        facts = read_query_node.read_facts(
            connection, target.load_library(connection), was_loaded=was_loaded
        )
        storage_nodes.read_storage(connection, facts, compare=False)
    found = sorted(check_query_node.find_all(facts), key=lambda one: ORDER.index(one.level))
    return {
        "findings": [dataclasses.asdict(one) for one in found],
        "took_s": round(time.monotonic() - start_s, 2),
    }
