"""PostgreSQL's regression tests, and what they need beside a server."""

import random
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lib.testrun.installed import Installed, TestRunError, ask, run_tool

ALL = 100  # per cent
# Triggers of contrib/spi, which some tests take from where regress.so is.
LIBRARIES = ("autoinc", "refint")
ALWAYS = ("test_setup", "create_index")
# As the schedule says; most others need these two only.
NEEDS = {
    "aggregates": ("create_aggregate",),
    "amutils": ("geometry", "create_index_spgist", "hash_index", "brin"),
    "create_index_spgist": ("create_misc",),
    "geometry": ("point", "lseg", "line", "box", "path", "polygon", "circle"),
    "horology": ("date", "time", "timetz", "timestamp", "timestamptz", "interval"),
    "join": ("create_misc",),
    "multirangetypes": ("rangetypes",),
    "psql": ("create_am",),
    "event_trigger": ("create_am",),
    "select_parallel": ("create_misc",),
    "select_views": ("create_view",),
    "with": ("create_misc",),
}


@dataclass(frozen=True)
class Suite:
    """The tests of one version, as they lie in the source."""

    directory: Path

    @cached_property
    def names(self) -> list[str]:
        """In the order of the schedule: later tests use what earlier ones left."""
        lines = (self.directory / "parallel_schedule").read_text().splitlines()
        return [
            name
            for line in lines
            if line.startswith("test:")
            for name in line.removeprefix("test:").split()
        ]

    def script(self, name: str) -> str:
        path = self.directory / "sql" / f"{name}.sql"
        return path.read_text(errors="surrogateescape")


def find_suite(major: int) -> Suite:
    """Fetches PostgreSQL's source where it is missing."""
    tree = Path(run_tool("servers", "source", str(major), capture=True))
    return Suite(tree / "src/test/regress")


def choose(
    suite: Suite, names: list[str], share: int, dice: random.Random, counted: set[str]
) -> list[str]:
    """The tests to run in the order of the schedule, and those that they depend on.

    A share is one of the tests whose differences are counted, and so are those of what they need.
    """
    unknown = set(names) - set(suite.names)
    if unknown:
        raise TestRunError(f"there is no test called {', '.join(sorted(unknown))}")
    wanted = set(names) or {
        name
        for name in suite.names
        if dice.randrange(ALL) < share and (share == ALL or {name, *NEEDS.get(name, ())} <= counted)
    }
    while more := {need for name in wanted for need in NEEDS.get(name, ())} - wanted:
        wanted |= more
    return [name for name in suite.names if name in {*ALWAYS, *wanted}]


def build_library(installed: Installed, suite: Suite, directory: Path) -> None:
    """Compiles the functions in C that the tests call."""
    config = installed.program("pg_config")
    directory.mkdir()
    command = ["gcc", "-shared", "-fPIC", "-O1", "-w", f"-I{ask(config, '--includedir-server')}"]
    command += ["-o", str(directory / "regress.so"), str(suite.directory / "regress.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TestRunError(f"regress.so could not be built:\n{done.stderr}")
    for name in LIBRARIES:
        library = f"{name}.so"
        (directory / library).symlink_to(Path(ask(config, "--pkglibdir")) / library)
