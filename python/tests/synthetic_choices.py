"""Made-up choices of the planner."""

from statistics import geometric_mean

import synthetic

from pgshuttle.choice_cases import Case, Way, list_cases, write_query
from pgshuttle.choices import CaseResult, Choices, PlanResult


def make_plan(*ways: Way, time_ms: float | None = 2.0) -> PlanResult:
    """A plan that took so long, or was stopped."""
    return PlanResult(
        ways=tuple(ways),
        shape="Join(a, b)",
        joins=(str(ways[0]),),
        estimated_cost=100.0,
        samples_ms=() if time_ms is None else (time_ms * 1.1, time_ms),
        stopped_ms=30.0 if time_ms is None else None,
    )


def make_case(case: Case, ratio: float) -> CaseResult:
    """The planner chose a hash join that takes ratio times as long as the batched one."""
    return CaseResult(
        label=case.shape.label,
        transport=case.shape.transport,
        rtt_us=case.rtt_us,
        query=write_query(case.shape).as_string(),
        plans=(
            make_plan(Way.BATCHED),
            make_plan(Way.HASH, Way.CHOSEN, time_ms=2.0 * ratio),
            make_plan(Way.NESTED_LOOP, time_ms=None),
        ),
        ratio=ratio,
    )


def make_choices(worst: float = 1.5) -> Choices:
    """A whole run: the planner is right but for one query."""
    cases = list_cases()
    found = [make_case(case, 1.0) for case in cases[1:]]
    found.insert(0, make_case(cases[0], worst))
    ratios = [case.ratio for case in found]
    return Choices(
        **synthetic.RUN,
        scale=1.0,
        geometric_mean=geometric_mean(ratios),
        worst=worst,
        cases=tuple(found),
    )
