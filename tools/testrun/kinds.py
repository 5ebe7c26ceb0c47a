"""The five kinds of tests, and those that are not written in SQL or Perl."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from testrun import compared, tap
from testrun.cluster import run_with_limit
from testrun.installed import ROOT, Installed, TestRunError
from testrun.outcome import PYTEST_LINE, PYTEST_NAME, Outcome, pytest_outcome
from testrun.progress import Test
from testrun.wanted import SUITE_LIMIT_S, Wanted

# How many cases of each: they take no longer than the tests that run beside them.
RANDOM_TOOLS = {"random_queries": 450, "random_writes": 180}
NO_TESTS = 5  # pytest's exit code
PYTEST_FOLDERS = ("tools/tests", "python/tests")


def pytest_command(wanted: Wanted, folders: list[str]) -> list[str]:
    command = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-v", "-rfEs", "--color=no"]
    command += ["-c", str(ROOT / "python/pyproject.toml"), *(str(ROOT / f) for f in folders)]
    return [*command, "-k", " or ".join(wanted.names)] if wanted.names else command


@contextmanager
def pytest_files() -> Iterator[Path]:
    """A directory of this run: pytest cleans up the default one under other runs."""
    path = Path(tempfile.mkdtemp(prefix="pg_shuttle_pytest."))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def plan_pytest(installed: Installed, wanted: Wanted) -> list[str]:
    """Returns the folders, and has the tests in them counted; none if no name has a test."""
    folders = [folder for folder in PYTEST_FOLDERS if any((ROOT / folder).glob("test_*.py"))]
    listed = subprocess.run(
        [*pytest_command(wanted, folders), "--collect-only", "-qq"],
        cwd=ROOT / "python",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    wanted.plan("pytest", installed, PYTEST_NAME.findall(listed.stdout))
    return [] if wanted.names and listed.returncode == NO_TESTS else folders


def run_pytest(installed: Installed, wanted: Wanted, folders: list[str]) -> Outcome:
    """Runs the tests of our Python code; they start what they need themselves."""
    last = time.monotonic()

    def tell_result(line: str) -> None:
        nonlocal last
        result = PYTEST_LINE.match(line)
        if result is None:
            return
        word = {"PASSED": "ok", "SKIPPED": "skipped"}.get(result[2], "not ok")
        now = time.monotonic()
        wanted.progress.ended(Test("pytest", installed.name, result[1]), word, now - last)
        last = now

    with pytest_files() as files:
        code, output = run_with_limit(
            [*pytest_command(wanted, folders), f"--basetemp={files}/run"],
            {**os.environ, "PGSHUTTLE_TEST_PG": installed.program("pg_config")},
            ROOT / "python",
            SUITE_LIMIT_S,
            tell_result,
        )
    outcome = pytest_outcome(code, output)
    if outcome.failed:
        print(output[max(output.find("= FAILURES ="), 0) :], flush=True)
    return outcome


def run_random(installed: Installed, wanted: Wanted, tools: list[str]) -> Outcome:
    """Compares random statements over foreign tables with local ones; each tool is one test."""
    total = Outcome()
    for tool in tools:
        count = RANDOM_TOOLS[tool] * wanted.random_share // 100
        started = time.monotonic()
        outcome = run_random_tool(installed, wanted, tool, count)
        word = "not ok" if outcome.failed else "ok"
        test = Test("random", installed.name, tool)
        wanted.progress.ended(test, word, time.monotonic() - started)
        total += outcome
    return total


def run_random_tool(installed: Installed, wanted: Wanted, tool: str, count: int) -> Outcome:
    command = [sys.executable, str(ROOT / "tools" / tool), "--no-build"]
    command += ["--pg", installed.name, "--count", str(count)]
    command += ["--keep"] if wanted.keep else []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            code = process.wait(SUITE_LIMIT_S)
        except subprocess.TimeoutExpired:
            print(f"{tool}: not through after {SUITE_LIMIT_S:.0f} s", flush=True)
            code = 124
        finally:
            process.terminate()  # it stops its server
    return Outcome(int(code == 0), int(code != 0))


@dataclass(frozen=True)
class Kind:
    """How a kind of tests is run; row: kinds of one row run one behind the other."""

    run: Callable[[Installed, Wanted, list[str]], Outcome]
    row: str
    newest_only: bool = False  # does not depend on the version, or takes long


KINDS = {
    "tap": Kind(tap.run_tap, "servers of their own"),
    "regress": Kind(partial(compared.run_compared, "regress"), "one server"),
    "isolation": Kind(partial(compared.run_compared, "isolation"), "one server"),
    "pytest": Kind(run_pytest, "pytest", newest_only=True),
    "random": Kind(run_random, "random", newest_only=True),
}
# Where tests of a kind are, each in a file of its own.
FOLDERS = {"regress": "sql", "isolation": "specs", "tap": "t"}
# These have one server, which can run under valgrind.
COMPARED = ("regress", "isolation")
ON_NEWEST_ONLY = tuple(name for name, kind in KINDS.items() if kind.newest_only)


def plan(kind: str, installed: Installed, wanted: Wanted) -> list[str]:
    """What of a kind runs on a server, the longest first."""
    if kind == "pytest":
        return plan_pytest(installed, wanted)
    if kind == "random":
        return wanted.plan(kind, installed, list(RANDOM_TOOLS))
    return wanted.plan(kind, installed, wanted.choose(FOLDERS[kind], installed.name))


def check_names(names: tuple[str, ...], kinds: list[str]) -> None:
    """Refuses names that no test of these kinds has, so that a typing error is no success.

    pytest looks for its names by itself, in plan_pytest().
    """
    if kinds == ["pytest"]:
        return
    if "pytest" in kinds:
        names = tuple(name for name in names if not name.startswith("test_"))
    if names and kinds == ["random"]:
        raise TestRunError("random cases have no names; see tools/random_queries --help")
    folders = [FOLDERS[kind] for kind in kinds if kind in FOLDERS]
    known = {path.stem for folder in folders for path in (ROOT / "test" / folder).iterdir()}
    missing = [name for name in names if name not in known]
    if missing:
        raise TestRunError(f"there is no test called {', '.join(missing)}")


def check_found(names: tuple[str, ...], found: Iterable[list[str]]) -> None:
    """The same for what each kind has found of these names."""
    if names and not any(found):
        raise TestRunError(f"there is no test called {', '.join(names)}")
