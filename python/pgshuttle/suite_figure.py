"""The figure of bench tpch and bench tpcds: each query's time against local tables."""

from matplotlib.figure import Figure

from pgshuttle.json_files import Entry
from pgshuttle.plot import SIZE_IN, STYLES
from pgshuttle.suite_data import TITLES, Suite


def draw(found: Entry) -> Figure:
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
