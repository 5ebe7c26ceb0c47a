"""The lists of servers in our tools agree with that of tools/servers."""

import re
from pathlib import Path

import pytest
from testrun.installed import TESTED_TOGETHER

ROOT = Path(__file__).resolve().parents[2]
LISTS = (
    ("tools/run_tests", "SERVERS"),
    ("tools/postgres_fdw_tests", "SERVERS"),
    ("tools/randomqueries/command.py", "SERVERS"),
    ("python/pgshuttle/builds.py", "KNOWN_BUILDS"),
)
DEFAULTS = (
    ("tools/run_tests", r"^DEFAULT_SERVERS = \(([^)]*)\)"),
    ("tools/postgres_fdw_tests", r"^DEFAULT_SERVERS = \(([^)]*)\)"),
    ("tools/lint", r"^readonly SERVERS=\(([^)]*)\)"),
    ("tools/servers", r"set -- ([\d ]+)$"),
)


def names(path: str, pattern: str) -> list[str]:
    found = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
    assert found is not None, path
    return re.findall(r"[\w-]+", found.group(1))


@pytest.mark.parametrize(("path", "name"), LISTS)
def test_tools_know_no_server_that_cannot_be_installed(path: str, name: str) -> None:
    known = names("tools/servers", r"^readonly SERVERS=\(([^)]*)\)")
    assert set(names(path, rf"^{name} = \(([^)]*)\)")) <= set(known)


@pytest.mark.parametrize(("path", "pattern"), DEFAULTS)
def test_the_tested_servers_are_the_same_everywhere(path: str, pattern: str) -> None:
    assert names(path, pattern) == list(TESTED_TOGETHER)


def test_the_doctor_knows_the_builds_that_are_looked_for() -> None:
    builds = names("python/pgshuttle/builds.py", r"^KNOWN_BUILDS = \(([^)]*)\)")
    majors = {int(name.split("-")[0]) for name in builds}
    oldest, newest = (
        int(names("python/pgshuttle/doctor.py", rf"^{word}_MAJOR = (\d+)")[0])
        for word in ("OLDEST", "NEWEST")
    )
    assert majors == set(range(oldest, newest + 1))
