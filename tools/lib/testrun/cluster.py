"""A temporary server with the extension preloaded."""

import contextlib
import os
import pwd
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lib.testrun.installed import Installed, TestRunError, server_user
from lib.testrun.ports import free_port

START_LIMIT_S = 60.0
SLOW_START_LIMIT_S = 300.0
STOP_LIMIT_S = 20.0
START_ATTEMPTS = 3  # somebody who does not reserve ports may be faster
PORT_TAKEN = "Address already in use"
NONE: Mapping[str, str] = MappingProxyType({})
NOTHING: Sequence[str] = ()

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{socket_dir}'
shared_preload_libraries = 'pg_shuttle'
max_prepared_transactions = 20
shuttle.recovery_interval = 0
shuttle.statistics_interval = 0
fsync = off
log_line_prefix = '%m [%p] %q%a '
log_statement = 'none'
shuttle.debug_prove_texts = on
"""


@dataclass(frozen=True)
class Cluster:
    """A running server: where it listens and where it logs."""

    installed: Installed
    port: int
    socket_dir: Path
    log: Path

    def environment(self) -> dict[str, str]:
        """What a client has to have in its environment to reach this server."""
        env = clean_environment(self.installed)
        env.update(PGHOST=str(self.socket_dir), PGPORT=str(self.port))
        env["PGUSER"] = server_user() or pwd.getpwuid(os.geteuid()).pw_name
        return env


def clean_environment(installed: Installed) -> dict[str, str]:
    """The caller's environment without libpq's variables and its language."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_", "LANG"))}
    env["PATH"] = f"{installed.bindir}:{env.get('PATH', '/usr/bin:/bin')}"
    env["LC_ALL"] = "C"
    return env


def sanitizer_environment(installed: Installed) -> dict[str, str]:
    """What a server needs that loads a library built with sanitizers.

    Leaks are not looked for: a server leaves its memory to the end of the process.
    """
    if not installed.name.endswith("-sanitize"):
        return {}
    command = ["gcc", "-print-file-name=libasan.so"]
    library = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {
        "LD_PRELOAD": library.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
    }


def as_server_user() -> dict[str, Any]:
    """Arguments of subprocess calls that drop root's rights."""
    user = server_user()
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    groups = os.getgrouplist(user, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}


def run_as_server_user(
    command: Sequence[str],
    env: dict[str, str],
    cwd: Path,
    limit_s: float,
    on_line: Callable[[str], None] = lambda _line: None,
) -> tuple[int, str]:
    """The same as run_with_limit, without root's rights."""
    return run_with_limit(command, env, cwd, limit_s, on_line, **as_server_user())


RUNNING: set[subprocess.Popen[str]] = set()  # by any thread


def end_all(number: int, _frame: object) -> None:
    """A signal's handler: threads that wait for a program would keep us from ending."""
    for process in tuple(RUNNING):
        kill_session(process)
    sys.exit(128 + number)


def run_with_limit(
    command: Sequence[str],
    env: dict[str, str],
    cwd: Path,
    limit_s: float,
    on_line: Callable[[str], None],
    **options: Any,  # noqa: ANN401  (of Popen)
) -> tuple[int, str]:
    """Returns exit code and output; a run over its limit is ended and has failed.

    on_line gets each line of the output as it comes.
    """
    with subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        **options,
    ) as process:
        code, output, late = read_to_end(process, limit_s, on_line)
    if late:
        return 124, f"{output}\nended: it took longer than {limit_s:.0f} s\n"
    return code, output


def read_to_end(
    process: subprocess.Popen[str], limit_s: float, on_line: Callable[[str], None]
) -> tuple[int, str, bool]:
    """Returns exit code, output, and whether the limit ended it."""
    timer = threading.Timer(limit_s, kill_session, [process])
    timer.start()
    RUNNING.add(process)
    lines = []
    try:
        for line in process.stdout or ():
            lines.append(line)
            on_line(line)
        code = process.wait()
    finally:
        late = not timer.is_alive()
        timer.cancel()
        RUNNING.discard(process)
        if process.poll() is None:
            kill_session(process)
    return code, "".join(lines), late


def kill_session(process: subprocess.Popen[str]) -> None:
    """Ends what the process has started, too: it may hold the output open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def initialize(installed: Installed, data: Path) -> None:
    """Makes a data directory.

    Without JIT, which not all servers have: it would compile each query of large tables without
    statistics, also where a test turns it off for its session, on connections to nodes. Without
    workers of autovacuum: their statistics change plans at any time, and one that listed a table
    just before distribute_table() made it a partitioned one fails an assertion of core, which
    has no such change (extract_autovac_opts(); without assertions it passes the table over). They
    are not switched off: then CREATE INDEX would set no statistics on 18.
    """
    command = [installed.program("initdb"), "-A", "trust", "-N", "--no-locale", "-E", "UTF8"]
    code, output = run_as_server_user(
        [*command, "-D", str(data)], clean_environment(installed), data.parent, START_LIMIT_S
    )
    if code != 0:
        raise TestRunError(f"initdb failed:\n{output}")
    with (data / "postgresql.conf").open("a") as conf:
        conf.write("jit = off\nautovacuum_naptime = 1d\n")


def make_data_directory(installed: Installed, base: Path, settings: str) -> Path:
    data = base / "data"
    initialize(installed, data)
    with (data / "postgresql.conf").open("a") as conf:
        conf.write(SETTINGS.format(socket_dir=base) + settings)
    return data


@contextlib.contextmanager
def temporary_cluster(
    installed: Installed,
    base: Path,
    settings: str = "",
    variables: Mapping[str, str] = NONE,
    under: Sequence[str] = NOTHING,
) -> Iterator[Cluster]:
    """Starts a server below base, which must exist, and stops it at the end.

    settings go behind ours in its configuration, variables into its environment;
    under is a program, with its options, that runs the server. A server whose port somebody
    has taken meanwhile is started again on another one.
    """
    data = make_data_directory(installed, base, settings)
    env = clean_environment(installed) | sanitizer_environment(installed) | dict(variables)
    command = [*under, installed.program("postgres"), "-D", str(data)]
    limit_s = SLOW_START_LIMIT_S if under else START_LIMIT_S
    for attempt in range(1, START_ATTEMPTS + 1):
        cluster = Cluster(installed, free_port(), base, base / "server.log")
        process = start([*command, "-p", str(cluster.port)], env, cluster)
        try:
            if wait_until_ready(cluster, process, limit_s):
                yield cluster
                return
        finally:
            stop(process)
        log = cluster.log.read_text(errors="replace")
        if attempt == START_ATTEMPTS or PORT_TAKEN not in log:
            raise TestRunError(f"server {installed.name} did not start:\n{log[-3000:]}")


def start(command: Sequence[str], env: dict[str, str], cluster: Cluster) -> subprocess.Popen[bytes]:
    with cluster.log.open("wb") as log:
        return subprocess.Popen(
            command,
            env=env,
            cwd=cluster.socket_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **as_server_user(),
        )


def wait_until_ready(cluster: Cluster, process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Returns False if the server ended, or was not ready within the limit."""
    command = [cluster.installed.program("pg_isready"), "-q", "-t", "5"]
    deadline = time.monotonic() + limit_s
    while process.poll() is None and time.monotonic() < deadline:
        if subprocess.run(command, env=cluster.environment(), check=False).returncode == 0:
            return True
        time.sleep(0.05)
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """Asks nicely first: a server that ends by itself has nothing in its way."""
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT_S if how != signal.SIGKILL else None)
