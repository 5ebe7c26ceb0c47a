"""Which figure belongs to a file of results."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pgshuttle import (
    choice_report,
    grid_report,
    plan_report,
    plot,
    scans_report,
    star_report,
    tpch_report,
    transfer_report,
    writes_report,
)
from pgshuttle.errors import ExitCode, ToolError

SUFFIXES = (".png", ".svg", ".pdf")

Draw = Callable[[Any, Path], None]

# What only the files of the demo and of each bench have, and what draws them; a module is loaded
# at its first use.
DRAWN_BY: Mapping[str, Callable[[], Draw]] = {
    "points": lambda: plot.draw,
    "cases": lambda: choice_report.draw,
    "planned": lambda: plan_report.draw,
    "disk_limit": lambda: star_report.draw,
    "limits": lambda: writes_report.draw,
    "targets": lambda: transfer_report.draw,
    "cells": lambda: grid_report.draw,
    "allowed": lambda: scans_report.draw,
    "queries": lambda: tpch_report.draw,
}


def read_json(path: Path) -> Any:  # noqa: ANN401  (JSON)
    """Reads a file that this tool wrote."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ToolError(f"could not read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ToolError(f"{path} is no JSON: {error}") from None


def find_kind(found: Any) -> str | None:  # noqa: ANN401  (JSON)
    """Returns the key that tells whose results these are."""
    if not isinstance(found, dict):
        return None
    return next((key for key in DRAWN_BY if key in found), None)


def can_draw(found: Any) -> bool:  # noqa: ANN401  (JSON)
    """Says if there is a figure for such results."""
    return find_kind(found) is not None


def draw(results: Path, figure: Path) -> None:
    """Draws the figure of a file of results: of the demo or of a bench."""
    found = read_json(results)
    kind = find_kind(found)
    if kind is None:
        raise ToolError(f"{results} holds no results of pgshuttle demo or pgshuttle bench")
    if figure.suffix.lower() not in SUFFIXES:
        raise ToolError(
            f"{figure} is not named as a figure",
            hint=f"Figures end in {', '.join(SUFFIXES)}.",
            exit_code=ExitCode.USAGE,
        )
    try:
        DRAWN_BY[kind]()(found, figure)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ToolError(
            f"{results} is damaged, or of another version: {type(error).__name__}: {error}"
        ) from None
