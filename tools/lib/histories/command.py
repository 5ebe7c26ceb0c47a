"""Records histories, and has them judged by our checker and by an independent one."""

import argparse
import contextlib
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from lib.hafaults import networks
from lib.histories import checker, history, judge, promotions, servers
from lib.histories.checker import Level
from lib.histories.promotions import PatroniServers
from lib.histories.recording import Kind, Recorder, make_tables
from lib.histories.servers import Servers
from lib.testrun.installed import (
    SERVERS,
    Installed,
    TestRunError,
    clean_up,
    end_on_signal,
    prepare,
    run_directory,
)
from pgshuttle.base.errors import ToolError

Running = Servers | PatroniServers

FOUND_BY = 1000  # transactions: with so many anomalies of node are found
SECONDS = 3600.0


@dataclass(frozen=True)
class Case:
    """What is recorded, and what it has to be. level: None: it has to be found wrong."""

    kind: Kind
    level: Level | None
    model: str  # the same for the independent checker


CASES = {
    "node": Case(Kind("node", repeatable=False, local=True), None, "snapshot-isolation"),
    "atomic": Case(Kind("atomic", repeatable=False, local=True), Level.WHOLE, "read-committed"),
    "repeatable-read": Case(
        Kind("atomic", repeatable=True, local=False), Level.SNAPSHOT, "snapshot-isolation"
    ),
    "repeatable-read-here": Case(
        Kind("atomic", repeatable=True, local=True), Level.SNAPSHOT, "snapshot-isolation"
    ),
    "strict": Case(
        Kind("strict", repeatable=False, local=True), Level.STRICT, "strong-snapshot-isolation"
    ),
    "strict-repeatable-read": Case(
        Kind("strict", repeatable=True, local=False), Level.STRICT, "strong-snapshot-isolation"
    ),
}


@dataclass(frozen=True)
class Wanted:
    """Of a run. faults_s: seconds between faults; 0: none."""

    count: int
    clients: int
    seed: int
    faults_s: float
    files: Path
    program: Path | None


def run_case(running: Running, name: str, wanted: Wanted) -> list[str]:
    """Records a history, and returns what is wrong."""
    case = CASES[name]
    with psycopg.connect(running.conninfo, autocommit=True) as connection:
        make_tables(connection, wanted.count)
    recorder = Recorder(running.conninfo, case.kind, wanted.clients, wanted.seed)
    faults = running.make_faults(wanted.faults_s, wanted.seed) if wanted.faults_s else None
    found = recorder.run(wanted.count, SECONDS, faults or (lambda: None))
    path = wanted.files / f"{name}-{wanted.seed}.jsonl"
    history.write(path, found)
    outcomes = Counter(done.outcome for done in found)
    told = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    print(f"== {name}: {told}; {faults.count if faults else 0} faults; errors {recorder.errors}")
    return [f"{name}: {problem}" for problem in judge_file(path, case, wanted)]


def judge_file(path: Path, case: Case, wanted: Wanted) -> list[str]:
    """What both checkers say against it."""
    transactions = history.read(path)
    findings = checker.check(transactions, case.level or Level.SNAPSHOT)
    for name, example in findings.examples.items():
        print(f"   {name}: {example[:1000]}")
    is_valid = {"our checker": not findings.names}
    if wanted.program is not None:
        is_valid["adya"] = judge.is_valid(wanted.program, path, case.model)
    if case.level is None:
        enough = len(transactions) >= FOUND_BY
        return [f"{who} finds nothing wrong" for who, valid in is_valid.items() if valid and enough]
    return [f"{who} finds it wrong: {path}" for who, valid in is_valid.items() if not valid]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pg", choices=SERVERS, default="18", help="server (default: 18)")
    parser.add_argument("--case", choices=list(CASES), action="append", help="may be repeated")
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="transactions a case")
    parser.add_argument("--clients", type=int, default=6, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--faults", type=float, default=0, metavar="S", help="one every S seconds")
    parser.add_argument(
        "--patroni", action="store_true", help="nodes with standbys; faults are those of ha_faults"
    )
    parser.add_argument("--files", type=Path, metavar="DIRECTORY", help="where histories are kept")
    parser.add_argument("--no-adya", action="store_true", help="our checker only")
    parser.add_argument("--no-build", action="store_true", help="test what is installed")
    return parser.parse_args()


@contextlib.contextmanager
def start(args: argparse.Namespace, installed: Installed, base: Path) -> Iterator[Running]:
    if not args.patroni:
        with servers.start(installed, base) as running:
            yield running
        return
    with promotions.start(args.pg, has_networks=args.has_networks) as running:
        yield running


def main() -> int:
    args = parse_arguments()
    program = None if args.no_adya else judge.find(build=True)
    args.has_networks = args.patroni and networks.can_have()
    if args.has_networks:
        networks.enter()  # from there nothing can be fetched
    signal.signal(signal.SIGTERM, end_on_signal)
    try:
        installed = prepare(args.pg, not args.no_build)
        base = run_directory()
        files = args.files or base
        files.mkdir(exist_ok=True, parents=True)
        if program is None:
            print("== adya is not there: histories are judged by our checker only")
        wanted = Wanted(args.count, args.clients, args.seed, args.faults, files, program)
        with start(args, installed, base) as running:
            problems = [p for name in args.case or CASES for p in run_case(running, name, wanted)]
    except (TestRunError, ToolError) as error:
        print(f"histories: {error}", file=sys.stderr)
        return 2
    for problem in problems:
        print(f"== failed: {problem}")
    clean_up(base, bool(problems))
    return 1 if problems else 0
