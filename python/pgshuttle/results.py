"""What one run of the demo found out, and the JSON file that keeps it."""

import dataclasses
import datetime
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgshuttle import __version__, catalog, reference
from pgshuttle.builds import EXTENSION
from pgshuttle.claims import Claim
from pgshuttle.json_files import write_json
from pgshuttle.planning import PlanningCost
from pgshuttle.points import PointResult
from pgshuttle.state import Cluster
from pgshuttle.trips import TripsResult

RESULTS_FORMAT = 1
UNITS = {
    "*_ms": "milliseconds, seen by a client of the query node",
    "*_us": "microseconds",
    "rtt_us": "round-trip time that the delay proxies add",
    "round_trips": "waited for; changes of direction on the connections to all storage nodes",
    "requests": "statements to storage nodes, and pages of their answers",
    "instructions_*": "instructions inside of the server's planner(), counted by callgrind",
    "batch_size": "outer rows",
    "request_limit": "keys",
    "outer_rows": "rows; a sampled point has fewer than the case",
}


@dataclass(frozen=True)
class Machine:
    """What it was measured on."""

    cpu: str
    ncores: int
    memory_mb: int
    system: str


@dataclass(frozen=True)
class Results:
    """All that one run of the demo found out."""

    made_at: str
    effort: str
    nruns: int
    elapsed_s: float
    machine: Machine
    server: Mapping[str, str]
    settings: Mapping[str, str]
    points: tuple[PointResult, ...]
    one_row_round_trips: int | None
    planning: tuple[PlanningCost, ...]
    complaints: tuple[str, ...]  # of the servers' logs
    trips: TripsResult | None
    claims: tuple[Claim, ...]


def read_machine() -> Machine:
    """Describes this machine."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        cpu=cpu,
        ncores=len(os.sched_getaffinity(0)),
        memory_mb=memory_bytes // 1024**2,
        system=f"{platform.system()} {platform.release()}",
    )


def read_server(cluster: Cluster) -> dict[str, str]:
    """Describes the server build and the extension."""
    described = {
        "name": cluster.build.name,
        "configure_options": cluster.build.configure_options,
        "tool": __version__,
    }
    with catalog.connect(cluster.query) as connection:
        described["version"] = str(connection.execute("SELECT version()").fetchall()[0][0])
        found = connection.execute(
            "SELECT extversion FROM pg_extension WHERE extname = %s", [EXTENSION]
        ).fetchone()
        described["extension"] = str(found[0]) if found else "none"
        asserts = connection.execute("SHOW debug_assertions").fetchall()[0][0]
        described["assertions"] = str(asserts)
    return described


def read_settings(cluster: Cluster) -> dict[str, str]:
    """Returns the query node's settings that matter to the planner, and all of ours."""
    with catalog.connect(cluster.query) as connection:
        rows = connection.execute(
            "SELECT name, pg_catalog.current_setting(name) FROM pg_settings"
            " WHERE name LIKE 'shuttle.%%' OR category LIKE 'Query Tuning%%'"
            " OR name IN ('fsync', 'jit', 'shared_buffers', 'work_mem') ORDER BY name",
            [],
        ).fetchall()
    return {str(name): str(value) for name, value in rows}


def make_timestamp() -> str:
    """Returns the time now, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def to_json(results: Results) -> dict[str, Any]:
    """Turns results into what the file keeps."""
    published = {
        "source": reference.SOURCE,
        "one_node_ms": [
            {"batch_size": batch_size, "request_limit": limit, "elapsed_ms": elapsed_ms}
            for (batch_size, limit), elapsed_ms in reference.ONE_NODE_MS.items()
        ],
        "by_rtt_ms": [
            {"batch_size": batch_size, "rtt_us": rtt_us, "elapsed_ms": elapsed_ms}
            for batch_size, times_ms in reference.BY_RTT_MS.items()
            for rtt_us, elapsed_ms in zip((800, 90_000), times_ms, strict=True)
        ],
    }
    fields = dataclasses.asdict(results)
    return {"format": RESULTS_FORMAT, "units": UNITS, **fields, "published": published}


def save_results(results: Results, path: Path) -> None:
    """Writes the JSON file."""
    write_json(path, to_json(results))
