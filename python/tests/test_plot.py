"""The figure, drawn from made-up results."""

import synthetic

from pgshuttle import plot, printing
from pgshuttle.points import Outer


def test_tables_have_a_row_for_each_point() -> None:
    found = synthetic.make_results()
    assert printing.make_sweep_table(found.points, Outer.LOCAL).row_count == 21
    # join: 2 outer sides x (4 batch sizes, 2 guests, 3 others); 4 of the big table; 2 of one row
    assert printing.make_others_table(found.points).row_count == 24
    assert printing.make_headline_table(found.points[:3]).row_count == 3
    # hops, round trips, requests, without delay; big table, guest, one row
    assert printing.make_claims_table(found.claims).row_count == 8 + 2 + 2 + 3 + 3


def test_labels_are_moved_apart() -> None:
    low, middle, high = plot.spread([0.0, 0.01, 1.0])
    assert middle - low >= plot.LABEL_DISTANCE - 1e-3
    assert high == 1.0
