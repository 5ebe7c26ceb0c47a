"""Draws the figure of the demo, or of a bench that has one, from its file of results."""

import importlib
from pathlib import Path

from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.json_files import read_json

# by what only such a file has
MODULES = {
    "points": "pgshuttle.plot",
    "load": "pgshuttle.tpcc_figure",
    "options": "pgshuttle.suite_figure",
}
SUFFIXES = (".png", ".svg", ".pdf")
DPI = 150


def draw(results: Path, figure: Path) -> None:
    found = read_json(results)
    modules = [name for key, name in MODULES.items() if isinstance(found, dict) and key in found]
    if not modules:
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
    plot = importlib.import_module(modules[0])
    try:
        drawn = plot.draw(found)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ToolError(
            f"{results} is damaged, or of another version: {type(error).__name__}: {error}"
        ) from None
    figure.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(figure, dpi=DPI)
