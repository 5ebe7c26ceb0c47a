"""What valgrind's reports make of a run."""

from pathlib import Path

import pytest
from lib.testrun import valgrind
from lib.testrun.installed import Installed


def test_no_reports(tmp_path: Path) -> None:
    (tmp_path / "valgrind.1.log").write_text("")
    (tmp_path / "server.log").write_text("==1== Invalid read of size 1\n")
    assert valgrind.check_reports(tmp_path).failed == 0


def test_each_process_with_a_report_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "valgrind.1.log").write_text("")
    (tmp_path / "valgrind.2.log").write_text("==2== Invalid read of size 1\n" * 1000)
    (tmp_path / "valgrind.3.log").write_text("==3== Invalid write of size 8\n")
    found = valgrind.check_reports(tmp_path)
    assert found.failed == len(["2", "3"])
    printed = capsys.readouterr().out
    assert "Invalid write of size 8" in printed
    assert len(printed.splitlines()) == 2 + valgrind.LINES_SHOWN + 1


def test_what_is_no_error_is_said_by_postgresql_and_by_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs.supp"
    monkeypatch.setattr(valgrind, "find_suppressions", lambda _: theirs)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/valgrind")
    command = valgrind.server_command(Installed("18", tmp_path, tmp_path), tmp_path)
    lists = [Path(word.split("=")[1]) for word in command if word.startswith("--suppressions=")]
    assert lists == [theirs, valgrind.OUR_SUPPRESSIONS]
    assert valgrind.OUR_SUPPRESSIONS.exists()
