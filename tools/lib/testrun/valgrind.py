"""Running a server under valgrind, and what that says."""

import shutil
from pathlib import Path

from lib.testrun.installed import Installed, TestRunError, run_tool
from lib.testrun.outcome import Outcome

LINES_SHOWN = 60
OUR_SUPPRESSIONS = Path(__file__).with_name("valgrind.supp")


def find_suppressions(installed: Installed) -> Path:
    """PostgreSQL's own list of what is no error, which lies in its source."""
    source = run_tool("servers", "source", str(installed.major), capture=True).splitlines()[-1]
    path = Path(source) / "src/tools/valgrind.supp"
    if not path.exists():
        raise TestRunError(f"{path} does not exist")
    return path


def server_command(installed: Installed, base: Path) -> list[str]:
    """What stands in front of the server's program. Each process has a log of its own."""
    program = shutil.which("valgrind")
    if program is None:
        raise TestRunError("valgrind is not installed")
    return [
        program,
        "--quiet",
        "--trace-children=yes",
        "--leak-check=no",
        "--num-callers=25",
        "--gen-suppressions=all",
        f"--suppressions={find_suppressions(installed)}",
        f"--suppressions={OUR_SUPPRESSIONS}",
        f"--log-file={base}/valgrind.%p.log",
    ]


def check_reports(base: Path) -> Outcome:
    """Any report is a failure; the first ones are shown."""
    failed = 0
    for path in sorted(base.glob("valgrind.*.log")):
        lines = path.read_text(errors="replace").splitlines()
        if not lines:
            continue
        failed += 1
        print(f"== valgrind: {path}")
        print("\n".join(lines[:LINES_SHOWN]), flush=True)
    return Outcome(failed=failed)
