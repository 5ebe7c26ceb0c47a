"""Tests of random attacks that need no server."""

from lib.randomattacks.session import Outcome
from lib.randomattacks.statements import make_steps
from lib.randomattacks.tester import WRITER, Run, problem_of
from lib.randomattacks.world import definitions, make_rows
from lib.randomqueries.dice import Dice

WORDS = (
    *("GROUP BY", "HAVING", "ORDER BY", "LIMIT", "FILTER", "OVER", "LATERAL", "EXISTS", "ROLLUP"),
    *("RETURNING", "ON CONFLICT", "MERGE", "COPY", "DECLARE", "PREPARE", "EXPLAIN", "CURRENT OF"),
    *("LEFT JOIN", "UNION", "MATERIALIZED", "FOR UPDATE", "USING", "= ANY", "f.loop", "pg_stats"),
)


def run(sqlstate: str = "00000", told: tuple[str, ...] = (), rows: int = 1) -> Run:
    outcome = Outcome(sqlstate, "SELECT 1", [(b"1",)] * rows, told)
    return Run([("SELECT 1", outcome)])


def test_expressions_stand_everywhere() -> None:
    texts = [WRITER.write(step) for i in range(800) for step in make_steps(Dice(1, "attack", i))]
    assert texts == [
        WRITER.write(step) for i in range(800) for step in make_steps(Dice(1, "attack", i))
    ]
    assert [word for word in WORDS if not any(word in text for text in texts)] == []


def test_only_hidden_rows_are_marked() -> None:
    for row in make_rows(Dice(1, "rows", "a"), "a"):
        assert (row[1] == "reader") == (row[3] != "0")
        assert (row[1] != "reader") == ("HIDDEN" in str(row[4])) == str(row[5]).startswith("777")
    assert list(definitions(3)) == list(definitions(3))


def test_what_is_a_failure() -> None:
    assert problem_of(run(), run()) is None
    assert problem_of(run(), run("0A000")) is None
    assert "shows" in (problem_of(run(), run(told=("saw HIDDENa1",))) or "")
    assert "shows" in (problem_of(run(), run("0A000", told=("id\n7770001",))) or "")
    assert problem_of(run(told=("saw 7770001",)), run(told=("saw 7770001",))) is None
    at_node = run(told=("saw 7770001\nstorage node",))
    assert "shows" not in (problem_of(run(told=("saw 7770001",)), at_node) or "")
    assert "22012" in (problem_of(run(), run("22012")) or "")
    assert problem_of(run(), run(rows=2)) is not None
    hidden = run()
    hidden.rows["a"] = [(b"1",)]
    changed = run()
    changed.rows["a"] = [(b"2",)]
    assert problem_of(hidden, changed) == "other rows of a afterwards"
