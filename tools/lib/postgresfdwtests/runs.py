"""Runs the suite on a temporary server, in one of several ways."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from lib.postgresfdwtests.outputs import (
    Difference,
    compare,
    count_hunks,
    echoed_lines,
    step_lines,
    without_plans,
)
from lib.postgresfdwtests.sources import Suite
from lib.testrun.cluster import Cluster, run_as_server_user, temporary_cluster
from lib.testrun.compared import DATABASES, regress_command
from lib.testrun.installed import Installed, TestRunError
from lib.testrun.outcome import crashes
from lib.testrun.tap import run_tap_script

LIMIT_S = 900.0
# Sizes of tables without statistics are postgres_fdw's.
SAME_PLANS = "shuttle.enable_batched_join = off\nshuttle.enable_row_counts = off\n"
FORCED = "shuttle.enable_batched_join = on\nshuttle.debug_force_batched_join = on\n"
COMPARED = ("sql", "specs")


@dataclass(frozen=True)
class Way:
    """How the suite is run, and what is compared."""

    name: str
    engine: bool  # its servers are on our wrapper; else postgres_fdw's, and we are loaded
    settings: str
    plans: bool  # plans are compared, and the order of rows


WAYS = (
    Way("engine", True, SAME_PLANS, True),
    Way("engine, batched joins forced", True, FORCED, False),
    Way("postgres_fdw, batched joins forced", False, FORCED, False),
)


@dataclass(frozen=True)
class Found:
    differences: list[Difference]
    nhunks: int
    crashes: list[str]  # lines of the server's log
    directory: Path


def run_suite(installed: Installed, suite: Suite, way: Way) -> Found:
    """Runs the SQL tests and the isolation tests; the caller removes the directory."""
    base = Path(tempfile.mkdtemp(prefix="pg_shuttle_fdw."))
    suite.write_to(base, way.engine)
    with temporary_cluster(installed, base, way.settings, {"PGHOST": str(base)}) as cluster:
        run_tests(cluster, base, "regress", suite.names("sql"))
        if way.engine:
            end_prepared(cluster, base)
        loads = ("--load-extension=postgres_fdw", "--load-extension=pg_shuttle")
        run_tests(cluster, base, "isolation", suite.names("specs"), *loads)
    found = [compare_test(base, kind, name, way) for kind in COMPARED for name in suite.names(kind)]
    differences = [difference for differences, _ in found for difference in differences]
    nhunks = sum(number for _, number in found)
    return Found(differences, nhunks, crashes(cluster.log, []), base)


def compare_test(base: Path, kind: str, name: str, way: Way) -> tuple[list[Difference], int]:
    """Returns the differences of one test, and how many hunks they are."""
    expected = (base / "test/expected" / f"{name}.out").read_text()
    result = (base / "results" / f"{name}.out").read_text(errors="replace")
    nhunks = count_hunks(expected, result)
    if not way.plans:
        expected, result = without_plans(expected), without_plans(result)
    if kind == "sql":
        script = echoed_lines((base / "test/sql" / f"{name}.sql").read_text())
    else:
        script = step_lines(expected)
    differences = compare(script, expected, result)
    return [d for d in differences if way.plans or not d.is_order], nhunks


def run_tests(cluster: Cluster, base: Path, kind: str, names: list[str], *options: str) -> None:
    """What pg_regress makes of the differences does not matter here.

    Later tests use what earlier ones left, as in postgres_fdw's Makefile.
    """
    command = [*regress_command(kind, cluster.installed, base), *options]
    command += [f"--dbname={DATABASES['regress']}", *names]
    _, output = run_as_server_user(command, cluster.environment(), base, LIMIT_S)
    for name in names:
        if not (base / "results" / f"{name}.out").exists():
            raise TestRunError(f"{name} has no result:\n{output}")


def end_prepared(cluster: Cluster, base: Path) -> None:
    """What postgres_fdw refuses to prepare is prepared, and would keep the database."""
    psql = cluster.installed.program("psql")
    command = [psql, "-Xq", "-d", DATABASES["regress"], "-c", "ROLLBACK PREPARED 'fdw_tpc'"]
    code, output = run_as_server_user(command, cluster.environment(), base, LIMIT_S)
    if code != 0:
        raise TestRunError(f"could not end what is prepared:\n{output}")


def run_scripts(installed: Installed, suite: Suite) -> tuple[int, Path]:
    """Runs the TAP tests over our wrapper; returns how many failed, and where."""
    base = Path(tempfile.mkdtemp(prefix="pg_shuttle_fdw."))
    suite.write_to(base, True)
    failed = 0
    for name in suite.names("t"):
        result = run_tap_script(installed, base, name)
        print(f"   {result.word()} - {name}, {result.elapsed_s:.0f} s", flush=True)
        failed += result.tell().failed
    return failed, base
