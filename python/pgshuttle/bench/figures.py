"""The figures of bench tpch, tpcds and tpcc, drawn from their files of results."""

from matplotlib.figure import Figure

from pgshuttle.base.json_files import Entry
from pgshuttle.bench.figure_style import SIZE_IN, STYLES, format_ms
from pgshuttle.bench.suite_data import TITLES, Suite


def draw_suite(found: Entry) -> Figure:
    """Draws each query's time against local tables."""
    options = found["options"]
    timed = [one for one in found["queries"] if one["ours_ms"] and one["here_ms"]]
    timed.sort(key=lambda one: one["ours_ms"] / one["here_ms"])
    figure = Figure(SIZE_IN, layout="constrained")
    axes = figure.subplots()
    places = range(len(timed))
    (ours, _), (stock, marker) = STYLES[:2]
    axes.bar(
        places, [one["ours_ms"] / one["here_ms"] for one in timed], color=ours, label="shuttle"
    )
    with_stock = [(place, one) for place, one in enumerate(timed) if one["stock_ms"]]
    axes.plot(
        [place for place, _ in with_stock],
        [one["stock_ms"] / one["here_ms"] for _, one in with_stock],
        color=stock,
        marker=marker,
        linestyle="none",
        label="postgres_fdw, if it took at most twice as long",
    )
    axes.axhline(1, color="0.4", linewidth=1)
    axes.set_yscale("log")
    axes.set_xticks(places, [str(one["query"]) for one in timed], rotation=90, fontsize=7)
    axes.set_xlabel("query")
    axes.set_ylabel("time, local tables = 1 (log scale)")
    axes.legend()
    axes.set_title(
        f"{TITLES[Suite(options['suite'])]}, scale {options['scale']:g}, three nodes, "
        f"round trip {options['rtt_us'] / 1000:g} ms",
        fontsize=11,
    )
    return figure


def draw_tpcc(found: Entry) -> Figure:
    """Draws new orders a minute, and how long transactions take."""
    ways = found["ways"]
    load = found["load"]
    colors = [color for color, _ in STYLES[: len(ways)]]
    figure = Figure(SIZE_IN, layout="constrained")
    left, right = figure.subplots(1, 2)
    names = [way["way"] for way in ways]
    bars = left.bar(names, [way["new_orders_a_minute"] for way in ways], color=colors)
    left.bar_label(bars, fmt="{:.0f}")
    left.set_yscale("log")
    left.set_ylabel("new orders a minute (log scale)")
    kinds = [one["kind"] for one in ways[0]["latencies"]]
    for number, (way, color) in enumerate(zip(ways, colors, strict=True)):
        for one in way["latencies"]:
            place = kinds.index(one["kind"]) + 0.2 * number
            right.plot([place, place], [one["median_ms"], one["p99_ms"]], color=color)
            right.plot([place], [one["mean_ms"]], color=color, marker="o")
    right.set_yscale("log")
    right.set_xticks(range(len(kinds)), [kind.replace("_", "-") for kind in kinds])
    right.yaxis.set_major_formatter(lambda time_ms, _: format_ms(time_ms))
    right.set_title("mean, from median to 99 %", fontsize=11)
    figure.suptitle(
        f"TPC-C, {load['nwarehouses']} warehouses, {load['nclients']} clients, "
        f"round trip {load['rtt_us'] / 1000:g} ms"
    )
    return figure
