"""What a cluster is made of, and the file that remembers it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgshuttle.builds import ServerBuild
from pgshuttle.errors import ExitCode, ToolError
from pgshuttle.processes import ProcessId
from pgshuttle.proxy import Proxy
from pgshuttle.servers import Server

STATE_FORMAT = 1
STATE_FILE = "cluster.json"


@dataclass(frozen=True)
class StorageNode:
    """A storage node and the proxy that the query node reaches it through."""

    server: Server
    proxy: Proxy | None


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


def write_process(process: ProcessId | None) -> dict[str, int] | None:
    """Turns a process into JSON."""
    if process is None:
        return None
    return {"pid": process.pid, "started_ticks": process.started_ticks}


def read_process(entry: dict[str, int] | None) -> ProcessId | None:
    """Reads a process from JSON."""
    return None if entry is None else ProcessId(entry["pid"], entry["started_ticks"])


def write_server(server: Server) -> dict[str, Any]:
    """Turns a server into JSON."""
    return {
        "name": server.name,
        "directory": str(server.directory),
        "socket_dir": str(server.socket_dir),
        "port": server.port,
        "process": write_process(server.process),
    }


def read_server(entry: dict[str, Any]) -> Server:
    """Reads a server from JSON."""
    return Server(
        name=entry["name"],
        directory=Path(entry["directory"]),
        socket_dir=Path(entry["socket_dir"]),
        port=entry["port"],
        process=read_process(entry["process"]),
    )


def write_proxy(proxy: Proxy | None) -> dict[str, Any] | None:
    """Turns a proxy into JSON."""
    if proxy is None:
        return None
    return {
        "port": proxy.port,
        "control_path": str(proxy.control_path),
        "process": write_process(proxy.process),
    }


def read_proxy(entry: dict[str, Any] | None) -> Proxy | None:
    """Reads a proxy from JSON."""
    if entry is None:
        return None
    process = ProcessId(entry["process"]["pid"], entry["process"]["started_ticks"])
    return Proxy(entry["port"], Path(entry["control_path"]), process)


def write_build(build: ServerBuild) -> dict[str, str]:
    """Turns a server build into JSON."""
    return {
        "name": build.name,
        "pg_config": str(build.pg_config),
        "version": build.version,
        "bin_dir": str(build.bin_dir),
        "library_dir": str(build.library_dir),
        "share_dir": str(build.share_dir),
        "configure_options": build.configure_options,
    }


def read_build(entry: dict[str, str]) -> ServerBuild:
    """Reads a server build from JSON."""
    return ServerBuild(
        name=entry["name"],
        pg_config=Path(entry["pg_config"]),
        version=entry["version"],
        bin_dir=Path(entry["bin_dir"]),
        library_dir=Path(entry["library_dir"]),
        share_dir=Path(entry["share_dir"]),
        configure_options=entry["configure_options"],
    )


def save_cluster(cluster: Cluster) -> None:
    """Writes the state file; a reader sees the old one or the new one."""
    state = {
        "format": STATE_FORMAT,
        "build": write_build(cluster.build),
        "with_extension": cluster.with_extension,
        "rtt_us": cluster.rtt_us,
        "query": write_server(cluster.query),
        "nodes": [
            {"server": write_server(node.server), "proxy": write_proxy(node.proxy)}
            for node in cluster.nodes
        ],
    }
    path = cluster.directory / STATE_FILE
    half = path.with_suffix(".new")
    half.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
    half.rename(path)


def load_cluster(directory: Path) -> Cluster | None:
    """Reads the state file; None if no cluster was made in this directory."""
    path = directory / STATE_FILE
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        if state["format"] != STATE_FORMAT:
            raise ToolError(f"{path} was written by another version of this tool")
        return Cluster(
            directory=directory,
            build=read_build(state["build"]),
            with_extension=state["with_extension"],
            rtt_us=state["rtt_us"],
            query=read_server(state["query"]),
            nodes=tuple(
                StorageNode(read_server(node["server"]), read_proxy(node["proxy"]))
                for node in state["nodes"]
            ),
        )
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
