"""What a cluster is made of, and the file that remembers it."""

import dataclasses
import json
import types
import typing
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.cluster.proxy import Proxy, ProxyControl, open_control
from pgshuttle.cluster.servers import Server

STATE_FORMAT = 1
STATE_FILE = "cluster.json"


@dataclass(frozen=True)
class StorageNode:
    """A storage node and the proxy that the query node reaches it through."""

    server: Server
    proxy: Proxy | None

    @property
    def front(self) -> Proxy:
        """The proxy, which there is while the cluster runs."""
        if self.proxy is None:
            raise ToolError(f"{self.server.name} has no delay proxy")
        return self.proxy


@dataclass(frozen=True)
class Cluster:
    """A query node and its storage nodes.

    with_extension: pg_shuttle is loaded into the query node; otherwise there
    is only stock postgres_fdw.
    """

    directory: Path
    build: ServerBuild
    with_extension: bool
    rtt_us: int
    query: Server
    nodes: tuple[StorageNode, ...]


class Proxies:
    """The delay proxies of all storage nodes of a cluster that runs."""

    def __init__(self, controls: Sequence[ProxyControl]) -> None:
        self._controls = controls

    def set_rtt_us(self, rtt_us: int) -> None:
        for control in self._controls:
            control.set_rtt_us(rtt_us)

    def count_round_trips(self) -> int:
        return sum(control.stats().total.round_trips for control in self._controls)

    def count_received_bytes(self) -> int:
        return sum(control.stats().total.received_bytes for control in self._controls)


@contextmanager
def open_proxies(cluster: Cluster) -> Iterator[Proxies]:
    """Opens conversations with all proxies; the cluster's delay comes back behind them."""
    with ExitStack() as stack:
        paths = [node.front.control_path for node in cluster.nodes]
        found = Proxies([stack.enter_context(open_control(path)) for path in paths])
        stack.callback(found.set_rtt_us, cluster.rtt_us)
        yield found


def read_value(kind: Any, entry: Any) -> Any:  # noqa: ANN401  (any of the types above)
    """Makes a value of its JSON. kind: its type, as a field is annotated."""
    if typing.get_origin(kind) is types.UnionType:  # with None
        return None if entry is None else read_value(typing.get_args(kind)[0], entry)
    if typing.get_origin(kind) is tuple:
        return tuple(read_value(typing.get_args(kind)[0], one) for one in entry)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        types_of = typing.get_type_hints(kind)
        fields = dataclasses.fields(kind)
        return kind(**{f.name: read_value(types_of[f.name], entry[f.name]) for f in fields})
    return kind(entry)


def write_state(path: Path, value: Any) -> None:  # noqa: ANN401  (a dataclass)
    """Writes a state file; a reader sees the old one or the new one."""
    state = {"format": STATE_FORMAT, **dataclasses.asdict(value)}
    half = path.with_suffix(".new")
    half.write_text(json.dumps(state, indent=2, default=str) + "\n", encoding="utf-8")
    half.rename(path)


def read_state(kind: Any, path: Path) -> Any:  # noqa: ANN401  (a dataclass)
    """Reads a state file of this kind; None if there is none."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        if state["format"] != STATE_FORMAT:
            raise ToolError(f"{path} was written by another version of this tool")
        return read_value(kind, state | {"directory": path.parent})
    except FileNotFoundError:
        return None
    except PermissionError:
        raise ToolError(f"{path} may not be read by this user") from None
    except (ValueError, KeyError, TypeError):
        raise ToolError(
            f"{path} is damaged",
            hint="Remove the directory if nothing of it runs any more.",
            exit_code=ExitCode.FAILED,
        ) from None


def save_cluster(cluster: Cluster) -> None:
    write_state(cluster.directory / STATE_FILE, cluster)


def load_cluster(directory: Path) -> Cluster | None:
    """Reads what a cluster is made of; None if none was made in this directory."""
    found: Cluster | None = read_state(Cluster, directory / STATE_FILE)
    return found
