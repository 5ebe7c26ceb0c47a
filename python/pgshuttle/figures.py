"""Which figure belongs to a file of results."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pgshuttle import (
    choice_plot,
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

# What only the files of the demo and of each bench have, and what draws them: its module, which
# is loaded at its first use, and the function's name.
DRAWN_BY: Mapping[str, tuple[ModuleType, str]] = {
    "points": (plot, "draw_join"),
    "cases": (choice_plot, "draw_choices"),
    "planned": (plan_report, "draw_planning"),
    "disk_limit": (star_report, "draw_star"),
    "limits": (writes_report, "draw_writes"),
    "targets": (transfer_report, "draw_transfer"),
    "cells": (grid_report, "draw_grid"),
    "allowed": (scans_report, "draw_scans"),
    "queries": (tpch_report, "draw_tpch"),
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
    kind = find_kind(read_json(results))
    if kind is None:
        raise ToolError(f"{results} holds no results of pgshuttle demo or pgshuttle bench")
    if figure.suffix.lower() not in SUFFIXES:
        raise ToolError(
            f"{figure} is not named as a figure",
            hint=f"Figures end in {', '.join(SUFFIXES)}.",
            exit_code=ExitCode.USAGE,
        )
    module, name = DRAWN_BY[kind]
    draw_results = getattr(module, name)
    try:
        draw_results(results, figure)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ToolError(
            f"{results} is damaged, or of another version: {type(error).__name__}: {error}"
        ) from None
