"""What each run of the demo or of a bench tells of itself: machine, server, settings."""

import dataclasses
import datetime
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.rows import dict_row

from pgshuttle import __version__
from pgshuttle.base import connections
from pgshuttle.cluster import catalog
from pgshuttle.cluster.builds import EXTENSION
from pgshuttle.cluster.state import Cluster

OnStep = Callable[[str], None]


@dataclass(frozen=True)
class Machine:
    cpu: str
    ncores: int
    memory_mb: int
    system: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """What the demo and every bench tell of a run, beside what they found out."""

    made_at: str
    elapsed_s: float
    machine: Machine
    server: Mapping[str, str]
    settings: Mapping[str, str]

    @property
    def is_kept(self) -> bool:
        """Says if all targets are met, where there are some."""
        return True


def read_machine() -> Machine:
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
    described = {
        "name": cluster.build.name,
        "configure_options": cluster.build.configure_options,
        "tool": __version__,
    }
    query = """
        SELECT version() AS version, current_setting('debug_assertions') AS assertions,
            coalesce((SELECT extversion FROM pg_extension WHERE extname = %s), 'none')
                AS extension"""
    with catalog.connect(cluster.query) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        return described | (cursor.execute(query, [EXTENSION]).fetchone() or {})


def read_settings(cluster: Cluster) -> dict[str, str]:
    """Returns the query node's settings that matter to the planner, and all of ours."""
    with catalog.connect(cluster.query) as connection:
        rows = connections.read_rows(
            connection,
            "SELECT name, pg_catalog.current_setting(name) FROM pg_settings"
            " WHERE name LIKE 'shuttle.%' OR category LIKE 'Query Tuning%'"
            " OR name IN ('fsync', 'jit', 'shared_buffers', 'work_mem') ORDER BY name",
        )
    return dict(rows)


def describe_run(
    cluster: Cluster, start_s: float, settings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Describes a run that began then, by the monotonic clock: what Run tells of it.

    settings: of its own sessions.
    """
    return {
        "made_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "elapsed_s": round(time.monotonic() - start_s, 1),
        "machine": read_machine(),
        "server": read_server(cluster),
        "settings": read_settings(cluster) | dict(settings or {}),
    }


def save_run(found: Run, head: Mapping[str, object], path: Path) -> None:
    """Writes what a run found. head: stands before it, such as the units."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {**head, **dataclasses.asdict(found)}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
