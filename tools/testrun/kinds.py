"""The five kinds of tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from testrun import valgrind
from testrun.cluster import (
    clean_environment,
    run_as_server_user,
    sanitizer_environment,
    temporary_cluster,
)
from testrun.installed import (
    ROOT,
    Installed,
    TestRunError,
    list_prefixes,
    run_directory,
    server_user,
)
from testrun.outcome import (
    EXPECTED,
    Outcome,
    check_logs,
    pytest_outcome,
    regress_outcome,
    result_lines,
    tap_outcome,
)

SUITE_LIMIT_S = 1800.0
# How many cases of each: they take no longer than the tests that run beside them.
RANDOM_TOOLS = (("random_queries", 700), ("random_writes", 300))
VALGRIND_LIMIT_S = 4 * SUITE_LIMIT_S
DIFF_LINES = 120
# From 16 on pg_regress takes the directory of expected files as an option.
LAST_WITHOUT_EXPECTED_DIR = 15
# The names that PGXS uses in make installcheck.
DATABASES = {"regress": "contrib_regression", "isolation": "isolation_regression"}
TAP_TAIL_LINES = 60
TAP_JOBS = 3  # they wait for real time rather than for a core
TAP_FIRST = ("storage_faults_network", "commit_kill", "storage_pipeline_errors")  # the longest
LANES = 2  # of regression and isolation tests


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for. No names means all tests."""

    names: tuple[str, ...]
    accept: bool = False
    keep: bool = False
    valgrind: bool = False

    def choose(self, kind: str, suffix: str) -> list[str]:
        """Names of the tests of a kind, without directory and suffix."""
        found = sorted(path.stem for path in (ROOT / "test" / kind).glob(f"*{suffix}"))
        return [name for name in found if not self.names or name in self.names]


def run_regress(installed: Installed, wanted: Wanted) -> Outcome:
    names = wanted.choose("sql", ".sql")
    program = installed.pgxs_dir / "src/test/regress/pg_regress"
    return run_compared(installed, wanted, "regress", names, program)


def run_isolation(installed: Installed, wanted: Wanted) -> Outcome:
    names = wanted.choose("specs", ".spec")
    program = installed.pgxs_dir / "src/test/isolation/pg_isolation_regress"
    return run_compared(installed, wanted, "isolation", names, program)


def run_compared(
    installed: Installed, wanted: Wanted, kind: str, names: list[str], program: Path
) -> Outcome:
    """Runs tests whose output is compared with a file, in lanes with a server each."""
    if not names:
        return Outcome()
    announce(installed, kind, len(names))
    lanes = [names[i::LANES] for i in range(min(LANES, len(names)))]
    total = Outcome()
    with ThreadPoolExecutor(LANES) as pool:
        for outcome in pool.map(
            lambda lane: run_lane(installed, wanted, kind, lane, program), lanes
        ):
            total += outcome
    return total


def run_lane(
    installed: Installed, wanted: Wanted, kind: str, names: list[str], program: Path
) -> Outcome:
    base = run_directory()
    expect_something(base / "test/expected", names)
    command = [str(program), f"--inputdir={base}/test", f"--outputdir={base}"]
    command += [f"--bindir={installed.bindir}", f"--dbname={DATABASES[kind]}"]
    if installed.major > LAST_WITHOUT_EXPECTED_DIR:
        command.append(f"--expecteddir={base}/test")
    under = valgrind.server_command(installed, base) if wanted.valgrind else ()
    limit_s = VALGRIND_LIMIT_S if wanted.valgrind else SUITE_LIMIT_S
    with temporary_cluster(installed, base, under=under) as cluster:
        code, output = run_as_server_user([*command, *names], cluster.environment(), base, limit_s)
    print(output if code != 0 else "\n".join(result_lines(output)), flush=True)
    outcome = regress_outcome(code, output) + check_logs([cluster.log], [])
    if wanted.valgrind:
        outcome += valgrind.check_reports(base)
    show_differences(base)
    if wanted.accept:
        accept_results(base, names)
    clean_up(base, wanted, outcome)
    return outcome


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


def run_tap(installed: Installed, wanted: Wanted) -> Outcome:
    """Runs TAP scripts side by side. A script is one test in the count."""
    names = wanted.choose("t", ".pl")
    if not names:
        return Outcome()
    announce(installed, "tap", len(names))
    names.sort(key=lambda name: name not in TAP_FIRST)
    list_prefixes()
    base = run_directory()
    total = Outcome()
    with ThreadPoolExecutor(TAP_JOBS) as pool:
        for result in pool.map(lambda name: run_tap_script(installed, base, name), names):
            total += result.tell()
    clean_up(base, wanted, total)
    return total


@dataclass(frozen=True)
class TapResult:
    """What one script came to; excused: lines of its logs that are no crash."""

    outcome: Outcome
    report: str
    logs: list[Path]
    excused: list[str]

    def tell(self) -> Outcome:
        print(self.report, flush=True)
        return self.outcome + check_logs(self.logs, self.excused)


def run_tap_script(installed: Installed, base: Path, name: str) -> TapResult:
    started = time.monotonic()
    work = base / name
    ports = base / "ports"
    user = server_user()
    for directory in (work, ports):
        directory.mkdir(exist_ok=directory is ports)
        if user is not None:
            shutil.chown(directory, user)
    env = clean_environment(installed) | sanitizer_environment(installed)
    env.update(
        TESTLOGDIR=str(work / "log"),
        TESTDATADIR=str(work),
        PG_TEST_PORT_DIR=str(ports),
        PG_REGRESS=str(installed.pgxs_dir / "src/test/regress/pg_regress"),
        SHUTTLE_SERVERS=":".join(f"{name}={prefix}" for name, prefix in list_prefixes()),
    )
    perl_dir = installed.pgxs_dir / "src/test/perl"
    script = base / "test/t" / f"{name}.pl"
    command = ["prove", "-v", "-I", str(perl_dir), "-I", str(script.parent), str(script)]
    code, output = run_as_server_user(command, env, base / "test", SUITE_LIMIT_S)
    outcome = tap_outcome(name, code, output)
    note = " (skipped)" if outcome.skipped else ""
    report = f"   {'ok' if code == 0 else 'not ok'} - {name} on {installed.name}{note}"
    report += f"  {time.monotonic() - started:.0f} s"
    if code != 0:
        report = "\n".join([report, *output.splitlines()[-TAP_TAIL_LINES:]])
    logs = [log for log in work.rglob("*.log") if log.is_file()]
    return TapResult(outcome, report, logs, EXPECTED.findall(script.read_text()))


def run_pytest(installed: Installed, wanted: Wanted) -> Outcome:
    """Runs the tests of our Python code; they start what they need themselves."""
    folders = [ROOT / "tools/tests", ROOT / "python/tests"]
    tests = [str(folder) for folder in folders if any(folder.glob("test_*.py"))]
    announce(installed, "pytest", None)
    command = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "-rfEs", "--color=no"]
    command += ["-c", str(ROOT / "python/pyproject.toml"), *tests]
    if wanted.names:
        command += ["-k", " or ".join(wanted.names)]
    done = subprocess.run(
        command,
        cwd=ROOT / "python",
        env={**os.environ, "PGSHUTTLE_TEST_PG": installed.program("pg_config")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SUITE_LIMIT_S,
        check=False,
    )
    print(done.stdout, end="", flush=True)
    return pytest_outcome(done.returncode, done.stdout)


def run_random(installed: Installed, wanted: Wanted) -> Outcome:
    """Compares random statements over foreign tables with local ones; each tool is one test."""
    announce(installed, "random", None)
    total = Outcome()
    for tool, count in RANDOM_TOOLS:
        total += run_random_tool(installed, wanted, tool, count)
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


def announce(installed: Installed, kind: str, count: int | None) -> None:
    tests = "" if count is None else f", {count} tests"
    print(f"== PostgreSQL {installed.name}: {kind}{tests}", flush=True)


def clean_up(base: Path, wanted: Wanted, outcome: Outcome) -> None:
    """Leaves the files of a failed run where they can be looked at."""
    if outcome.failed or wanted.keep:
        print(f"   files of this run: {base}", flush=True)
    else:
        shutil.rmtree(base, ignore_errors=True)


KINDS = {
    "regress": run_regress,
    "isolation": run_isolation,
    "tap": run_tap,
    "pytest": run_pytest,
    "random": run_random,
}
# These have one server, which can run under valgrind.
COMPARED = ("regress", "isolation")
# These leave the cores to others most of their time.
WAITING = ("tap",)
# These do not depend on the version, or take long.
ON_NEWEST_ONLY = ("pytest", "random")


def check_names(names: tuple[str, ...], kinds: list[str]) -> None:
    """Refuses names that no test has, so that a typing error is no success."""
    if "pytest" in kinds and kinds == ["pytest"]:
        return
    if names and kinds == ["random"]:
        raise TestRunError("random cases have no names; see tools/random_queries --help")
    known = {path.stem for path in (ROOT / "test").glob("*/*") if path.suffix != ".out"}
    missing = [name for name in names if name not in known]
    if missing:
        raise TestRunError(f"there is no test called {', '.join(missing)}")
