"""Servers that tools/servers installed, and the user that may run them."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD_LIMIT_S = 3600
# Of tools/servers, those that the extension is tested on, and those that are by default.
SERVERS = (
    "15",
    "16",
    "17-package",
    "17",
    "18",
    "19",
    "17-plain",
    "18-plain",
    "18-sanitize",
    "18-valgrind",
)
TESTED_TOGETHER = ("15", "18")


class TestRunError(Exception):
    """The tests could not be run; the message says why."""


@cache
def release_server() -> str:
    """The server of this machine's release, for which nothing but the extension is built."""
    return run_tool("servers", "release", capture=True)


def servers_of_part(part: str) -> tuple[str, ...]:
    """make test needs the release's own server only."""
    release, newest = release_server(), TESTED_TOGETHER[-1]
    return (release,) if part == "usual" else tuple(dict.fromkeys((release, newest)))


@dataclass(frozen=True)
class Installed:
    """One installed PostgreSQL server."""

    name: str
    bindir: Path
    pgxs_dir: Path

    @property
    def major(self) -> int:
        return int(self.name.split("-")[0])

    def program(self, name: str) -> str:
        return str(self.bindir / name)


def end_on_signal(number: int, _frame: object) -> None:
    """Lets the with-blocks stop what they started."""
    sys.exit(128 + number)


def prepare(name: str, build: bool) -> Installed:
    """Installs the server where it is missing, and the extension into it."""
    run_tool("servers", "install", name)
    if build:
        print(f"== building the extension for {name}", flush=True)
        run_tool("build", name)
    return look_at(name, run_tool("servers", "config", name, capture=True))


def server_given(config: str) -> Installed:
    """The server that a test was given by its pg_config; nothing is installed for it."""
    names = dict.fromkeys((release_server(), *TESTED_TOGETHER))
    known = {run_tool("servers", "config", name, capture=True): name for name in names}
    return look_at(known.get(config, TESTED_TOGETHER[-1]), config)


def look_at(name: str, config: str) -> Installed:
    pgxs = Path(ask(config, "--pgxs"))
    return Installed(name, Path(ask(config, "--bindir")), pgxs.parents[2])


@cache
def list_prefixes() -> list[tuple[str, Path]]:
    """Servers with the extension that tests of several versions may start, and where they are."""
    found = []
    for name in dict.fromkeys((release_server(), *TESTED_TOGETHER)):
        config = run_tool("servers", "config", name, capture=True)
        if not Path(config).exists():
            continue
        if (Path(ask(config, "--pkglibdir")) / "pg_shuttle.so").exists():
            found.append((name, Path(ask(config, "--bindir")).parent))
    return found


@cache
def list_nodes() -> list[tuple[str, str]]:
    """Servers that tests may start as storage nodes only, and where they are."""
    lines = run_tool("servers", "list", capture=True).splitlines()
    found = [line.split(maxsplit=1) for line in lines if line.startswith("node-")]
    return [(name, prefix) for name, prefix in found]


def run_tool(tool: str, *args: str, capture: bool = False) -> str:
    """Runs one of our own scripts; its progress goes where ours goes."""
    done = subprocess.run(
        [str(ROOT / "tools" / tool), *args],
        stdout=subprocess.PIPE if capture else None,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=BUILD_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise TestRunError(f"tools/{tool} {' '.join(args)} failed")
    return (done.stdout or "").strip()


def ask(config: str, option: str) -> str:
    done = subprocess.run([config, option], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def server_user() -> str | None:
    """Whom to run servers as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise TestRunError(
            "there is no user postgres to run servers as; run: tools/servers need"
        ) from None


def run_directory() -> Path:
    """Makes a directory for one run that the server's user owns.

    It holds a copy of test/, because that user may have no way into the tree.
    """
    path = Path(tempfile.mkdtemp(prefix="pg_shuttle_test."))
    shutil.copytree(ROOT / "test", path / "test", dirs_exist_ok=True)
    shutil.copytree(  # tests run commands of some pages
        ROOT / "docs", path / "docs", dirs_exist_ok=True, ignore=shutil.ignore_patterns("images")
    )
    for kind in ("sql", "specs", "expected", "t"):
        (path / "test" / kind).mkdir(exist_ok=True)
    give_to_server(path)
    path.chmod(0o755)
    return path


def clean_up(directory: Path, keep: bool) -> None:
    """Removes the files of a run, unless they are to be looked at: it failed, say."""
    if keep:
        print(f"   files of this run: {directory}", flush=True)
    else:
        shutil.rmtree(directory, ignore_errors=True)


def give_to_server(path: Path) -> None:
    """Has a directory, and what is in it, belong to the user that runs servers."""
    user = server_user()
    if user is not None:
        for one in (path, *path.rglob("*")):
            shutil.chown(one, user)
