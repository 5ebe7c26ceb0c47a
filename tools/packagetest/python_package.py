"""The Python package as pip installs it: not from the tree, and without it."""

from __future__ import annotations

import os
from pathlib import Path

from testrun.installed import ROOT, run_tool

from packagetest.steps import PackageError, call

# As pip leaves it: nothing of the tree is there but what the package brought.
TRY = """
import sys
from pathlib import Path
import pgshuttle
from pgshuttle import proxy
assert Path(pgshuttle.__file__).is_relative_to(sys.argv[1]), pgshuttle.__file__
program = proxy.compile_proxy(Path(sys.argv[1]))
assert program.exists()
"""


def test(tree: Path, target: Path) -> None:
    """Installs it without what it needs, which the project's own environment has."""
    run_tool("venv")
    python = ROOT / ".venv/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call([*install, "--no-deps", "--target", target, tree / "python"])
    env = {"PYTHONPATH": str(target), "PATH": os.environ.get("PATH", "/usr/bin:/bin")}
    env.pop("PGSHUTTLE_DELAY_PROXY", None)
    call([python, "-c", TRY, target], env=env)
    version = call([tree / "tools/version"]).strip()
    printed = call([python, target / "bin/pgshuttle", "--version"], env=env).strip()
    if printed != f"pgshuttle {version}":
        raise PackageError(f"pgshuttle --version prints {printed!r}, not {version}")
    help_text = call([python, target / "bin/pgshuttle", "--help"], env=env)
    for command in ("up", "doctor", "explain", "top", "report"):
        if f" {command} " not in help_text:
            raise PackageError(f"pgshuttle --help does not name {command}:\n{help_text}")
