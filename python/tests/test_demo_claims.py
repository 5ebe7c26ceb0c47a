"""Claims hold where they should, fail where they must, and say so where nothing was measured."""

from dataclasses import replace

import pytest
import synthetic

from pgshuttle.demo import claims
from pgshuttle.demo.claims import Claim


def find(found: tuple[Claim, ...], family: str, detail: str = "") -> Claim:
    """Finds a claim by the beginning of its family and its detail."""
    matching = [
        claim
        for claim in found
        if claim.family.startswith(family) and claim.detail.startswith(detail)
    ]
    assert matching, family
    return matching[0]


def test_a_perfect_machine_keeps_all_claims() -> None:
    found = synthetic.make_results().claims
    assert all(claim.ok for claim in found)
    # hops: 2 planners x 2 outer sides x 2 delays x 4 batch sizes; round trips: 2 x 4;
    # requests: 2 x 7 x 3; without delay, big table, guest, one row
    of_join = 32 + 8 + 42 + 6 + 2 + 4 + 3
    # push-downs; procedures; prefetching: 4 x 4; tables spread and moved
    assert len(found) == of_join + 9 + 8 + 16 + 6


def test_a_slow_machine_does_not() -> None:
    found = synthetic.make_results(factor=3.0).claims
    hops = find(found, "hops, foreign outer, RTT 90 ms, planner forced", "batch 1024")
    assert hops.measured == pytest.approx(3 * (180 + 4 + 300 / 1024))
    assert hops.ok is False
    assert find(found, "2.5 x by hand").ok is False
    assert find(found, "one row", "1/2 of postgres_fdw").ok is False
    # relative to itself it is as good as ever
    assert find(found, "1.1 x batch 128").ok is True


def test_bound_of_the_hops() -> None:
    hops = find(
        synthetic.make_results().claims,
        "hops, local outer, RTT 0.8 ms, planner default",
        "batch 500",
    )
    assert hops.bound == pytest.approx(1.15 * 0.8 + 1.2 * (4 + 300 / 500) + 2)
    assert hops.note == "batched join"


def test_nothing_measured_is_neither_kept_nor_missed() -> None:
    found = claims.check_claims([], None)
    assert all(claim.ok is None for claim in found)


def test_too_many_round_trips() -> None:
    found = claims.check_claims([], 2)
    assert find(tuple(found), "one row", "round trips").ok is False


@pytest.mark.parametrize(
    ("batch_size", "request_limit", "requests"),
    [(1, 100, 2000), (128, 100, 31), (1024, 100, 21), (1024, 1024, 2), (2000, 1024, 2)],
)
def test_requests_that_batches_take(batch_size: int, request_limit: int, requests: int) -> None:
    assert claims.count_requests(2000, batch_size, request_limit) == requests


def test_more_requests_or_round_trips_than_needed() -> None:
    point = synthetic.engine_join(claims.FAR_RTT_US)
    result = replace(synthetic.make_result(point), round_trips=3)
    found = claims.check_round_trips({point: result})
    assert find(tuple(found), "round trips", "batch 1024").ok is False
    near = synthetic.make_result(synthetic.engine_join(0))
    assert near.facts is not None
    near = replace(near, facts=replace(near.facts, inner_requests=5))
    requests = claims.check_requests({near.point: near})
    assert find(tuple(requests), "read requests", "batch 1024, limit 1024").ok is False
