"""The tester of random queries: what can be tested without a server."""

import re
from pathlib import Path

import pytest
from lib.randomqueries import settings
from lib.randomqueries.cases import make_case
from lib.randomqueries.fragments import Many, Place, all_of, smaller
from lib.randomqueries.plans import most_batches, waits_for_itself
from lib.randomqueries.session import Row
from lib.randomqueries.tables import make_tables
from lib.randomqueries.texts import SESSION
from lib.randomqueries.ways import Way, fetched, literal_side, local_texts, query_steps
from lib.randomwrites.settings import SWITCHES

SETTINGS = Path(__file__).resolve().parents[2] / "docs/settings.md"
# Of administrators.
NOT_TRIED = {"shuttle.enable_ddl"}


def test_random_cases_try_every_switch() -> None:
    switches = set(re.findall(r"^\| `(shuttle\.enable_\w+)`", SETTINGS.read_text(), re.MULTILINE))
    tried = {*settings.SWITCHES, *(name for _, name in SWITCHES)}
    assert switches - tried == NOT_TRIED


def test_a_seed_makes_the_same_cases() -> None:
    first, second = (make_tables(7) for _ in range(2))
    assert first == second
    for number in range(1, 50):
        assert make_case(7, number, first) == make_case(7, number, second)


def test_sides_differ_in_schemas_alone() -> None:
    tables = make_tables(7)
    for number in range(1, 200):
        case = make_case(7, number, tables)
        if case.way == Way("plain") and case.transport != "both":
            (foreign,) = [step.sql for step in query_steps(case.queries, case.way, case.transport)]
            assert (
                foreign.replace(f"{case.transport}.", "local.")
                == local_texts(case.queries, case.way)[0]
            )


def test_smaller_queries_lose_one_item() -> None:
    sql = ("SELECT ", Many(("a", "b"), ", "), " FROM ", Place("t", True, 1), all_of("x"))
    written = [literal_side("guest").write(less) for less in smaller(sql)]
    assert written == [
        "SELECT b FROM guest.tx",
        "SELECT a FROM guest.tx",
        "SELECT a, b FROM guest.ttrue",
    ]


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([("FORWARD", 2), ("BACKWARD", 1)], [0, 1, 0]),
        ([("FORWARD", 9), ("BACKWARD", 2)], [0, 1, 2, 2, 1]),
        ([("ABSOLUTE", 3), ("FORWARD", 1), ("BACKWARD", 1)], [2, 2]),
        ([("BACKWARD", 1), ("FORWARD", 1)], [0]),
    ],
)
def test_cursors_move_as_the_server_moves_them(
    moves: list[tuple[str, int]], expected: list[int]
) -> None:
    rows: list[Row] = [(str(i).encode(),) for i in range(3)]
    assert fetched(rows, Way("scroll", fetches=tuple(moves))) == [rows[i] for i in expected]


def test_a_parameter_of_asynchronous_scans_is_known() -> None:
    scans = {"Node Type": "Foreign Scan", "Async Capable": True}
    append = {"Node Type": "Append", "Parent Relationship": "InitPlan", "Plans": [scans]}
    scan = {"Node Type": "Foreign Scan", "Plans": [append]}
    assert waits_for_itself([{"Plan": {"Node Type": "Sort", "Plans": [scan]}}])
    assert not waits_for_itself([{"Plan": {**append, "Plans": [scans]}}])


def test_batches_are_counted_anywhere_in_a_plan() -> None:
    batches = 3
    look = {"Node Type": "Custom Scan", "Custom Plan Provider": "Look Ahead", "Batches": batches}
    assert most_batches([{"Plan": {"Node Type": "Nested Loop", "Plans": [look]}}]) == batches
    assert most_batches([{"Plan": {"Node Type": "Seq Scan"}}]) == 0


def test_every_place_of_sets_parts_and_settings_is_drawn() -> None:
    tables = make_tables(7)
    cases = [make_case(7, number, tables) for number in range(1, 2500)]
    texts = "\n".join(local_texts(case.queries, case.way)[0] for case in cases)
    for words in (
        "SELECT DISTINCT unnest(",
        "GROUP BY ROLLUP (1",
        "CROSS JOIN LATERAL unnest(",
        "AS MATERIALIZED (SELECT generate_series(",
        "local.unfolded_groups",
        "FROM ONLY local.",
        "UPDATE ONLY local.",
        "OPERATOR(own.===)",
        "a[5:6] = ARRAY[",
        "p.z[1] = ",
        " IS NOT DISTINCT FROM '",
    ):
        assert words in texts
    settings = {name for case in cases for name, _ in case.way.session + case.way.later}
    assert settings == {name for _, name, _ in SESSION}
    assert any(case.way.later and case.way.name == "prepared" for case in cases)
