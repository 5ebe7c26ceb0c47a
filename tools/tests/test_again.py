"""Tests that failed beside others run again alone, and only these."""

from functools import partial

import pytest
from lib.testrun import again, progress
from lib.testrun.again import LOOKS, MOST, look_again
from lib.testrun.installed import ROOT, Installed
from lib.testrun.kinds import KINDS, Kind
from lib.testrun.outcome import Outcome
from lib.testrun.progress import Progress
from lib.testrun.wanted import Wanted

SERVER = Installed("18", ROOT, ROOT)


class Planted:
    """A kind of tests that fail in some of their runs; a run is told by its number, from 1."""

    def __init__(self, *failing: int) -> None:
        self.failing = failing
        self.nruns = 0

    def run(self, _installed: Installed, _wanted: Wanted, names: list[str]) -> Outcome:
        assert len(names) == 1
        self.nruns += 1
        return Outcome(0, 1) if self.nruns in self.failing else Outcome(1)


def fail(*tests: progress.Test) -> Wanted:
    """A run in which these tests have failed."""
    told = Progress(times={}, first_times={})
    for test in tests:
        told.ended(test, "not ok", 1.0)
    return Wanted((), progress=told)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> partial[Planted]:
    def make(*failing: int) -> Planted:
        planted = Planted(*failing)
        monkeypatch.setitem(KINDS, "tap", Kind(planted.run, "row"))
        monkeypatch.setattr(again, "plan", lambda _kind, _installed, alone: list(alone.names))
        return planted

    return partial(make)


TEST = progress.Test("tap", "18", "commit_bank")


def test_a_test_that_passes_alone_is_unsteady(plant: partial[Planted]) -> None:
    planted = plant()
    wanted = fail(TEST)
    assert look_again(Outcome(7, 1), [SERVER], wanted) == (Outcome(8, 0), [TEST])
    assert planted.nruns == LOOKS
    assert wanted.progress.failed == []


@pytest.mark.parametrize("failing", [1, 2])
def test_a_test_that_fails_once_alone_has_failed(plant: partial[Planted], failing: int) -> None:
    plant(failing)
    wanted = fail(TEST)
    assert look_again(Outcome(7, 1), [SERVER], wanted) == (Outcome(7, 1), [])
    assert wanted.progress.failed == [TEST]


def test_a_test_that_cannot_be_found_has_failed(plant: partial[Planted]) -> None:
    planted = plant()
    planted.run = lambda *_: Outcome()  # type: ignore[method-assign]
    KINDS["tap"] = Kind(planted.run, "row")
    assert look_again(Outcome(0, 1), [SERVER], fail(TEST)) == (Outcome(0, 1), [])


@pytest.mark.parametrize(
    ("total", "failed"),
    [
        (Outcome(7, 2), [TEST]),  # a crash in a log
        (Outcome(7, 1), [progress.Test("random", "18", "random_queries")]),
        (Outcome(7, MOST + 1), [progress.Test("tap", "18", str(i)) for i in range(MOST + 1)]),
        (Outcome(7, 0), []),
    ],
)
def test_what_has_no_second_look(
    plant: partial[Planted], total: Outcome, failed: list[progress.Test]
) -> None:
    planted = plant()
    wanted = fail(*failed)
    assert look_again(total, [SERVER], wanted) == (total, [])
    assert planted.nruns == 0
    assert wanted.progress.failed == failed
