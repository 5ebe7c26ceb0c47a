"""The order of the sub-rooms of a room, by the names that their files use of one another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lib.sourcecheck.cycles import call_graph
from lib.sourcecheck.source import Finding, Source

SUB_ROOM_PARTS = len(("src", "room", "sub-room", "file"))


@dataclass(frozen=True)
class Ladder:
    """Sub-rooms, the topmost first; files of the room itself stand where they are named."""

    steps: tuple[str, ...]
    most_upward: int


PLANNER = """
hooks.c router rewrite write group scan join finished_plan shown facts
"""
EXECUTOR = """
hooks.c foreign_routine.c standby_writes.c early write statistics router join scan behind outbox.c
prefetch facts fdw
"""
CLUSTER = """
hooks.c deadlock admin options commit common
"""
TABLETS = """
hooks.c check advise ddl proof placement move distribute indexes foreign_keys follow reference
constraints needs rights common
"""
# Names that are used upwards. These numbers only fall.
PLANNER_UPWARD = 2
EXECUTOR_UPWARD = 4
CLUSTER_UPWARD = 1
TABLETS_UPWARD = 6

LADDERS = {
    "planner": Ladder(tuple(PLANNER.split()), PLANNER_UPWARD),
    "executor": Ladder(tuple(EXECUTOR.split()), EXECUTOR_UPWARD),
    "cluster": Ladder(tuple(CLUSTER.split()), CLUSTER_UPWARD),
    "tablets": Ladder(tuple(TABLETS.split()), TABLETS_UPWARD),
}


def step_of(path: Path) -> str:
    """The sub-room of a file, or the file's own name if it is in none."""
    return path.parts[2] if len(path.parts) >= SUB_ROOM_PARTS else path.name


def check_ladders(sources: Iterable[Source]) -> Iterator[Finding]:
    """Each sub-room has its place, and few names lead up."""
    files = list(sources)
    graph = call_graph(files)
    for room, ladder in LADDERS.items():
        upward: dict[str, str] = {}
        for path, called in graph.items():
            if path.parts[1] != room:
                continue
            if step_of(path) not in ladder.steps:
                yield Finding(path, 1, f"{step_of(path)} has no place on the ladder of {room}/")
                continue
            for other, names in called.items():
                if other.parts[1] == room and is_above(ladder, other, path):
                    upward |= {name: f"{path.stem} -> {other.stem}" for name in names}
        if len(upward) > ladder.most_upward:
            told = ", ".join(f"{name} ({way})" for name, way in sorted(upward.items()))
            message = f"{len(upward)} names are used upwards, over {ladder.most_upward}: {told}"
            yield Finding(Path("src") / room, 1, message)


def is_above(ladder: Ladder, path: Path, other: Path) -> bool:
    steps = ladder.steps
    return step_of(path) in steps and steps.index(step_of(path)) < steps.index(step_of(other))
