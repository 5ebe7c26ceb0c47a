"""Shape of files: order of includes, files that comments name, sizes of structs, and where
core's plan nodes are known."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from lib.sourcecheck.c_rules import LADDER
from lib.sourcecheck.source import COMMENT_OR_STRING, Finding, Source

# These numbers only fall.
MOST_STRUCT_FIELDS = 30
MOST_LARGE_STRUCTS = 5
MOST_PLAN_NODE_FILES = 11

INCLUDES = re.compile(r'(?:^#include "[^"]+"\n)+', re.MULTILINE)
NAMED_FILE = re.compile(r"(?<![\w./-])(?:\.\./)?(?:\w+/)*\w{2,}\.[ch]\b(?!\()")
STRUCT = re.compile(r"^(?:typedef )?struct (\w+)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD_END = re.compile(r"[;,]")
INNER = re.compile(r"\([^()]*\)|\{[^{}]*\}")
# Structs that are a list by nature: one field a setting, one column a view.
LISTS = frozenset(("ShuttleSettings",))

PLAN_NODES = """
Agg Append BitmapAnd BitmapHeapScan BitmapIndexScan BitmapOr CteScan CustomScan ForeignScan
FunctionScan Gather GatherMerge Group Hash HashJoin IncrementalSort IndexOnlyScan IndexScan Limit
LockRows Material Memoize MergeAppend MergeJoin ModifyTable NamedTuplestoreScan NestLoop
ProjectSet RecursiveUnion Result SampleScan SeqScan SetOp Sort SubqueryScan TableFuncScan
TidRangeScan TidScan Unique ValuesScan WindowAgg WorkTableScan
"""
PLAN_NODE_CASE = re.compile(rf"\bcase\s+T_(?:{'|'.join(PLAN_NODES.split())})(?:State)?\b")

# Files of PostgreSQL that our comments name without a folder.
CORE_FILES = """
backend_startup.c fmgr.h libpq-be.h pg_statistic.h plancache.c plancat.c postgres.h
rewriteHandler.c ri_triggers.c ruleutils.c setrefs.c
"""


def check_include_order(root: Path, sources: Iterable[Source]) -> Iterator[Finding]:
    """In each block, own headers stand in the order of their paths."""
    for source in sources:
        for block in INCLUDES.finditer(source.text):
            names = [line.split('"')[1] for line in block.group().splitlines()]
            own = [name for name in names if (root / "src" / name).is_file()]
            for name, following in pairwise(own):
                if following < name:
                    line = source.line_at(block.start()) + names.index(following)
                    yield Finding(source.path, line, f'"{following}" belongs before "{name}"')


def check_named_files(root: Path, sources: Iterable[Source]) -> Iterator[Finding]:
    """Who is sent to another file by a comment finds it."""
    files = list(sources)
    folders = {folder for source in files for folder in source.path.parent.parts[1:]}
    ours = {source.path.name for source in files}
    for source in files:
        for comment in COMMENT_OR_STRING.finditer(source.text):
            if not comment.group().startswith("/"):
                continue
            for found in NAMED_FILE.finditer(comment.group()):
                if not exists(root, source.path, found.group(), folders | set(LADDER), ours):
                    line = source.line_at(comment.start() + found.start())
                    yield Finding(source.path, line, f"there is no {found.group()}")


def exists(root: Path, path: Path, named: str, folders: set[str], ours: set[str]) -> bool:
    """A path whose first folder is none of ours is one of PostgreSQL's."""
    if "/" not in named:
        return named in ours or named in CORE_FILES.split()
    first = Path(named).parts[0]
    if first not in folders | {"..", "src"} or named.startswith("src/backend/"):
        return True
    room = Path(*path.parts[:2])
    return any((root / base / named).is_file() for base in (".", "src", room, path.parent))


def check_struct_sizes(sources: Iterable[Source]) -> Iterator[Finding]:
    """A struct of many fields is several structs."""
    large = [
        (source.path, source.line_at(found.start()), found.group(1), nfields(found.group(2)))
        for source in sources
        for found in STRUCT.finditer(source.code)
        if found.group(1) not in LISTS and nfields(found.group(2)) > MOST_STRUCT_FIELDS
    ]
    if len(large) > MOST_LARGE_STRUCTS:
        for path, line, name, count in large:
            message = f"{name} has {count} fields, over {MOST_STRUCT_FIELDS}; only"
            yield Finding(path, line, f"{message} {MOST_LARGE_STRUCTS} structs may")


def nfields(body: str) -> int:
    """Fields of a struct's body, those of inner unions and structs as one each."""
    while INNER.search(body):
        body = INNER.sub("", body)
    return len(FIELD_END.findall(body))


def check_plan_nodes(sources: Iterable[Source]) -> Iterator[Finding]:
    """What PostgreSQL's plan nodes do is known in facts/, which others ask."""
    found = [
        (source.path, source.line_at(case.start()))
        for source in sources
        if "facts" not in source.path.parts
        for case in list(PLAN_NODE_CASE.finditer(source.code))[:1]
    ]
    if len(found) > MOST_PLAN_NODE_FILES:
        for path, line in found:
            message = f"a plan node is known outside facts/, in {len(found)} files, over"
            yield Finding(path, line, f"{message} {MOST_PLAN_NODE_FILES}")
