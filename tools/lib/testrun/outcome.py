"""What a run of tests came to, and what its server logs say."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

# "... was terminated by signal 11" is the postmaster's word for a crash.
CRASH = re.compile(r"TRAP:|PANIC|terminated by signal|AddressSanitizer|runtime error:")
# A test that stops a server on purpose says so: "# expected in server log: ..."
EXPECTED = re.compile(r"^#\s*expected in server log:\s*(.+?)\s*$", re.MULTILINE)

# 15 prints "test name ... ok  5 ms", newer ones "ok 1  - name  5 ms".
OLD_LINE = re.compile(r"^test (\S+)\s+\.\.\. (ok|FAILED)\b.*?(\d+)? ms", re.MULTILINE)
NEW_LINE = re.compile(r"^(ok|not ok) \d+\s+[-+] (\S+)\s+(\d+) ms", re.MULTILINE)
PYTEST_NAME = re.compile(r"^(\S+?)::(.+)$", re.MULTILINE)
PYTEST_LINE = re.compile(r"^\S+?::(.+) (PASSED|FAILED|ERROR|SKIPPED)")
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|errors?)\b")
PYTEST_SKIPPED = re.compile(r"^SKIPPED \[\d+\] (\S+?)(?::\d+)?: (.+)$", re.MULTILINE)
PYTEST_REASON = re.compile(r"^(?:FAILED|ERROR) \S+?::(.+?)(?: - (.*))?$", re.MULTILINE)
# Of a TAP test, what it says of a failure; of a script that died, the last lines say why.
TAP_REASON = re.compile(
    r"^(?:not ok .*|\s*#\s+(?:Failed|got|expected|at|'|Looks).*)$", re.MULTILINE
)
# A script of TAP tests that is left out as a whole, as prove tells it: of one that printed
# nothing before it said so, behind its name.
TAP_SKIPPED = re.compile(r"^(?:1\.\.0 # SKIP|\S+ \.+ skipped:)\s*(.*)$", re.MULTILINE)
# What the log of a script says when its servers are stopped.
TAP_NOISE = re.compile(
    r"### |# Running: |# Checking port|# (No postmaster|Postmaster) PID|"
    r"server stopped|waiting for server to"
)
REASON_TAIL = 8


@dataclass(frozen=True)
class Outcome:
    """Counts of one kind of tests on one server.

    A crash in a log counts as failed, and crashes tells where and which.  skipped are the
    tests that were left out as a whole, each with the reason; they did not pass.
    """

    passed: int = 0
    failed: int = 0
    skipped: tuple[str, ...] = ()
    crashes: tuple[str, ...] = ()

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.crashes + other.crashes,
        )

    def on_server(self, server: str) -> "Outcome":
        """The same, with the server in what is told of skipped tests."""
        return replace(self, skipped=tuple(f"{test} [on {server}]" for test in self.skipped))


def regress_results(output: str) -> list[tuple[str, bool, float]]:
    """Name, success and seconds of each test that pg_regress tells of."""
    results = [(name, word == "ok", ms) for name, word, ms in OLD_LINE.findall(output)]
    results += [(name, word == "ok", ms) for word, name, ms in NEW_LINE.findall(output)]
    return [(name, passed, float(ms or 0) / 1000) for name, passed, ms in results]


def regress_outcome(code: int, output: str, nleft: int = 0) -> Outcome:
    """Counts the lines of pg_regress, and tests without a line, which failed.

    An exit code alone is a failure, too.
    """
    results = regress_results(output)
    npassed = sum(passed for _, passed, _ in results)
    nfailed = len(results) - npassed + nleft
    return Outcome(npassed, nfailed if code == 0 or nfailed else 1)


def pytest_outcome(code: int, output: str) -> Outcome:
    passed = failed = 0
    last = output.rstrip().rsplit("\n", 1)[-1]
    for count, word in PYTEST_COUNT.findall(last):
        if word == "passed":
            passed += int(count)
        else:
            failed += int(count)
    # pytest exits with 5 where it found no tests.
    if code not in (0, 5) and failed == 0:
        failed = 1
    skipped = tuple(f"{where}: {reason}" for where, reason in PYTEST_SKIPPED.findall(output))
    return Outcome(passed, failed, skipped)


def tap_outcome(name: str, code: int, output: str) -> Outcome:
    """One script of TAP tests, run by prove -v."""
    if code != 0:
        return Outcome(0, 1)
    skipped = TAP_SKIPPED.search(output)
    if skipped is not None:
        return Outcome(skipped=(f"{name}: {skipped[1] or 'no reason is given'}",))
    return Outcome(1)


def tap_reason(output: str, own_log: str) -> list[str]:
    """What to show of a failed script at the end of a run.

    What a script died of, or waited for when its time was over, is in its own log alone.
    """
    told: list[str] = TAP_REASON.findall(output)
    if any("Failed test" in line for line in told):
        return told
    logged = [line for line in own_log.splitlines() if line and not TAP_NOISE.search(line)]
    last = output.splitlines()[-1:]
    return [*last, *(logged or output.splitlines()[:-1])[1 - REASON_TAIL :]]


def regress_reason(diffs: str, name: str) -> list[str]:
    """The lines that differ in a test, of regression.diffs."""
    for part in re.split(r"^diff ", diffs, flags=re.MULTILINE):
        head, _, rest = part.partition("\n")
        if re.search(rf"/{re.escape(name)}(_\d)?\.out", head):
            _, _, hunks = rest.partition("\n@@")
            return [line for line in hunks.splitlines() if line[:1] in ("+", "-")]
    return []


def crashes(log: Path, excused: list[str]) -> list[str]:
    """Returns the lines of a server log that no healthy run has."""
    with log.open(errors="replace") as lines:  # some are of gigabytes
        return [
            line.rstrip("\n")
            for line in lines
            if CRASH.search(line) and not any(re.search(e, line) for e in excused)
        ]


def check_logs(logs: list[Path], excused: list[str]) -> Outcome:
    """Fails once for each log with a crash in it, and shows the lines."""
    found = []
    for log in logs:
        lines = crashes(log, excused)
        if lines:
            found.append(f"{log}: {lines[0]}")
            print(f"   not ok: server log {log} has {len(lines)} such lines:")
            print("\n".join(f"      {line}" for line in lines[:20]), flush=True)
    return Outcome(0, len(found), crashes=tuple(found))
