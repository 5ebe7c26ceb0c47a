"""What several parts of the page say alike: SQL to run, and refusals."""

from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from pgshuttle.look.target import first_line


@dataclass(frozen=True)
class Action:
    """Something that can be done, as the SQL that does it: the page itself changes nothing."""

    label: str
    sql: str

    def describe(self) -> dict[str, str]:
        return asdict(self)


def literal(text: str) -> str:
    """Writes a text as SQL, whatever standard_conforming_strings says."""
    quoted = "'" + text.replace("'", "''") + "'"
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted


def refuse(error: psycopg.Error, *actions: Action) -> dict[str, Any]:
    """Says why a part of the page has nothing, and what would help."""
    return {"error": first_line(error), "actions": [action.describe() for action in actions]}
