"""The differences that are meant, and how a difference is told to be one of them.

classes.toml names them. Each is a rule that makes the result out of what is
expected, line by line; a difference belongs to the class where that is all.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.postgresfdwtests.outputs import Difference

FILE = Path(__file__).with_name("classes.toml")
KEYS = {"class", "statement", "replace", "remove", "add", "order", "count"}


@dataclass(frozen=True, eq=False)
class Rule:
    name: str
    statement: str  # found in the statement; empty: in any
    replace: tuple[tuple[str, str], ...]  # in lines that are expected
    remove: tuple[str, ...]  # whole lines that are expected and may be missing
    add: tuple[str, ...]  # whole lines that may come in addition
    order: bool  # the same lines in another order
    count: dict[int, int]  # statements that differ so, for each version

    def matches(self, difference: Difference) -> bool:
        if not re.search(self.statement, difference.statement):
            return False
        if self.order:
            return difference.is_order
        return self.made_of(difference.expected) == self.without_added(difference.result)

    def made_of(self, expected: Sequence[str]) -> list[str]:
        lines = []
        for line in expected:
            if any(re.fullmatch(pattern, line) for pattern in self.remove):
                continue
            changed = line
            for pattern, text in self.replace:
                changed = re.sub(pattern, text, changed)
            lines.append(changed)
        return lines

    def without_added(self, result: Sequence[str]) -> list[str]:
        return [s for s in result if not any(re.fullmatch(pattern, s) for pattern in self.add)]


@dataclass(frozen=True)
class Sorted:
    """The differences of a run: how many of each rule, and those of none."""

    counts: Counter[Rule]
    unknown: list[Difference]


def read_rules(path: Path = FILE) -> list[Rule]:
    with path.open("rb") as file:
        entries = tomllib.load(file)["difference"]
    return [make_rule(entry) for entry in entries]


def make_rule(entry: dict[str, Any]) -> Rule:
    strange = set(entry) - KEYS
    if strange:
        raise ValueError(f"unknown keys in {FILE.name}: {', '.join(sorted(strange))}")
    return Rule(
        name=entry["class"],
        statement=entry.get("statement", ""),
        replace=tuple((pattern, text) for pattern, text in entry.get("replace", [])),
        remove=tuple(entry.get("remove", [])),
        add=tuple(entry.get("add", [])),
        order=entry.get("order", False),
        count={int(major): number for major, number in entry.get("count", {}).items()},
    )


def sort_differences(rules: list[Rule], major: int, differences: list[Difference]) -> Sorted:
    """Gives each difference to the first rule of the version that it matches."""
    counts: Counter[Rule] = Counter()
    unknown = []
    for difference in differences:
        rule = next((r for r in rules if major in r.count and r.matches(difference)), None)
        if rule is None:
            unknown.append(difference)
        else:
            counts[rule] += 1
    return Sorted(counts, unknown)


def wrong_counts(rules: list[Rule], major: int, counts: Counter[Rule]) -> list[str]:
    """Says where more or fewer statements differ than the file says."""
    found = []
    for rule in rules:
        wanted = rule.count.get(major, 0)
        if counts[rule] != wanted:
            found.append(f"{rule.name}: {counts[rule]} differences, and not {wanted}")
    return found
