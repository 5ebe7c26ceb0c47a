"""What pgshuttle up and status tell of a cluster without standbys."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

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
    if result.was_running and not as_json:
        screen.out.print(f"The cluster in {options.directory} runs already.")
    parts = cluster.read_status(result.cluster)
    if as_json:
        typer.echo(json.dumps(describe(result.cluster, parts), indent=2))
        return
    screen.out.print(printing.make_status_table(parts))
    if options.with_extension:
        dsn = target.write_cluster_dsn(result.cluster.directory) or ""
        steps = first_steps.write_steps(dsn, directory)
        screen.out.print(steps, markup=False, highlight=False, soft_wrap=True)
