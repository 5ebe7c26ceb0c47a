"""Cycles of calls: files that reach each other by what they call or read of one another."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lib.sourcecheck.source import Finding, Source

MAX_CYCLE_FILES = 8
NAME = re.compile(r"\bshuttle_\w+")
# pgindent leaves a function's name, and the declaration of a variable, in column one.
DEFINED_FUNCTION = re.compile(r"^(shuttle_\w+)\(", re.MULTILINE)
DEFINED_VARIABLE = re.compile(
    r"^(?!static\b|extern\b|typedef\b)\w[\w \t*]*[ \t*](shuttle_\w+)(?:\[[^\]]*\])*\s*[;=]",
    re.MULTILINE,
)

Names = frozenset[str]
Graph = Mapping[Path, Mapping[Path, Names]]


@dataclass(frozen=True)
class Cycle:
    """Files of which each reaches each, and the names that lead from one to the next."""

    files: tuple[Path, ...]
    links: tuple[tuple[Path, Path, Names], ...]


def defined_names(source: Source) -> Names:
    """What a C file defines for others: its functions and variables shuttle_*."""
    functions = DEFINED_FUNCTION.findall(source.code)
    return frozenset(functions + DEFINED_VARIABLE.findall(source.code))


def call_graph(sources: Iterable[Source]) -> Graph:
    """For each C file, the files that define what it uses, with the names."""
    files = [source for source in sources if source.path.suffix == ".c"]
    owner = {name: source.path for source in files for name in defined_names(source)}
    graph: dict[Path, dict[Path, Names]] = {}
    for source in files:
        used: defaultdict[Path, set[str]] = defaultdict(set)
        for name in set(NAME.findall(source.code)):
            if name in owner and owner[name] != source.path:
                used[owner[name]].add(name)
        graph[source.path] = {path: frozenset(names) for path, names in used.items()}
    return graph


def reached_from(graph: Graph, start: Path) -> set[Path]:
    """The files that a file calls, by others too."""
    reached: set[Path] = set()
    pending = [start]
    while pending:
        called = set(graph[pending.pop()]) - reached
        reached |= called
        pending += called
    return reached


def cycles(graph: Graph) -> list[Cycle]:
    """The strongly connected components of two and more files, the largest first."""
    reached = {path: reached_from(graph, path) for path in graph}
    found = {
        tuple(sorted(other for other in others if path in reached[other]))
        for path, others in reached.items()
        if path in others
    }
    return [
        cycle_of(graph, files) for files in sorted(found, key=lambda files: (-len(files), files))
    ]


def cycle_of(graph: Graph, files: tuple[Path, ...]) -> Cycle:
    links = [
        (path, called, graph[path][called])
        for path in files
        for called in files
        if called in graph[path]
    ]
    return Cycle(files, tuple(links))


def check_cycles(sources: Iterable[Source]) -> Iterator[Finding]:
    """No long cycle: then a thing in the middle wants a file of its own."""
    for cycle in cycles(call_graph(sources)):
        if len(cycle.files) > MAX_CYCLE_FILES:
            names = ", ".join(path.stem for path in cycle.files)
            yield Finding(
                cycle.files[0],
                1,
                f"{len(cycle.files)} files call in a cycle, over {MAX_CYCLE_FILES}: {names}"
                " (tools/check_source.py --cycles shows by what)",
            )


def cycle_lines(sources: Iterable[Source]) -> Iterator[str]:
    """Each cycle in words: its files, and what each of them uses of which other."""
    for cycle in cycles(call_graph(sources)):
        yield f"{len(cycle.files)} files:"
        for path, called, names in cycle.links:
            yield f"  {path} -> {called}: {', '.join(sorted(names))}"
