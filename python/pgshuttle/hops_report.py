"""What the hops came to: units and the table."""

from rich.table import Table

from pgshuttle import hops
from pgshuttle.hop_times import CellResult, Hops
from pgshuttle.printing import format_count, format_ms

HEAD = {
    "format": 2,
    "units": {
        "timing": "milliseconds, seen by a client of the query node",
        "stopped_ms": "milliseconds after which the statement was stopped",
        "rtt_us": "microseconds of a round trip, added by the delay proxy",
        "round_trips": "changes of direction on the connections to all nodes, in the last run",
        "requests": "statements to storage nodes, and pages of their answers, as EXPLAIN tells",
        "ntables": "tables of the join",
    },
}


def format_cell(cell: CellResult) -> str:
    """Writes a time, or after how long it was stopped."""
    if cell.timing is None:
        return f"> {format_ms(cell.stopped_ms)}"
    return format_ms(cell.timing.median_ms)


def make_tables(found: Hops) -> list[Table]:
    """A row for each number of tables and who joins them, a column for each delay."""
    rtts_us = sorted({cell.rtt_us for cell in found.cells})
    rows: dict[tuple[int, str], list[CellResult]] = {}
    for cell in sorted(found.cells, key=lambda cell: cell.rtt_us):
        rows.setdefault((cell.ntables, cell.who), []).append(cell)
    table = Table("tables", "who", "requests")
    for rtt_us in rtts_us:
        table.add_column(f"RTT {rtt_us / 1000:g} ms", justify="right")
    table.title = f"{hops.NOUTER} rows, each leading through tables of {hops.NROWS} rows"
    for (ntables, who), cells in rows.items():
        times = [format_cell(cell) for cell in cells]
        table.add_row(str(ntables), who, format_count(cells[0].requests), *times)
    table.caption = "Each table needs the row before it: a round trip each is the least."
    return [table]
