"""Drivers and ORMs of applications, each with its program in test/applications.

What is not installed is skipped; tools/drivers gets it.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import small_cluster

from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster

PROGRAMS = Path(__file__).parents[2] / "test/applications"
LIMIT_S = 120
USUAL_CACHE = "/var/cache/pg_shuttle" if os.geteuid() == 0 else "~/.cache/pg_shuttle"
# read here, since the tests get another cache
DRIVERS = Path(os.environ.get("SHUTTLE_CACHE") or USUAL_CACHE).expanduser() / "drivers"

running = small_cluster(2)


@pytest.fixture
def dsn(running: Cluster) -> str:
    """Where the tables are, as they are made."""
    with catalog.connect(running.query) as query:
        query.execute("DROP SCHEMA IF EXISTS app CASCADE")
        query.execute("SELECT shuttle.run_on_nodes('DROP TABLE IF EXISTS public.item')")
        for statement in (PROGRAMS / "schema.sql").read_text().split(";\n"):
            query.execute(statement.encode())
        (user,) = query.execute("SELECT current_user").fetchone() or ("",)
    place = f"127.0.0.1:{running.query.port}/{catalog.DATABASE}"
    return f"postgresql://{user}@{place}?options=-c%20search_path%3Dapp"


def python(module: str) -> Callable[[], list[str]]:
    """The command of a Python program."""

    def find() -> list[str]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
        return [sys.executable, str(PROGRAMS / f"{module}_program.py")]

    return find


def installed(program: str, driver: str, *command: str) -> Callable[[], list[str]]:
    """The command of a program in another language, with its driver by tools/drivers."""

    def find() -> list[str]:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
        if not list(DRIVERS.glob(driver)):
            pytest.skip(f"no driver in {DRIVERS}; tools/drivers gets it")
        return [word.format(drivers=DRIVERS, programs=PROGRAMS) for word in command]

    return find


DRIVER_COMMANDS = {
    "psycopg": python("psycopg"),
    "asyncpg": python("asyncpg"),
    "sqlalchemy": python("sqlalchemy"),
    "django": python("django"),
    "node_postgres": installed(
        "node", "node/node_modules/pg", "node", "{programs}/node_postgres_program.js"
    ),
    "pgjdbc": installed(
        "java", "java/postgresql*.jar", "java", "-cp", "{drivers}/java/*",
        "{programs}/PgjdbcProgram.java",
    ),
    "pgx": installed(
        "go", "go/go.sum", "go", "-C", "{drivers}/go", "run", "{programs}/pgx_program.go"
    ),
}  # fmt: skip


@pytest.mark.parametrize("driver", DRIVER_COMMANDS)
def test_a_driver_works(driver: str, dsn: str) -> None:
    ended = subprocess.run(
        DRIVER_COMMANDS[driver](),
        env=os.environ | {"DSN": dsn, "NODE_PATH": str(DRIVERS / "node/node_modules")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout.split()[-1:]) == (0, ["ok"]), ended.stdout + ended.stderr
