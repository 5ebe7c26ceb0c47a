"""What planning costs, counted by callgrind."""

from pathlib import Path

import pytest
import synthetic

from pgshuttle import places, planning, servers
from pgshuttle.builds import ServerBuild


def test_increase() -> None:
    assert synthetic.PLANNING[0].increase == pytest.approx(0.001)


@pytest.mark.skipif(not planning.can_measure(), reason="valgrind is not installed")
def test_the_same_plannings_take_the_same_instructions(
    build: ServerBuild, work_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "NPLANNINGS", 5)
    sockets = places.make_socket_dir(work_dir)
    server = servers.create_server(build, "planning", work_dir, sockets, {})
    planning.run_single(build, server, list(planning.TABLES), [], "")
    query = planning.QUERIES["join"]
    first = planning.count_instructions(build, server, query, "")
    second = planning.count_instructions(build, server, query, "")
    assert first > 100_000
    assert second == pytest.approx(first, rel=0.02)
