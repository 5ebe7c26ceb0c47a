"""Says what differs between the two sides of a transaction."""

import re
from collections import Counter
from itertools import chain, groupby
from typing import TypeAlias

from lib.randomqueries.checking import multiset_problem
from lib.randomqueries.session import Row
from lib.randomwrites.running import Run, Sent
from lib.randomwrites.tables import TABLES, distributed

Error: TypeAlias = tuple[str, str] | None

SHOWN = 6
CALLED_BEHIND = re.compile(r"RETURNING .*c\.f\d")
CAUGHT = "NOTICE: caught"  # by a block, whose statement ended there
OF_ROW = re.compile(r"NOTICE: (BEFORE|AFTER) ROW ")  # by a trigger
FOREIGN_KEY = "23503"
TIMED_OUT = "57014"
REFUSED_BY_POLICY = "42501"
GIVEN_UP = "08006"
LOOSE_KEYS = [("23505", f"{table.name}_pkey") for table in map(distributed, TABLES) if table.loose]


def behind_error_problem(expected: Sent, found: Sent) -> str | None:
    """What statements and triggers tell that ran ahead of an error is there, too."""
    # a foreign key is checked behind each request, and not behind all rows; and where rows
    # came in another order, another one has failed
    is_foreign_key = expected.outcome.error is not None and expected.outcome.error[0] == FOREIGN_KEY
    in_order = expected.step.ordered and expected.outcome.message == found.outcome.message
    if is_foreign_key or not in_order:
        return None
    lacking = Counter(expected.outcome.notices) - Counter(found.outcome.notices)
    return f"notices missing: {list(lacking)[:SHOWN]}" if lacking else None


def in_any_order(notices: list[str]) -> list[str]:
    """Sorts what row triggers tell in a row: a function may update rows of several nodes."""
    sorted_runs = [
        sorted(run) if of_row else list(run)
        for of_row, run in groupby(notices, lambda notice: OF_ROW.match(notice) is not None)
    ]
    return list(chain.from_iterable(sorted_runs))


def notice_problem(expected: Sent, found: Sent, tablets: bool) -> str | None:
    these, those = list(expected.outcome.notices), list(found.outcome.notices)
    if not expected.step.ordered and any(notice.startswith(CAUGHT) for notice in these):
        # rows came in another order, so triggers told of others before one failed
        these, those = ([one for one in side if one.startswith(CAUGHT)] for side in (these, those))
    # functions in RETURNING run when all rows are written
    runs_behind = CALLED_BEHIND.search(expected.sql) is not None
    if expected.outcome.error is not None:
        return None if runs_behind else behind_error_problem(expected, found)
    if expected.step.ordered and not runs_behind:
        if tablets:
            these, those = in_any_order(these), in_any_order(those)
        if these != those:
            return f"notices in order: {these[:SHOWN]} became {those[:SHOWN]}"
        return None
    problem = multiset_problem(these, those)
    return f"notices: {problem}" if problem else None


def row_problem(expected: Sent, found: Sent) -> str | None:
    these, those = expected.outcome.rows, found.outcome.rows
    problem = multiset_problem(these, those)
    if problem is None and expected.step.ordered and these != those:
        return f"another order: {these[:SHOWN]} became {those[:SHOWN]}"
    return problem


def is_guest_error(expected: Error, found: Error) -> bool:
    """postgres_fdw does not pass on which constraint a node names."""
    if expected is None or found is None or expected[0] != found[0] or found[1]:
        return False
    return any(expected[1].startswith(f"{table.name}_") for table in TABLES if table.is_guest)


def is_error_behind(expected: Sent, found: Sent) -> bool:
    """True if RETURNING fails for a row, and a later row, written with it, fails as well."""
    both = expected.outcome.error is not None and found.outcome.error is not None
    return both and CALLED_BEHIND.search(expected.sql) is not None


def statement_problem(expected: Sent, found: Sent, tablets: bool) -> str | None:
    one, other = expected.outcome, found.outcome
    if expected.sql != found.sql:
        return f"{expected.sql} against {found.sql}"
    if one.error != other.error and not (
        is_guest_error(one.error, other.error) or is_error_behind(expected, found)
    ):
        return f"error {other.error} instead of {one.error}: {other.message or one.message}"
    if one.tag != other.tag:
        return f"{other.tag} instead of {one.tag}"
    return row_problem(expected, found) or notice_problem(expected, found, tablets)


def table_problem(expected: dict[str, list[Row]], found: dict[str, list[Row]]) -> str | None:
    for name in sorted(expected.keys() | found.keys()):
        problem = multiset_problem(expected.get(name, []), found.get(name, []))
        if problem is not None:
            return f"rows of {name} afterwards: {problem}"
    return None


def fails_to_commit(run: Run) -> bool:
    """True where a commit has failed; without BEGIN, any statement has one."""
    last = run.sent[-1:]
    commits = last if last and last[0].sql in ("COMMIT", "ROLLBACK") else run.sent
    return any(sent.outcome.error is not None for sent in commits)


def problem_of(expected: Run, found: Run) -> str | None:
    """What is wrong with the far side; None: nothing."""
    if found.broken is not None or expected.broken is not None:
        if expected.broken is None:
            return f"could not begin: {found.broken}"
        return None
    for number, (one, other) in enumerate(zip(expected.sent, found.sent, strict=False), 1):
        problem = statement_problem(one, other, found.tablets)
        if problem is not None:
            return f"statement {number}, {one.sql.splitlines()[0][:80]}: {problem}"
    if len(expected.sent) != len(found.sent):
        return "the transactions have different lengths"
    expected_rows, found_rows = expected.rows, found.rows
    if fails_to_commit(found):
        # servers of postgres_fdw have committed by then
        guests = {leaf.name for table in TABLES if table.is_guest for leaf in table.leaves}
        expected_rows, found_rows = (
            {name: rows for name, rows in side.items() if name not in guests}
            for side in (expected_rows, found_rows)
        )
    return table_problem(expected_rows, found_rows)


def is_wrong(sqlstate: str) -> bool:
    """True of what a statement should not have had; a policy refuses rows by design."""
    return sqlstate.startswith("42") and sqlstate != REFUSED_BY_POLICY


def is_given_up(settings: dict[str, str], found: Run) -> bool:
    """True if a block failed behind an INSERT that had failed and was not waited for."""
    return "shuttle.strict_savepoints" in settings and any(
        sent.outcome.error is not None and sent.outcome.error[0] == GIVEN_UP for sent in found.sent
    )


def skipped_because(expected: Run, tablets: bool) -> str | None:
    """Why nothing can be said of a transaction. tablets: of distributed tables."""
    if expected.broken is not None:
        return f"not begun: {expected.broken}"
    for sent in expected.sent:
        error = sent.outcome.error
        if error is not None and (error[0] == TIMED_OUT or is_wrong(error[0])):
            return f"{sent.outcome.message}"
        if tablets and error in LOOSE_KEYS:
            return "a key that the distributed table does not have"
    return None
