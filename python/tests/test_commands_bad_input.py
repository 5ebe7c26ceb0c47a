"""What users get wrong: files, names, places. Each is told in a line, never by a traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
from conftest import invoke

from pgshuttle.base import screen
from pgshuttle.base.errors import ExitCode
from pgshuttle.bench.results import save_run
from pgshuttle.commands import cli
from pgshuttle.demo import results as demo_results
from pgshuttle.look import node_rates

DAMAGED = {"points": 3, "claims": []}
NOWHERE = "host=127.0.0.1 port=1"


@pytest.fixture
def folder(work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user is: some files, none of them good but one."""
    monkeypatch.chdir(work_dir)
    for name in ("PGHOST", "PGPORT", "PGDATABASE", "PGSERVICE", "PGHOSTADDR"):
        monkeypatch.delenv(name, raising=False)
    Path("torn.json").write_text("{torn")
    Path("list.json").write_text("[1, 2]")
    Path("damaged.json").write_text(json.dumps(DAMAGED))
    Path("binary.json").write_bytes(b"\xff\xfe\x00")
    Path("folder.json").mkdir()
    save_run(synthetic.make_results(), demo_results.HEAD, Path("demo-results/demo-quick.json"))
    return work_dir


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("plot none.json", ExitCode.FAILED, "could not read none.json: No such file"),
        ("plot torn.json", ExitCode.FAILED, "torn.json is no JSON"),
        ("plot binary.json", ExitCode.FAILED, "binary.json is no JSON"),
        ("plot list.json", ExitCode.FAILED, "holds no results"),
        ("plot folder.json", ExitCode.FAILED, "Is a directory"),
        ("plot damaged.json", ExitCode.FAILED, "damaged.json is damaged"),
        ("plot demo-results/demo-quick.json x.xyz", ExitCode.USAGE, "x.xyz is not named"),
        ("plot demo-results/demo-quick.json none/x.png", ExitCode.OK, "Figure"),
        ("plot demo-results/demo-quick.json torn.json/x.png", ExitCode.FAILED, "torn.json"),
        ("up --dir torn.json", ExitCode.USAGE, "is not a directory"),
        ("up --dir /proc/none", ExitCode.FAILED, "/proc/none"),
        ("up --pg 9", ExitCode.NOT_INSTALLED, "The names of servers are"),
        ("up --pg /nowhere/pg_config", ExitCode.NOT_INSTALLED, "does not exist"),
        ("up --nodes 0", ExitCode.USAGE, "--nodes"),
        ("up --rtt near", ExitCode.USAGE, "--rtt"),
        ("up --rtt -1", ExitCode.USAGE, "--rtt"),
        ("up --members 2", ExitCode.USAGE, "--members and --query-pair want --ha"),
        ("up --query-pair", ExitCode.USAGE, "--members and --query-pair want --ha"),
        ("up --ha --stock", ExitCode.USAGE, "--ha goes without --rtt and --stock"),
        ("rtt x", ExitCode.USAGE, "as a number"),
        ("rtt 5", ExitCode.NOT_RUNNING, "Make one with pgshuttle up"),
        ("status", ExitCode.NOT_RUNNING, "there is no cluster"),
        ("psql", ExitCode.NOT_RUNNING, "there is no cluster"),
        ("down --remove", ExitCode.NOT_RUNNING, "there is no cluster"),
        ("ha list", ExitCode.NOT_RUNNING, "pgshuttle up --ha"),
        ("ha switchover 1", ExitCode.NOT_RUNNING, "pgshuttle up --ha"),
        ("ha kill 1", ExitCode.NOT_RUNNING, "pgshuttle up --ha"),
        ("ha start", ExitCode.NOT_RUNNING, "pgshuttle up --ha"),
        ("bench choices none", ExitCode.USAGE, "no join has such a label"),
        ("doctor --dsn nonsense", ExitCode.USAGE, "no connection string"),
        ("doctor --dsn no=thing", ExitCode.USAGE, 'invalid connection option "no"'),
        ("explain --dsn PLACE SELECT", ExitCode.NOT_RUNNING, "could not connect"),
        ("top --dsn host=/nowhere", ExitCode.NOT_RUNNING, "could not connect"),
        ("bench planning --rounds 0", ExitCode.USAGE, "--rounds"),
        ("bench nothing", ExitCode.USAGE, "No such command"),
        ("nothing", ExitCode.USAGE, "No such command"),
    ],
)
def test_it_is_told_in_a_line(line: str, code: ExitCode, said: str) -> None:
    words = [NOWHERE if word == "PLACE" else word for word in line.split()]
    assert said in " ".join(invoke(*words, code=code).split())


def test_who_has_seen_enough_hears_nothing(folder: Path) -> None:
    """Such as head -1."""
    command = f"{sys.executable} -m pgshuttle --help | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=folder, check=True)
    assert done.stderr == b""


@pytest.mark.parametrize("width", ["40", "100"])
def test_a_narrow_terminal_loses_no_words(monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if it were a terminal
    out = cli.make_console()
    assert out.is_terminal
    assert out.width == max(cli.LEAST_WIDTH, int(width))
    rates = node_rates.NodeCounts("node1", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8, 9.0)
    with out.capture() as captured:
        out.print(node_rates.make_rates_table(node_rates.Moment(0.0, (rates,))))
    assert "\u2026" not in captured.get()


def test_characters_that_an_encoding_lacks() -> None:
    screen.print_in_any_encoding()
    written = "└ ██▍ 0.4 ms ±3 % für 5 µs…".encode("ascii", screen.ERRORS)
    assert written == b"` ### 0.4 ms +-3 % f?r 5 us..."
