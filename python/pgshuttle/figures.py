"""Which figure belongs to a file of results."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pgshuttle import (
    choice_plot,
    cpu_report,
    grid_report,
    plot,
    star_report,
    transfer_report,
    writes_report,
)
from pgshuttle.errors import ToolError

# what only the files of the demo and of each bench have, and what draws them
DRAWN_BY: Mapping[str, Callable[[Path, Path], None]] = {
    "points": lambda results, figure: plot.draw_join(results, figure),
    "cases": lambda results, figure: choice_plot.draw_choices(results, figure),
    "npartitions": lambda results, figure: cpu_report.draw_cpu(results, figure),
    "disk_limit": lambda results, figure: star_report.draw_star(results, figure),
    "limits": lambda results, figure: writes_report.draw_writes(results, figure),
    "targets": lambda results, figure: transfer_report.draw_transfer(results, figure),
    "cells": lambda results, figure: grid_report.draw_grid(results, figure),
}


def read_json(path: Path) -> Any:  # noqa: ANN401  (JSON)
    """Reads a file that this tool wrote."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ToolError(f"could not read {path}: {error}") from None


def find_drawer(found: Any) -> Callable[[Path, Path], None] | None:  # noqa: ANN401  (JSON)
    """Returns what draws such results."""
    if not isinstance(found, dict):
        return None
    return next((draw for key, draw in DRAWN_BY.items() if key in found), None)


def can_draw(found: Any) -> bool:  # noqa: ANN401  (JSON)
    """Says if there is a figure for such results."""
    return find_drawer(found) is not None


def draw(results: Path, figure: Path) -> None:
    """Draws the figure of a file of results: of the demo or of a bench."""
    drawer = find_drawer(read_json(results))
    if drawer is None:
        raise ToolError(f"{results} holds no results of pgshuttle demo or pgshuttle bench")
    drawer(results, figure)
