"""Draws the figure of the demo, or of a bench that has one, from its file of results."""

import importlib
from pathlib import Path

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.base.json_files import read_json

# by what only such a file has
DRAWN_BY = {
    "points": ("pgshuttle.demo.figure", "draw"),
    "load": ("pgshuttle.bench.figures", "draw_tpcc"),
    "options": ("pgshuttle.bench.figures", "draw_suite"),
}
SUFFIXES = (".png", ".svg", ".pdf")
DPI = 150


def draw(results: Path, figure: Path) -> None:
    found = read_json(results)
    named = [by for key, by in DRAWN_BY.items() if isinstance(found, dict) and key in found]
    if not named:
        raise ToolError(
            f"{results} holds no results of pgshuttle demo, nor of a bench with a figure"
        )
    if figure.suffix.lower() not in SUFFIXES:
        raise ToolError(
            f"{figure} is not named as a figure",
            hint=f"Figures end in {', '.join(SUFFIXES)}.",
            exit_code=ExitCode.USAGE,
        )
    # takes matplotlib, which loads longer than most commands run, and which may be missing
    module, function = named[0]
    draw_figure = getattr(importlib.import_module(module), function)
    try:
        drawn = draw_figure(found)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ToolError(
            f"{results} is damaged, or of another version: {type(error).__name__}: {error}"
        ) from None
    figure.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(figure, dpi=DPI)
