"""Outputs are cut at their statements, and differences told apart by rules."""

from pathlib import Path

import pytest
from lib.postgresfdwtests.classes import (
    FILE,
    Rule,
    make_rule,
    read_rules,
    sort_differences,
    wrong_counts,
)
from lib.postgresfdwtests.outputs import (
    Difference,
    compare,
    count_hunks,
    echoed_lines,
    step_lines,
    without_plans,
)
from lib.postgresfdwtests.sources import change

SCRIPT = """\
-- a comment; it's one
SELECT a
  FROM t; -- can't fail

COPY t FROM stdin;
SELECT 1;
\\.
SELECT 2;
"""
OUTPUT = """\
-- a comment; it's one
SELECT a
  FROM t; -- can't fail
 a
---
 1
(1 row)

COPY t FROM stdin;
SELECT 2;
 2
"""


def difference(statement: str, expected: list[str], result: list[str]) -> Difference:
    return Difference(statement, 1, tuple(expected), tuple(result))


def test_data_of_copy_is_not_echoed() -> None:
    assert [number for number, _ in echoed_lines(SCRIPT)] == [1, 2, 3, 5, 8]


def test_a_difference_is_one_of_its_statement() -> None:
    changed = OUTPUT.replace(" 1\n", " 3\n").replace(" 2\n", " 4\n")
    found = compare(echoed_lines(SCRIPT), OUTPUT, changed)
    assert [d.statement for d in found] == ["SELECT a\n  FROM t; -- can't fail", "SELECT 2;"]
    assert [d.line for d in found] == [3, 8]
    assert found[1].expected == (" 2",)
    assert "-  2" in found[1].text()
    assert compare(echoed_lines(SCRIPT), OUTPUT, OUTPUT) == []


def test_an_output_that_ends_early_differs() -> None:
    found = compare(echoed_lines(SCRIPT), OUTPUT, OUTPUT.split("COPY", maxsplit=1)[0])
    assert "ended here, before: COPY t FROM stdin;" in found[0].result[-1]


def test_hunks_are_counted_as_by_diff() -> None:
    lines = [str(i) for i in range(40)]
    near = ["x" if line in ("3", "8") else line for line in lines]
    far = ["x" if line in ("3", "30") else line for line in lines]
    counts = [count_hunks("\n".join(lines), "\n".join(other)) for other in (lines, near, far)]
    assert counts == [0, 1, 2]


def test_plans_are_left_out() -> None:
    text = "EXPLAIN x;\n  QUERY PLAN  \n-----\n Scan\n(1 row)\n\n a\n---\n(0 rows)"
    assert without_plans(text) == "EXPLAIN x;\n\n a\n---\n(0 rows)"


def test_steps_of_isolation_tests() -> None:
    text = "starting permutation: a b\nstep a: SELECT 1;\n1\n\nstep b: COMMIT;"
    assert [number for number, _ in step_lines(text)] == [1, 2, 5]


def test_rules() -> None:
    rule = make_rule(
        {
            "class": "c",
            "statement": "^SELECT",
            "replace": [["(r)ed", r"\1ose"]],
            "remove": ["gone.*"],
            "add": ["HINT: .*"],
            "count": {"18": 1},
        }
    )
    meant = difference("SELECT 1;", ["red", "gone away", "kept"], ["rose", "kept", "HINT: x"])
    assert rule.matches(meant)
    assert not rule.matches(difference("UPDATE t;", ["red"], ["rose"]))
    assert not rule.matches(difference("SELECT 1;", ["red"], ["blue"]))
    assert not rule.matches(difference("SELECT 1;", ["red", "kept"], ["rose"]))

    known = sort_differences([rule], 18, [meant])
    assert (known.counts[rule], known.unknown) == (1, [])
    assert sort_differences([rule], 15, [meant]).unknown == [meant]
    assert wrong_counts([rule], 18, known.counts) == []
    assert wrong_counts([rule], 15, known.counts) == ["c: 1 differences, and not 0"]


def test_another_order_is_no_other_row() -> None:
    rule = Rule("order", "", (), (), (), True, {18: 1})
    assert rule.matches(difference("", ["a", "b"], ["b", "a"]))
    assert not rule.matches(difference("", ["a", "b"], ["b", "b"]))


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="statemnt"):
        make_rule({"class": "c", "statemnt": "x"})


def test_every_class_is_documented() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/compatibility.md").read_text()
    rules = read_rules(FILE)
    assert rules
    for rule in rules:
        assert f"| {rule.name} |" in text
        assert set(rule.count) <= {15, 18}


def test_input_is_changed() -> None:
    assert change("CREATE EXTENSION postgres_fdw;") == (
        "CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_shuttle;"
    )
    assert change("CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw;").endswith("shuttle;")
    assert change("use_remote_estimate 'true'") == "shuttle_remote_estimate 'true'"
