"""What one run of the demo found out: what its JSON file keeps."""

from collections.abc import Mapping
from dataclasses import dataclass

from pgshuttle.bench.results import Run
from pgshuttle.demo.claims import Claim
from pgshuttle.demo.join_points import PointResult
from pgshuttle.demo.prefetch import Prefetch
from pgshuttle.demo.procedures import Procedures
from pgshuttle.demo.push_downs import PushDowns
from pgshuttle.demo.real_data import TripsResult
from pgshuttle.demo.spreading import Spreading

UNITS = {
    "*_ms": "milliseconds, seen by a client of the query node",
    "*_us": "microseconds",
    "*_s": "seconds",
    "rtt_us": "round-trip time that the delay proxies add",
    "round_trips": "waited for; changes of direction on the connections to all storage nodes. Of "
    "calls: those that nobody waits for included",
    "requests": "statements to storage nodes, and pages of their answers",
    "batch_size": "outer rows",
    "request_limit": "keys",
    "outer_rows": "rows; a sampled point has fewer than the case",
}
HEAD: Mapping[str, object] = {"format": 2, "units": UNITS}  # of the file


@dataclass(frozen=True)
class Parts:
    """The parts of the demo behind the join."""

    push_downs: PushDowns
    procedures: Procedures
    prefetch: Prefetch
    spreading: Spreading


@dataclass(frozen=True, kw_only=True)
class Results(Run):
    effort: str
    nruns: int
    points: tuple[PointResult, ...]
    one_row_round_trips: int | None
    complaints: tuple[str, ...]  # of the servers' logs
    trips: TripsResult | None
    parts: Parts | None
    claims: tuple[Claim, ...]

    @property
    def is_kept(self) -> bool:
        """Says if no claim is missed; one that was not measured is neither."""
        return all(claim.ok is not False for claim in self.claims)
