"""Which tests of ORMs' suites need a reason."""

import re

import pytest
from lib.applicationsuites import reasons
from lib.applicationsuites.suites import FAILED, PASSED, SKIPPED, SUITES, End

OK = End(PASSED)
LOG = """LOG:  statement: CREATE TABLE a (id int)
NOTICE:  table "a" stays on this server: no reason
LOG:  execute <unnamed>:
\tCREATE TABLE b (id int)
LOG:  statement: CREATE INDEX ON a (id)
"""


def test_only_tests_that_pass_alone_count() -> None:
    alone = {"a.B.c": OK, "a.B.d": OK, "a.B.e": End(SKIPPED), "a.B.f": End(FAILED)}
    assert list(reasons.differing(alone, {"a.B.c": OK})) == ["a.B.d"]
    assert list(reasons.differing(alone, alone)) == []


def test_a_class_that_could_not_begin() -> None:
    failed = End(FAILED, "in its preparation")
    ends = {"setUpClass (a.B)": failed, "a.C.d": OK}
    assert reasons.end_of(ends, "a.B.c") == failed
    assert reasons.end_of(ends, "a.C.d") == OK
    assert reasons.end_of(ends, "a.C.e").word == FAILED


def test_tables_that_stayed() -> None:
    assert reasons.tables(LOG) == (2, 1)


@pytest.mark.parametrize("suite", SUITES)
def test_what_is_known_of_a_suite(suite: str) -> None:
    choice = reasons.read_choice(suite)
    assert choice.tests
    assert choice.short
    for reason in choice.reasons:
        assert reason.test or reason.error
        re.compile(reason.test)
        re.compile(reason.error)
