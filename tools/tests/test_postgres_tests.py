"""Scripts of psql are cut at their statements, and differences told apart by rules."""

import re
import tomllib
from pathlib import Path

import pytest
from lib.postgrestests.classes import (
    COUNTS,
    HERE,
    Classes,
    make_entry,
    read_classes,
    read_counts,
    sort_run,
    write_counts,
    wrong_counts,
)
from lib.postgrestests.comparison import is_same, order_keys
from lib.postgrestests.runs import Answer, Run, Step
from lib.postgrestests.script import Piece, cut

SCRIPT = """\
-- it's a comment; and another
SELECT ';', $a$ ; $b$ ; $a$,
  E'\\';', (SELECT 1; /* ; /* ; */ */
  2) \\g
SELECT 1 \\; SELECT 2; SELECT 3;
COPY t FROM stdin;
;
\\.
COPY t FROM stdin (nonsense);
SELECT 1;
\\copy missing from stdin
\\echo data
\\.
CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END;
\\if false
SELECT (
\\else
SELECT 4;
\\endif
SELECT 5
"""


def test_cut() -> None:
    pieces = cut(SCRIPT)
    lines = [piece.line for piece in pieces]
    assert lines == [2, 5, 6, 9, 10, 11, 14, 15, 20]
    comment, _, rest = SCRIPT.partition("\n")
    assert comment.startswith("--")
    assert "".join(f"{piece.text}\n" for piece in pieces) == rest


TABLE = [" a | b ", "---+---", " 1 | x", " 2 | y", "(2 rows)", ""]
TURNED = [*TABLE[:2], TABLE[3], TABLE[2], *TABLE[4:]]


@pytest.mark.parametrize(
    ("statement", "same"),
    [
        ("SELECT a, b FROM t", True),
        ("SELECT a, b FROM t ORDER BY 1 DESC NULLS LAST LIMIT 2", False),
        ('SELECT a, b FROM t ORDER BY t.b COLLATE "C"', False),
        ("SELECT a, b FROM (SELECT * FROM t ORDER BY a) AS s", True),
        ("SELECT a, b FROM t ORDER BY a + 1", False),
    ],
)
def test_order(statement: str, same: bool) -> None:
    assert is_same(statement, TABLE, TURNED) is same


def test_ties_may_be_turned() -> None:
    ties = [line.replace("2 |", "1 |") for line in TABLE]
    turned = [*ties[:2], ties[3], ties[2], *ties[4:]]
    assert is_same("SELECT a, b FROM t ORDER BY a", ties, turned)
    assert order_keys("SELECT f(a, b) FROM t ORDER BY f(a, b), 2 -- c") == ["f(a, b)", "2"]


def classes(**entry: object) -> Classes:
    found = make_entry({"class": "known", **entry})
    return Classes(
        (("is not possible", "refused"),), (("CONTEXT: .*", "node"),), (found,), (), frozenset()
    )


def step(
    alone: list[str],
    distributed: list[str],
    state: str = "00000",
    refused: Answer | None = None,
) -> Step:
    answers = Answer(tuple(alone), "00000"), Answer(tuple(distributed), state)
    return Step("test", Piece(1, "SELECT a FROM t;"), *answers, refused)


def test_sort() -> None:
    refused = Answer(("ERROR:  x is not possible",), "0A000")
    stays = 'NOTICE:  table "t" stays on this server: why'
    steps = [
        step(["1"], ["1"], refused=refused),
        step([], [stays, "HINT:  do"]),
        step(["ERROR:  x"], ["ERROR:  x", "CONTEXT:  n1"]),
        step(["1"], ["2"]),
        step(["1"], ["3"]),
        step(["1"], ["ERROR:  XX"], "XX000"),
    ]
    rules = classes(replace=[["1", "2"]])
    found = sort_run(rules, Run("test", steps, ntables=1))
    assert found.counts == {"refused": 1, HERE: 1, "node": 1, "known": 1}
    assert [text.split(",")[1].split(":")[0] for text in found.wrong] == [
        " in no class",
        " internal error",
    ]
    assert wrong_counts(
        {"refused": 2, **{k: v for k, v in found.counts.items() if k != "refused"}}, found.counts
    )


def is_known(alone: list[str], distributed: list[str], **entry: object) -> bool:
    return not sort_run(classes(**entry), Run("test", [step(alone, distributed)], ntables=1)).wrong


def test_an_error_that_is_missing_is_known_only_where_a_class_says_so() -> None:
    gone = {"remove": ["ERROR:  .*"], "add": ["ERROR:  on node .*"]}
    assert is_known(["ERROR:  x"], ["ERROR:  on node x"], **gone)
    assert not is_known(["ERROR:  x"], [], **gone)
    assert is_known(["ERROR:  x"], [], succeeds=True, **gone)


def test_widths_of_columns() -> None:
    alone = ["  Table  ", "---------+---", " a       | 1"]
    distributed = ["     Other Table     ", "----+---", " a  | 1"]
    rule = {"replace": [["^Table$", "Other Table"]]}
    assert is_known(alone, distributed, widths=True, **rule)
    assert not is_known(alone, distributed, **rule)
    assert not is_known(alone, [*distributed[:2], " a  | 2"], widths=True, **rule)


def test_test_without_tables_fails() -> None:
    assert sort_run(classes(any=True), Run("test", [])).wrong
    assert not sort_run(classes(any=True), Run("test", [], nused=1)).wrong


def test_counts_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "counts.toml"
    path.write_text("")
    write_counts(15, {"a.b": {"x": 1, "none": 0}}, path)
    write_counts(18, {"c": {"y: z": 2}}, path)
    assert read_counts(15, path) == {"a.b": {"x": 1}}
    assert read_counts(18, path) == {"c": {"y: z": 2}}


def test_files_agree() -> None:
    """Each class that is counted is one of classes.toml, and each class there is met."""
    rules = read_classes()
    names = {name for _, name in (*rules.refusals, *rules.added)}
    names |= {f"{name}, PostgreSQL with another error" for _, name in rules.refusals}
    names |= {entry.rule.name for entry in rules.entries} | {h.name for h in rules.here} | {HERE}
    for pattern, _ in (*rules.refusals, *rules.added):
        re.compile(pattern)
    with COUNTS.open("rb") as file:
        content = tomllib.load(file)
    counted = {name for tests in content.values() for test in tests.values() for name in test}
    assert counted <= names
