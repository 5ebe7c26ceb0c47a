"""A copy of an installed server for one build of the extension alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from testrun.installed import ROOT, Installed, TestRunError

SOURCES = ("Makefile", "pg_shuttle.control", "src", "sql")
BUILT = shutil.ignore_patterns("*.o", "*.so", "*.bc")
LIMIT_S = 900


@contextlib.contextmanager
def private_copy(installed: Installed) -> Iterator[tuple[Installed, Path]]:
    """The server without the extension, and a copy of the tree; both go at the end."""
    prefix = installed.bindir.parent
    if not (prefix / "stamp").exists():
        raise TestRunError(f"{installed.name} cannot be copied; take one that tools/servers built")
    directory = Path(tempfile.mkdtemp(prefix="pg_shuttle_private."))
    try:
        directory.chmod(0o755)
        copy = directory / "server"
        shutil.copytree(prefix, copy, symlinks=True, copy_function=link_or_copy)
        for old in copy.rglob("pg_shuttle*"):
            if not old.is_dir():
                old.unlink()
        tree = directory / "tree"
        copy_tree(tree)
        pgxs = copy / installed.pgxs_dir.relative_to(prefix)
        yield Installed(installed.name, copy / "bin", pgxs), tree
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def copy_tree(tree: Path) -> None:
    tree.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=BUILT)
        else:
            shutil.copy2(source, tree / name)


def build(installed: Installed, tree: Path) -> None:
    """Compiles a tree and installs it into a copy of a server; again where it changed."""
    command = ["make", "-s", f"-j{os.cpu_count()}", f"PG_CONFIG={installed.program('pg_config')}"]
    done = subprocess.run(
        [*command, "with_llvm=no", "install"],
        cwd=tree,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise TestRunError(f"the copy of the tree does not build:\n{done.stdout[-3000:]}")
