"""One fault under load, from a whole cluster to a whole cluster."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

from lib.hafaults import bank
from lib.hafaults.bank import Verdict
from lib.hafaults.clients import Load
from lib.hafaults.faults import Fault
from pgshuttle.ha import faults as ha_faults
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.state import HaCluster

BEFORE_S = 2.0
IN_FLIGHT_S = 1.0  # what was sent before a fault may still be answered
BEHIND_S = 3.0
LOOP_BEFORE_S = 1.0
LOOP_BEHIND_S = 1.0
GO_ON_LIMIT_S = 120.0
LEFT_LIMIT_S = 10.0
BEYOND_DIRECT_S = 1.0


@dataclass(frozen=True)
class Row:
    fault: str
    gap_s: float
    direct_gap_s: float
    ntransfers: int
    nsums: int
    errors: dict[str, int]
    warnings: dict[str, int]
    whole_again_s: float
    verdict: Verdict
    gap_is_compared: bool
    is_planned: bool

    @property
    def is_good(self) -> bool:
        return self.verdict.is_good and not (self.is_planned and self.errors)

    @property
    def is_slow(self) -> bool:
        return self.gap_is_compared and self.gap_s > self.direct_gap_s + BEYOND_DIRECT_S


def wait_for_transfers(load: Load, since: float, behind_s: float) -> None:
    """Waits until clients go on, and a while longer."""
    deadline = monotonic() + GO_ON_LIMIT_S
    while not any(when > since for when in list(load.acknowledged.values())[-100:]):
        if monotonic() > deadline:
            raise RuntimeError("clients do not go on")
        sleep(0.05)
    sleep(behind_s)


def act_and_judge(directory: Path, fault: Fault, load: Load, *, is_last: bool) -> Row:
    """Does it, waits for the clients, holds them and judges, when all servers are back."""
    errors, warnings = Counter(load.errors), Counter(load.warnings)
    ndone, nsums = len(load.acknowledged), load.sums.nsums
    start = monotonic()
    fault.act(ha_state.load(directory))
    wait_for_transfers(load, monotonic() + IN_FLIGHT_S, BEHIND_S if is_last else LOOP_BEHIND_S)
    end = monotonic()
    if is_last:
        load.end()
    else:
        load.hold()
    left_s = bank.wait_for_none_prepared(ha_state.load(directory), LEFT_LIMIT_S)
    cluster = ha_faults.start_what_is_gone(ha_state.load(directory))
    whole_s = ha_faults.wait_until_whole(cluster)
    verdict = bank.judge(
        cluster, set(load.acknowledged), load.failed, left_s, load.counter.take_stale()
    )
    return Row(
        fault=fault.name,
        gap_s=round(load.longest_gap(start, end), 2),
        direct_gap_s=round(load.longest_direct_gap(start, end), 2),
        ntransfers=len(load.acknowledged) - ndone,
        errors=dict(load.errors - errors),
        warnings=dict(load.warnings - warnings),
        whole_again_s=round(whole_s, 1),
        nsums=load.sums.nsums - nsums,
        verdict=replace(verdict, nwrong=load.sums.take_wrong()),
        gap_is_compared=not fault.ends_query_node,
        is_planned=fault.is_planned,
    )


def run_fault(cluster: HaCluster, fault: Fault, seed: int) -> Row:
    """A fault with tables and clients of its own."""
    bank.make(cluster)
    with Load(cluster, seed) as load:
        sleep(BEFORE_S)
        return act_and_judge(cluster.directory, fault, load, is_last=True)


def run_loop(cluster: HaCluster, faults: list[Fault], seed: int, pause_s: float) -> Iterator[Row]:
    """One fault after the other while the same clients work on."""
    bank.make(cluster)
    with Load(cluster, seed, pause_s=pause_s) as load:
        for fault in faults:
            load.go()
            sleep(LOOP_BEFORE_S)
            yield act_and_judge(cluster.directory, fault, load, is_last=False)
