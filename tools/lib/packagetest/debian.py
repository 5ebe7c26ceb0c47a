"""Debian's packages: built, looked at, and tried in a directory of their own."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lib.packagetest.steps import PackageError, call, check_files, say
from lib.testrun.cluster import Cluster, temporary_cluster
from lib.testrun.installed import ROOT, Installed, give_to_server, run_tool

# What building takes.
TOOLS = (
    "dpkg-dev",
    "debhelper",
    "dh-python",
    "fakeroot",
    "lintian",
    "pybuild-plugin-pyproject",
    "python3-all",
    "python3-setuptools",
    "postgresql-server-dev-all",
)
TOOL = "pgshuttle"
OLDEST_TYPER = "0.12"
EXTENSION_FILES = ("pg_shuttle.control", "pg_shuttle--", "pg_shuttle.so")


def is_installed(package: str) -> bool:
    command = ["dpkg-query", "-W", "-f", "${Status}", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.endswith(" installed")


def find_missing() -> list[str]:
    """Returns the packages that are missing; root installs them."""
    if shutil.which("dpkg-query") is None:
        return list(TOOLS)
    missing = [package for package in TOOLS if not is_installed(package)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {' '.join(missing)}")
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        call(["apt-get", "-qq", "update"], env=env)
        install = ["apt-get", "-qq", "-y", "-o", "Dpkg::Use-Pty=0", "install"]
        call([*install, "--no-install-recommends", *missing], env=env)
        return []
    return missing


def make_other_python(directory: Path) -> str:
    """A PATH with somebody's own Python in front, which lacks Debian's modules."""
    directory.mkdir()
    for name in ("python3", "python"):
        program = directory / name
        program.write_text("#!/bin/sh\necho 'this is not Debian'\\''s Python' >&2\nexit 1\n")
        program.chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


def build(tree: Path, built: Path) -> None:
    """Has all binary packages in one directory, whichever Python comes first."""
    sources = set(tree.rglob("*"))
    options = {
        "DEB_BUILD_OPTIONS": f"nocheck noautodbgsym parallel={os.cpu_count() or 1}",
        "PATH": make_other_python(built.with_name("python")),
    }
    call(["dpkg-buildpackage", "-b", "-us", "-uc", "-d"], cwd=tree, env=options)
    check_clean(tree, set(tree.rglob("*")) - sources)
    built.mkdir()
    for package in tree.parent.glob("*.deb"):
        package.rename(built / package.name)
    names = {path.name.split("_")[0] for path in built.iterdir()}
    if TOOL not in names or names == {TOOL}:
        raise PackageError(f"built: {sorted(names)}")


def check_clean(tree: Path, added: set[Path]) -> None:
    """Has git ignore all that building left in the tree."""
    names = sorted(str(path.relative_to(tree)) for path in added if path.is_file())
    command = ["git", "check-ignore", "--no-index", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    left = set(names) - set(done.stdout.splitlines())
    if left:
        raise PackageError(f"left in the tree, and not ignored by git: {sorted(left)}")


def check_policy(built: Path) -> None:
    """Has lintian find neither errors nor warnings."""
    packages = sorted(str(path) for path in built.glob("*.deb"))
    call(["lintian", "--fail-on", "error,warning", "--tag-display-limit", "0", *packages])


def check_requirements(built: Path) -> None:
    """Has apt say that the packages can be installed here, all they need included."""
    if not any(Path("/var/lib/apt/lists").glob("*Packages*")):
        say("skipped: this machine has no package lists")
        return
    for package in sorted(built.glob("*.deb")):
        name = package.name.split("_")[0]
        if name == TOOL and not has_new_typer():
            say(f"skipped: this release of Debian is too old for {TOOL}; it takes pip install")
            continue
        found = call(["apt-get", "-s", "install", "--no-install-recommends", package])
        if not re.search(rf"^Inst {re.escape(name)} ", found, re.MULTILINE):
            raise PackageError(f"apt would not install {name}:\n{found}")


def has_new_typer() -> bool:
    """Says if this release of Debian has what the tool is written with."""
    found = call(["apt-cache", "policy", "python3-typer"])
    candidate = re.search(r"Candidate: (\S+)", found)
    return bool(candidate) and is_at_least(str(candidate[1] if candidate else ""), OLDEST_TYPER)


def is_at_least(version: str, bound: str) -> bool:
    command = ["dpkg", "--compare-versions", version, "ge", bound]
    return subprocess.run(command, check=False).returncode == 0


def newest_version(built: Path) -> str:
    names = [path.name for path in built.glob("postgresql-*-shuttle_*.deb")]
    return str(max(int(name.split("-")[1]) for name in names))


def unpack(built: Path, root: Path) -> Installed:
    """Puts a copy of the server and the packages below root: a server finds its files there."""
    version = newest_version(built)
    for part in (f"usr/lib/postgresql/{version}", f"usr/share/postgresql/{version}"):
        shutil.copytree(
            f"/{part}",
            root / part,
            symlinks=False,
            ignore=lambda _folder, names: [n for n in names if n.startswith(EXTENSION_FILES)],
        )
    names = [f"postgresql-{version}-shuttle", TOOL]
    for package in (path for name in names for path in built.glob(f"{name}_*.deb")):
        call(["dpkg-deb", "-x", package, root])
    bin_dir = root / f"usr/lib/postgresql/{version}/bin"
    return Installed(version, bin_dir, bin_dir.parent / "lib/pgxs")


@contextlib.contextmanager
def run_server(installed: Installed, base: Path) -> Iterator[Cluster]:
    base.mkdir(mode=0o755)
    give_to_server(base)
    with temporary_cluster(installed, base) as server:
        call([installed.program("createdb"), "postgres_try"], env=server.environment())
        yield server


def psql(server: Cluster, *arguments: object, database: str = "postgres_try") -> str:
    command = [server.installed.program("psql"), "-X", "-v", "ON_ERROR_STOP=1", "-d", database]
    return call([*command, *arguments], env=server.environment())


def try_extension(server: Cluster, tree: Path) -> None:
    """Runs what Debian's own test of the package runs."""
    printed = psql(server, "-f", tree / "debian/tests/smoke.sql")
    if "connected" not in printed and "idle" not in printed and "in transaction" not in printed:
        raise PackageError(f"shuttle.nodes shows no connection:\n{printed}")


def try_tool(root: Path, tree: Path) -> None:
    """Runs the command that is in the package, with the libraries of the project's environment."""
    run_tool("venv")
    packages = root / "usr/lib/python3/dist-packages"
    command = [ROOT / ".venv/bin/python", root / "usr/bin" / TOOL]
    env = {"PYTHONPATH": str(packages)}
    printed = call([*command, "--version"], env=env)
    if not printed.startswith(f"{TOOL} "):
        raise PackageError(f"{TOOL} --version printed: {printed}")
    call([*command, "--help"], env=env)
    check_files(tree, packages / TOOL)
