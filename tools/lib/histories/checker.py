"""Looks for what an isolation level forbids in a history of lists.

The longest list that was read of a key says in which order its values were appended. From it
follow dependencies: ww, wr (read what the other wrote) and rw (read what was before it). Snapshot
isolation forbids each cycle in which no two rw follow each other; write skew has two. A strict
level adds the order of real time: who was answered before another one began is in front of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from lib.histories.history import FAIL, INFO, OK, Transaction

WW, WR, RW, TIME = "ww", "wr", "rw", "time"
Edge = tuple[int, str]  # where to, and why


class Level(Enum):
    """What a history has to be."""

    WHOLE = "whole"  # each read sees all of a transaction, or nothing
    SNAPSHOT = "snapshot-isolation"
    STRICT = "strong-snapshot-isolation"


@dataclass
class Findings:
    """Anomalies by their names, with an example each."""

    examples: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, example: str) -> None:
        self.examples.setdefault(name, example)

    @property
    def names(self) -> set[str]:
        return set(self.examples)


class Lists:
    """The order of values of each key, and who appended them."""

    def __init__(self, transactions: list[Transaction], findings: Findings) -> None:
        self.transactions = transactions
        self.findings = findings
        self.writer: dict[tuple[int, int], int] = {}
        self.last_of: dict[tuple[int, int], int] = {}  # of a writer in a key
        self.longest: dict[int, tuple[int, ...]] = defaultdict(tuple)
        for number, done in enumerate(transactions):
            for key, value in done.appends():
                self.writer[key, value] = number
                self.last_of[number, key] = value
        for number, done in enumerate(transactions):
            if done.outcome == OK:
                for key, values in done.reads():
                    self._look_at(number, key, values)

    def _look_at(self, number: int, key: int, values: tuple[int, ...]) -> None:
        shorter, longer = sorted((values, self.longest[key]), key=len)
        if longer[: len(shorter)] != shorter:
            self.findings.add("incompatible-order", f"key {key}: {shorter}, {longer}")
        if len(set(values)) < len(values):
            self.findings.add("duplicate", f"key {key}: {values}")
        self.longest[key] = longer
        for value in values:
            writer = self.writer.get((key, value))
            if writer is None or self.transactions[writer].outcome == FAIL:
                self.findings.add("G1a", f"transaction {number} read {value} of key {key}")
        if values:
            writer = self.writer.get((key, values[-1]), number)
            if writer != number and self.last_of[writer, key] != values[-1]:
                self.findings.add("G1b", f"transaction {number} read {values[-1]} of key {key}")

    def writers(self, key: int) -> list[int]:
        """Transactions in the order of their last values that were read."""
        values = [value for value in self.longest[key] if (key, value) in self.writer]
        return list(dict.fromkeys(self.writer[key, value] for value in values))

    def certain_writers(self) -> dict[int, set[int]]:
        """Of each key, also those whose values nobody has read."""
        found: dict[int, set[int]] = defaultdict(set)
        for (key, _), number in self.writer.items():
            if self.transactions[number].outcome == OK:
                found[key].add(number)
        return found


Graph = dict[int, list[Edge]]


def dependencies(lists: Lists) -> Graph:
    """ww, wr and rw."""
    graph: Graph = defaultdict(list)
    all_writers = lists.certain_writers()
    order = {key: lists.writers(key) for key in set(lists.longest) | set(all_writers)}
    place = {(key, number): i for key, numbers in order.items() for i, number in enumerate(numbers)}
    hidden = {key: all_writers[key] - set(order[key]) for key in all_writers}
    for numbers in order.values():
        for one, other in pairwise(numbers):
            graph[one].append((other, WW))
    for number, done in enumerate(lists.transactions):
        if done.outcome != OK:
            continue
        for key, values in done.reads():
            following = 0
            if values:
                writer = lists.writer.get((key, values[-1]))
                if writer is None:
                    continue
                if writer != number:
                    graph[writer].append((number, WR))
                following = place[key, writer] + 1
            later = order[key][following : following + 1] or list(hidden.get(key, ()))
            graph[number].extend((other, RW) for other in later if other != number)
    return graph


def add_time(graph: Graph, transactions: list[Transaction]) -> None:
    """Edges from each answer to what began behind it, by a node for each answer."""
    count = len(transactions)
    known = {
        number for number, edges in graph.items() for number in (number, *(to for to, _ in edges))
    }
    answers = sorted(
        (done.ended, number) for number, done in enumerate(transactions) if done.outcome == OK
    )
    begins = sorted(
        (done.began, number)
        for number, done in enumerate(transactions)
        if done.outcome == OK or (done.outcome == INFO and number in known)
    )
    nanswers = 0
    for began, number in begins:
        while nanswers < len(answers) and answers[nanswers][0] < began:
            graph[answers[nanswers][1]].append((count + nanswers, TIME))
            if nanswers > 0:
                graph[count + nanswers - 1].append((count + nanswers, TIME))
            nanswers += 1
        if nanswers > 0:
            graph[count + nanswers - 1].append((number, TIME))


State = tuple[int, bool]  # a transaction, and whether an rw has led to it


def steps(graph: Graph, kinds: Iterable[str], state: State) -> Iterator[State]:
    number, by_rw = state
    for other, kind in graph.get(number, ()):
        if kind in kinds and not (kind == RW and by_rw):
            yield other, kind == RW


def find_cycle(graph: Graph, kinds: frozenset[str]) -> list[State] | None:
    """A closed walk without two rw in a row; None: there is none. Depth first."""
    done: set[State] = set()
    for start in [(number, by_rw) for number in graph for by_rw in (False, True)]:
        if start in done:
            continue
        path, on_path = [start], {start: 0}
        stack = [steps(graph, kinds, start)]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                gone = path.pop()
                done.add(gone)
                del on_path[gone]
            elif following in on_path:
                return path[on_path[following] :]
            elif following not in done:
                on_path[following] = len(path)
                path.append(following)
                stack.append(steps(graph, kinds, following))
    return None


def look_for_parts(lists: Lists, findings: Findings) -> None:
    """Reads that saw one append of a transaction and not another one."""
    places = {key: {v: i for i, v in enumerate(values)} for key, values in lists.longest.items()}
    for number, done in enumerate(lists.transactions):
        if done.outcome != OK:
            continue
        read = {key: len(values) for key, values in done.reads()}
        for key, length in read.items():
            for value in lists.longest[key][:length]:
                writer = lists.writer.get((key, value), number)
                for other_key, other in lists.transactions[writer].appends():
                    place = places.get(other_key, {}).get(other, len(lists.longest[other_key]))
                    if writer != number and other_key in read and place >= read[other_key]:
                        findings.add(
                            "fractured-read",
                            f"{done} saw {value} of key {key}, not {other} of key {other_key}",
                        )


CYCLES: tuple[tuple[str, frozenset[str]], ...] = (
    ("G0", frozenset({WW})),
    ("G1c", frozenset({WW, WR})),
    ("G-nonadjacent", frozenset({WW, WR, RW})),
)
TIME_CYCLES = tuple((f"{name}-realtime", kinds | {TIME}) for name, kinds in CYCLES)


def check(transactions: list[Transaction], level: Level) -> Findings:
    """Everything of the history that the level forbids."""
    findings = Findings()
    lists = Lists(transactions, findings)
    look_for_parts(lists, findings)
    graph = dependencies(lists)
    cycles = CYCLES[:2] if level == Level.WHOLE else CYCLES
    if level == Level.STRICT:
        add_time(graph, transactions)
        cycles += TIME_CYCLES
    for name, kinds in cycles:
        if findings.names & {other for other, _ in CYCLES}:
            break
        cycle = find_cycle(graph, kinds)
        if cycle is not None:
            findings.add(name, tell(cycle, transactions))
    return findings


def tell(cycle: list[State], transactions: list[Transaction]) -> str:
    return "; ".join(str(transactions[number]) for number, _ in cycle if number < len(transactions))
