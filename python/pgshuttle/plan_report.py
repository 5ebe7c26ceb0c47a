"""What planning takes beside stock: units and tables."""

from rich.table import Table

from pgshuttle.plan_times import BOUND, PlanTimes, Way

HEAD = {
    "format": 2,
    "units": {
        "samples_ms": "milliseconds of planning, as EXPLAIN (SUMMARY) tells",
        "nparts": "partitions of each table",
        "ratio": "shortest of the way / shortest of stock",
        "bound": "that ratio is to be at most",
    },
}


def make_tables(found: PlanTimes) -> list[Table]:
    """A row for each query and way of ours."""
    planned = {(one.label, one.way): one for one in found.planned}
    table = Table("query", "over", "joins", "stock", "ours", "times", "verdict")
    table.title = f"planning with {found.nparts} partitions, the shortest of {found.nrounds} rounds"
    for ratio in found.ratios:
        ours = planned[(ratio.label, ratio.way)]
        stock = planned[(ratio.label, Way.STOCK)]
        table.add_row(
            ratio.label,
            ratio.way,
            ", ".join(ours.joins),
            f"{stock.shortest_ms:.2f} ms",
            f"{ours.shortest_ms:.2f} ms",
            f"{ratio.ratio:.2f}",
            "ok" if ratio.ok else "[red]MISSED[/red]",
        )
    table.caption = f"Over postgres_fdw (guest) or our wrapper (engine); at most {BOUND:g} times."
    return [table]
