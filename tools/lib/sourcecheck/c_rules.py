"""Rules of the C sources."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lib.sourcecheck.source import Finding, Function, Source, closing_parenthesis

# A file includes its own room and the rooms behind it in this list.
LADDER = ("planner", "executor", "tablets", "cluster", "storage", "explain", "base")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
SYSTEM_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+<([^>]+)>", re.MULTILINE)
LIBPQ = re.compile(r"\bPQ[a-z]\w*\s*\(|\b(?:PGconn|PGresult|PGcancel|PGcancelConn)\b")
VERSION = re.compile(r"\bPG_VERSION_NUM\b")
COMPAT_HEADER = re.compile(r"src/base/shuttle_compat(?:_\w+)?\.h")
EXPLAIN = re.compile(r"\bExplain(?:Property|Open|Close|Indent|Separate|Dummy)\w*\s*\(")
EXTERN = re.compile(r"^extern\b", re.MULTILINE)
EREPORT = re.compile(r"\bereport\s*\(\s*(?:ERROR|FATAL|PANIC)\b")
ERRCODE = re.compile(r"\berrcode\w*\s*\(")

HOOK = re.compile(r"\b\w+_hook\s*=(?!=)")

MOST_FILE_LINES = 1000
LONG_FILE_LINES = 600
MOST_FUNCTION_LINES = 100
MOST_FOLDER_FILES = 26
MOST_HEADER_EXTERNS = 50
SHORT_FUNCTION_LINES = 40
SHORT_SHARE_PERCENT = 85
NLONGEST_SHOWN = 8


def check_c_file(root: Path, source: Source) -> Iterator[Finding]:
    """All rules that look at one file."""
    yield from check_includes(root, source)
    yield from check_places(source)
    yield from check_errcodes(source)
    yield from check_size(source)


def includes(source: Source) -> Iterator[tuple[int, str]]:
    for pattern in (INCLUDE, SYSTEM_INCLUDE):
        for found in pattern.finditer(source.text):
            yield source.line_at(found.start()), found.group(1)


def check_includes(root: Path, source: Source) -> Iterator[Finding]:
    """Includes run down the ladder, and internal headers stay in their room."""
    for line, name in includes(source):
        if name == "libpq-fe.h" and source.room != "storage":
            yield Finding(source.path, line, "libpq is known only in storage/")
        if not (root / "src" / name).is_file():
            if name.startswith("shuttle_") or (source.path.parent / name).is_file():
                yield Finding(source.path, line, f'"{name}" lacks its room: "<room>/{name}"')
            continue
        room = Path(name).parts[0]
        if source.room is None:
            continue
        if rank(room) < rank(source.room):
            message = f'{source.room}/ includes "{name}", but {room}/ is above it on the ladder'
            yield Finding(source.path, line, message)
        if room != source.room and not is_door(Path(name)):
            yield Finding(source.path, line, f'"{name}" belongs to {room}/ alone; use its door')


def rank(room: str) -> int:
    return LADDER.index(room) if room in LADDER else -1


def is_door(header: Path) -> bool:
    """Doors of a room lie in the room itself; its sub-rooms' headers are its own."""
    return header.name.startswith("shuttle_") and len(header.parts) == len(("room", "file"))


def is_compat_header(path: Path) -> bool:
    return COMPAT_HEADER.fullmatch(path.as_posix()) is not None


def check_places(source: Source) -> Iterator[Finding]:
    """Some things are known in one place only."""
    if source.room is not None and source.room not in LADDER:
        yield Finding(source.path, 1, f"{source.room}/ is no room of the ladder")
    if source.room != "storage":
        for line, found in source.matches(LIBPQ):
            name = found.group().rstrip("( \t")
            yield Finding(source.path, line, f"{name}: libpq is known only in storage/")
    if not is_compat_header(source.path):
        for line, _ in source.matches(VERSION):
            message = "PG_VERSION_NUM is read only in base/shuttle_compat*.h"
            yield Finding(source.path, line, message)
    if source.room != "explain":
        for line, found in source.matches(EXPLAIN):
            name = found.group().rstrip("( \t")
            yield Finding(source.path, line, f"{name}: EXPLAIN output is made only in explain/")
    if source.path.name != "hooks.c":
        for line, _ in source.matches(HOOK):
            yield Finding(source.path, line, "a server hook is set only in a room's hooks.c")


def check_errcodes(source: Source) -> Iterator[Finding]:
    for line, found in source.matches(EREPORT):
        opening = source.code.index("(", found.start())
        call = source.code[opening : closing_parenthesis(source.code, opening)]
        if not ERRCODE.search(call):
            yield Finding(source.path, line, "this ereport has no errcode")


def check_size(source: Source) -> Iterator[Finding]:
    nlines = source.text.count("\n")
    if nlines > MOST_FILE_LINES:
        yield Finding(source.path, 1, f"{nlines} lines; no file has over {MOST_FILE_LINES}")
    elif nlines > LONG_FILE_LINES:
        message = f"{nlines} lines; files should have at most {LONG_FILE_LINES}"
        yield Finding(source.path, 1, message, warning=True)
    nexterns = len(EXTERN.findall(source.code)) if source.path.suffix == ".h" else 0
    if nexterns > MOST_HEADER_EXTERNS:
        message = f"{nexterns} externs; no header has over {MOST_HEADER_EXTERNS}"
        yield Finding(source.path, 1, message)
    for function in source.functions():
        if function.nlines > MOST_FUNCTION_LINES:
            message = f"{function.name}() has {function.nlines} lines, over {MOST_FUNCTION_LINES}"
            yield Finding(source.path, function.line, message)


def check_folders(paths: list[Path]) -> Iterator[Finding]:
    """A folder holds what a reader can overlook."""
    for folder, nfiles in sorted(Counter(path.parent for path in paths).items()):
        if nfiles > MOST_FOLDER_FILES:
            message = f"{nfiles} files; no folder of src has over {MOST_FOLDER_FILES}"
            yield Finding(folder, 1, message)


def check_short_share(functions: list[Function]) -> Iterator[Finding]:
    """Most functions fit on a screen; where too few do, the longest are named."""
    if not functions:
        return
    nshort = sum(f.nlines <= SHORT_FUNCTION_LINES for f in functions)
    if nshort * 100 >= SHORT_SHARE_PERCENT * len(functions):
        return
    share = nshort * 100 / len(functions)
    for function in sorted(functions, key=lambda f: -f.nlines)[:NLONGEST_SHOWN]:
        message = (
            f"{function.name}() has {function.nlines} lines, and only {share:.1f} % of our "
            f"functions fit in {SHORT_FUNCTION_LINES} (wanted: {SHORT_SHARE_PERCENT} %)"
        )
        yield Finding(function.path, function.line, message)
