"""The figure of the demo: a panel for each part, drawn from its JSON file."""

from matplotlib.figure import Figure

from pgshuttle.base.json_files import Entry
from pgshuttle.bench.figure_style import SIZE_IN as JOIN_SIZE_IN
from pgshuttle.demo import join_figure, panels

SIZE_IN = (11.0, 14.4)


def draw(found: Entry) -> Figure:
    """Draws all parts; of results that have only the join, that alone."""
    parts = found.get("parts")
    if parts is None:
        return join_figure.draw(found)
    figure = Figure(SIZE_IN, layout="constrained")
    heights_in = (JOIN_SIZE_IN[1], SIZE_IN[1] - JOIN_SIZE_IN[1])
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights_in)[:, 0]
    join_figure.draw_join(above, found, "1. ")
    (pushed, called), (prefetched, spread) = below.subplots(2, 2)
    panels.draw_push_downs(pushed, parts["push_downs"])
    panels.draw_procedures(called, parts["procedures"])
    panels.draw_prefetch(prefetched, parts["prefetch"])
    panels.draw_spreading(spread, parts["spreading"])
    return figure
