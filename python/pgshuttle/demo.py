"""The demo: a cluster for as long as it takes, the bench, the files."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pgshuttle import bench, cluster, plot, results
from pgshuttle.bench import Listener
from pgshuttle.errors import ToolError
from pgshuttle.results import Results
from pgshuttle.state import Cluster
from pgshuttle.sweep import Effort

NNODES = 2


@dataclass(frozen=True)
class DemoOptions:
    """What the demo is to do."""

    directory: Path
    pg: str | None
    with_extension: bool
    effort: Effort
    results_dir: Path
    keep: bool


@dataclass(frozen=True)
class DemoFiles:
    """What the demo found out, and where that was written."""

    results: Results
    json_path: Path
    figure_path: Path


@dataclass(frozen=True)
class ClusterUse:
    """Which cluster is used for as long as something is measured."""

    directory: Path
    pg: str | None
    with_extension: bool
    keep: bool
    nnodes: int = NNODES


@contextmanager
def run_cluster(use: ClusterUse, on_step: Callable[[str], None]) -> Iterator[Cluster]:
    """Has a cluster running; one that did not run before is removed afterwards."""
    asked = cluster.ClusterOptions(
        directory=use.directory,
        nnodes=use.nnodes,
        pg=use.pg,
        rtt_us=0,
        with_extension=use.with_extension,
    )
    started = cluster.up(asked, on_step)
    try:
        yield started.cluster
    finally:
        if not started.was_running and not use.keep:
            on_step("stopping")
            with contextlib.suppress(ToolError):
                cluster.down(use.directory, remove=True)


def run(options: DemoOptions, listener: Listener) -> DemoFiles:
    """Runs the demo and writes its files."""
    use = ClusterUse(options.directory, options.pg, options.with_extension, options.keep)
    with run_cluster(use, listener.on_step) as running:
        found = bench.run_demo(running, options.effort, listener)
    json_path = options.results_dir / f"demo-{options.effort.name}.json"
    figure_path = json_path.with_suffix(".png")
    results.save_results(found, json_path)
    listener.on_step("drawing the figure")
    plot.draw_join(json_path, figure_path)
    return DemoFiles(found, json_path, figure_path)
