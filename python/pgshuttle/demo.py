"""The demo: a cluster for as long as it takes, the bench, the files."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pgshuttle import bench, cluster, figures, results
from pgshuttle.bench import Listener
from pgshuttle.cluster import ClusterOptions
from pgshuttle.errors import ToolError
from pgshuttle.results import OnStep, Results
from pgshuttle.state import Cluster
from pgshuttle.sweep import Effort

NNODES = 2


@dataclass(frozen=True)
class DemoOptions:
    """What the demo is to do."""

    directory: Path
    pg: str | None
    effort: Effort
    results_dir: Path
    keep: bool


@dataclass(frozen=True)
class DemoFiles:
    """What the demo found out, and where that was written."""

    results: Results
    json_path: Path
    figure_path: Path


@contextmanager
def run_cluster(asked: ClusterOptions, on_step: OnStep, *, keep: bool = False) -> Iterator[Cluster]:
    """Has a cluster running; one that did not run before is removed afterwards."""
    started = cluster.up(asked, on_step)
    try:
        yield started.cluster
    finally:
        if not started.was_running and not keep:
            on_step("stopping")
            with contextlib.suppress(ToolError):
                cluster.down(asked.directory, remove=True)


def run(options: DemoOptions, listener: Listener) -> DemoFiles:
    """Runs the demo and writes its files."""
    asked = ClusterOptions(options.directory, NNODES, options.pg, rtt_us=0, with_extension=True)
    with run_cluster(asked, listener.on_step, keep=options.keep) as running:
        found = bench.run_demo(running, options.effort, listener)
    json_path = options.results_dir / f"demo-{options.effort.name}.json"
    figure_path = json_path.with_suffix(".png")
    results.save_results(found, json_path)
    listener.on_step("drawing the figure")
    figures.draw(json_path, figure_path)
    return DemoFiles(found, json_path, figure_path)
