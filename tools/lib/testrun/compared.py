"""Regression and isolation tests, whose output is compared with a file."""

import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lib.testrun import valgrind
from lib.testrun.cluster import run_as_server_user, temporary_cluster
from lib.testrun.installed import ROOT, Installed, TestRunError, clean_up, run_directory
from lib.testrun.outcome import (
    REASON_TAIL,
    Outcome,
    check_logs,
    regress_outcome,
    regress_reason,
    regress_results,
)
from lib.testrun.progress import Test
from lib.testrun.wanted import LANES, SUITE_LIMIT_S, Wanted

VALGRIND_LIMIT_S = 4 * SUITE_LIMIT_S
DIFF_LINES = 120
NOT_STARTED = 1  # an exit code
# From 16 on pg_regress takes the directory of expected files as an option.
LAST_WITHOUT_EXPECTED_DIR = 15
# The names that PGXS uses in make installcheck.
DATABASES = {"regress": "contrib_regression", "isolation": "isolation_regression"}
PROGRAMS = {
    "regress": "src/test/regress/pg_regress",
    "isolation": "src/test/isolation/pg_isolation_regress",
}


def run_compared(kind: str, installed: Installed, wanted: Wanted, names: list[str]) -> Outcome:
    """Runs tests whose output is compared with a file, in lanes with a server each."""
    lanes = wanted.progress.share_out(kind, installed.name, names, LANES)
    total = Outcome()
    with ThreadPoolExecutor(LANES) as pool:
        for outcome in pool.map(lambda lane: run_lane(installed, wanted, kind, lane), lanes):
            total += outcome
    return total


def regress_command(kind: str, installed: Installed, base: Path) -> list[str]:
    """The program that runs tests below base, with options that all of them need."""
    command = [str(installed.pgxs_dir / PROGRAMS[kind]), f"--bindir={installed.bindir}"]
    command += [f"--inputdir={base}/test", f"--outputdir={base}"]
    if installed.major > LAST_WITHOUT_EXPECTED_DIR:
        command.append(f"--expecteddir={base}/test")
    return command


def run_lane(installed: Installed, wanted: Wanted, kind: str, names: list[str]) -> Outcome:
    """Runs tests one behind the other on a server of their own; each of them has an outcome."""
    base = run_directory()
    expect_something(base / "test/expected", names)
    left = {name: Test(kind, installed.name, name) for name in names}
    failed = []

    def tell_results(line: str) -> None:
        for name, passed, elapsed_s in regress_results(line):
            test = left.pop(name)
            wanted.progress.ended(test, "ok" if passed else "not ok", elapsed_s)
            if not passed:
                failed.append(test)

    command = [*regress_command(kind, installed, base), f"--dbname={DATABASES[kind]}", *names]
    code, output = run_on_server(installed, wanted, base, command, tell_results)
    outcome = regress_outcome(code, output, len(left))
    outcome += check_logs(list(base.glob("server.log")), [])
    if wanted.valgrind:
        outcome += valgrind.check_reports(base)
    if code != 0 and not failed:
        print(output, flush=True)
    wanted.progress.fail(left.values(), output.splitlines()[-REASON_TAIL:])
    differences = show_differences(base)
    for test in failed:
        wanted.progress.explain(test, regress_reason(differences, test.name))
    if wanted.accept:
        accept_results(base, names)
    clean_up(base, outcome.failed > 0 or wanted.keep)
    return outcome


def run_on_server(
    installed: Installed,
    wanted: Wanted,
    base: Path,
    command: list[str],
    on_line: Callable[[str], None],
) -> tuple[int, str]:
    """Returns exit code and output of pg_regress, or what kept its server from starting."""
    under = valgrind.server_command(installed, base) if wanted.valgrind else ()
    limit_s = VALGRIND_LIMIT_S if wanted.valgrind else SUITE_LIMIT_S
    try:
        with temporary_cluster(installed, base, under=under) as cluster:
            return run_as_server_user(command, cluster.environment(), base, limit_s, on_line)
    except TestRunError as error:
        return NOT_STARTED, str(error)


def expect_something(expected: Path, names: list[str]) -> None:
    """Gives new tests an empty expected file: 15 stops at a missing one."""
    for name in names:
        if not any(expected.glob(f"{name}.out")) and not any(expected.glob(f"{name}_[0-9].out")):
            (expected / f"{name}.out").touch()


def show_differences(base: Path) -> str:
    """Prints the beginning of regression.diffs, and returns all of it."""
    diffs = base / "regression.diffs"
    if not diffs.exists():
        return ""
    text = diffs.read_text(errors="replace")
    lines = text.splitlines()
    print("\n".join(lines[:DIFF_LINES]))
    if len(lines) > DIFF_LINES:
        print(f"... {len(lines) - DIFF_LINES} more lines in {diffs}")
    sys.stdout.flush()
    return text


def accept_results(base: Path, names: list[str]) -> None:
    """Takes what came out as what is expected from now on."""
    for name in names:
        result = base / "results" / f"{name}.out"
        if result.exists():
            shutil.copyfile(result, ROOT / "test/expected" / f"{name}.out")
            print(f"   accepted test/expected/{name}.out")
