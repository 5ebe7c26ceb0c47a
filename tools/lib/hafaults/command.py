"""Arguments of tools/ha_faults, the cluster that it runs on, the table and the file."""

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic

from lib.hafaults import clusters, networks
from lib.hafaults.clusters import Wanted
from lib.hafaults.faults import SHORT, Fault, choose
from lib.hafaults.rounds import Row, run_fault, run_loop
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.ha import patroni
from pgshuttle.ha.state import HaCluster

HEAD = (
    f"{'fault':38} {'gap s':>6} {'libpq':>6} {'transfers':>9} {'sums':>5}"
    "  left  verdict, errors, warnings"
)


def write_verdict(row: Row) -> str:
    verdict = row.verdict
    faults = [
        "" if verdict.total_is_right else "TOTAL WRONG",
        f"HALF DONE {verdict.half_done}" if verdict.half_done else "",
        f"LOST {verdict.lost}" if verdict.lost else "",
        f"{verdict.nstale} STALE READS" if verdict.nstale else "",
        f"{verdict.nwrong} WRONG SUMS" if verdict.nwrong else "",
        "LEFT PREPARED" if verdict.left_prepared_s is None else "",
        "slow" if row.is_slow else "",
    ]
    notes = [f"{state} x{count}" for state, count in sorted(row.errors.items())]
    notes += [f"WARNING {state} x{count}" for state, count in sorted(row.warnings.items())]
    if verdict.done_in_spite_of_error:
        notes.append(f"failed and yet done: {len(verdict.done_in_spite_of_error)}")
    return ", ".join(filter(None, [*faults, *notes])) or "-"


def print_row(row: Row) -> None:
    left = row.verdict.left_prepared_s
    print(
        f"{row.fault:38} {row.gap_s:6.2f} {row.direct_gap_s:6.2f} {row.ntransfers:9d}"
        f" {row.nsums:5d} {'-' if left is None else format(left, '.1f'):>5}  "
        f"{'ok' if row.is_good else 'BAD'}: {write_verdict(row)}",
        flush=True,
    )


def choose_loop(options: argparse.Namespace) -> list[Fault]:
    dice = random.Random(options.seed)
    able = [f for f in choose([], options.query_pair, options.has_networks) if f.is_short]
    return [dice.choice(able) for _ in range(options.loop)]


def run(options: argparse.Namespace, cluster: HaCluster) -> list[Row]:
    found: list[Row] = []
    rows: Iterator[Row]
    if options.loop:
        rows = run_loop(cluster, choose_loop(options), options.seed, options.pause)
    else:
        names = list(SHORT) if options.short else options.fault
        chosen = choose(names, options.query_pair, options.has_networks)
        rows = (run_fault(cluster, fault, options.seed) for fault in chosen)
    print(HEAD, flush=True)
    for row in rows:
        found.append(row)
        print_row(row)
    return found


def save(
    options: argparse.Namespace, cluster: HaCluster, rows: Sequence[Row], took_s: float
) -> None:
    described = {
        "version": cluster.build.version,
        "members": {node.name: len(node.members) for node in cluster.nodes},
        "patroni": dict(patroni.DYNAMIC),
        "seed": options.seed,
        "elapsed_s": round(took_s, 1),
        "rows": [asdict(row) for row in rows],
    }
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def read_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("fault", nargs="*", help="faults by name; without: all")
    parser.add_argument("--short", action="store_true", help="one switchover and one kill")
    parser.add_argument("--loop", type=int, default=0, metavar="N", help="N random faults in a row")
    parser.add_argument(
        "--pause", type=float, default=0, metavar="S", help="of a client of the loop, each time"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pg", help="server: 15, 18, 18-plain, or the path of a pg_config")
    parser.add_argument("--members", type=int, help="servers of a storage node")
    parser.add_argument("--query-pair", action="store_true", help="the query node has a standby")
    parser.add_argument("--dir", type=Path, help="a cluster of pgshuttle up --ha, which stays")
    parser.add_argument("--keep", action="store_true", help="keep the files of a run that failed")
    parser.add_argument("--results", type=Path, default=Path("bench-results/ha_faults.json"))
    return parser.parse_args()


def main(description: str) -> int:
    options = read_arguments(description)
    options.has_networks = options.dir is None and networks.can_have()
    if options.has_networks:
        networks.enter()
    wanted = Wanted(
        options.pg,
        has_networks=options.has_networks,
        nmembers=options.members,
        with_query_pair=options.query_pair,
        directory=options.dir,
        keep=options.keep,
    )
    start = monotonic()
    try:
        with clusters.start(wanted) as cluster:
            rows = run(options, cluster)
            save(options, cluster, rows, monotonic() - start)
    except ToolError as error:
        if error.exit_code == ExitCode.NOT_INSTALLED:
            print(f"skipped: {error.message}. {error.hint}")
            return 0
        print(f"ha_faults: {error.message} {error.hint}")
        return 1
    bad = [row.fault for row in rows if not row.is_good]
    slow = [row.fault for row in rows if row.is_slow]
    print(f"{len(rows)} faults in {monotonic() - start:.0f} s; bad: {bad}; slow: {slow}")
    return 1 if bad else 0
