"""What the tools that run random statements have in common on the command line."""

import argparse
import resource
import signal
import sys
from dataclasses import replace
from typing import Any

from lib.randomqueries.runs import AnyTester, Counts, Wanted, server
from lib.testrun.installed import SERVERS, Installed, TestRunError, clean_up, end_on_signal, prepare

MOST_BYTES = 4 << 30  # of addresses of one process: more is a finding, and not the machine's end


def parse_arguments(kind: type[AnyTester], description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--pg", choices=SERVERS, default="18", help="server (default: 18)")
    count, what = kind.usual_count, kind.several
    parser.add_argument("--count", type=int, default=count, metavar="N", help=what)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], metavar="S", help="one or more")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="number of the first one")
    parser.add_argument("--failures", type=int, default=1, metavar="N", help="stop after so many")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no case after that time")
    parser.add_argument("--tablets", action="store_true", help="distributed tables only")
    joins = "force batched joins in all cases (forced) or in none (chosen); usual: in some"
    parser.add_argument("--batched-joins", choices=("forced", "chosen"), help=joins)
    parser.add_argument("--keep", action="store_true", help="keep the files of the run")
    parser.add_argument("--no-build", action="store_true", help="test what is installed")
    return parser.parse_args()


def say(line: str) -> None:
    print(line, flush=True)


def test(
    kind: type[AnyTester], args: argparse.Namespace, installed: Installed, seed: int
) -> Counts[Any]:
    """Runs the cases on one server; its files stay where something is wrong."""
    wanted = Wanted(seed, args.first, args.count, args.failures, args.tablets, args.batched_joins)
    wanted = replace(wanted, seconds=args.seconds)
    with server(installed) as (cluster, base):
        tester = kind(cluster, wanted, say)
        counts = tester.run()
        crashed = tester.new_crashes()
    for line in crashed:
        say(f"server log: {line}")
    for reason, times in counts.skipped.items():
        say(f"skipped {times} times: {reason}")
    say(f"== PostgreSQL {args.pg}, seed {seed}: {counts.line()}")
    counts.failures += len(crashed)
    clean_up(base, counts.failures > 0 or args.keep)
    return counts


def run(kind: type[AnyTester], args: argparse.Namespace) -> bool:
    installed = prepare(args.pg, not args.no_build)
    counts = [test(kind, args, installed, seed) for seed in args.seed]
    few_batches = args.batched_joins == "chosen"
    return all(not count.failures and (few_batches or count.enough) for count in counts)


def limit_memory(server_name: str) -> None:
    """For all processes from now on; a sanitizer needs addresses without end."""
    if not server_name.endswith("-sanitize"):
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if soft == resource.RLIM_INFINITY or soft > MOST_BYTES:
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, hard))


def main(kind: type[AnyTester], description: str | None) -> int:
    args = parse_arguments(kind, description)
    signal.signal(signal.SIGTERM, end_on_signal)
    limit_memory(args.pg)
    try:
        return 0 if run(kind, args) else 1
    except TestRunError as error:
        print(f"random {kind.several}: {error}", file=sys.stderr)
        return 2
