"""Regression and isolation tests, whose output is compared with a file."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lib.testrun import valgrind
from lib.testrun.cluster import run_as_server_user, temporary_cluster
from lib.testrun.installed import ROOT, Installed, clean_up, run_directory
from lib.testrun.outcome import Outcome, check_logs, regress_outcome, regress_results
from lib.testrun.progress import Test
from lib.testrun.wanted import LANES, SUITE_LIMIT_S, Wanted

VALGRIND_LIMIT_S = 4 * SUITE_LIMIT_S
DIFF_LINES = 120
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
    lanes = [names[i::LANES] for i in range(min(LANES, len(names)))]
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
    base = run_directory()
    expect_something(base / "test/expected", names)
    command = [*regress_command(kind, installed, base), f"--dbname={DATABASES[kind]}"]
    under = valgrind.server_command(installed, base) if wanted.valgrind else ()
    limit_s = VALGRIND_LIMIT_S if wanted.valgrind else SUITE_LIMIT_S
    with temporary_cluster(installed, base, under=under) as cluster:
        code, output = run_as_server_user(
            [*command, *names],
            cluster.environment(),
            base,
            limit_s,
            lambda line: tell_results(wanted, kind, installed.name, line),
        )
    if code != 0 and not regress_results(output):
        print(output, flush=True)
    outcome = regress_outcome(code, output) + check_logs([cluster.log], [])
    if wanted.valgrind:
        outcome += valgrind.check_reports(base)
    show_differences(base)
    if wanted.accept:
        accept_results(base, names)
    clean_up(base, outcome.failed > 0 or wanted.keep)
    return outcome


def tell_results(wanted: Wanted, kind: str, server: str, line: str) -> None:
    for name, passed, elapsed_s in regress_results(line):
        test = Test(kind, server, name)
        wanted.progress.ended(test, "ok" if passed else "not ok", elapsed_s)


def expect_something(expected: Path, names: list[str]) -> None:
    """Gives new tests an empty expected file: 15 stops at a missing one."""
    for name in names:
        if not any(expected.glob(f"{name}.out")) and not any(expected.glob(f"{name}_[0-9].out")):
            (expected / f"{name}.out").touch()


def show_differences(base: Path) -> None:
    diffs = base / "regression.diffs"
    if not diffs.exists():
        return
    lines = diffs.read_text(errors="replace").splitlines()
    print("\n".join(lines[:DIFF_LINES]))
    if len(lines) > DIFF_LINES:
        print(f"... {len(lines) - DIFF_LINES} more lines in {diffs}")
    sys.stdout.flush()


def accept_results(base: Path, names: list[str]) -> None:
    """Takes what came out as what is expected from now on."""
    for name in names:
        result = base / "results" / f"{name}.out"
        if result.exists():
            shutil.copyfile(result, ROOT / "test/expected" / f"{name}.out")
            print(f"   accepted test/expected/{name}.out")
