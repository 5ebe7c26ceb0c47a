"""The tester of random transactions: what can be tested without a server."""

from dataclasses import replace

from lib.randomqueries.dice import Dice
from lib.randomqueries.session import Row
from lib.randomwrites.cases import Case, make_case
from lib.randomwrites.comparing import problem_of
from lib.randomwrites.context import Step
from lib.randomwrites.running import WRITER, Run, Sent, text_of
from lib.randomwrites.session import Outcome
from lib.randomwrites.shapes import GONE, random_shape
from lib.randomwrites.tables import CLERK, TABLES, leaves_on

SEED = 7


def ran(outcome: Outcome, ordered: bool = False, sql: str = "DELETE FROM g") -> Run:
    return Run([Sent(sql, Step(sql, ordered), outcome)])


def test_a_seed_makes_the_same_cases() -> None:
    for number in range(1, 50):
        assert make_case(SEED, number) == make_case(SEED, number)


def test_every_leaf_has_one_place() -> None:
    places = [leaf.name for server in ("one", "two", None) for _, leaf in leaves_on(server)]
    assert sorted(places) == sorted(leaf.name for table in TABLES for leaf in table.leaves)


def test_tablets_are_asked_for() -> None:
    texts = " ".join(
        text_of(step) for i in range(1, 400) for step in make_case(SEED, i, True, True).steps
    )
    assert all(words in texts for words in ("MERGE INTO b", "COPY g", "UPDATE b SET id"))
    assert {make_case(SEED, i).tablets for i in range(1, 20)} == {False, True}
    assert all(make_case(SEED, i, only_tablets=True).tablets for i in range(1, 20))


def test_keyed_statements_are_made_of_distributed_tables() -> None:
    cases = [make_case(SEED, i, True, True) for i in range(1, 400)]
    texts = " ".join(text_of(step) for case in cases for step in case.steps)
    for words in (
        "PREPARE p1 (int, int) AS",
        "FOR UPDATE",
        "SET (v, p) = (SELECT",
        "id = excluded.id, (v, s) =",
        "(s, v, id) VALUES ('a'",
        " AS v, 'm' AS s) q ON t.id = q.id",
        "INSERT INTO b (id, v) VALUES",
        "RETURNING id, v) SELECT w.id",
    ):
        assert words in texts
    assert any("shuttle.enable_router" in case.settings for case in cases)


def test_routines_are_distributed_and_policies_apply() -> None:
    cases = [make_case(SEED, i, True, True) for i in range(1, 400)]
    routines = " ".join(WRITER.write(sql) for case in cases for sql in case.routines)
    assert "distribute_function('c.q0(int, int, bigint)', 'key1'" in routines
    texts = " ".join(text_of(step) for case in cases for step in case.steps if case.role)
    assert all(words in texts for words in ("CALL c.q0(", "INSERT INTO vm (", "UPDATE m SET"))
    assert {case.role for case in cases} == {"", CLERK}


def test_all_kinds_of_statements_are_made() -> None:
    cases = [make_case(SEED, i, old_and_new=True) for i in range(1, 400)]
    texts = " ".join(text_of(step) for case in cases for step in case.steps)
    for words in (
        "ON CONFLICT (id) DO UPDATE",
        "ON CONFLICT DO NOTHING",
        "FROM STDIN",
        "MERGE INTO l",
        "MERGE INTO h",
        "WITH w0 AS",
        "ROLLBACK TO",
        "FETCH",
        "EXECUTE",
        "EXCEPTION WHEN",
        "INSERT INTO va",
        "DELETE FROM h USING",
        "TRUNCATE",
        "CREATE PROCEDURE",
        "SET enable_nestloop = off",
        "new.v",
        "INSERT INTO i",
    ):
        assert words in texts


def test_smaller_cases_are_smaller() -> None:
    def size(case: Case) -> int:
        parts = [
            str(part)
            for part in (case.steps, case.routines, case.settings, case.isolation + case.role)
        ]
        return sum(map(len, parts)) + sum(step.guarded for step in case.steps) * 2

    case = next(case for case in (make_case(SEED, i) for i in range(1, 99)) if case.routines)
    assert all(size(less) < size(case) for less in case.smaller())


def test_rows_are_compared_as_multisets_where_their_order_is_open() -> None:
    one = Outcome([(b"1",), (b"2",), (b"2",)], "DELETE 3")
    assert problem_of(ran(one), ran(replace(one, rows=[(b"2",), (b"1",), (b"2",)]))) is None
    assert problem_of(ran(one), ran(replace(one, rows=[(b"2",), (b"1",), (b"1",)]))) is not None
    assert problem_of(ran(one, True), ran(replace(one, rows=one.rows[::-1]), True)) is not None


def test_errors_are_told_apart_by_constraint() -> None:
    one = Outcome(error=("23505", "a_pkey"))
    assert problem_of(ran(one), ran(one)) is None
    assert problem_of(ran(one), ran(Outcome(error=("23505", "a_k_key")))) is not None
    assert problem_of(ran(one), ran(Outcome(tag="DELETE 0"))) is not None
    # postgres_fdw does not tell which
    assert (
        problem_of(ran(Outcome(error=("23505", "g_pkey"))), ran(Outcome(error=("23505", ""))))
        is None
    )


def test_notices_behind_an_error_may_be_told() -> None:
    failed = Outcome(error=("23505", "a_pkey"), notices=("NOTICE: one",))
    more = replace(failed, notices=("NOTICE: one", "NOTICE: two"))
    assert problem_of(ran(failed), ran(more)) is None
    assert problem_of(ran(more), ran(failed)) is None
    assert problem_of(ran(more, True), ran(failed, True)) is not None
    fine = Outcome(notices=("NOTICE: one", "NOTICE: two"))
    assert problem_of(ran(fine), ran(replace(fine, notices=fine.notices[::-1]))) is None
    assert problem_of(ran(fine, True), ran(replace(fine, notices=fine.notices[::-1]), True))


def test_rows_before_an_error_that_is_caught_may_be_others() -> None:
    one = Outcome(tag="DO", notices=("NOTICE: BEFORE ROW (1)", "NOTICE: caught a_pkey"))
    other = replace(one, notices=("NOTICE: BEFORE ROW (2)", "NOTICE: caught a_pkey"))
    assert problem_of(ran(one), ran(other)) is None
    assert problem_of(ran(one, True), ran(other, True)) is not None
    assert problem_of(ran(one), ran(replace(one, notices=one.notices[:1]))) is not None


def test_rows_afterwards_are_compared_both_ways() -> None:
    row: Row = (b"1",)
    one, other = Run([], {"a": [row]}), Run([], {"a": []})
    assert problem_of(one, other) is not None
    assert problem_of(other, one) is not None
    assert problem_of(one, one) is None


def test_a_shape_has_all_columns() -> None:
    columns = ["id int", "v int", "s text"]
    for number in range(20):
        shape = random_shape(Dice(SEED, number), len(columns))
        found = shape.columns(columns)
        assert sorted(set(found) - set(GONE)) == sorted(columns)
        assert len(found) == len(columns) + shape.end("TABLE", "t").count("DROP")


def test_parts_of_columns_and_settings_are_drawn() -> None:
    cases = [make_case(SEED, i, True, True) for i in range(1, 600)]
    texts = " ".join(text_of(step) for case in cases for step in case.steps)
    for words in (
        "DO UPDATE SET arr[",
        "THEN UPDATE SET js[",
        "SET arr[1] = $2, arr[2] = $2 + 1, comp.x = $2",
        "UPDATE ONLY ",
        "DELETE FROM ONLY ",
        "SET LOCAL search_path = own, public",
        "quote_ident('x')",
        " + 0 = ",
    ):
        assert words in texts
