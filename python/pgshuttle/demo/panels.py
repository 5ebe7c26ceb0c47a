"""The panels of the demo's figure behind the join, drawn from the JSON file."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from pgshuttle.base.json_files import Entry
from pgshuttle.bench.figure_style import STYLES, format_ms, format_tick
from pgshuttle.demo import published_figures
from pgshuttle.demo.procedures import NEW_ORDER, PAYMENT

OURS, SHIPPED, STOCK = "#0072B2", "#009E73", "#D55E00"
PUBLISHED = "0.35"
TITLE_SIZE = 11
TEXT_SIZE = 8.5


def format_requests(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def label_bars(
    axes: Axes, places: Sequence[float], texts: Sequence[str], times: Sequence[float]
) -> None:
    """Writes behind the bars of an axis of times, which has room for it."""
    for place, text, time_ms in zip(places, texts, times, strict=True):
        axes.annotate(
            text,
            (time_ms, place),
            textcoords="offset points",
            xytext=(4, 0),
            va="center",
            fontsize=TEXT_SIZE,
        )


def make_time_axis(axes: Axes, times_ms: Sequence[float], room: float) -> None:
    """room: how much farther than the longest time the axis goes, for what is written there."""
    axes.set_xscale("log")
    axes.set_xlim(min(times_ms) / 3, max(times_ms) * room)
    axes.xaxis.set_major_formatter(FuncFormatter(format_tick))
    axes.set_xlabel("time (log scale)", fontsize=9)
    axes.tick_params(labelsize=9)
    axes.grid(visible=True, axis="x", alpha=0.25)


def draw_push_downs(axes: Axes, found: Entry) -> None:
    """Draws the time of each statement, and its requests."""
    statements = found["statements"]
    places = [float(-number) for number in range(len(statements))]
    for shift, key, color, label in (
        (0.2, "ours_ms", OURS, "pg_shuttle"),
        (-0.2, "stock_ms", STOCK, "stock postgres_fdw"),
    ):
        times_ms = [one[key] for one in statements]
        axes.barh([place + shift for place in places], times_ms, 0.36, color=color, label=label)
        texts = [format_ms(time_ms) for time_ms in times_ms]
        if key == "ours_ms":
            for number, one in enumerate(statements):
                reads, flushes = one["read_requests"], one["flush_requests"]
                asked = [format_requests(reads, "read")] if reads else []
                asked += [format_requests(flushes, "write")] if flushes else []
                texts[number] += f" ({', '.join(asked)})"
        label_bars(axes, [place + shift for place in places], texts, times_ms)
    axes.set_yticks(
        places, [one["case"].replace(", ", ",\n").replace(" in a", "\nin a") for one in statements]
    )
    make_time_axis(axes, [one[key] for one in statements for key in ("ours_ms", "stock_ms")], 30)
    axes.set_title("2. Push-downs, buffered writes, 1 ms away", fontsize=TITLE_SIZE)
    axes.legend(fontsize=TEXT_SIZE, frameon=False, loc="lower right")


def draw_procedures(axes: Axes, found: Entry) -> None:
    """Draws the time of a call, and its round trips, with the published times below."""
    ways = [
        (OURS, "pg_shuttle"),
        (SHIPPED, "pg_shuttle, on the node"),
        (STOCK, "stock postgres_fdw"),
    ]
    colors = dict(zip(dict.fromkeys(one["way"] for one in found["calls"]), ways, strict=False))
    times_ms = []
    for row, case in enumerate((PAYMENT, NEW_ORDER)):
        calls = [one for one in found["calls"] if one["case"] == case]
        published = published_figures.PROCEDURES_MS[case]
        for number, one in enumerate(calls):
            color, label = colors[one["way"]]
            place = -row + 0.3 - 0.2 * number
            axes.barh(place, one["mean_ms"], 0.18, color=color, label=label if row == 0 else None)
            text = f"{format_ms(one['mean_ms'])}, {one['round_trips']:g} round trips"
            label_bars(axes, [place], [text], [one["mean_ms"]])
        place = -row - 0.32
        axes.plot(published, [place, place], color=PUBLISHED, marker="|", linewidth=1)
        text = f"published: {published.before:g} ms, tuned {published.tuned:g} ms"
        label_bars(axes, [place], [text], [published.before])
        times_ms += [one["mean_ms"] for one in calls] + list(published)
    axes.set_yticks([0, -1], ["payment", "new order,\n10 lines"])
    make_time_axis(axes, times_ms, 400)
    clients, load = found["clients"], found["load"]
    text = (
        f"{load['nclients']} clients, {load['seconds']:g} s, on the node: "
        f"{clients['new_orders_a_minute']:.0f} new orders a minute,\n"
        f"{sum(clients['failed'].values())} calls failed, "
        f"{len(clients['broken'])} conditions broken"
    )
    axes.set_ylim(-2.0, 0.5)
    axes.text(0.03, 0.04, text, transform=axes.transAxes, va="bottom", fontsize=TEXT_SIZE)
    axes.set_title("3. TPC-C in procedures over three nodes", fontsize=TITLE_SIZE)
    axes.legend(fontsize=TEXT_SIZE, frameon=False, loc="upper right")


def draw_prefetch(axes: Axes, found: Entry) -> None:
    """Draws the time with prefetching as a part of the time without, ours and published."""
    joins = found["joins"]
    for kind, (color, marker), published in (
        ("cold", STYLES[1], published_figures.PREFETCH_COLD),
        ("cached", STYLES[2], (published_figures.PREFETCH_CACHED[0],) * len(joins)),
    ):
        known = [one for one in joins if one[kind] is not None]
        numbers = [one["ndimensions"] for one in known]
        parts = [one[kind]["on_ms"] / one[kind]["off_ms"] for one in known]
        axes.plot(numbers, parts, color=color, marker=marker, label=f"{kind}, pg_shuttle")
        for number, part in zip(numbers, parts, strict=True):
            axes.annotate(
                f"{part:.2f}",
                (number, part),
                textcoords="offset points",
                xytext=(0, 6),
                ha="center",
                fontsize=TEXT_SIZE,
            )
        axes.plot(
            range(1, len(published) + 1),
            published,
            color=color,
            linestyle=":",
            marker=marker,
            markerfacecolor="white",
            label=f"{kind}, published" + ("" if kind == "cold" else " (least)"),
        )
    axes.axhline(1, color=PUBLISHED, linewidth=1)
    axes.set_xticks([one["ndimensions"] for one in joins])
    axes.set_ylim(0, 1.75)
    axes.set_xlabel("dimensions joined by nested loops", fontsize=9)
    axes.set_ylabel("time with prefetching, without = 1", fontsize=9)
    axes.tick_params(labelsize=9)
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.set_title("4. Prefetching over local indexes", fontsize=TITLE_SIZE)
    axes.legend(fontsize=TEXT_SIZE, frameon=False, loc="upper center", ncols=2)


def draw_spreading(axes: Axes, found: Entry) -> None:
    """Draws the longest wait of the writers over time, while tablets moved and else."""
    writing = found["writing"]
    at_s = [bucket["at_s"] for bucket in writing["buckets"]]
    longest_ms = [bucket["longest_ms"] for bucket in writing["buckets"]]
    axes.axvspan(writing["begin_s"], writing["end_s"], color=SHIPPED, alpha=0.15)
    axes.plot(at_s, longest_ms, color=OURS, linewidth=1.2)
    axes.set_yscale("log")
    axes.set_ylim(1, 30 * max(longest_ms))
    axes.yaxis.set_major_formatter(FuncFormatter(format_tick))
    axes.set_xlabel("seconds", fontsize=9)
    axes.set_ylabel("longest wait of a writer (log scale)", fontsize=9)
    axes.tick_params(labelsize=9)
    axes.grid(visible=True, axis="y", alpha=0.25)
    lost = writing["lost"] + writing["unknown"] + writing["wrong"]
    text = (
        f"{writing['ncommitted']} transactions of four writers, usually "
        f"{format_ms(writing['usual_ms'])}\nlongest wait {format_ms(writing['longest_ms'])}, "
        f"failed {sum(writing['failed'].values())}, rows lost {lost}"
    )
    axes.text(0.03, 0.95, text, transform=axes.transAxes, va="top", fontsize=TEXT_SIZE)
    middle = (writing["begin_s"] + writing["end_s"]) / 2
    axes.text(
        middle,
        1.2,
        f"one node added,\n{writing['nmoves']} tablets moved",
        ha="center",
        va="bottom",
        fontsize=TEXT_SIZE,
    )
    axes.set_title("5. Tables moved while they are written", fontsize=TITLE_SIZE)
