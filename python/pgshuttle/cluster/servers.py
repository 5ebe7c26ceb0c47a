"""One PostgreSQL server: making it, starting it, stopping it.

A server is for trying and measuring: it listens on the loopback address and
a unix socket only, trusts everyone there, and does not sync to disk.
"""

import contextlib
import random
import re
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import processes
from pgshuttle.cluster.builds import ServerBuild

SUPERUSER = "postgres"
INITDB_TIMEOUT_S = 120
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 30
START_ATTEMPTS = 3
PORTS = range(20_000, 32_768)  # for outgoing connections Linux takes those above
# what a log must not have where all went well
COMPLAINT = re.compile(
    r" (?:WARNING|ERROR|FATAL|PANIC): |could not (?:receive|send)|unexpected EOF"
    r"|terminated by signal|TRAP: "
)


@dataclass(frozen=True)
class Server:
    """A server's place, its port and, if it was started, its process."""

    name: str
    directory: Path
    socket_dir: Path
    port: int
    process: processes.ProcessId | None

    @property
    def data_dir(self) -> Path:
        return self.directory / "data"

    @property
    def log_path(self) -> Path:
        return self.directory / "server.log"


def find_free_ports(count: int) -> list[int]:
    """Ports below those of outgoing connections, which could take one while a server restarts."""
    ports: list[int] = []
    with contextlib.ExitStack() as stack:
        for port in random.sample(PORTS, len(PORTS)):
            if len(ports) == count:
                break
            probe = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                ports.append(port)
    if len(ports) < count:
        raise ToolError("no port is free on 127.0.0.1")
    return ports


def quote_setting(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def make_data_dir(build: ServerBuild, data_dir: Path) -> None:
    processes.run(
        [build.bin_dir / "initdb", "-D", data_dir, "-U", SUPERUSER, "-A", "trust"]
        + ["-E", "UTF8", "--locale=C", "--no-sync"],
        timeout_s=INITDB_TIMEOUT_S,
        as_server_user=True,
    )


def create_server(
    build: ServerBuild,
    name: str,
    cluster_dir: Path,
    socket_dir: Path,
    settings: Mapping[str, str],
) -> Server:
    directory = cluster_dir / name
    (port,) = find_free_ports(1)
    server = Server(name, directory, socket_dir, port, None)
    directory.mkdir(mode=0o755)
    processes.give_to_server(directory)
    make_data_dir(build, server.data_dir)
    fixed = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": str(socket_dir),
        "fsync": "off",
        "max_prepared_transactions": "100",
        "log_line_prefix": "%m [%p] %q%a ",
    }
    with (server.data_dir / "postgresql.conf").open("a", encoding="utf-8") as conf:
        for key, value in {**fixed, **settings}.items():
            conf.write(f"{key} = {quote_setting(value)}\n")
    return server


def ask_for_password(server: Server, user: str) -> None:
    """Has a server that does not run yet ask a role for its password, over TCP."""
    path = server.data_dir / "pg_hba.conf"
    rest = path.read_text(encoding="utf-8")
    path.write_text(f"host all {user} 127.0.0.1/32 scram-sha-256\n{rest}", encoding="utf-8")


def read_log_end(server: Server, nlines: int) -> str:
    if not server.log_path.exists():
        return ""
    lines = server.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-nlines:])


def read_complaints(server: Server) -> list[str]:
    if not server.log_path.exists():
        return []
    lines = server.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [f"{server.name}: {line}" for line in lines if COMPLAINT.search(line)]


def stop_unknown(build: ServerBuild, server: Server) -> None:
    """Stops a server whose start was interrupted, if it came so far."""
    with contextlib.suppress(ToolError):
        processes.run(
            [build.bin_dir / "pg_ctl", "stop", "-m", "immediate", "-D", server.data_dir],
            timeout_s=STOP_TIMEOUT_S,
            as_server_user=True,
        )


def start_server(build: ServerBuild, server: Server) -> Server:
    """Starts a server, on another port if someone has taken its own."""
    for attempt in range(START_ATTEMPTS):
        if attempt > 0:
            server = replace(server, port=find_free_ports(1)[0])
        try:
            processes.run(
                [build.bin_dir / "pg_ctl", "start", "-w", "-t", str(START_TIMEOUT_S)]
                + ["-D", server.data_dir, "-l", server.log_path, "-o", f"-p {server.port}"],
                timeout_s=START_TIMEOUT_S + 10,
                as_server_user=True,
            )
        except ToolError as error:
            said = read_log_end(server, 15)
            if "Address already in use" not in said or attempt == START_ATTEMPTS - 1:
                raise ToolError(
                    f"server {server.name} does not start: {said or error.message}",
                    hint=f"Its log is {server.log_path}.",
                ) from None
        except BaseException:  # interrupted: nobody would know the new process
            stop_unknown(build, server)
            raise
        else:
            pid = (server.data_dir / "postmaster.pid").read_text().split("\n", 1)[0]
            return replace(server, process=processes.identify(int(pid)))
    raise ToolError(f"server {server.name} does not start", exit_code=ExitCode.FAILED)


def stop_server(server: Server) -> None:
    """Stops a server: quickly and in order; if that takes too long, at once."""
    processes.stop(server.process, [signal.SIGINT, signal.SIGQUIT], STOP_TIMEOUT_S)
