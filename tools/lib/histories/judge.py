"""An independent checker: the crate adya, which reads the same files."""

import os
import shutil
import subprocess
from pathlib import Path

from lib.testrun.installed import TestRunError

VERSION = "0.1.0"
BUILD_LIMIT_S = 900
JUDGE_LIMIT_S = 600
VALID, ANOMALIES = 0, 1


def cache() -> Path:
    return Path(os.environ.get("SHUTTLE_CACHE") or Path.home() / ".cache/pg_shuttle")


def find(*, build: bool) -> Path | None:
    """The program; built where cargo can be had. None: there is none."""
    root = cache() / f"adya-{VERSION}"
    program = root / "bin/adya"
    cargo = shutil.which("cargo")
    if program.exists() or not build or cargo is None:
        return program if program.exists() else None
    command = [cargo, "install", "adya", "--version", VERSION, "--locked"]
    command += ["--no-default-features", "--quiet", "--root", str(root)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=BUILD_LIMIT_S, check=False)
    return program if done.returncode == 0 else None


def is_valid(program: Path, history: Path, model: str) -> bool:
    """False: it found what the model forbids."""
    command = [str(program), "check", "-m", "list-append", "-c", model, str(history)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=JUDGE_LIMIT_S, check=False
    )
    if done.returncode not in (VALID, ANOMALIES):
        raise TestRunError(f"adya, {history}: {done.stdout}{done.stderr}")
    return done.returncode == VALID
