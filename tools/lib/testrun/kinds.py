"""The kinds of tests, and those that are not written in SQL or Perl."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lib.testrun import compared, tap
from lib.testrun.cluster import run_with_limit
from lib.testrun.installed import ROOT, TESTED_TOGETHER, Installed, TestRunError
from lib.testrun.outcome import (
    PYTEST_LINE,
    PYTEST_NAME,
    PYTEST_REASON,
    Outcome,
    pytest_outcome,
)
from lib.testrun.progress import Test
from lib.testrun.wanted import SUITE_LIMIT_S, Wanted

# How many cases of each: they take no longer than the tests that run beside them.
RANDOM_TOOLS = {
    "random_queries": 450,
    "random_writes": 180,
    "random_schemas": 60,
    "random_attacks": 300,
}
POSTGRES = ["--share", "12", "--seed", "1"]  # per cent of PostgreSQL's own tests: a minute or two
NO_TESTS = 5  # pytest's exit code
PYTEST_LANES = 2  # of files; each has servers of its own, and waits for them much of its time
PYTEST_FOLDERS = ("tools/tests", "python/tests")
# The others do not depend on the server: make test has run them.
ON_EACH_SERVER = ("python/tests",)


def pytest_command(wanted: Wanted, files: list[str]) -> list[str]:
    command = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-v", "-rfEs", "--color=no"]
    command += ["-c", str(ROOT / "python/pyproject.toml"), f"--rootdir={ROOT}"]
    command += [str(ROOT / file) for file in files]
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
    """Returns the files of this part, the longest first, and has the tests in them counted."""
    is_repeated = wanted.part == "rest" and installed.name == TESTED_TOGETHER[-1]
    folders = ON_EACH_SERVER if is_repeated else PYTEST_FOLDERS
    paths = [path for folder in folders for path in sorted((ROOT / folder).glob("test_*.py"))]
    chosen = [path for path in paths if wanted.is_in_part("pytest", installed, path.stem)]
    if not chosen:
        return []
    listed = subprocess.run(
        [*pytest_command(wanted, [str(path) for path in chosen]), "--collect-only", "-qq"],
        cwd=ROOT / "python",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if wanted.names and listed.returncode == NO_TESTS:
        return []
    tests: dict[str, list[Test]] = {path.stem: [] for path in chosen}
    for file, name in PYTEST_NAME.findall(listed.stdout):
        tests[Path(file).stem].append(Test("pytest", installed.name, name))
    wanted.progress.plan(test for of_file in tests.values() for test in of_file)
    # A file whose tests could not be listed is run as well, and fails.
    if wanted.names:
        chosen = [path for path in chosen if tests[path.stem]]
    times = {path: sum(map(wanted.progress.usual_s, tests[path.stem])) for path in chosen}
    return [str(path.relative_to(ROOT)) for path in sorted(chosen, key=lambda path: -times[path])]


def run_pytest(installed: Installed, wanted: Wanted, files: list[str]) -> Outcome:
    """Runs the tests of our Python code in lanes; they start what they need themselves."""
    lanes = [files[i::PYTEST_LANES] for i in range(min(PYTEST_LANES, len(files)))]
    for lane in lanes:  # python/tests import from their conftest, which has to come last
        lane.sort(key=lambda file: file.startswith(ON_EACH_SERVER))
    with ThreadPoolExecutor(PYTEST_LANES) as pool:
        ended = pool.map(lambda lane: run_pytest_lane(installed, wanted, lane), lanes)
        return sum(ended, Outcome())


def run_pytest_lane(installed: Installed, wanted: Wanted, files: list[str]) -> Outcome:
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

    with pytest_files() as base:
        code, output = run_with_limit(
            [*pytest_command(wanted, files), f"--basetemp={base}/run"],
            {**os.environ, "PGSHUTTLE_TEST_PG": installed.program("pg_config")},
            ROOT / "python",
            SUITE_LIMIT_S,
            tell_result,
        )
    outcome = pytest_outcome(code, output)
    if outcome.failed:
        print(output[max(output.find("= FAILURES ="), 0) :], flush=True)
    for name, reason in PYTEST_REASON.findall(output):
        wanted.progress.explain(Test("pytest", installed.name, name), [reason])
    return outcome


def run_random(installed: Installed, wanted: Wanted, tools: list[str]) -> Outcome:
    """Compares random statements over foreign tables with local ones; each tool is one test."""
    total = Outcome()
    for tool in tools:
        count = RANDOM_TOOLS[tool]
        started = time.monotonic()
        outcome = run_random_tool(installed, wanted, tool, count)
        word = "not ok" if outcome.failed else "ok"
        test = Test("random", installed.name, tool)
        wanted.progress.ended(test, word, time.monotonic() - started)
        total += outcome
    return total


def run_random_tool(installed: Installed, wanted: Wanted, tool: str, count: int) -> Outcome:
    return compare_servers(installed, wanted, [tool, "--count", str(count)])


def run_suite(
    kind: str, options: list[str], installed: Installed, wanted: Wanted, tools: list[str]
) -> Outcome:
    """Runs a part of tests that others wrote over distributed tables, the same each time."""
    started = time.monotonic()
    outcome = compare_servers(installed, wanted, [*tools, *options])
    word = "not ok" if outcome.failed else "ok"
    test = Test(kind, installed.name, tools[0])
    wanted.progress.ended(test, word, time.monotonic() - started)
    return outcome


def compare_servers(installed: Installed, wanted: Wanted, words: list[str]) -> Outcome:
    """Runs a tool that compares servers, as one test; its name comes first."""
    tool, *options = words
    command = [sys.executable, str(ROOT / "tools" / tool), "--no-build", "--pg", installed.name]
    command += [*options, "--keep"] if wanted.keep else options
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
    usual: bool = True  # make test runs it


KINDS = {
    "tap": Kind(tap.run_tap, "servers of their own"),
    "regress": Kind(partial(compared.run_compared, "regress"), "one server"),
    "isolation": Kind(partial(compared.run_compared, "isolation"), "one server"),
    "pytest": Kind(run_pytest, "pytest", newest_only=True),
    "random": Kind(run_random, "random", newest_only=True, usual=False),
    "postgres": Kind(partial(run_suite, "postgres", POSTGRES), "postgres", usual=False),
    "applications": Kind(
        partial(run_suite, "applications", ["--short"]),
        "applications",
        newest_only=True,
        usual=False,
    ),
}
# Where tests of a kind are, each in a file of its own.
FOLDERS = {"regress": "sql", "isolation": "specs", "tap": "t"}
# These have one server, which can run under valgrind.
COMPARED = ("regress", "isolation")
ON_NEWEST_ONLY = tuple(name for name, kind in KINDS.items() if kind.newest_only)
# Each is one test, or some, that cannot be chosen by name.
WITHOUT_NAMES = ("random", "postgres", "applications")


def plan(kind: str, installed: Installed, wanted: Wanted) -> list[str]:
    """What of a kind runs on a server, the longest first."""
    if kind == "pytest":
        return plan_pytest(installed, wanted)
    if kind == "random":
        return wanted.plan(kind, installed, list(RANDOM_TOOLS))
    if kind == "postgres":
        is_counted = installed.name in TESTED_TOGETHER
        return wanted.plan(kind, installed, ["postgres_tests"] if is_counted else [])
    if kind == "applications":
        return wanted.plan(kind, installed, ["application_suites"])
    return wanted.plan(kind, installed, wanted.choose(FOLDERS[kind]))


def check_names(names: tuple[str, ...], kinds: list[str]) -> None:
    """Refuses names that no test of these kinds has, so that a typing error is no success.

    pytest looks for its names by itself, in plan_pytest().
    """
    if kinds == ["pytest"]:
        return
    if "pytest" in kinds:
        names = tuple(name for name in names if not name.startswith("test_"))
    if names and set(kinds) <= set(WITHOUT_NAMES):
        raise TestRunError(
            f"{' and '.join(kinds)}: no tests with names;"
            " see --help of tools/random_queries, postgres_tests, application_suites"
        )
    folders = [FOLDERS[kind] for kind in kinds if kind in FOLDERS]
    known = {path.stem for folder in folders for path in (ROOT / "test" / folder).iterdir()}
    missing = [name for name in names if name not in known]
    if missing:
        raise TestRunError(f"there is no test called {', '.join(missing)}")


def check_found(names: tuple[str, ...], found: Iterable[list[str]]) -> None:
    """The same for what each kind has found of these names."""
    if names and not any(found):
        raise TestRunError(f"there is no test called {', '.join(names)}")
