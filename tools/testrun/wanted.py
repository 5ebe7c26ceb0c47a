"""What a run of tests was asked for, and what all kinds of tests share."""

import zlib
from dataclasses import dataclass, field

from testrun.installed import ROOT, Installed
from testrun.progress import Progress, Test

SUITE_LIMIT_S = 1800.0
SUFFIXES = {"sql": ".sql", "specs": ".spec", "t": ".pl"}  # of tests in folders

USUAL_SHARE = 50  # of the regression tests on an older server, per cent


def is_usual(name: str) -> bool:
    """True if the usual part has this test on older servers; the same in each run."""
    return zlib.crc32(name.encode()) % 100 < USUAL_SHARE


def is_in_share(name: str, share: int) -> bool:
    """True for so many per cent of the tests, the same in each run; not by is_usual()'s number."""
    return zlib.crc32(name[::-1].encode()) % 100 < share


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for. No names means all tests.

    random_share: of the cases of random queries and writes, per cent.
    part: usual, rest or all; sampled: servers of whose regression tests the usual
    part takes a share. share: of all regression tests on all servers, per cent.
    """

    names: tuple[str, ...]
    accept: bool = False
    keep: bool = False
    valgrind: bool = False
    random_share: int = 100
    part: str = "all"
    sampled: tuple[str, ...] = ()
    share: int = 100
    progress: Progress = field(default_factory=Progress)

    def choose(self, folder: str, server: str) -> list[str]:
        """Names of the tests in a folder, without suffix."""
        found = sorted(path.stem for path in (ROOT / "test" / folder).glob(f"*{SUFFIXES[folder]}"))
        if self.names:
            return [name for name in found if name in self.names]
        if folder == "sql":
            found = [name for name in found if is_in_share(name, self.share)]
        if self.part == "all" or folder != "sql" or server not in self.sampled:
            return found
        return [name for name in found if is_usual(name) == (self.part == "usual")]

    def plan(self, kind: str, installed: Installed, names: list[str]) -> list[str]:
        """Has tests counted among those to come, and returns them longest first."""
        self.progress.plan(Test(kind, installed.name, name) for name in names)
        return self.progress.longest_first(kind, installed.name, names)
