"""postgres_fdw's tests, taken from PostgreSQL's source and changed for our wrapper."""

from dataclasses import dataclass
from pathlib import Path

from lib.testrun.installed import give_to_server, run_tool
from lib.testrun.wanted import SUFFIXES

# The same words are changed in the input and in the expected output.
WORDS = (
    ("FOREIGN DATA WRAPPER postgres_fdw", "FOREIGN DATA WRAPPER shuttle"),
    ("use_remote_estimate", "shuttle_remote_estimate"),
)
# The wrapper comes with an extension of its own, postgres_fdw's is there as well.
EXTENSIONS = (
    ("CREATE EXTENSION postgres_fdw;", "CREATE EXTENSION pg_shuttle;"),
    ("CREATE EXTENSION IF NOT EXISTS postgres_fdw", "CREATE EXTENSION pg_shuttle CASCADE"),
)
POSTGRES_FDW = "CREATE EXTENSION postgres_fdw; "


@dataclass(frozen=True)
class Suite:
    """The tests of one version, as they lie in the source."""

    directory: Path

    def names(self, kind: str) -> list[str]:
        return sorted(path.stem for path in (self.directory / kind).glob(f"*{SUFFIXES[kind]}"))

    def write_to(self, base: Path, engine: bool) -> None:
        """Copies input and expected output; for the engine, changed."""
        for folder in (*SUFFIXES, "expected"):
            target = base / "test" / folder
            target.mkdir(parents=True)
            for path in (self.directory / folder).glob("*.*"):
                text = path.read_text()
                (target / path.name).write_text(change(text) if engine else text)
        give_to_server(base)
        base.chmod(0o755)


def change(text: str) -> str:
    for old, new in WORDS:
        text = text.replace(old, new)
    text = text.replace(EXTENSIONS[0][0], POSTGRES_FDW + EXTENSIONS[0][1])
    return text.replace(*EXTENSIONS[1])


def find_suite(major: int) -> Suite:
    """Fetches PostgreSQL's source where it is missing."""
    tree = Path(run_tool("servers", "source", str(major), capture=True))
    return Suite(tree / "contrib/postgres_fdw")
