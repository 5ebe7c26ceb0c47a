"""Lines of progress: each test as it ends, how many are left, and about how long they take.

How long each test took is kept in build/ for the next run, which begins with the longest. The
first run of a tree takes times.json for it, from a run of CI: "KIND NAME" and seconds.
"""

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from lib.testrun.installed import ROOT

TIMES = ROOT / "build/test_times.json"
FIRST_TIMES = Path(__file__).with_name("times.json")
# What a test takes that neither has, seconds.
USUAL_S = {
    "regress": 2.0,
    "isolation": 2.0,
    "tap": 20.0,
    "pytest": 0.5,
    "random": 90.0,
    "postgres": 90.0,
    "applications": 90.0,
}
# Tests that run at a time, until the run has shown how many.
FIRST_GUESS = 4.0
SHOWN_AFTER_S = 20.0
# Of what a failed test shows, at the end of the run.
REASON_LINES = 8
REASON_LENGTH = 200


@dataclass(frozen=True)
class Test:
    """One test on one server."""

    kind: str
    server: str
    name: str

    def key(self) -> str:
        return f"{self.kind} {self.server} {self.name}"

    def __str__(self) -> str:
        return f"{self.name}, {self.kind} on {self.server}"


def read_times(path: Path = TIMES) -> dict[str, float]:
    try:
        times: dict[str, float] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return times


@dataclass
class Progress:
    """What has ended and what is left. Threads share it."""

    times: dict[str, float] = field(default_factory=read_times)
    first_times: dict[str, float] = field(default_factory=partial(read_times, FIRST_TIMES))
    started: float = field(default_factory=time.monotonic)
    left: dict[str, float] = field(default_factory=dict)
    ntests: int = 0
    nended: int = 0
    work_done_s: float = 0.0
    failed: list[Test] = field(default_factory=list)
    reasons: dict[Test, list[str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, tests: Iterable[Test]) -> None:
        """Tells of tests that will run."""
        with self.lock:
            for test in tests:
                self.left[test.key()] = self.usual_s(test)
                self.ntests += 1

    def usual_s(self, test: Test) -> float:
        first_s = self.first_times.get(f"{test.kind} {test.name}", USUAL_S[test.kind])
        return self.times.get(test.key(), first_s)

    def longest_first(self, kind: str, server: str, names: list[str]) -> list[str]:
        return sorted(names, key=lambda name: -self.usual_s(Test(kind, server, name)))

    def share_out(self, kind: str, server: str, names: list[str], nlanes: int) -> list[list[str]]:
        """Shares tests out to lanes: the longest first, each to the lane that has least to do."""
        lanes: list[list[str]] = [[] for _ in range(min(nlanes, len(names)))]
        work_s = [0.0] * len(lanes)
        for name in self.longest_first(kind, server, names):
            lane = work_s.index(min(work_s))
            lanes[lane].append(name)
            work_s[lane] += self.usual_s(Test(kind, server, name))
        return lanes

    def ended(self, test: Test, word: str, elapsed_s: float) -> None:
        """Prints the line of a test; word: ok, not ok or skipped."""
        with self.lock:
            self.nended += 1
            self.work_done_s += self.left.pop(test.key(), elapsed_s)
            if word == "ok":
                self.times[test.key()] = round(elapsed_s, 1)
            elif word == "not ok":
                self.failed.append(test)
            print(
                f"[{self.nended:4} of {self.ntests}{self.time_left()}] {word} - {test},"
                f" {elapsed_s:.1f} s",
                flush=True,
            )

    def fail(self, tests: Iterable[Test], reason: list[str]) -> None:
        """Tells of tests that could not be run to their end."""
        for test in tests:
            self.ended(test, "not ok", 0.0)
            self.explain(test, reason)

    def explain(self, test: Test, lines: Iterable[str]) -> None:
        """Keeps the first lines of what a failed test showed, for the end of the run."""
        with self.lock:
            self.reasons[test] = [line[:REASON_LENGTH] for line in islice(lines, REASON_LINES)]

    def tell(self, test: Test, what: str) -> None:
        """Prints what a test came to at the end of the run, and why."""
        print(f"== {what}: {test}")
        for line in self.reasons.get(test, ()):
            print(f"      {line}")

    def time_left(self) -> str:
        """About how long what is left will take, by how fast the rest went."""
        elapsed_s = time.monotonic() - self.started
        speed = FIRST_GUESS
        if elapsed_s > SHOWN_AFTER_S:
            speed = max(self.work_done_s / elapsed_s, 0.5)
        minutes = sum(self.left.values()) / speed / 60
        return f", {minutes:4.1f} min left" if self.left else ""

    def save(self, path: Path = TIMES) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(dict(sorted(self.times.items())), indent=0) + "\n")
