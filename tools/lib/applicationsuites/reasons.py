"""Which tests there are, and why some fail over distributed tables only: suites.toml."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lib.applicationsuites.suites import FAILED, PASSED, End, Ends

SUITES = Path(__file__).with_name("suites.toml")
STAYS = re.compile(r'NOTICE:  table "(.+)" stays on this server: (.*)')
MADE = re.compile(r"(?:statement|execute \S+):\s+CREATE TABLE ")


@dataclass(frozen=True)
class Reason:
    name: str
    test: str  # a pattern of the test's name; empty: any
    error: str  # a pattern of its error; empty: any

    def explains(self, test: str, error: str) -> bool:
        return bool(re.search(self.test, test) and re.search(self.error, error))


@dataclass(frozen=True)
class Choice:
    """What of a suite runs, and what is known of it."""

    tests: list[str]
    short: list[str]
    reasons: list[Reason]


def read_choice(suite: str) -> Choice:
    with SUITES.open("rb") as file:
        entry = tomllib.load(file)[suite]
    reasons = [
        Reason(one["why"], one.get("test", ""), one.get("error", ""))
        for one in entry.get("reasons", [])
    ]
    return Choice(entry["tests"], entry["short"], reasons)


def end_of(ends: Ends, test: str) -> End:
    """Of a test that was not run: what its class failed with (Django's tests)."""
    of_class = f"setUpClass ({test.rpartition('.')[0]})"
    return ends.get(test) or ends.get(of_class) or End(FAILED, "the test was not run")


def differing(alone: Ends, distributed: Ends) -> Iterable[str]:
    """Tests that pass on the server alone only."""
    return sorted(
        test
        for test, end in alone.items()
        if end.word == PASSED and end_of(distributed, test).word != PASSED
    )


def count(ends: Ends, word: str) -> int:
    return sum(end.word == word for end in ends.values())


def score(ends: Ends) -> str:
    return f"{count(ends, PASSED)} passed, {count(ends, FAILED)} failed"


def tables(log: str) -> tuple[int, int]:
    """How many tables were made, and how many of these stayed on the query node."""
    return len(MADE.findall(log)), len(STAYS.findall(log))
