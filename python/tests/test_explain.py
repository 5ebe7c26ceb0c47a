"""Reading EXPLAIN's JSON, with all counters, with some, with none."""

from typing import Any

from pgshuttle import explain

STOCK: list[dict[str, Any]] = [
    {
        "Plan": {
            "Node Type": "Hash Join",
            "Plans": [
                {"Node Type": "Foreign Scan", "Relation Name": "a", "Parent Relationship": "Outer"},
                {
                    "Node Type": "Hash",
                    "Parent Relationship": "Inner",
                    "Plans": [{"Node Type": "Seq Scan", "Relation Name": "b"}],
                },
            ],
        }
    }
]


def make_batched(*, with_totals: bool) -> list[dict[str, Any]]:
    """The plan of a batched join as the extension shows it."""
    top: dict[str, Any] = {
        "Plan": {
            "Node Type": "Nested Loop",
            "Plans": [
                {
                    "Node Type": "Custom Scan",
                    "Custom Plan Provider": "Look Ahead",
                    "Parent Relationship": "Outer",
                    "Batches": 2,
                    "Plans": [
                        {
                            "Node Type": "Foreign Scan",
                            "Relation Name": "demo1",
                            "Parent Relationship": "Outer",
                            "Storage Read Requests": 1,
                        }
                    ],
                },
                {
                    "Node Type": "Foreign Scan",
                    "Relation Name": "demo2",
                    "Parent Relationship": "Inner",
                    "Storage Read Requests": 2,
                },
            ],
        },
        "Planning Time": 0.5,
    }
    if with_totals:
        top["Storage Read Requests"] = 3
    return [top]


def test_stock_plan() -> None:
    facts = explain.read_plan(STOCK)
    assert facts.joins == ("hash join",)
    assert facts.shape == "Hash Join(Foreign Scan a, Hash(Seq Scan b))"
    assert not facts.has_foreign_inner
    assert facts.batches is None
    assert facts.requests is None


def test_batched_join() -> None:
    facts = explain.read_plan(make_batched(with_totals=True))
    assert facts.joins == ("batched join",)
    assert facts.shape == "Nested Loop(Look Ahead(Foreign Scan demo1), Foreign Scan demo2)"
    assert facts.has_foreign_inner
    assert (facts.batches, facts.inner_requests, facts.requests) == (2, 2, 3)
    assert facts.planning_ms == 0.5


def test_totals_are_added_up_where_they_are_missing() -> None:
    facts = explain.read_plan(make_batched(with_totals=False))
    assert facts.requests == 3
