"""Figures that are drawn into a file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no window

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

from pgshuttle.json_files import Entry  # noqa: E402

DPI = 130


@contextmanager
def open_figure(
    path: Path,
    npanels: int,
    size_in: tuple[float, float],
    *,
    dpi: int = DPI,
    **options: Any,  # noqa: ANN401  (of pyplot)
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Has panels beside each other drawn, and writes the file if that works."""
    figure, panels = pyplot.subplots(
        1, npanels, squeeze=False, figsize=size_in, layout="constrained", **options
    )
    try:
        yield figure, list(panels[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi)
    finally:
        pyplot.close(figure)


def name_delay(rtt_us: int) -> str:
    """The title of a panel."""
    return f"round trip {rtt_us / 1000:g} ms" if rtt_us else "no delay added"


def add_color_legend(figure: Figure, colors: Mapping[str, str], ncols: int) -> None:
    """Says below the panels whose color is which."""
    handles = [Patch(color=color) for color in colors.values()]
    figure.legend(handles, list(colors), loc="outside lower center", ncols=ncols, frameon=False)


def draw_limited_ways(
    axes: Axes, found: Entry, case: str, rtt_us: int, colors: Mapping[str, str], stopped_ms: float
) -> None:
    """Draws the cases under one delay: a bar for each way, and what ours may take in red.

    case: the key of a case's name; colors: of ways, ours first; stopped_ms: of what was stopped.
    """
    verdicts = [verdict for verdict in found["verdicts"] if verdict["rtt_us"] == rtt_us]
    rows = {verdict[case]: row for row, verdict in enumerate(verdicts)}
    step = 0.8 / len(colors)
    first = -0.4 + step / 2
    for way in found["ways"]:
        if way["rtt_us"] != rtt_us:
            continue
        place = rows[way[case]] + first + step * list(colors).index(way["way"])
        time_ms = stopped_ms if way["timing"] is None else way["timing"]["median_ms"]
        axes.barh(place, time_ms, 0.95 * step, color=colors[way["way"]])
    for verdict in verdicts:
        row = rows[verdict[case]]
        axes.plot([verdict["limit_ms"]] * 2, [row - 0.4, row - 0.4 + step], color="red")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel("ms")
    axes.set_title(name_delay(rtt_us))
