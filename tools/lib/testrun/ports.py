"""Ports for servers of tests, reserved among all runs of a user.

They are below those that the system gives to outgoing connections, which could take a port
between the moment when it is chosen and the moment when its server listens.
"""

import contextlib
import fcntl
import os
import pwd
import random
import shutil
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TextIO

from lib.testrun.installed import TestRunError, server_user

# Those of PostgreSQL's TAP tests, which reserve them in the same way.
LOWEST, HIGHEST = 10_200, 32_767
NCANDIDATES = 1000


@cache
def port_directory() -> Path:
    """Where scripts of all runs of a user reserve ports: two at a time must not take the same one.

    Another user could not write there.
    """
    user = server_user()
    number = os.geteuid() if user is None else pwd.getpwnam(user).pw_uid
    path = Path(tempfile.gettempdir()) / f"pg_shuttle_test_ports.{number}"
    path.mkdir(exist_ok=True)
    give(path)
    return path


def give(path: Path) -> None:
    user = server_user()
    if user is not None:
        shutil.chown(path, user)


def free_port() -> int:
    """Returns a port that nobody uses and no running process has reserved; it is reserved now."""
    for port in random.sample(range(LOWEST, HIGHEST + 1), NCANDIDATES):
        if can_bind(port) and reserve(port):
            return port
    raise TestRunError(f"no free port from {LOWEST} to {HIGHEST}")


def can_bind(port: int) -> bool:
    """True if a server could listen there, which takes ports whose connections have just ended."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def reserve(port: int) -> bool:
    """Writes our process into the port's file unless it has one that runs."""
    path = port_directory() / f"{port}.rsv"
    with locked(path) as file:
        holder = file.read().strip()
        if holder.isdigit() and Path(f"/proc/{holder}").exists():
            return False
        file.seek(0)
        file.write(f"{os.getpid()}\n")
        file.truncate()
    give(path)
    return True


@contextlib.contextmanager
def locked(path: Path) -> Iterator[TextIO]:
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
