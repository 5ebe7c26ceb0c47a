"""What a cluster is made of, and the file that remembers it."""

import dataclasses
import json
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgshuttle.builds import ServerBuild
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.proxy import Proxy
from pgshuttle.servers import Server

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


def save_cluster(cluster: Cluster) -> None:
    """Writes the state file; a reader sees the old one or the new one."""
    state = {"format": STATE_FORMAT, **dataclasses.asdict(cluster)}
    path = cluster.directory / STATE_FILE
    half = path.with_suffix(".new")
    half.write_text(json.dumps(state, indent=2, default=str) + "\n", encoding="utf-8")
    half.rename(path)


def load_cluster(directory: Path) -> Cluster | None:
    """Reads the state file; None if no cluster was made in this directory."""
    path = directory / STATE_FILE
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        if state["format"] != STATE_FORMAT:
            raise ToolError(f"{path} was written by another version of this tool")
        found: Cluster = read_value(Cluster, state | {"directory": directory})
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
    return found
