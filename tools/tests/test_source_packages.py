"""Rules of tools/check_source.py about the packages of the Python tool."""

from pathlib import Path

import pytest
from lib.sourcecheck.packages import (
    MOST_FOLDER_FILES,
    check_packages,
    check_python_test_names,
)


def complaints_of(root: Path, name: str, text: str) -> list[str]:
    path = root / "python/pgshuttle" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return [str(finding) for finding in check_packages(root)]


BAD = [
    ("base/a.py", "from pgshuttle import cluster\n", "pgshuttle.cluster is above base"),
    ("base/a.py", "import pgshuttle.look.target\n", "pgshuttle.look.target is above base"),
    ("look/a.py", "from pgshuttle.bench.measure import time\n", "is above look"),
    (
        "look/a.py",
        "def f():\n    from pgshuttle.demo import page\n",
        "pgshuttle.demo.page is above",
    ),
    ("look/a.py", 'MODULE = "pgshuttle.demo.page"\n', "pgshuttle.demo.page is above look"),
    ("bench/a.py", "from pgshuttle.bench.tpcc import run\n", "is above bench"),
    ("doctor/read/a.py", "from ..check import access\n", "pgshuttle.doctor.check.access is above"),
    ("demo/__init__.py", "from pgshuttle.commands import cli\n", "cli is above demo"),
    ("figures.py", "", "pgshuttle.figures has no place"),
    ("cellar/wine.py", "", "pgshuttle.cellar.wine has no place"),
]

GOOD = [
    ("__main__.py", "from pgshuttle.commands.cli import main\n"),
    ("commands/a.py", "from pgshuttle.bench import measure\nfrom pgshuttle import __version__\n"),
    ("bench/tpcc/a.py", "from pgshuttle.bench import measure\nfrom . import b\n"),
    ("look/a.py", '"""pgshuttle.demo is above"""\nimport os.path\n'),
]


@pytest.mark.parametrize(("name", "text", "expected"), BAD)
def test_bad_packages_are_found(tmp_path: Path, name: str, text: str, expected: str) -> None:
    (found,) = complaints_of(tmp_path, name, text)
    assert expected in found
    assert found.startswith(f"python/pgshuttle/{name}:")


@pytest.mark.parametrize(("name", "text"), GOOD)
def test_good_packages_pass(tmp_path: Path, name: str, text: str) -> None:
    assert complaints_of(tmp_path, name, text) == []


def test_large_packages_are_found(tmp_path: Path) -> None:
    for number in range(MOST_FOLDER_FILES):
        assert complaints_of(tmp_path, f"look/a{number}.py", "") == []
    (found,) = complaints_of(tmp_path, "look/another.py", "")
    assert f"no package has over {MOST_FOLDER_FILES}" in found


def test_first_words_of_tests_are_packages(tmp_path: Path) -> None:
    folder = tmp_path / "python/tests"
    folder.mkdir(parents=True)
    for name in ("test_bench_a.py", "test_runbook.py", "test_look.py", "test_a.py", "helper.py"):
        (folder / name).touch()
    (found,) = check_python_test_names(tmp_path)
    assert "test_a.py" in str(found)
