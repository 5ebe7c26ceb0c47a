"""Which figure belongs to a file of results."""

import json
from pathlib import Path
from typing import Any

from pgshuttle import (
    choice_plot,
    cpu_report,
    plot,
    star_report,
    transfer_report,
    writes_report,
)
from pgshuttle.errors import ToolError

# what only the files of the demo, and of each bench have
DEMO, CHOICES, CPU, STAR = "points", "cases", "npartitions", "disk_limit"
TRANSFER, WRITES = "targets", "limits"


def read_json(path: Path) -> Any:  # noqa: ANN401  (JSON)
    """Reads a file that this tool wrote."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ToolError(f"could not read {path}: {error}") from None


def can_draw(found: Any) -> bool:  # noqa: ANN401  (JSON)
    """Says if there is a figure for such results."""
    kinds = {DEMO, CHOICES, CPU, STAR, TRANSFER, WRITES}
    return isinstance(found, dict) and not kinds.isdisjoint(found)


def draw(results: Path, figure: Path) -> None:
    """Draws the figure of a file of results: of the demo or of a bench."""
    found = read_json(results)
    if not can_draw(found):
        raise ToolError(f"{results} holds no results of pgshuttle demo or pgshuttle bench")
    if DEMO in found:
        plot.draw_join(results, figure)
    elif CHOICES in found:
        choice_plot.draw_choices(results, figure)
    elif CPU in found:
        cpu_report.draw_cpu(results, figure)
    elif STAR in found:
        star_report.draw_star(results, figure)
    elif WRITES in found:
        writes_report.draw_writes(results, figure)
    else:
        transfer_report.draw_transfer(results, figure)
