"""Reading EXPLAIN's JSON, with all counters, with some, with none."""

from synthetic import make_node

from pgshuttle.look import plan_facts

STOCK = make_node(
    "Hash Join",
    make_node("Foreign Scan", relation_name="a", parent_relationship="Outer"),
    make_node("Hash", make_node("Seq Scan", relation_name="b"), parent_relationship="Inner"),
)
OUTER = make_node(
    "Foreign Scan", relation_name="demo1", parent_relationship="Outer", storage_read_requests=1
)
INNER = make_node(
    "Foreign Scan", relation_name="demo2", parent_relationship="Inner", storage_read_requests=2
)
LOOK = make_node("Custom Scan", OUTER, parent_relationship="Outer", batches=2)
# as the extension shows it
BATCHED = {
    "Plan": make_node("Nested Loop", LOOK | {"Custom Plan Provider": "Look Ahead"}, INNER),
    "Planning Time": 0.5,
}


def test_stock_plan() -> None:
    facts = plan_facts.read_plan([{"Plan": STOCK}])
    assert facts.joins == ("hash join",)
    assert facts.shape == "Hash Join(Foreign Scan a, Hash(Seq Scan b))"
    assert not facts.has_foreign_inner
    assert facts.batches is None
    assert facts.requests is None


def test_batched_join() -> None:
    facts = plan_facts.read_plan([BATCHED | {"Storage Read Requests": 3}])
    assert facts.joins == ("batched join",)
    assert facts.shape == "Nested Loop(Look Ahead(Foreign Scan demo1), Foreign Scan demo2)"
    assert facts.has_foreign_inner
    assert (facts.batches, facts.inner_requests, facts.requests) == (2, 2, 3)
    assert facts.planning_ms == 0.5


def test_totals_are_added_up_where_they_are_missing() -> None:
    facts = plan_facts.read_plan([BATCHED])
    assert facts.requests == 3
