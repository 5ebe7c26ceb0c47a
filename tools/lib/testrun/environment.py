"""The Python environment of the project, which has what Debian's Python may lack."""

import importlib.util
import os
import sys

from lib.testrun.installed import ROOT, run_tool


def has_package(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def go_on_in_venv() -> None:
    """Starts this program anew in .venv."""
    run_tool("venv")
    python = str(ROOT / ".venv/bin/python")
    os.execv(python, [python, *sys.argv])
