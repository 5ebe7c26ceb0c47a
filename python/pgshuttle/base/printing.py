"""How tables write times, counts and factors."""

from collections.abc import Mapping

from rich import box
from rich.table import Table


def format_ms(time_ms: float | None) -> str:
    """Writes a time with three digits or so."""
    if time_ms is None:
        return "-"
    if time_ms >= 10_000:
        return f"{time_ms / 1000:.1f} s"
    return f"{time_ms:.0f} ms" if time_ms >= 100 else f"{time_ms:.2f} ms"


def format_way(times_ms: Mapping[str, float], way: str, stopped_s: int) -> str:
    """Writes the time of a way to run a case, which may have been stopped after so long."""
    return format_ms(times_ms[way]) if way in times_ms else f"> {stopped_s} s"


def format_count(count: float | None) -> str:
    return "-" if count is None else f"{count:g}"


def format_factor(factor: float | None) -> str:
    """Writes how many times as long something takes, with two or three digits."""
    if factor is None:
        return "-"
    return f"{round(factor, -1):.0f} x" if factor >= 100 else f"{factor:.2g} x"


def make_part_table(*columns: str) -> Table:
    """A table of a part of the demo, of few lines; all columns but the first are numbers."""
    table = Table(box=box.SIMPLE_HEAD, title_justify="left", caption_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number > 0 else "left")
    return table
