"""TAP tests in lanes: all of them, and more at a time when other kinds have ended."""

import threading
import time

from lib.testrun.outcome import Outcome
from lib.testrun.progress import Progress
from lib.testrun.tap import JOBS, run_in_lanes
from lib.testrun.wanted import LANES, Wanted

LIMIT_S = 30.0
TEST_S = 0.01


class Counted:
    """Tests that take a moment, or as long as fewer run at a time than should."""

    def __init__(self, nlanes: int = 1) -> None:
        self.barrier = threading.Barrier(nlanes)
        self.lock = threading.Lock()
        self.names: list[str] = []
        self.now = 0
        self.most = 0

    def run(self, name: str) -> Outcome:
        with self.lock:
            self.names.append(name)
            self.now += 1
            self.most = max(self.most, self.now)
        self.barrier.wait(LIMIT_S)
        time.sleep(TEST_S)
        with self.lock:
            self.now -= 1
        return Outcome(1)


def name_tests(count: int) -> list[str]:
    return [f"{number:02}" for number in range(count)]


def test_lanes_of_tests_that_have_ended_are_used() -> None:
    wanted = Wanted(())
    wanted.compared_ended.set()
    counted = Counted(JOBS + LANES)
    names = name_tests(2 * (JOBS + LANES))
    assert run_in_lanes(wanted, names, counted.run).passed == len(names)
    assert sorted(counted.names) == names


def test_before_that_there_are_few() -> None:
    wanted = Wanted(())
    counted = Counted(JOBS)

    def run(name: str) -> Outcome:
        outcome = counted.run(name)
        if name == names[-1]:
            wanted.compared_ended.set()
        return outcome

    names = name_tests(2 * JOBS)
    assert run_in_lanes(wanted, names, run).passed == len(names)
    assert counted.most == JOBS
    assert sorted(counted.names[:JOBS]) == names[:JOBS]


def test_two_servers_share_the_lanes_that_are_free() -> None:
    wanted = Wanted(())
    wanted.compared_ended.set()
    counted = Counted()
    names = name_tests(60)
    rows = [
        threading.Thread(target=run_in_lanes, args=(wanted, part, counted.run))
        for part in (names[:30], names[30:])
    ]
    for row in rows:
        row.start()
    for row in rows:
        row.join(LIMIT_S)
    assert sorted(counted.names) == names
    assert counted.most <= 2 * JOBS + LANES


def test_lanes_have_alike_much_to_do() -> None:
    times = {"long": 100.0, "half": 50.0} | {name: 10.0 for name in name_tests(15)}
    progress = Progress({f"regress 15 {name}": time for name, time in times.items()})
    lanes = progress.share_out("regress", "15", list(times), 3)
    assert sorted(name for lane in lanes for name in lane) == sorted(times)
    assert [sum(times[name] for name in lane) for lane in lanes] == [100.0, 100.0, 100.0]
    assert progress.share_out("regress", "15", ["long"], 3) == [["long"]]
