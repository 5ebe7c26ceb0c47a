"""The suites: where their sources come from, how they run, how each test ended."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from lib.applicationsuites.places import Place, Places
from lib.testrun.cluster import run_with_limit
from lib.testrun.installed import ROOT, TestRunError

PYTHON = ROOT / ".venv/bin/python"
USUAL_CACHE = "/var/cache/pg_shuttle" if os.geteuid() == 0 else "~/.cache/pg_shuttle"
CACHE = Path(os.environ.get("SHUTTLE_CACHE") or USUAL_CACHE).expanduser()
LIMIT_S = 1800.0
# A new release must not turn CI red.
VERSIONS = {"sqlalchemy": "2.1.9", "django": "5.2.19"}
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class End:
    """How a test ended, and with which error."""

    word: str
    error: str = ""


Ends = dict[str, End]  # by the test's name


def fetch_source(suite: str) -> Path:
    """Unpacks the source package, in which the tests are."""
    name = f"{suite}-{VERSIONS[suite]}"
    suites = CACHE / "suites"
    if not (suites / name).exists():
        suites.mkdir(parents=True, exist_ok=True)
        # ":all:" would have pip compile what the package is built with, for many minutes
        download = ["download", "-q", "--no-deps", "--no-binary", suite, "-d", str(suites)]
        run([str(PYTHON), "-m", "pip", *download, f"{suite}=={VERSIONS[suite]}"])
        run(["tar", "-xzf", str(suites / f"{name}.tar.gz"), "-C", str(suites)])
    return suites / name


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TestRunError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def run_sqlalchemy(places: Places, place: Place, base: Path, chosen: list[str]) -> Ends:
    """The tests that SQLAlchemy has for dialects."""
    database = "sqlalchemy_alone" if place is places.alone else "sqlalchemy"
    places.make_database(place, database)
    place.execute(database, "CREATE SCHEMA test_schema", "CREATE SCHEMA test_schema_2")
    found = base / "sqlalchemy.xml"
    host = f"host={place.cluster.socket_dir}&port={place.cluster.port}"
    user = place.environment()["PGUSER"]
    command = [str(PYTHON), "-m", "pytest", "-q", "-c", "pyproject.toml", "--maxfail=10000"]
    command += ["test/dialect/test_suite.py", f"--junitxml={found}", "-p", "no:logging"]
    command += ["--dburi", f"postgresql+psycopg://{user}@/{database}?{host}"]
    command += ["-k", " or ".join(chosen)]
    run_suite(command, place, fetch_source("sqlalchemy"), found)
    return {name_of(case): end_of(case) for case in ElementTree.parse(found).iter("testcase")}


def name_of(case: ElementTree.Element) -> str:
    """Class and test: the class has the database's version in its name."""
    of_class = case.get("classname", "").rsplit(".", 1)[-1].split("_postgresql+", 1)[0]
    return f"{of_class}.{case.get('name')}"


def end_of(case: ElementTree.Element) -> End:
    for part in case:
        if part.tag in ("failure", "error"):
            return End(FAILED, f"{part.get('message')}\n{part.text}")
        if part.tag == "skipped":
            return End(SKIPPED)
    return End(PASSED)


def run_django(_places: Places, place: Place, base: Path, chosen: list[str]) -> Ends:
    """Django makes its databases itself, in which nodes follow."""
    found = base / "django.json"
    tree = fetch_source("django")
    command = [str(PYTHON), "-W", "ignore", "runtests.py", "--settings=django_settings"]
    command += ["--noinput", "--parallel=1", *chosen]
    run_suite(command, place, tree / "tests", found, tree)
    ends: dict[str, list[str]] = json.loads(found.read_text())
    return {test: End(*end) for test, end in ends.items()}


def run_suite(
    command: list[str], place: Place, directory: Path, found: Path, *modules: Path
) -> None:
    """Tests may fail, but what they came to must be there."""
    found.unlink(missing_ok=True)
    paths = ":".join(str(path) for path in (Path(__file__).parent, *modules))
    settings = {"SUITE_RESULT": str(found), "PYTHONPATH": paths}
    _, output = run_with_limit(
        command, place.environment() | settings, directory, LIMIT_S, lambda _line: None
    )
    if not found.exists():
        raise TestRunError(f"a suite did not end:\n{output[-3000:]}")


SUITES = {"sqlalchemy": run_sqlalchemy, "django": run_django}
