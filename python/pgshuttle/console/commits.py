"""Commits over several nodes that are not finished: prepared, or in doubt."""

from typing import Any

import psycopg

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.console.texts import Action, refuse

# A transaction's row without a name says why its node was not asked.
TRANSACTIONS = """
SELECT server::text, transaction, coalesce(owner, ''), state,
    extract(epoch FROM now() - since)::float8
FROM shuttle.transactions ORDER BY since
"""
FIELDS = ("node", "name", "owner", "state", "seconds")
# what recovery has nothing to do with
NOT_IN_DOUBT = ("in progress", "prepared by a client", "of another cluster or database")
GRANT = (
    "GRANT SELECT ON shuttle.transactions TO {role}; "
    "GRANT EXECUTE ON FUNCTION shuttle.prepared_transactions() TO {role};"
)
RECOVER = Action(
    "finish what nobody works on; the background worker does so by itself",
    "SELECT * FROM shuttle.recover();",
)


def read_commits(connection: Connection) -> dict[str, Any]:
    try:
        rows = read_rows(connection, TRANSACTIONS)
    except psycopg.errors.InsufficientPrivilege as error:
        ((role,),) = read_rows(connection, "SELECT quote_ident(current_user)")
        return refuse(error, Action("as a superuser", GRANT.format(role=role)))
    except psycopg.Error as error:
        return refuse(error)
    found = [dict(zip(FIELDS, row, strict=True)) for row in rows]
    return {
        "transactions": [
            one | {"in_doubt": one["state"] not in NOT_IN_DOUBT} for one in found if one["name"]
        ],
        "not_asked": [one for one in found if not one["name"]],
        "actions": [RECOVER.describe()],
    }
