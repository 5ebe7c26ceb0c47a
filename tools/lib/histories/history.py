"""Histories of transactions: what clients asked for and what they were answered.

A file has one event a line, in the order of time, as Elle's and its relatives' list-append
histories have: an invocation, and "ok", "fail" (certainly not committed) or "info" (nobody
knows). An operation is ["append", key, value] or ["r", key, list]; each value is appended to a
key once at most.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OK, FAIL, INFO = "ok", "fail", "info"
READ, APPEND = "r", "append"
NEVER = 1 << 62

Operation = tuple[str, int, Any]  # the last: a value, or a tuple of them; None: not known


@dataclass(frozen=True)
class Transaction:
    """One attempt of a client. began and ended: positions in the order of time."""

    process: int
    began: int
    ended: int
    outcome: str
    operations: tuple[Operation, ...]

    def appends(self) -> Iterable[tuple[int, int]]:
        return ((key, value) for kind, key, value in self.operations if kind == APPEND)

    def reads(self) -> Iterable[tuple[int, tuple[int, ...]]]:
        """What was read, without what the transaction itself had appended before."""
        own: dict[int, int] = {}
        for kind, key, value in self.operations:
            if kind == APPEND:
                own[key] = own.get(key, 0) + 1
            elif value is not None:
                yield key, tuple(value)[: len(value) - own.get(key, 0)]


def to_lines(transactions: Iterable[Transaction]) -> Iterable[str]:
    """The lines of a file."""
    events = []
    for done in transactions:
        asked = [
            [kind, key, value if kind == APPEND else None] for kind, key, value in done.operations
        ]
        told = [[kind, key, value] for kind, key, value in done.operations]
        events.append((done.began, "invoke", done.process, asked))
        answer = told if done.outcome == OK else asked
        events.append((done.ended, done.outcome, done.process, answer))
    for index, (_, kind, process, value) in enumerate(sorted(events, key=lambda event: event[0])):
        yield json.dumps(
            {"index": index, "type": kind, "process": process, "f": "txn", "value": value}
        )


def write(path: Path, transactions: Iterable[Transaction]) -> None:
    path.write_text("".join(f"{line}\n" for line in to_lines(transactions)))


def read(path: Path) -> list[Transaction]:
    """The transactions of a file, in the order of their beginnings."""
    open_ones: dict[int, int] = {}
    found = []
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "invoke":
            open_ones[event["process"]] = event["index"]
            continue
        operations = tuple(
            (kind, key, tuple(value) if isinstance(value, list) else value)
            for kind, key, value in event["value"]
        )
        began = open_ones.pop(event["process"])
        found.append(
            Transaction(event["process"], began, event["index"], event["type"], operations)
        )
    return sorted(found, key=lambda done: done.began)
