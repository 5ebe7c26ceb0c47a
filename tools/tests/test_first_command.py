"""What make demo and make test do first, and what CI looks at behind the demo."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import check_demo
import pytest
from lib.testrun.installed import ROOT

ORDINARY_USER = "nobody"


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run_servers(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs tools/servers as an ordinary user, with the programs that are in the directory."""
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    write_program(tmp_path / "sudo", "exit 1")
    # bash reads the script from a pipe: its user may have no way into the tree
    return subprocess.run(
        ["bash", "-s", *words],
        input=(ROOT / "tools/servers").read_text(),
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "SHUTTLE_CACHE": str(tmp_path / "cache")},
        cwd="/",
        user=ORDINARY_USER if os.geteuid() == 0 else None,
        capture_output=True,
        text=True,
        check=False,
    )


BUILT = ("libicu-dev", "bison")  # what only a server that is built needs


@pytest.mark.parametrize(
    ("words", "builds"),
    [(("need", "15"), False), (("need", "18-plain"), True), (("install",), True)],
)
def test_an_ordinary_user_hears_once_of_all_that_is_missing(
    tmp_path: Path, words: tuple[str, ...], *, builds: bool
) -> None:
    """Nothing is installed, and sudo is not had."""
    write_program(tmp_path / "dpkg-query", "exit 1")
    done = run_servers(tmp_path, *words)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    named = lines[0].split("apt-get install ")[1].split()
    assert len(named) == len(set(named))
    assert "as root: apt-get update && apt-get install" in lines[0]
    assert "build-essential" in named
    for package in BUILT:
        assert (package in named) == builds
    if words != ("need", "18-plain"):
        assert any(name.startswith("postgresql-server-dev-") for name in named)


def test_a_server_is_copied_without_the_packages_of_languages(tmp_path: Path) -> None:
    """dpkg-query fails if one of the packages that it is asked for is not installed."""
    if not Path("/usr/include/postgresql/15/server/postgres.h").exists():
        pytest.skip("Debian's PostgreSQL 15 is not installed")
    every = 'case "$*" in *Status*) echo "install ok installed" ;; *) echo some 15; exit 1 ;; esac'
    write_program(tmp_path / "dpkg-query", every)
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    done = run_servers(tmp_path, "install", "15")
    assert (done.returncode, done.stderr.count(" is ready: ")) == (0, 1), done.stderr
    assert (cache / "15/stamp").read_text() == "some 15\n"


@pytest.mark.parametrize("tool", ["servers", "build"])
def test_variables_of_make_stay_out_of_other_builds(tool: str) -> None:
    """PostgreSQL's makefiles generate headers only where MAKELEVEL is 0."""
    unset = re.search(r"^unset .*$", (ROOT / "tools" / tool).read_text(), re.MULTILINE)
    assert unset
    done = subprocess.run(
        ["bash", "-c", f"set -u\n{unset[0]}\nenv"],
        env={"MAKELEVEL": "1", "MAKEFLAGS": "s", "MFLAGS": "-s", "MAKEOVERRIDES": "A=b"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "MAKE" not in done.stdout
    assert "MFLAGS" not in done.stdout


def results(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  (of any part of them)
    claim = {
        "family": "f",
        "detail": "d",
        "unit": "requests",
        "measured": 1,
        "bound": 1,
        "ok": True,
    }
    found = {"claims": [claim] * 50, "complaints": [], "trips": {"same_rows": True}}
    found["parts"] = {part: {} for part in check_demo.PARTS}
    return found | changes


@pytest.fixture
def figure(tmp_path: Path) -> Path:
    path = tmp_path / "demo.png"
    path.write_bytes(check_demo.PNG + bytes(30_000))
    return path


def test_a_demo_as_it_should_be(figure: Path) -> None:
    slow = [
        {"family": "f", "detail": "d", "unit": unit, "measured": 9, "bound": 1, "ok": False}
        for unit in check_demo.TIMES
    ]
    assert list(check_demo.complaints(results(), figure)) == []
    found = results(claims=[*results()["claims"], *slow])
    assert list(check_demo.complaints(found, figure)) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"claims": [results()["claims"][0] | {"ok": False, "measured": 2}] * 50}, "2 requests"),
        ({"claims": []}, "only 0 claims"),
        ({"complaints": ["PANIC: x"]}, "PANIC: x"),
        ({"trips": None}, "the same rows"),
        ({"parts": None}, "no part push_downs"),
        ({"parts": {part: {} for part in check_demo.PARTS[:3]}}, "no part spreading"),
        ({"trips": {"same_rows": False}}, "the same rows"),
    ],
)
def test_a_demo_that_went_wrong(figure: Path, changes: dict[str, Any], expected: str) -> None:
    found = list(check_demo.complaints(results(**changes), figure))
    assert found
    assert expected in found[0]


def test_a_demo_without_its_picture(figure: Path) -> None:
    figure.write_bytes(b"no picture")
    assert "is no picture" in next(check_demo.complaints(results(), figure))
    figure.unlink()
    assert "there is no" in next(check_demo.complaints(results(), figure))
