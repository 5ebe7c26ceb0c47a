"""The figure, drawn from made-up results."""

import dataclasses
import itertools
import math

import synthetic
from matplotlib.text import Annotation

from pgshuttle.demo import join_figure
from pgshuttle.demo import report as demo_report
from pgshuttle.demo.join_points import Outer


def test_tables_have_a_row_for_each_point() -> None:
    found = synthetic.make_results()
    assert demo_report.make_sweep_table(found.points, Outer.LOCAL).row_count == 21
    # join: 2 outer sides x (4 batch sizes, 2 guests, 3 others); 4 of the big table; 2 of one row
    assert demo_report.make_others_table(found.points).row_count == 24
    assert demo_report.make_headline_table(found.points[:3]).row_count == 3


def test_claims_that_were_missed_come_first_and_others_are_one_row() -> None:
    kept = synthetic.make_results().claims
    (row,) = zip(
        *(column.cells for column in demo_report.make_claims_table(kept).columns), strict=True
    )
    assert row[0] == "all"
    assert row[4] == f"ok ({len(kept)} of {len(kept)})"
    found = synthetic.make_results(factor=3.0).claims
    table = demo_report.make_claims_table(found)
    names, verdicts = (list(table.columns[number].cells) for number in (0, 4))
    assert names[-1] == "all others"
    assert str(verdicts[-1]).startswith("ok (")
    assert all("MISSED" in str(verdict) for verdict in verdicts[:-1])
    parts = [
        max(claim.part for claim in found if claim.family == name and claim.part is not None)
        for name in names[:-1]
    ]
    assert parts == sorted(parts, reverse=True)
    assert len(set(names)) == len(names) == 1 + len({c.family for c in found if c.ok is False})


def test_labels_are_moved_apart() -> None:
    low, middle, high = join_figure.spread([0.0, 0.01, 1.0])
    assert middle - low >= join_figure.LABEL_DISTANCE - 1e-3
    assert high == 1.0


def test_times_of_stock_that_are_close_are_written_apart() -> None:
    found = dataclasses.asdict(synthetic.make_results())
    for entry in found["points"]:
        if entry["point"]["contender"] == join_figure.STOCK_COLUMNS[1]:
            entry["estimated_ms"] = 34 + entry["point"]["rtt_us"] / 1000
    _, right = join_figure.draw(found).axes
    found_texts = [text for text in right.texts if isinstance(text, Annotation)]
    places = sorted(math.log10(text.xy[1]) for text in found_texts if text.xy[0] == 1)
    assert len(places) == 3
    for low, high in itertools.pairwise(places):
        assert high - low >= join_figure.LABEL_DISTANCE - 1e-3
