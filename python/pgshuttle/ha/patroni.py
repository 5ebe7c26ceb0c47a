"""Patroni and etcd: finding and starting them, and asking Patroni's REST API."""

import json
import os
import pwd
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import catalog, paths, processes
from pgshuttle.cluster.servers import SUPERUSER
from pgshuttle.ha.state import QUERY, Etcd, HaCluster, HaNode, Member, Packages

CALLBACK = "confirm_identity"
NAMESPACE = "/pgshuttle/"
ASK_LIMIT_S = 3
PAUSE_S = 0.1
HINT = (
    "Debian: tools/servers install ha; or apt-get install etcd-server, and "
    "pip install 'patroni[etcd3,psycopg3]' 'psycopg[binary]' into an environment that the "
    "servers' user can read, with its bin in PATH."
)

# What every server of such a cluster has; see docs/high-availability.md.
DYNAMIC: Mapping[str, Any] = {
    "ttl": 20,
    "loop_wait": 2,
    "retry_timeout": 3,
    "primary_start_timeout": 0,
    "failsafe_mode": True,
    "maximum_lag_on_failover": 1048576,
}
PARAMETERS: Mapping[str, str] = {
    "fsync": "off",
    "hot_standby_feedback": "on",
    "log_line_prefix": "%m [%p] %q%a ",
    "max_connections": "100",
    "max_prepared_transactions": "100",
    "max_worker_processes": "16",
    "shared_buffers": "32MB",
    "wal_keep_size": "128MB",
    "wal_level": "logical",
}


# ---- programs


def can_run(program: Path) -> bool:
    try:
        processes.run([program, "--version"], timeout_s=20, as_server_user=True)
    except ToolError:
        return False
    return True


def find_packages() -> Packages:
    """Finds the programs, or says how to get them."""
    found: dict[str, Path] = {}
    own = paths.cache_dir() / "ha" / "bin"
    for name in ("etcd", "patroni"):
        where = shutil.which(name)
        candidates = [own / name] + ([Path(where)] if where else []) + [Path("/usr/bin") / name]
        path = next((one for one in candidates if one.is_file() and can_run(one)), None)
        if path is None:
            raise ToolError(
                f"the program \"{name}\" is not installed, or the servers' user can't run it",
                hint=HINT,
                exit_code=ExitCode.NOT_INSTALLED,
            )
        found[name] = path
    return Packages(found["etcd"], found["patroni"])


def start_daemon(
    argv: Sequence[object], log_path: Path, network: int | None = None
) -> processes.ProcessId:
    """Starts a program that outlives this one, as the servers' user.

    network: a process whose network namespace it gets.
    """
    user = processes.server_user()
    who: dict[str, Any] = {}
    if user is not None and network is not None:
        account = pwd.getpwnam(user)
        enter = ["nsenter", "--target", network, "--net", "--setuid", account.pw_uid]
        argv = [*enter, "--setgid", account.pw_gid, "--", *argv]
    elif user is not None:
        who = {"user": user, "group": user, "extra_groups": []}
    with log_path.open("ab") as log:
        processes.give_to_server(log_path)
        started = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
            **who,
        )
    return processes.identify(started.pid)


def wait_until(what: str, is_so: Callable[[], bool], limit_s: float) -> None:
    """Looks again and again; raises an error when the time is over."""
    deadline = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > deadline:
            raise ToolError(f"{what} within {limit_s:g} s", exit_code=ExitCode.TIMED_OUT)
        time.sleep(PAUSE_S)


# ---- etcd


def start_etcd(cluster: HaCluster) -> Etcd:
    etcd = cluster.etcd
    client, peer = (f"http://{etcd.host}:{port}" for port in (etcd.port, etcd.peer_port))
    directory = cluster.directory / "etcd"
    process = start_daemon(
        [cluster.packages.etcd, "--name", "etcd", "--data-dir", directory / "data"]
        + ["--listen-client-urls", client, "--advertise-client-urls", client]
        + ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        + ["--initial-cluster", f"etcd={peer}", "--logger", "zap"],
        directory / "etcd.log",
    )

    def is_healthy() -> bool:
        if not processes.is_running(process):
            raise ToolError("etcd has ended", hint=f"See {directory / 'etcd.log'}.")
        return ask(f"{etcd.host}:{etcd.port}", "health")[0] == 200

    wait_until("etcd did not answer", is_healthy, 20)
    return replace(etcd, process=process)


# ---- Patroni


def write_callback(cluster: HaCluster, member: Member) -> str:
    """Writes the command that Patroni calls when the query node's role changes."""
    python = cluster.packages.patroni.parent / "python3"
    words = [python, cluster.directory / CALLBACK, "--psql", cluster.build.bin_dir / "psql"]
    words += ["--rest", f"http://{member.rest}"]
    command = " ".join(str(word) for word in words)
    return f'{command} --dsn "host={member.host} port={member.port} user={SUPERUSER}"'


def describe_server(cluster: HaCluster, node: HaNode, member: Member) -> dict[str, Any]:
    """What is a member's own of its PostgreSQL."""
    near = f"{member.host}/32" if member.network is None else "samenet"
    described: dict[str, Any] = {
        "listen": f"{member.host}:{member.port}",
        "connect_address": f"{member.host}:{member.port}",
        "data_dir": str(cluster.data_dir(member)),
        "bin_dir": str(cluster.build.bin_dir),
        "pgpass": str(cluster.member_dir(member) / "pgpass"),
        "authentication": {
            "superuser": {"username": SUPERUSER, "password": SUPERUSER},
            "replication": {"username": "replicator", "password": "replicator"},
        },
        "parameters": {"unix_socket_directories": str(cluster.socket_dir)},
        "pg_hba": [
            f"host all {catalog.REMOTE_USER} {near} scram-sha-256",
            "local all all trust",
            f"host all all {near} trust",
            f"host replication all {near} trust",
        ],
    }
    if node.name == QUERY:
        command = write_callback(cluster, member)
        described["callbacks"] = {"on_start": command, "on_role_change": command}
    return described


def write_config(cluster: HaCluster, node: HaNode, member: Member) -> Path:
    """Writes a member's configuration; JSON is YAML, too."""
    parameters = dict(PARAMETERS)
    if node.name == QUERY:
        parameters["shared_preload_libraries"] = "pg_shuttle"
    dcs = {
        **DYNAMIC,
        "synchronous_mode": "quorum" if len(node.members) > 2 else True,
        "postgresql": {"use_pg_rewind": True, "parameters": parameters},
    }
    config = {
        "scope": node.name,
        "namespace": NAMESPACE,
        "name": member.name,
        "restapi": {"listen": member.rest, "connect_address": member.rest},
        "etcd3": {"host": f"{cluster.etcd.host}:{cluster.etcd.port}"},
        "bootstrap": {
            "dcs": dcs,
            "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
        },
        "postgresql": describe_server(cluster, node, member),
    }
    path = cluster.member_dir(member) / "patroni.yml"
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    path.chmod(0o644)
    return path


def start_patroni(cluster: HaCluster, member: Member) -> processes.ProcessId:
    directory = cluster.member_dir(member)
    return start_daemon(
        [cluster.packages.patroni, directory / "patroni.yml"],
        directory / "patroni.log",
        member.network,
    )


def ask(
    place: str, path: str, body: object = None, limit_s: float = ASK_LIMIT_S
) -> tuple[int, str]:
    """Asks a REST API; returns the code and the text, 0 and why if there is no answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{place}/{path}", data=data)
    if data is not None:
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=limit_s) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (OSError, ValueError) as error:
        return 0, str(error)


def read_members(node: HaNode) -> list[dict[str, Any]]:
    """Returns what Patroni knows of the node's members; empty: nobody answers."""
    for member in node.members:
        code, text = ask(member.rest, "cluster", limit_s=1)
        if code == 200:
            found: list[dict[str, Any]] = json.loads(text)["members"]
            return found
    return []


def find_leader(node: HaNode) -> Member | None:
    """Returns the primary of a node, by its own word; None: there is none now."""
    for member in node.members:
        if ask(member.rest, "primary", limit_s=1)[0] == 200:
            return member
    return None


def is_whole(node: HaNode) -> bool:
    """Says if a node has a primary, and standbys that stream from it, one synchronous."""
    found = read_members(node)
    roles = sorted(str(one.get("role")) for one in found)
    ready = [one for one in found if one.get("state") in ("running", "streaming")]
    if len(ready) < len(node.members) or "leader" not in roles:
        return False
    followers = [one for one in found if one.get("role") != "leader"]
    return all(one.get("state") == "streaming" for one in followers) and (
        not followers or any(role in ("sync_standby", "quorum_standby") for role in roles)
    )


def wait_until_whole(node: HaNode, limit_s: float) -> None:
    wait_until(f"{node.name} did not get ready", lambda: is_whole(node), limit_s)


def switch_over(node: HaNode, limit_s: float = 60) -> str:
    """Has another member become the primary; returns what Patroni says."""
    leader = find_leader(node)
    if leader is None:
        raise ToolError(f"{node.name} has no primary now")
    if len(node.members) == 1:
        raise ToolError(f"{node.name} has no standby", exit_code=ExitCode.USAGE)
    code, said = ask(leader.rest, "switchover", {"leader": leader.name}, limit_s)
    if code != 200:
        raise ToolError(f"Patroni refused the switchover of {node.name}: {said.strip()}")
    return said.strip()
