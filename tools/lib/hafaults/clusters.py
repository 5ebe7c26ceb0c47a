"""The highly available cluster that faults are done to."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lib.hafaults import networks
from pgshuttle.ha import clusters as ha_clusters
from pgshuttle.ha.making import HaOptions
from pgshuttle.ha.state import HaCluster

NNODES = 2


@dataclass(frozen=True)
class Wanted:
    """What it is like. directory: one of pgshuttle up --ha, which stays; keep: after a failure."""

    pg: str | None
    has_networks: bool
    nmembers: int | None = None
    with_query_pair: bool = False
    directory: Path | None = None
    keep: bool = False


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def describe(wanted: Wanted, directory: Path) -> HaOptions:
    return HaOptions(directory, NNODES, wanted.pg, wanted.nmembers, wanted.with_query_pair)


@contextmanager
def start(wanted: Wanted) -> Iterator[HaCluster]:
    """A cluster of its own, which is removed; one that is named stays."""
    if wanted.directory is not None:
        yield ha_clusters.up(describe(wanted, wanted.directory.absolute()), say)
        return
    directory = Path(tempfile.mkdtemp(prefix="pgsha-", dir="/tmp"))
    directory.chmod(0o755)
    is_good = False
    with networks.networks() as made:
        described = describe(wanted, directory / "c")
        if wanted.has_networks:
            described = replace(described, etcd_host=networks.OWN, make_network=made.make)
        try:
            yield ha_clusters.up(described, say)
            is_good = True
        finally:
            if is_good or not wanted.keep:
                ha_clusters.down(directory / "c", remove=True)
                shutil.rmtree(directory)
            else:
                ha_clusters.down(directory / "c", remove=False)
                say(f"files of this run: {directory}")
