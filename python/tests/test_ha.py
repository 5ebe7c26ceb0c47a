"""What pgshuttle up --ha writes and refuses, and when Patroni's callback confirms an identity.

Real clusters are tested by tools/ha_faults.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from conftest import invoke, serving

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster.builds import ServerBuild
from pgshuttle.ha import patroni
from pgshuttle.ha import state as ha_state
from pgshuttle.ha.state import Etcd, HaCluster, HaNode, Member, Packages

CALLBACK = Path(patroni.__file__).parent / patroni.CALLBACK
Answers = dict[str, tuple[int, object]]


def make_cluster(directory: Path, *sizes: int) -> HaCluster:
    """A query node and storage nodes that nobody starts."""
    nodes = []
    for number, size in enumerate(sizes):
        name = f"node{number}" if number else ha_state.QUERY
        names = [f"{name}-{i}" for i in range(1, size + 1)]
        nodes.append(HaNode(name, tuple(Member(one, 5432, 8008, None) for one in names)))
    build = ServerBuild("18", directory, "18", Path("/bin"), directory, directory, "")
    packages = Packages(Path("/bin/etcd"), Path("/bin/patroni"))
    return HaCluster(directory, build, packages, directory, Etcd(2379, 2380, None), tuple(nodes))


@contextmanager
def serve(answers: Answers) -> Iterator[int]:
    """A REST API with these answers; yields its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802  (the base class calls it so)
            code, said = answers.get(self.path, (404, {}))
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with serving(server):
        yield server.server_port


# ---- the command


def test_what_up_needs(work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patroni, "can_run", lambda _program: False)
    said = invoke("up", "--ha", directory=work_dir / "c", code=ExitCode.NOT_INSTALLED)
    assert "tools/servers install ha" in said
    assert not (work_dir / "c" / ha_state.STATE_FILE).exists()


# ---- files


def test_the_state_is_read_as_it_was_written(work_dir: Path) -> None:
    made = make_cluster(work_dir, 1, 3, 3)
    ha_state.save(made)
    assert ha_state.find(work_dir) == made


def test_names_of_nodes_and_members(work_dir: Path) -> None:
    made = make_cluster(work_dir, 1, 3)
    assert ha_state.find_node(made, "1") == ha_state.find_node(made, "node1") == made.nodes[1]
    assert ha_state.find_member(made, "node1-2") == made.nodes[1].members[1]
    assert "host=127.0.0.1,127.0.0.1,127.0.0.1 port=5432,5432,5432" in ha_state.write_dsn(
        made.nodes[1]
    )
    with pytest.raises(ToolError, match="there are query, node1"):
        ha_state.find_node(made, "2")


@pytest.mark.parametrize(("size", "mode"), [(1, True), (2, True), (3, "quorum")])
def test_standbys_are_synchronous(size: int, mode: object, work_dir: Path) -> None:
    made = make_cluster(work_dir, 1, size)
    member = made.nodes[1].members[0]
    made.member_dir(member).mkdir()
    written = json.loads(patroni.write_config(made, made.nodes[1], member).read_text())
    assert written["bootstrap"]["dcs"]["synchronous_mode"] == mode
    assert "callbacks" not in written["postgresql"]


def test_the_query_node_has_the_callback(work_dir: Path) -> None:
    made = make_cluster(work_dir, 2)
    member = made.nodes[0].members[0]
    made.member_dir(member).mkdir()
    written = json.loads(patroni.write_config(made, made.nodes[0], member).read_text())
    command = written["postgresql"]["callbacks"]["on_role_change"]
    assert str(work_dir / patroni.CALLBACK) in command


# ---- Patroni's word

MEMBERS = [
    {"name": "node1-1", "role": "leader", "state": "running"},
    {"name": "node1-2", "role": "quorum_standby", "state": "streaming"},
]


@pytest.mark.parametrize(
    ("changes", "is_whole"),
    [
        ({}, True),
        ({"role": "replica"}, False),  # not synchronous yet
        ({"state": "running"}, False),  # does not stream
        ({"state": "stopped"}, False),
    ],
)
def test_when_a_node_is_whole(changes: dict[str, str], is_whole: bool) -> None:  # noqa: FBT001
    with serve({"/cluster": (200, {"members": [MEMBERS[0], MEMBERS[1] | changes]})}) as port:
        members = tuple(Member(f"node1-{i}", 5432, port, None) for i in (1, 2))
        assert patroni.is_whole(HaNode("node1", members)) == is_whole


# ---- the callback

SAFE: Answers = {"/primary": (200, {}), "/config": (200, {"synchronous_mode": "quorum"})}


def call_back(folder: Path, answers: Answers, role: str, psql: str) -> tuple[int, str, str]:
    """Runs the callback beside a psql that is a script; returns what that was asked, too."""
    asked = folder / "asked"
    program = folder / "psql"
    # A second look finds what the first one has confirmed.
    program.write_text(f'#!/bin/bash\nasked="{asked}"\necho "$@" >>"$asked"\n{psql}\n')
    program.chmod(0o755)
    with serve(answers) as port:
        words = ["--psql", program, "--rest", f"http://127.0.0.1:{port}", "on_role_change", role]
        done = subprocess.run(
            [sys.executable, CALLBACK, *map(str, words), "query"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONWARNINGS": "error"},
        )
    said = asked.read_text() if asked.exists() else ""
    return done.returncode, done.stderr, said


PSQL = """
case "$*" in
    *datname*) echo app ;;
    *to_regclass*) echo t ;;
    *count*) grep -q confirm_identity "$asked" && echo AFTER || echo 0 ;;
esac"""


def test_a_promoted_standby_is_confirmed(work_dir: Path) -> None:
    code, said, asked = call_back(work_dir, SAFE, "primary", PSQL.replace("AFTER", "1"))
    assert (code, said) == (0, 'confirm_identity: the identity is confirmed in database "app"\n')
    assert "shuttle.confirm_identity()" in asked


def test_a_standby_confirms_nothing(work_dir: Path) -> None:
    assert call_back(work_dir, SAFE, "replica", PSQL) == (0, "", "")


def test_nothing_is_confirmed_without_synchronous_standbys(work_dir: Path) -> None:
    answers = SAFE | {"/config": (200, {"synchronous_mode": False})}
    code, said, asked = call_back(work_dir, answers, "primary", PSQL)
    assert code == 1
    assert "synchronous_mode is off" in said
    assert "confirm_identity()" not in asked


def test_a_copy_of_another_server_is_not_confirmed(work_dir: Path) -> None:
    code, said, _ = call_back(work_dir, SAFE, "primary", PSQL.replace("AFTER", "0"))
    assert code == 1
    assert "was not made by this server" in said
