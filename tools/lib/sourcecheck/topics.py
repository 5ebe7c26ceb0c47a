"""Names: a public name begins with its file's topic."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from lib.sourcecheck.cycles import defined_names
from lib.sourcecheck.source import Finding, Source

# Names that begin otherwise, of all but those that SQL scripts name. This number only falls.
MOST_OTHER_NAMES = 11
PREFIX = "shuttle_"
# C symbols that SQL scripts, also released ones, name: they stay as they are.
SQL_FUNCTION = re.compile(r"^(?:SHUTTLE_SQL_FUNCTION|PG_FUNCTION_INFO_V1)\((\w+)\)", re.MULTILINE)
# A room's list of its parts: what it defines has the room's name.
HOOKS = "hooks.c"


def check_topics(sources: Iterable[Source]) -> Iterator[Finding]:
    """Who reads a call knows the file: shuttle_remote_scan_send() is in remote_scan.c."""
    others = [
        (source.path, name)
        for source in sources
        if source.path.suffix == ".c"
        for name in sorted(public_names(source))
        if not begins_with_topic(name, source.path)
    ]
    if len(others) > MOST_OTHER_NAMES:
        told = ", ".join(f"{name} ({path.name})" for path, name in others)
        message = f"{len(others)} names do not begin with the topic of their file, over"
        yield Finding(others[0][0], 1, f"{message} {MOST_OTHER_NAMES}: {told}")


def public_names(source: Source) -> frozenset[str]:
    """What a file defines for other C files."""
    return defined_names(source) - frozenset(SQL_FUNCTION.findall(source.code))


def begins_with_topic(name: str, path: Path) -> bool:
    """True if a name begins with the first word of its file's name at least."""
    stem = path.parent.name if path.name == HOOKS else path.stem.removeprefix(PREFIX)
    return are_alike(name.removeprefix(PREFIX).split("_")[0], stem.split("_")[0])


def are_alike(word: str, other: str) -> bool:
    """True of one word, singular or plural: key and keys, copy and copies."""
    return bool(singulars(word) & singulars(other))


def singulars(word: str) -> set[str]:
    """The word itself, and what it may be the plural of."""
    found = {word}
    if word.endswith("s"):
        found.add(word.removesuffix("s"))
    if word.endswith("es"):
        found.add(word.removesuffix("es"))
    if word.endswith("ies"):
        found.add(word.removesuffix("ies") + "y")
    return found
