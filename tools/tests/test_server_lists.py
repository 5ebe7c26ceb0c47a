"""The lists of servers in our tools agree with that of tools/servers."""

import re
from pathlib import Path

import pytest
from testrun.installed import SERVERS, TESTED_TOGETHER

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = (
    ("tools/lint", r"^readonly SERVERS=\(([^)]*)\)"),
    ("tools/servers", r"set -- ([\d ]+)$"),
)


def names(path: str, pattern: str) -> list[str]:
    found = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
    assert found is not None, path
    return re.findall(r"[\w-]+", found.group(1))


def test_tools_know_no_server_that_cannot_be_installed() -> None:
    known = names("tools/servers", r"^readonly SERVERS=\(([^)]*)\)")
    builds = names("python/pgshuttle/builds.py", r"^KNOWN_BUILDS = \(([^)]*)\)")
    assert {*SERVERS, *builds} <= set(known)


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
