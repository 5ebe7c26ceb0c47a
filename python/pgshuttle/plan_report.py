"""What planning takes beside stock: the JSON file, a table and the figure."""

from pathlib import Path

from rich.table import Table

from pgshuttle.figure_files import add_color_legend, open_figure
from pgshuttle.json_files import Entry
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
# told apart by everyone (Okabe and Ito)
COLORS = {str(Way.GUEST): "#E69F00", str(Way.ENGINE): "#0072B2"}
SIZE_IN = (9.0, 7.5)


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


def draw(found: Entry, figure_path: Path) -> None:
    """Draws the figure of a file of planning times: a bar for each query and way."""
    labels = list(dict.fromkeys(ratio["label"] for ratio in found["ratios"]))
    with open_figure(figure_path, 1, SIZE_IN) as (figure, [axes]):
        for ratio in found["ratios"]:
            place = labels.index(ratio["label"]) + 0.4 * list(COLORS).index(ratio["way"]) - 0.2
            axes.barh(place, ratio["ratio"], 0.38, color=COLORS[ratio["way"]])
            axes.text(ratio["ratio"], place, f" {ratio['ratio']:.2f}", va="center", fontsize=7)
        axes.axvline(1, color="0.4", linewidth=1)
        axes.axvline(found["ratios"][0]["bound"], color="red", linewidth=1)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlabel("times as long as PostgreSQL without the library (red: at most)")
        axes.set_title(f"Planning with {found['nparts']} partitions", fontsize=10)
        add_color_legend(figure, COLORS, ncols=2)
