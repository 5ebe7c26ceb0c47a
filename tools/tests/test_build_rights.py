"""tools/build as a user who may not write to the server: no compiling in vain."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.testrun.installed import ROOT

NOBODY = 65534
BUILD = """
import os, sys
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({nobody})
    os.setuid({nobody})
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def tree() -> Iterator[Path]:
    """A tree that an ordinary user reads, and a server of somebody else."""
    path = Path(tempfile.mkdtemp(prefix="pg_shuttle_rights."))
    path.chmod(0o755)
    (path / "tools").mkdir()
    for name in ("build", "servers"):
        shutil.copy(ROOT / "tools" / name, path / "tools" / name)
    for name in ("src/a.c", "sql/a.sql", "Makefile", "pg_shuttle.control"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("this is never compiled")
    library = path / "cache/18-checked/lib"
    library.mkdir(parents=True)
    (path / "cache/18-checked/bin").mkdir()
    config = path / "cache/18-checked/bin/pg_config"
    config.write_text(f"#!/bin/sh\necho {library}\n")
    config.chmod(0o755)
    library.chmod(0o555)
    yield path
    library.chmod(0o755)
    shutil.rmtree(path)


def build(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BUILD.format(nobody=NOBODY), str(tree / "tools/build"), "18"]
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "SHUTTLE_CACHE": str(tree / "cache")}
    return subprocess.run(
        command, env=env, cwd=tree, capture_output=True, text=True, check=False, timeout=60
    )


def test_nothing_is_compiled_that_cannot_be_installed(tree: Path) -> None:
    ended = build(tree)
    assert ended.returncode == 1
    assert "belongs to" in ended.stderr
    assert "SHUTTLE_CACHE" in ended.stderr
    assert not (tree / "build").exists()
    assert "cannot" not in ended.stderr


def test_what_an_administrator_installed_is_used(tree: Path) -> None:
    library = tree / "cache/18-checked/lib"
    library.chmod(0o755)
    (library / "pg_shuttle.so").touch()
    library.chmod(0o555)
    later = (tree / "src/a.c").stat().st_mtime + 10
    os.utime(library / "pg_shuttle.so", (later, later))
    ended = build(tree)
    assert (ended.returncode, ended.stderr) == (0, "")
    os.utime(tree / "src/a.c", (later + 10, later + 10))
    assert build(tree).returncode == 1


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("destination", "code"), [("", 2), ("/elsewhere", 0)])
def test_a_packaged_library_is_not_replaced(tmp_path: Path, destination: str, code: int) -> None:
    """make install stops where dpkg owns the file; a build of packages installs elsewhere."""
    makefile = tmp_path / "pgxs.mk"
    makefile.write_text("all install:\npkglibdir = /server/lib\nDLSUFFIX = .so\n")
    owner = 'test "$2" = /server/lib/pg_shuttle.so && echo "a-package: $2"'
    write_program(tmp_path / "pg_config", f"echo {makefile}")
    write_program(tmp_path / "dpkg-query", owner)
    command = [
        "make",
        "-f",
        str(ROOT / "Makefile"),
        "PG_CONFIG=./pg_config",
        f"DESTDIR={destination}",
    ]
    ended = subprocess.run(
        [*command, "install"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    assert ("apt-get remove a-package" in ended.stderr) == (code != 0)


def test_no_bitcode_is_made(tmp_path: Path) -> None:
    """A server built with LLVM would have each file compiled twice."""
    config = Path("/usr/lib/postgresql/15/bin/pg_config")
    if not Path("/usr/lib/postgresql/15/lib/pgxs/src/makefiles/pgxs.mk").exists():
        pytest.skip("Debian's postgresql-server-dev-15 is not installed")
    for name in ("Makefile", "pg_shuttle.control", "src/shuttle.c", "sql/pg_shuttle.sql"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = ["make", "-n", f"PG_CONFIG={config}", "all"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "-c -o src/shuttle.o" in ended.stdout
    assert "-emit-llvm" not in ended.stdout
