"""Where commands print."""

from dataclasses import dataclass

from rich.console import Console


@dataclass(frozen=True)
class Screen:
    """Where commands print."""

    out: Console
    err: Console
