"""The lists of servers in our tools agree with that of tools/servers."""

import re
from pathlib import Path

from lib.testrun.installed import SERVERS, release_server

ROOT = Path(__file__).resolve().parents[2]


def names(path: str, pattern: str) -> list[str]:
    found = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
    assert found is not None, path
    return re.findall(r"[\w-]+", found.group(1))


def test_tools_know_no_server_that_cannot_be_installed() -> None:
    known = names("tools/servers", r"^readonly SERVERS=\(([^)]*)\)")
    builds = names("python/pgshuttle/cluster/builds.py", r"^KNOWN_BUILDS = \(([^)]*)\)")
    assert {*SERVERS, *builds} <= set(known)


def test_the_release_has_a_server_that_can_be_installed() -> None:
    assert release_server() in names("tools/servers", r"^readonly SERVERS=\(([^)]*)\)")


def test_the_doctor_knows_the_builds_that_are_looked_for() -> None:
    builds = names("python/pgshuttle/cluster/builds.py", r"^KNOWN_BUILDS = \(([^)]*)\)")
    majors = {int(name.split("-")[0]) for name in builds}
    oldest, newest = (
        int(names("python/pgshuttle/doctor/check/query_node.py", rf"^{word}_MAJOR = (\d+)")[0])
        for word in ("OLDEST", "NEWEST")
    )
    assert majors == set(range(oldest, newest + 1))
