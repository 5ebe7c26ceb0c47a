"""What a run of tests came to."""

from pathlib import Path

from lib.testrun.outcome import (
    Outcome,
    check_logs,
    pytest_outcome,
    regress_outcome,
    regress_reason,
    tap_outcome,
    tap_reason,
)

NEW_STYLE = """ok 1         - join_types          12 ms
not ok 2     - join_nulls          15 ms
1..2
"""
OLD_STYLE = """test join_types                   ... ok           12 ms
test join_nulls                   ... FAILED       15 ms
"""


def test_failed_regression_tests_are_counted() -> None:
    for output in (NEW_STYLE, OLD_STYLE):
        assert regress_outcome(1, output) == Outcome(1, 1)


def test_failed_pytest_is_counted() -> None:
    output = "FAILED tests/test_a.py::test_one - assert 1 == 2\n1 failed, 2 passed in 0.1s\n"
    assert pytest_outcome(1, output) == Outcome(2, 1)


def test_a_run_without_results_failed() -> None:
    assert regress_outcome(2, "pg_regress: could not start") == Outcome(0, 1)


def test_tests_that_did_not_run_are_counted() -> None:
    assert regress_outcome(124, NEW_STYLE, 3) == Outcome(1, 4)
    assert regress_outcome(1, "no server", 3) == Outcome(0, 3)


DIFFERENCES = """diff -U3 /tmp/expected/join_a.out /tmp/results/join_a.out
--- /tmp/expected/join_a.out
+++ /tmp/results/join_a.out
@@ -1,2 +1,2 @@
 a
-1
+2
diff -U3 /tmp/expected/join.out /tmp/results/join.out
--- /tmp/expected/join.out
+++ /tmp/results/join.out
@@ -1 +1 @@
-x
+y
"""


def test_the_reason_of_a_regression_test_is_what_differs_in_it() -> None:
    assert regress_reason(DIFFERENCES, "join_a") == ["-1", "+2"]
    assert regress_reason(DIFFERENCES, "join") == ["-x", "+y"]
    assert regress_reason("", "join") == []


def test_the_reason_of_a_script_is_what_failed_or_its_end() -> None:
    output = "ok 1 - here\nnot ok 2 - rows\n#   Failed test 'rows'\n#          got: '1'\n1..2\n"
    assert tap_reason(output, "died") == [
        "not ok 2 - rows",
        "#   Failed test 'rows'",
        "#          got: '1'",
    ]
    assert tap_reason("ok 1 - here\nCan't locate Cluster.pm\n", "") == [
        "Can't locate Cluster.pm",
        "ok 1 - here",
    ]


def test_what_a_script_died_of_is_told() -> None:
    """prove tells no more than that it died, or that its time was over."""
    output = "ok 1 - here\n# Looks like your test exited with 29 just after 1.\nResult: FAIL\n"
    log = (
        'psql:<stdin>:1: ERROR:  relation "t" does not exist\n'
        '### Stopping node "query" using mode immediate\n# Running: pg_ctl\nserver stopped\n'
    )
    told = ["Result: FAIL", 'psql:<stdin>:1: ERROR:  relation "t" does not exist']
    assert tap_reason(output, log) == told


def test_a_crash_is_told_with_its_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("LOG:  here\nTRAP: failed Assert\n")
    assert check_logs([log], []) == Outcome(0, 1, crashes=(f"{log}: TRAP: failed Assert",))
    assert check_logs([log], ["TRAP: failed"]) == Outcome()


def test_a_skipped_script_did_not_pass_and_is_told_with_its_reason() -> None:
    output = "storage_gss.pl ..\n1..0 # SKIP no KDC is installed\nskipped: no KDC is installed\n"
    outcome = tap_outcome("storage_gss", 0, output).on_server("18")
    assert outcome == Outcome(skipped=("storage_gss: no KDC is installed [on 18]",))
    silent = "/tmp/t/storage_gss.pl .. skipped: no KDC is installed\nFiles=1, Tests=0\n"
    assert tap_outcome("storage_gss", 0, silent).on_server("18") == outcome
    assert tap_outcome("storage_gss", 0, "ok 1 - here # SKIP no root\n1..1\n") == Outcome(1)
    assert tap_outcome("storage_gss", 1, output) == Outcome(0, 1)


def test_skipped_pytest_is_told_with_its_reason() -> None:
    output = "SKIPPED [1] tests/test_a.py:12: no network here\n2 passed, 1 skipped in 0.1s\n"
    assert pytest_outcome(0, output) == Outcome(2, 0, ("tests/test_a.py: no network here",))


def test_skipped_tests_add_up() -> None:
    total = Outcome(1, skipped=("a: b",)) + Outcome(2, skipped=("c: d",))
    assert total == Outcome(3, skipped=("a: b", "c: d"))
