"""A run of tests that finds none of those that were named fails, whatever their kind."""

import subprocess
import sys

import pytest
from lib.testrun.installed import ROOT, list_prefixes
from lib.testrun.kinds import KINDS

NOT_RUN = 2  # exit code


def run_tests(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/run_tests"), "--no-build", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_without_a_test_is_refused(kind: str) -> None:
    """pytest's own names are looked for on a server that is there."""
    if kind == "pytest" and "18" not in dict(list_prefixes()):
        pytest.skip("PostgreSQL 18 is not installed with the extension")
    ended = run_tests("--pg", "18", "--kind", kind, "no_such_test_anywhere")
    assert ended.returncode == NOT_RUN, ended
    assert "run_tests: " in ended.stderr
    assert "passed" not in ended.stdout


def test_a_name_of_another_kind_is_refused() -> None:
    ended = run_tests("--pg", "18", "--kind", "isolation", "join_groups")
    assert ended.returncode == NOT_RUN, ended
    assert "there is no test called join_groups" in ended.stderr


def test_a_name_of_pytest_is_found_beside_other_kinds() -> None:
    if "18" not in dict(list_prefixes()):
        pytest.skip("PostgreSQL 18 is not installed with the extension")
    kinds = ("--kind", "regress", "--kind", "pytest")
    ended = run_tests("--pg", "18", *kinds, "test_links_are_found")
    assert ended.returncode == 0, ended
    assert "1 passed, 0 failed" in ended.stdout
