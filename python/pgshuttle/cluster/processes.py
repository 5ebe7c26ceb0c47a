"""Starting processes, and ending those that we started and no others.

A process is known by its id and by the time at which it started, because ids
are used again.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgshuttle.base.errors import ExitCode, ToolError

POLL_INTERVAL_S = 0.02
SERVER_USER = "postgres"


@dataclass(frozen=True)
class ProcessId:
    """One process, which no later one with the same id can be mistaken for."""

    pid: int
    started_ticks: int


def read_stat(pid: int) -> tuple[str, int] | None:
    """Returns the state of a process and its start in clock ticks since boot."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def identify(pid: int) -> ProcessId:
    stat = read_stat(pid)
    if stat is None:
        raise ToolError(f"process {pid} has already ended")
    return ProcessId(pid, stat[1])


def list_children(process: ProcessId) -> list[ProcessId]:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        pids = [int(word) for word in path.read_text(encoding="ascii").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    found = []
    for pid in pids:
        stat = read_stat(pid)
        if stat is not None:
            found.append(ProcessId(pid, stat[1]))
    return found


def is_running(process: ProcessId | None) -> bool:
    """Says if exactly this process still runs; a zombie does not."""
    if process is None:
        return False
    stat = read_stat(process.pid)
    return stat is not None and stat[0] not in "ZX" and stat[1] == process.started_ticks


def wait_for_end(process: ProcessId, timeout_s: float) -> bool:
    """Waits until the process has ended; says if it did."""
    deadline = time.monotonic() + timeout_s
    while is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_INTERVAL_S)
    return True


def stop(process: ProcessId | None, signals: Sequence[signal.Signals], timeout_s: float) -> None:
    """Sends one signal after the other until the process has ended.

    timeout_s: how long each signal is given.
    """
    for signal_number in signals:
        if process is None or not is_running(process):
            return
        os.kill(process.pid, signal_number)
        if wait_for_end(process, timeout_s):
            return
    if process is not None and is_running(process):
        raise ToolError(f"process {process.pid} does not end", exit_code=ExitCode.TIMED_OUT)


def server_user() -> str | None:
    """Returns the user that servers run as, or None if that is who we are.

    PostgreSQL refuses to run as root, so root uses the user "postgres".
    """
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(SERVER_USER)
    except KeyError:
        raise ToolError(
            f'there is no user "{SERVER_USER}" to run servers as',
            hint="PostgreSQL refuses to run as root. Add that user, or run this as another user.",
            exit_code=ExitCode.NOT_INSTALLED,
        ) from None
    return SERVER_USER


def give_to_server(path: Path) -> None:
    """Has a file or a directory belong to the user that servers run as."""
    user = server_user()
    if user is not None:
        shutil.chown(path, user)


def run(
    argv: Sequence[object],
    *,
    timeout_s: float,
    as_server_user: bool = False,
    stdin_path: Path = Path(os.devnull),
) -> str:
    """Runs a command to its end and returns what it printed.

    argv: paths and words.
    """
    user = server_user() if as_server_user else None
    if user is not None and shutil.which("runuser") is None:
        raise ToolError('the command "runuser" is missing', exit_code=ExitCode.NOT_INSTALLED)
    prefix = ["runuser", "-u", user, "--"] if user is not None else []
    command = prefix + [str(word) for word in argv]
    try:
        with stdin_path.open("rb") as stdin:
            done = subprocess.run(
                command,
                stdin=stdin,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                cwd="/",
                check=False,
            )
    except FileNotFoundError:
        raise ToolError(f"{argv[0]} does not exist", exit_code=ExitCode.NOT_INSTALLED) from None
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"{Path(str(argv[0])).name} did not end within {timeout_s:g} s",
            exit_code=ExitCode.TIMED_OUT,
        ) from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise ToolError(f"{Path(str(argv[0])).name} failed: {said}")
    return done.stdout
