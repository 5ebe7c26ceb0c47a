"""The delay proxy: compiling it, starting it and talking to it."""

import hashlib
import json
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import paths, processes

ANSWER_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Proxy:
    """A proxy that was started: where clients connect, and where it takes commands."""

    port: int
    control_path: Path
    process: processes.ProcessId


# C files, which compile_proxy() compiles when a proxy is first wanted
SOURCE_DIR = Path(__file__).parent / "delay_proxy"


@dataclass(frozen=True)
class ProxyCounts:
    round_trips: int
    sent_bytes: int
    received_bytes: int
    sent_pieces: int
    received_pieces: int


@dataclass(frozen=True)
class ProxyStats:
    """What a proxy tells about itself. Sent is from the client to the server."""

    rtt_us: int
    connections_opened: int
    connections_open: int
    total: ProxyCounts


def compile_proxy(directory: Path | None = None) -> Path:
    """Returns the proxy's program; it is compiled if its source is new."""
    named = os.environ.get("PGSHUTTLE_DELAY_PROXY")
    if named:
        return Path(named)
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        raise ToolError(
            "there is no C compiler (cc), which the delay proxy needs",
            hint="Install one (Debian: apt-get install gcc libc6-dev), "
            "or name a compiled proxy in PGSHUTTLE_DELAY_PROXY.",
            exit_code=ExitCode.NOT_INSTALLED,
        )
    sources = sorted(SOURCE_DIR.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    program = (directory or paths.cache_dir()) / f"delay_proxy-{digest}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        # made aside, so that nobody runs half a program
        half = program.with_suffix(f".{os.getpid()}")
        files = [path for path in sources if path.suffix == ".c"]
        processes.run([compiler, "-O2", "-Wall", "-o", half, *files], timeout_s=120)
        half.rename(program)
    return program


def start_proxy(
    program: Path, *, target: str, control_path: Path, rtt_us: int, port: int = 0
) -> Proxy:
    """Starts a proxy that goes on after we have ended.

    port: 0 lets the kernel choose. target: host:port or the path of a socket.
    """
    words = processes.run(
        [program, "--daemon", "--listen", str(port), "--target", target]
        + ["--control", str(control_path), "--rtt-us", str(rtt_us)],
        timeout_s=10,
    ).split()
    return Proxy(int(words[1]), control_path, processes.identify(int(words[3])))


def stop_proxy(proxy: Proxy) -> None:
    """Ends a proxy and with it all its connections."""
    processes.stop(proxy.process, [signal.SIGTERM, signal.SIGKILL], STOP_TIMEOUT_S)
    proxy.control_path.unlink(missing_ok=True)


class ProxyControl:
    """A conversation with a proxy. Each command returns when it is in force."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""

    def command(self, line: str) -> str:
        try:
            self._connection.sendall(line.encode() + b"\n")
            while b"\n" not in self._unread:
                received = self._connection.recv(65536)
                if not received:
                    raise ToolError("the delay proxy has ended", exit_code=ExitCode.NOT_RUNNING)
                self._unread += received
        except TimeoutError:
            raise ToolError(
                "the delay proxy does not answer", exit_code=ExitCode.TIMED_OUT
            ) from None
        except (BrokenPipeError, ConnectionResetError):
            raise ToolError("the delay proxy has ended", exit_code=ExitCode.NOT_RUNNING) from None
        answer, _, self._unread = self._unread.partition(b"\n")
        text = answer.decode()
        if text.startswith("error: "):
            raise ToolError("delay proxy: " + text.removeprefix("error: "))
        return text

    def set_rtt_us(self, rtt_us: int) -> None:
        """Sets the round-trip time, also for what is under way."""
        self.command(f"rtt {rtt_us}")

    def stats(self) -> ProxyStats:
        answer: dict[str, Any] = json.loads(self.command("stats"))
        return ProxyStats(**answer | {"total": ProxyCounts(**answer["total"])})


@contextmanager
def open_control(control_path: Path) -> Iterator[ProxyControl]:
    """Opens a conversation with the proxy that listens at this path."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_TIMEOUT_S)
        try:
            connection.connect(str(control_path))
        except (FileNotFoundError, ConnectionRefusedError):
            raise ToolError(
                f"no delay proxy answers at {control_path}", exit_code=ExitCode.NOT_RUNNING
            ) from None
        yield ProxyControl(connection)
