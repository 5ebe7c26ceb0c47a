"""What pgshuttle up and status tell of a cluster without standbys."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from pgshuttle import cluster, first_steps, printing, target
from pgshuttle.cluster import ClusterOptions, PartStatus
from pgshuttle.screen import Screen
from pgshuttle.state import Cluster


def describe(found: Cluster, parts: list[PartStatus]) -> dict[str, Any]:
    return {
        "directory": str(found.directory),
        "version": found.build.version,
        "query_dsn": target.write_cluster_dsn(found.directory),
        "servers": [asdict(part) for part in parts],
    }


def bring_up(
    screen: Screen, options: ClusterOptions, directory: Path | None, *, as_json: bool
) -> None:
    """Starts a cluster, and tells what to try. directory: as the user named it."""
    with screen.err.status("starting") as status:
        result = cluster.up(options, status.update)
    parts = cluster.read_status(result.cluster)
    shown: list[RenderableType] = [printing.make_status_table(parts)]
    if result.was_running:
        shown.insert(0, f"The cluster in {options.directory} runs already.")
    described = describe(result.cluster, parts)
    screen.tell(described, *shown, as_json=as_json)
    if options.with_extension and not as_json:
        first_steps.tell(screen, first_steps.STEPS, described["query_dsn"] or "", directory)
