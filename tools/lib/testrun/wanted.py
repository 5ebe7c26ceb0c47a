"""What a run of tests was asked for, and what all kinds of tests share."""

import threading
import tomllib
import zlib
from dataclasses import dataclass, field
from functools import cache

from lib.testrun.installed import ROOT, TESTED_TOGETHER, Installed
from lib.testrun.progress import Progress, Test

SUITE_LIMIT_S = 3000.0  # for a kind of tests, beside others on a slow machine
LANES = 3  # of regression or isolation tests; with what runs beside them, they keep two cores busy
SUFFIXES = {"sql": ".sql", "specs": ".spec", "t": ".pl"}  # of tests in folders
LONG_TESTS = ROOT / "test/long.toml"  # what make test leaves to make test-all


@cache
def long_tests(kind: str) -> frozenset[str]:
    """Names of tests, of pytest the names of files, that make test leaves out."""
    return frozenset(tomllib.loads(LONG_TESTS.read_text()).get(kind, ()))


def is_in_share(name: str, share: int) -> bool:
    """True for so many per cent of the tests, the same in each run, and for those of 19."""
    return name.endswith("_19") or zlib.crc32(name[::-1].encode()) % 100 < share


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for. No names means all tests.

    share: of all regression tests, per cent. part: see tools/run_tests. compared_ended:
    regression and isolation tests have ended, so that others may use their lanes, one of
    free_lanes for each.
    """

    names: tuple[str, ...]
    accept: bool = False
    keep: bool = False
    valgrind: bool = False
    share: int = 100
    part: str = "all"
    progress: Progress = field(default_factory=Progress)
    compared_ended: threading.Event = field(default_factory=threading.Event)
    free_lanes: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(LANES))

    def is_in_part(self, kind: str, installed: Installed, name: str) -> bool:
        """Of a part, make test has the usual tests; the rest has all of them on the newest server.

        A test that was named is always in it.
        """
        if self.names or self.part == "all":
            return True
        is_long = name in long_tests(kind)
        if self.part == "usual":
            return not is_long
        return is_long or installed.name == TESTED_TOGETHER[-1]

    def choose(self, folder: str) -> list[str]:
        """Names of the tests in a folder, without suffix."""
        found = sorted(path.stem for path in (ROOT / "test" / folder).glob(f"*{SUFFIXES[folder]}"))
        if self.names:
            return [name for name in found if name in self.names]
        return [name for name in found if folder != "sql" or is_in_share(name, self.share)]

    def plan(self, kind: str, installed: Installed, names: list[str]) -> list[str]:
        """Has tests counted among those to come, and returns them longest first."""
        names = [name for name in names if self.is_in_part(kind, installed, name)]
        self.progress.plan(Test(kind, installed.name, name) for name in names)
        return self.progress.longest_first(kind, installed.name, names)
