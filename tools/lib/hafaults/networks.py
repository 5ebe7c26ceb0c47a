"""A network of its own for each host of a cluster, so that its cable can be pulled.

All of it is in a network namespace of this program: a bridge, and a pair of linked interfaces
for each host, whose other end is in the namespace of the host's processes. The kernel removes
it with the last process.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from pgshuttle.ha.state import Member

ENTERED = "HA_FAULTS_NETWORKS"
BRIDGE = "hosts"
SUBNET = "10.77.0"
OWN = f"{SUBNET}.1"
TOOLS = ("ip", "nsenter", "unshare")
WAIT_S = 10


def can_have() -> bool:
    """Says if this machine lets us have network namespaces with bridges."""
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in TOOLS):
        return False
    probe = ["unshare", "--net", "ip", "link", "add", BRIDGE, "type", "bridge"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def enter() -> None:
    """Starts this program anew in a namespace of its own; returns there."""
    if os.environ.get(ENTERED) is None:
        os.environ[ENTERED] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "addr", "add", f"{OWN}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=WAIT_S)


def link_name(member: Member) -> str:
    return f"to{member.network}"


def cut(member: Member) -> None:
    """Nothing goes to the host or comes from it any more, and nobody is told."""
    run("ip", "link", "set", link_name(member), "nomaster")


def mend(member: Member) -> None:
    run("ip", "link", "set", link_name(member), "master", BRIDGE)


class Networks:
    """Makes the hosts' networks, and holds them."""

    def __init__(self) -> None:
        self._holders: list[subprocess.Popen[bytes]] = []

    def make(self, name: str) -> tuple[str, int]:
        """Returns the address of a new host, and a process in its namespace."""
        holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        self._holders.append(holder)
        own = Path("/proc/self/ns/net").readlink()
        there = Path(f"/proc/{holder.pid}/ns/net")
        while there.readlink() == own:
            sleep(0.005)
        address = f"{SUBNET}.{len(self._holders) + 1}"
        link = f"to{holder.pid}"
        inside = ("nsenter", "--target", str(holder.pid), "--net", "ip")
        run("ip", "link", "add", link, "type", "veth", "peer", "eth0", "netns", str(holder.pid))
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run("ip", "link", "set", link, "master", BRIDGE)
        run("ip", "link", "set", link, "up")
        return address, holder.pid

    def end(self) -> None:
        for holder in self._holders:
            assert holder.stdin is not None
            holder.stdin.close()
            holder.wait(WAIT_S)


@contextmanager
def networks() -> Iterator[Networks]:
    made = Networks()
    try:
        yield made
    finally:
        made.end()
