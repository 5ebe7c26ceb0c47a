"""There is one version, and META.json is one that PGXN takes."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
TERM = re.compile(r"[^\s/\\\x00-\x1f]{2,}")
RANGE = re.compile(r"(([=!]=|[<>]=?)\s*)?" + SEMVER.pattern)
LICENSES = {"postgresql", "apache_2_0", "bsd", "mit", "gpl_2", "gpl_3"}
STATUSES = {"stable", "testing", "unstable"}
REQUIRED = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}
PHASES = {"configure", "build", "test", "runtime", "develop"}
USAGE = 2
LONGEST_TAG = 255
RELATIONS = {"requires", "recommends", "suggests", "conflicts"}


def run_version(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "tools/version"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_meta() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "META.json").read_text())
    return found


def test_every_place_has_the_version_of_the_control_file() -> None:
    done = run_version("check")
    assert done.returncode == 0, done.stdout


def test_a_version_is_checked_before_anything_is_written() -> None:
    assert run_version("1.0").returncode == USAGE
    assert run_version(run_version().stdout.strip()).returncode == USAGE


def test_meta_has_what_the_specification_requires() -> None:
    meta = read_meta()
    assert set(meta) >= REQUIRED
    assert TERM.fullmatch(meta["name"])
    assert SEMVER.fullmatch(meta["version"])
    assert meta["license"] in LICENSES
    assert meta["release_status"] in STATUSES
    assert meta["meta-spec"]["version"] == "1.0.0"
    assert all(1 <= len(tag) <= LONGEST_TAG and "/" not in tag for tag in meta["tags"])


def test_meta_provides_files_that_are_here() -> None:
    meta = read_meta()
    assert meta["name"] in meta["provides"]
    for entry in meta["provides"].values():
        assert SEMVER.fullmatch(entry["version"])
        assert (ROOT / entry["file"]).is_file()
        assert (ROOT / entry["docfile"]).is_file()


def test_meta_prerequisites_are_ranges() -> None:
    for phase, relations in read_meta()["prereqs"].items():
        assert phase in PHASES
        for relation, needs in relations.items():
            assert relation in RELATIONS
            assert all(need == 0 or RANGE.fullmatch(need) for need in needs.values())


def test_packages_are_made_of_the_same_text() -> None:
    """debian/control is debian/control.in for one version of PostgreSQL."""
    control = (ROOT / "debian/control").read_text()
    found = re.search(r"^Package: postgresql-(\d+)-shuttle$", control, re.MULTILINE)
    assert found
    template = (ROOT / "debian/control.in").read_text()
    assert template.replace("PGVERSION", found[1]) == control


def test_each_option_says_what_it_is_for() -> None:
    page = (ROOT / "debian/pgshuttle.1").read_text()
    assert "None" not in page
    assert '.SS "pgshuttle bench transfer"' in page
