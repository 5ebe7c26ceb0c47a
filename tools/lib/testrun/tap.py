"""TAP tests: scripts that start servers of their own."""

import queue
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from lib.testrun.cluster import (
    clean_environment,
    initialize,
    run_as_server_user,
    sanitizer_environment,
)
from lib.testrun.installed import (
    Installed,
    TestRunError,
    clean_up,
    give_to_server,
    list_nodes,
    list_prefixes,
    run_directory,
)
from lib.testrun.outcome import (
    EXPECTED,
    REASON_TAIL,
    Outcome,
    check_logs,
    tap_outcome,
    tap_reason,
)
from lib.testrun.ports import port_directory
from lib.testrun.progress import Test
from lib.testrun.wanted import LANES, Wanted

INITDB = Path(__file__).with_name("initdb")
TAP_TAIL_LINES = 60
SCRIPT_LIMIT_S = 900.0  # beside others on a slow machine; the longest takes two minutes
LOG_TAIL_LINES = 20  # of the script's own log: what it died of is there alone
# Scripts at a time: they wait for real time rather than for a core. When the regression and
# isolation tests have ended, LANES more.
JOBS = 3


def run_tap(installed: Installed, wanted: Wanted, names: list[str]) -> Outcome:
    """Runs TAP scripts side by side. A script is one test in the count."""
    list_prefixes()
    list_nodes()
    base = run_directory()
    try:
        make_template(installed, base / "template")
    except TestRunError as error:
        print(error, flush=True)
        tests = [Test("tap", installed.name, name) for name in names]
        wanted.progress.fail(tests, str(error).splitlines()[-REASON_TAIL:])
        return Outcome(failed=len(tests))

    def run_one(name: str) -> Outcome:
        result = run_tap_script(installed, base, name)
        test = Test("tap", installed.name, name)
        wanted.progress.ended(test, result.word(), result.elapsed_s)
        if result.outcome.failed:
            wanted.progress.explain(test, tap_reason(result.output, result.own_log()))
        return result.tell()

    total = run_in_lanes(wanted, names, run_one)
    clean_up(base, total.failed > 0 or wanted.keep)
    return total


def run_in_lanes(wanted: Wanted, names: list[str], run_one: Callable[[str], Outcome]) -> Outcome:
    """Runs tests in their order, JOBS at a time, and more when lanes are free."""
    left: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        left.put(name)

    def run_lane(is_free: bool) -> Outcome:
        if is_free:
            wanted.compared_ended.wait()
        total = Outcome()
        with suppress(queue.Empty):
            while True:
                with wanted.free_lanes if is_free else nullcontext():
                    total += run_one(left.get_nowait())
        return total

    with ThreadPoolExecutor(JOBS + LANES) as pool:
        return sum(pool.map(run_lane, [False] * JOBS + [True] * LANES), Outcome())


def make_template(installed: Installed, directory: Path) -> None:
    """Has one data directory made, of which the program initdb beside it makes copies."""
    directory.mkdir()
    give_to_server(directory)
    initialize(installed, directory / "data")
    (directory / "real").symlink_to(installed.bindir)
    shutil.copy(INITDB, directory)


@dataclass(frozen=True)
class TapResult:
    """What one script came to; excused: lines of its logs that are no crash."""

    outcome: Outcome
    output: str
    elapsed_s: float
    logs: list[Path]
    script_logs: list[Path]
    excused: list[str]

    def word(self) -> str:
        if self.outcome.failed:
            return "not ok"
        return "skipped" if self.outcome.skipped else "ok"

    def own_log(self) -> str:
        return "\n".join(log.read_text(errors="replace") for log in self.script_logs)

    def tell(self) -> Outcome:
        """Shows what a failed script printed last, and lines of crashes."""
        if self.outcome.failed:
            told = [line for line in self.output.splitlines() if not line.startswith("ok ")]
            print("\n".join(told[-TAP_TAIL_LINES:]), flush=True)
            for log in self.script_logs:
                lines = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
                print(f"   the end of {log.name}:", *lines, sep="\n   ", flush=True)
        return self.outcome + check_logs(self.logs, self.excused)


def run_tap_script(installed: Installed, base: Path, name: str) -> TapResult:
    started = time.monotonic()
    work = base / name
    work.mkdir()
    give_to_server(work)
    env = clean_environment(installed) | sanitizer_environment(installed)
    env["PATH"] = f"{base}/template:{env['PATH']}"
    env.update(
        TESTDIR=str(work),  # 15; the others are of newer versions
        TESTLOGDIR=str(work / "log"),
        TESTDATADIR=str(work),
        PG_TEST_PORT_DIR=str(port_directory()),
        PG_REGRESS=str(installed.pgxs_dir / "src/test/regress/pg_regress"),
        SHUTTLE_SERVERS=":".join(f"{name}={prefix}" for name, prefix in list_prefixes()),
        SHUTTLE_NODES=":".join(f"{name}={prefix}" for name, prefix in list_nodes()),
    )
    perl_dir = installed.pgxs_dir / "src/test/perl"
    script = base / "test/t" / f"{name}.pl"
    command = ["prove", "-v", "-I", str(perl_dir), "-I", str(script.parent), str(script)]
    code, output = run_as_server_user(command, env, base / "test", SCRIPT_LIMIT_S)
    elapsed_s = time.monotonic() - started
    logs = [log for log in work.rglob("*.log") if log.is_file()]
    excused = EXPECTED.findall(script.read_text())
    outcome = tap_outcome(name, code, output)
    own_logs = sorted(work.rglob("regress_log_*"))
    return TapResult(outcome, output, elapsed_s, logs, own_logs, excused)
