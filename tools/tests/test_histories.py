"""The checker of histories finds what is planted, and says nothing of histories that are right.

The independent checker has to agree where it can be had.
"""

import os
from pathlib import Path

import pytest
from lib.histories import command, history, judge, servers
from lib.histories.checker import Level, check
from lib.histories.command import CASES, Wanted
from lib.histories.history import APPEND, FAIL, INFO, OK, READ, Operation, Transaction
from lib.testrun.installed import clean_up, run_directory, server_given

COUNT = 300  # of a short history
MODELS = {
    Level.WHOLE: "read-committed",
    Level.SNAPSHOT: "snapshot-isolation",
    Level.STRICT: "strong-snapshot-isolation",
}


def r(key: int, *values: int) -> Operation:
    return (READ, key, values)


def a(key: int, value: int) -> Operation:
    return (APPEND, key, value)


def side_by_side(*transactions: list[Operation], outcome: str = OK) -> list[Transaction]:
    """All under way at the same time; outcome: of the first one."""
    count = len(transactions)
    return [
        Transaction(i, i, count + i, OK if i else outcome, tuple(operations))
        for i, operations in enumerate(transactions)
    ]


def in_turn(*transactions: list[Operation]) -> list[Transaction]:
    """One begins when the one before was answered."""
    return [
        Transaction(i, 2 * i, 2 * i + 1, OK, tuple(operations))
        for i, operations in enumerate(transactions)
    ]


FORK = ([a(1, 1)], [a(2, 2)], [r(1, 1), r(2)], [r(1), r(2, 2)])
SKEW = ([r(1), r(2), a(1, 1)], [r(1), r(2), a(2, 2)], [r(1, 1), r(2, 2)])
PLANTED = {
    "dirty write": (
        "G0",
        Level.SNAPSHOT,
        side_by_side([a(1, 1), a(2, 1)], [a(1, 2), a(2, 2)], [r(1, 1, 2)], [r(2, 2, 1)]),
    ),
    "aborted read": ("G1a", Level.WHOLE, side_by_side([a(1, 1)], [r(1, 1)], outcome=FAIL)),
    "intermediate read": (
        "G1b",
        Level.WHOLE,
        side_by_side([a(1, 1), a(1, 2)], [r(1, 1)], [r(1, 1, 2)]),
    ),
    "circular flow": ("G1c", Level.WHOLE, side_by_side([a(1, 1), r(2, 2)], [a(2, 2), r(1, 1)])),
    "half of a transaction": (
        "fractured-read",
        Level.WHOLE,
        side_by_side([a(1, 1), a(2, 2)], [r(1, 1), r(2)], [r(2, 2)]),
    ),
    "read skew": (
        "G-nonadjacent",
        Level.SNAPSHOT,
        side_by_side([a(1, 1), a(2, 2)], [r(1, 1), r(2)], [r(2, 2)]),
    ),
    "lost update": (
        "G-nonadjacent",
        Level.SNAPSHOT,
        side_by_side([r(1), a(1, 1)], [r(1), a(1, 2)], [r(1, 1, 2)]),
    ),
    "long fork": ("G-nonadjacent", Level.SNAPSHOT, side_by_side(*FORK)),
    "two orders": (
        "incompatible-order",
        Level.WHOLE,
        side_by_side([a(1, 1)], [a(1, 2)], [r(1, 1, 2)], [r(1, 2, 1)]),
    ),
    "a stale read": ("G-nonadjacent-realtime", Level.STRICT, in_turn([a(1, 1)], [r(1)], [r(1, 1)])),
    "seen and gone": (
        "G-nonadjacent-realtime",
        Level.STRICT,
        [
            Transaction(0, 0, 9, OK, (a(1, 1), a(2, 2))),
            Transaction(1, 1, 2, OK, (r(1, 1),)),
            Transaction(1, 3, 4, OK, (r(2),)),
            Transaction(1, 10, 11, OK, (r(2, 2),)),
        ],
    ),
    "of unknown outcome, by halves": (
        "fractured-read",
        Level.WHOLE,
        side_by_side([a(1, 1), a(2, 2)], [r(1, 1), r(2)], [r(2, 2)], outcome=INFO),
    ),
}
RIGHT = {
    "write skew": (Level.STRICT, side_by_side(*SKEW)),
    "a stale read": (Level.SNAPSHOT, in_turn([a(1, 1)], [r(1)], [r(1, 1)])),
    "a long fork": (Level.WHOLE, side_by_side(*FORK)),
    "of unknown outcome": (Level.STRICT, side_by_side([a(1, 1)], [r(1, 1)], outcome=INFO)),
    "failed": (Level.STRICT, side_by_side([a(1, 1)], [r(1)], [a(1, 2)], [r(1, 2)], outcome=FAIL)),
    "its own append": (
        Level.STRICT,
        in_turn([a(1, 1)], [r(1, 1), a(1, 2), r(1, 1, 2)], [r(1, 1, 2)]),
    ),
}


@pytest.mark.parametrize("what", PLANTED)
def test_planted_anomalies_are_found(what: str) -> None:
    name, level, transactions = PLANTED[what]
    assert name in check(transactions, level).names


@pytest.mark.parametrize("what", RIGHT)
def test_right_histories_are_right(what: str) -> None:
    level, transactions = RIGHT[what]
    assert check(transactions, level).examples == {}


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    for name, (_, _, transactions) in PLANTED.items():
        history.write(tmp_path / name, transactions)
        found = history.read(tmp_path / name)
        assert [one.operations for one in found] == [one.operations for one in transactions]


@pytest.fixture(scope="module")
def program() -> Path:
    found = judge.find(build=False)
    if found is None:
        pytest.skip("adya is not there: tools/histories builds it, where cargo is")
    return found


def test_the_independent_checker_agrees(program: Path, tmp_path: Path) -> None:
    """A read of a part is no anomaly of read committed: there it is judged as a snapshot."""
    for name, (anomaly, level, transactions) in PLANTED.items():
        history.write(tmp_path / name, transactions)
        model = MODELS[Level.SNAPSHOT if anomaly == "fractured-read" else level]
        assert not judge.is_valid(program, tmp_path / name, model), name
    for name, (level, transactions) in RIGHT.items():
        history.write(tmp_path / name, transactions)
        assert judge.is_valid(program, tmp_path / name, MODELS[level]), name


def test_short_histories(tmp_path: Path) -> None:
    """What a few hundred transactions of each kind look like; tools/histories records more."""
    config = os.environ.get("PGSHUTTLE_TEST_PG")
    if config is None:
        pytest.skip("no server to test")
    installed = server_given(config)
    base = run_directory()
    wanted = Wanted(COUNT, 6, 1, 0.0, tmp_path, judge.find(build=False))
    with servers.start(installed, base) as running:
        problems = [
            problem for name in CASES for problem in command.run_case(running, name, wanted)
        ]
    clean_up(base, keep=bool(problems))
    assert problems == []
