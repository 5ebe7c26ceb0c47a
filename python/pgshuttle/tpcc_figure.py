"""The figure of bench tpcc: new orders a minute, and how long transactions take."""

from matplotlib.figure import Figure

from pgshuttle.json_files import Entry
from pgshuttle.plot import SIZE_IN, STYLES, format_ms


def draw(found: Entry) -> Figure:
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
