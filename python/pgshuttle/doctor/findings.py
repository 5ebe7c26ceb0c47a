"""What a check of pgshuttle doctor found."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    NOTE = "note"  # good to know
    WARNING = "warning"  # something is slower or less safe than it could be
    ERROR = "error"  # something does not work


@dataclass(frozen=True)
class Finding:
    """What a check found, on which server, and what to do about it."""

    where: str = field(default="", kw_only=True)  # set by who runs the check, as is check
    level: Level
    check: str = field(default="", kw_only=True)
    text: str
    advice: str = ""


good, note, warning, error = (partial(Finding, level) for level in Level)
