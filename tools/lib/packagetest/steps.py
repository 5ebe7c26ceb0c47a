"""Running commands, and the copy of the tree that packages are made of."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lib.testrun.installed import ROOT

STEP_LIMIT_S = 600.0
TAIL_LINES = 40
LINE_WIDTH = 300


class PackageError(Exception):
    """A package is not as it has to be; the message says what was found."""


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def call(
    command: Sequence[object], *, cwd: Path = Path("/"), env: Mapping[str, str] | None = None
) -> str:
    """Runs a command to its end and returns what it printed; raises if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=STEP_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PackageError(f"{' '.join(words)}: took longer than {STEP_LIMIT_S:g} s") from None
    if done.returncode != 0:
        tail = "\n".join(line[:LINE_WIDTH] for line in done.stdout.splitlines()[-TAIL_LINES:])
        raise PackageError(f"{' '.join(words)} ended with {done.returncode}:\n{tail}")
    return done.stdout


def copy_tree(target: Path) -> Path:
    """Copies the files that belong to the project: what it was built into stays behind."""
    listed = call(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT).splitlines()
    for name in listed:
        source, copy = ROOT / name, target / name
        if not source.exists():
            continue  # removed, and that is not committed yet
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    return target


def list_files(package: Path) -> set[Path]:
    """The files of a Python package and below it, but for compiled ones."""
    found = (path for path in package.rglob("*") if path.is_file())
    return {path.relative_to(package) for path in found if path.parent.name != "__pycache__"}


def check_files(tree: Path, package: Path) -> None:
    """All modules of the tool are in what was installed, and what they read beside them."""
    missing = list_files(tree / "python/pgshuttle") - list_files(package)
    if missing:
        raise PackageError(f"{package} lacks {', '.join(sorted(map(str, missing)))}")
