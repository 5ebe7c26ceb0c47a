"""A second look at tests that failed while others ran beside them.

A test that passes alone, twice, is unsteady: its outcome depends on how busy the machine is.
It counts as passed, and is named at the end, so that it is mended. What shows a wrong program
however busy the machine is has no second look: a crash in a server's log, a random case, and
failures of so many tests that something else must be broken.
"""

from dataclasses import replace

from lib.testrun.installed import Installed
from lib.testrun.kinds import KINDS, WITHOUT_NAMES, plan
from lib.testrun.outcome import Outcome
from lib.testrun.progress import Progress, Test
from lib.testrun.wanted import Wanted

MOST = 12  # failed tests that are looked at again
LOOKS = 2


def may_look(total: Outcome, failed: list[Test]) -> bool:
    """False if something failed that is no test's own failure, or that will fail again."""
    return (
        0 < len(failed) <= MOST
        and total.failed == len(failed)  # a crash in a log counts, too
        and all(test.kind not in WITHOUT_NAMES for test in failed)
    )


def passes_alone(test: Test, installed: Installed, wanted: Wanted) -> bool:
    for look in range(1, LOOKS + 1):
        print(f"== again, alone, {look} of {LOOKS}: {test}", flush=True)
        # cases of one test of pytest have its name in common
        alone = replace(wanted, names=(test.name.split("[")[0],), part="all", progress=Progress())
        names = plan(test.kind, installed, alone)
        outcome = KINDS[test.kind].run(installed, alone, names)
        if outcome.failed or not outcome.passed:
            return False
    return True


def look_again(
    total: Outcome, servers: list[Installed], wanted: Wanted
) -> tuple[Outcome, list[Test]]:
    """Runs failed tests alone; returns what the run came to, and the tests that passed now.

    These leave the failed tests of wanted's progress.
    """
    failed = wanted.progress.failed
    if not may_look(total, failed):
        return total, []
    by_name = {installed.name: installed for installed in servers}
    unsteady = [
        test for test in dict.fromkeys(failed) if passes_alone(test, by_name[test.server], wanted)
    ]
    wanted.progress.failed = [test for test in failed if test not in unsteady]
    npassed = len(failed) - len(wanted.progress.failed)
    return total + Outcome(npassed, -npassed), unsteady
