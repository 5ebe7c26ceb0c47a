"""Finding installed PostgreSQL servers."""

from dataclasses import dataclass
from pathlib import Path

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import paths, processes

# in order of preference; the first is built as users have it, the second with assertions
KNOWN_BUILDS = ("18-plain", "18", "19", "17", "17-package", "16", "15")
EXTENSION = "pg_shuttle"


@dataclass(frozen=True)
class ServerBuild:
    name: str
    pg_config: Path
    version: str
    bin_dir: Path
    library_dir: Path
    share_dir: Path
    configure_options: str

    def has_extension(self) -> bool:
        control = self.share_dir / "extension" / f"{EXTENSION}.control"
        return control.exists() and (self.library_dir / f"{EXTENSION}.so").exists()


def read_build(name: str, pg_config: Path) -> ServerBuild:
    def ask(option: str) -> str:
        return processes.run([pg_config, option], timeout_s=10).strip()

    return ServerBuild(
        name=name,
        pg_config=pg_config,
        version=ask("--version"),
        bin_dir=Path(ask("--bindir")),
        library_dir=Path(ask("--pkglibdir")),
        share_dir=Path(ask("--sharedir")),
        configure_options=ask("--configure"),
    )


def find_pg_config(name: str) -> Path | None:
    """Returns the pg_config of a server by its name, or None if it isn't installed."""
    candidates = [Path(f"/usr/lib/postgresql/{name}/bin/pg_config")]
    root = paths.source_dir()
    if root is not None:
        try:
            printed = processes.run([root / "tools" / "servers", "config", name], timeout_s=30)
            candidates.insert(0, Path(printed.strip()))
        except ToolError:
            pass  # not installed, or not one that the script knows
    for path in candidates:
        if path.is_file():
            return path
    return None


def write_install_hint(name: str) -> str:
    path = "give the path of a pg_config: --pg /usr/lib/postgresql/18/bin/pg_config"
    if name not in KNOWN_BUILDS:
        return f"The names of servers are {', '.join(KNOWN_BUILDS)}; or {path}"
    if paths.source_dir() is None:
        return f"Install it with its headers; or {path}"
    return f"Run tools/servers install {name}; or {path}"


def find_build(name: str | None) -> ServerBuild:
    """Finds a server by its name or by the path of its pg_config; without one, the best."""
    if not name:
        return find_best_build()
    if "/" in name:
        path = Path(name).absolute()
        if not path.is_file():
            raise ToolError(f"{path} does not exist", exit_code=ExitCode.NOT_INSTALLED)
        return read_build(name, path)
    found = find_pg_config(name)
    if found is None:
        raise ToolError(
            f'PostgreSQL "{name}" is not installed',
            hint=write_install_hint(name),
            exit_code=ExitCode.NOT_INSTALLED,
        )
    return read_build(name, found)


def find_best_build() -> ServerBuild:
    """Finds the server that the user means who does not name one.

    One that has the extension comes before one that has not.
    """
    builds = [read_build(name, path) for name in KNOWN_BUILDS if (path := find_pg_config(name))]
    if not builds:
        raise ToolError(
            "no PostgreSQL server is installed",
            hint=write_install_hint("18-plain"),
            exit_code=ExitCode.NOT_INSTALLED,
        )
    return next((build for build in builds if build.has_extension()), builds[0])
