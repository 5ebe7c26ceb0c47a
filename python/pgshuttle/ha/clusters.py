"""A query node and storage nodes that are Patroni clusters on this machine: up, down, list."""

import contextlib
import os
import shutil
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

from pgshuttle.base.errors import ToolError
from pgshuttle.cluster import builds, catalog, clusters, paths, processes, state
from pgshuttle.cluster.clusters import OnStep
from pgshuttle.ha import making as ha_making
from pgshuttle.ha import patroni
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.making import HaOptions
from pgshuttle.ha.state import HaCluster, Member

UP_LIMIT_S = 180
STOP_LIMIT_S = 30


@dataclass(frozen=True)
class MemberStatus:
    """One member, and what its Patroni knows of it."""

    node: str
    name: str
    port: int
    is_running: bool
    role: str
    state: str
    timeline: int | None
    lag: str


# ---- starting


def with_member(found: HaCluster, changed: Member) -> HaCluster:
    """Replaces one member and writes that down."""
    nodes = tuple(
        replace(
            node,
            members=tuple(changed if one.name == changed.name else one for one in node.members),
        )
        for node in found.nodes
    )
    result = replace(found, nodes=nodes)
    ha_state.save(result)
    return result


def start_etcd(found: HaCluster) -> HaCluster:
    if processes.is_running(found.etcd.process):
        return found
    result = replace(found, etcd=patroni.start_etcd(found))
    ha_state.save(result)
    return result


def start_member(found: HaCluster, member: Member) -> HaCluster:
    """Starts a member's Patroni, which starts PostgreSQL."""
    if processes.is_running(member.patroni):
        return found
    return with_member(found, replace(member, patroni=patroni.start_patroni(found, member)))


def start_all(found: HaCluster, on_step: OnStep) -> HaCluster:
    """Starts what does not run. What was started is written down at once."""
    on_step("starting etcd")
    found = start_etcd(found)
    on_step("starting Patroni")
    for member in found.members:
        found = start_member(found, member)
    for node in found.nodes:
        on_step(f"waiting for {node.name} and its standbys")
        log = found.directory / f"{node.members[0].name}" / "patroni.log"
        try:
            patroni.wait_until_whole(node, UP_LIMIT_S)
        except ToolError as error:
            raise ToolError(error.message, hint=f"See {log}.", exit_code=error.exit_code) from None
    on_step("defining the servers on the query node")
    define(found)
    return found


def define(found: HaCluster) -> None:
    """Makes databases, the extension and servers, unless they are there."""
    query, *nodes = found.nodes
    with ha_state.connect(query, dbname="postgres") as connection:
        catalog.create_database(connection)
    for node in nodes:
        with ha_state.connect(node, dbname="postgres") as connection:
            catalog.create_on_node(connection)
    with ha_state.connect(query) as connection:
        catalog.create_extension(connection, builds.EXTENSION)
        for node in nodes:
            options = {"host": node.hosts, "port": node.ports, "dbname": catalog.DATABASE}
            options |= {"target_session_attrs": "read-write", "connect_timeout": "2"}
            catalog.make_server(connection, node.name, catalog.ENGINE_WRAPPER, options)


def is_running(found: HaCluster) -> bool:
    parts = [found.etcd.process, *(member.patroni for member in found.members)]
    return all(processes.is_running(part) for part in parts)


def check_same(found: HaCluster, options: HaOptions) -> None:
    """Raises an error if the cluster that is there is not the one that is asked for."""
    query, *nodes = found.nodes
    differences = []
    if len(nodes) != options.nnodes:
        differences.append(f"it has {len(nodes)} storage nodes")
    if options.nmembers not in (None, len(nodes[0].members)):
        differences.append(f"its storage nodes have {len(nodes[0].members)} members")
    if options.with_query_pair != (len(query.members) > 1):
        differences.append(f"its query node has {len(query.members)} members")
    if options.pg and builds.find_build(options.pg).bin_dir != found.build.bin_dir:
        differences.append(f"it is {found.build.version} of {found.build.bin_dir}")
    clusters.refuse(found.directory, differences)


def up(options: HaOptions, on_step: OnStep) -> HaCluster:
    """Makes and starts a cluster, or starts what of it does not run."""
    paths.make_readable_dir(options.directory)
    if (options.directory / state.STATE_FILE).exists():
        raise ToolError(
            f"there is a cluster without standbys in {options.directory}",
            hint="Choose another --dir, or remove it with pgshuttle down --remove.",
        )
    with clusters.lock_directory(options.directory):
        found = ha_state.find(options.directory)
        is_new = found is None
        if found is None:
            on_step("making the configurations")
            found = ha_making.create(options)
        else:
            check_same(found, options)
        try:
            return start_all(found, on_step)
        except BaseException:
            if is_new:
                stop_all(ha_state.load(options.directory))
                remove_data(found)
            raise


# ---- stopping


def read_postmaster(found: HaCluster, member: Member) -> processes.ProcessId | None:
    """Returns the postmaster of a member's data directory, if it runs."""
    path = found.data_dir(member) / "postmaster.pid"
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        process = processes.identify(int(lines[0]))
        command = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError, ToolError):
        return None
    return process if os.fsencode(found.data_dir(member)) in command else None


def list_processes(found: HaCluster, member: Member) -> list[processes.ProcessId]:
    """Patroni, the postmaster and its children; those that run."""
    own = [member.patroni, read_postmaster(found, member)]
    running = [process for process in own if process and processes.is_running(process)]
    return running + [child for process in running for child in processes.list_children(process)]


def send(to: list[processes.ProcessId], number: signal.Signals) -> None:
    for process in to:
        if processes.is_running(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)


def stop_all(found: HaCluster) -> None:
    """Stops all members and etcd, and nothing else."""
    for member in found.members:
        send(list_processes(found, member), signal.SIGCONT)
    patronis = [member.patroni for member in found.members if member.patroni is not None]
    send(patronis, signal.SIGTERM)
    deadline = time.monotonic() + STOP_LIMIT_S
    for process in patronis:
        processes.wait_for_end(process, max(0.0, deadline - time.monotonic()))
    for member in found.members:
        send(list_processes(found, member), signal.SIGKILL)
    processes.stop(found.etcd.process, (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL), 10)
    for member in found.members:
        found = with_member(found, replace(member, patroni=None))
    ha_state.save(replace(found, etcd=replace(found.etcd, process=None)))


def remove_data(found: HaCluster) -> None:
    for path in (found.directory / "etcd", *(found.member_dir(one) for one in found.members)):
        shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(found.socket_dir, ignore_errors=True)
    (found.directory / patroni.CALLBACK).unlink(missing_ok=True)
    (found.directory / ha_state.STATE_FILE).unlink(missing_ok=True)


def down(directory: Path, *, remove: bool) -> None:
    """Stops a cluster; remove: its data goes, too."""
    found = ha_state.load(directory)
    with clusters.lock_directory(directory):
        stop_all(found)
        if not remove:
            return
        remove_data(found)
    (directory / "lock").unlink()
    if not any(directory.iterdir()):
        directory.rmdir()


def read_status(found: HaCluster) -> list[MemberStatus]:
    parts = []
    for node in found.nodes:
        known = {str(one.get("name")): one for one in patroni.read_members(node)}
        for member in node.members:
            seen = known.get(member.name, {})
            parts.append(
                MemberStatus(
                    node=node.name,
                    name=member.name,
                    port=member.port,
                    is_running=read_postmaster(found, member) is not None,
                    role=str(seen.get("role", "-")),
                    state=str(seen.get("state", "-")),
                    timeline=seen.get("timeline"),
                    lag=str(seen.get("lag", "-")),
                )
            )
    return parts
