"""The page of the console: its events, and what a browser makes of them."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, needs_chromium, open_browser
from conftest import short_directory
from consoling import EVIL, fill

from pgshuttle.base import connections
from pgshuttle.cluster import builds, catalog, clusters, processes, servers, state
from pgshuttle.cluster.clusters import ClusterOptions
from pgshuttle.cluster.state import Cluster

START_S = 20.0
AWAY_S = 5.0  # after which a node that has ended must be shown as away, and its return


@pytest.fixture(scope="module")
def running(extended_build: builds.ServerBuild) -> Iterator[Cluster]:
    """Servers of its own: one of them is killed."""
    with short_directory() as directory:
        options = ClusterOptions(directory / "c", 2, str(extended_build.pg_config), 0, True)
        made = clusters.up(options, lambda _step: None).cluster
        fill(made)
        yield made
        clusters.down(options.directory, remove=True)


@contextmanager
def serve(running: Cluster) -> Iterator[str]:
    """Runs the command; yields the address that it printed."""
    words = [
        sys.executable,
        "-m",
        "pgshuttle",
        "console",
        "--json",
        "--dir",
        str(running.directory),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads("".join(process.stdout.readline() for _ in range(3)))["address"]
        finally:
            process.terminate()
            process.wait(START_S)


def read_topics(address: str, wanted: set[str]) -> dict[str, Any]:
    """Reads events until all of these topics have come."""
    found: dict[str, Any] = {}
    with urllib.request.urlopen(address.replace("/?", "/events?"), timeout=START_S) as stream:
        topic = ""
        while not wanted <= set(found):
            name, _, text = stream.readline().decode().strip().partition(": ")
            if name == "event":
                topic = text
            elif name == "data":
                found[topic] = json.loads(text)
    return found


def test_events_tell_all_topics(running: Cluster) -> None:
    with serve(running) as address:
        topics = {"query", "nodes", "map", "moves", "commits", "statements", "doctor"}
        found = read_topics(address, topics)
        assert found["query"]["database"] == catalog.DATABASE
        assert [one["name"] for one in found["nodes"]] == ["query node", "node1", "node2"]
        assert found["query"]["host"].endswith(str(running.query.port))


def check_layout(browser: Browser, address: str) -> None:
    """As wide as a desk and a phone, in both schemes: all is there, and nothing is cut off."""
    for width in (1440, 390):
        for scheme in ("light", "dark"):
            browser.show(address, width, scheme=scheme)
            browser.wait_for("document.querySelectorAll('#map tbody tr').length == 3")
            browser.wait_for("document.querySelectorAll('#nodes .state.up').length == 3")
            assert browser.run("document.documentElement.scrollWidth") <= width
            dark = browser.run("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, dark[4:-1].split(","))) < 150) == (scheme == "dark")
    names = browser.run("[...document.querySelectorAll('#map tbody button')].map(b => b.innerText)")
    assert connections.quote(EVIL) in names
    assert browser.run("document.images.length") == 0


def check_keyboard(browser: Browser) -> None:
    browser.press("2")
    assert browser.run("document.activeElement.id") == "map"
    browser.press("/")
    for key in "item":
        browser.press(key)
    assert browser.run("document.querySelectorAll('#map tbody tr').length") == 1
    browser.press("Tab")
    browser.run("document.querySelector('#map tbody button').focus()")
    browser.press("Enter")
    browser.wait_for("document.querySelectorAll('.squares button').length == 4")
    assert "move_tablet('item_t0'" in browser.run("document.querySelector('tr.detail').innerText")
    browser.run("document.querySelector('.squares button').focus()")
    browser.press("ArrowRight")
    browser.press("Enter")
    wanted = "document.querySelector('.squares [aria-pressed=true]') === document.activeElement"
    assert browser.run(wanted)
    browser.press("Escape")
    assert browser.run("document.querySelector('tr.detail')") is None
    assert browser.run("document.activeElement.innerText") == "item"


def check_errors(browser: Browser) -> None:
    """An error of the map or of moves is shown, and goes with the next answer."""
    for call, place in (("showMap", "#map .actions"), ("showMoves", "#moves")):
        browser.run(f"import('/tablets.js').then(it => it.{call}({{error: 'too slow'}}))")
        text = f"document.querySelector('{place}').innerText"
        assert "too slow" in browser.run(text)
        good = "[]" if call == "showMoves" else "{nodes: ['node1'], tables: [], actions: []}"
        browser.run(f"import('/tablets.js').then(it => it.{call}({good}))")
        assert "too slow" not in browser.run(text)


def check_a_kill(browser: Browser, running: Cluster) -> None:
    is_away = "document.querySelectorAll('#nodes tr.away').length == 1"
    # at once, as in a crash, but its lock files go: nobody may reap a killed one in time
    processes.stop(running.nodes[1].server.process, [signal.SIGQUIT], START_S)
    browser.wait_for(is_away, AWAY_S)
    assert "node2 is away" in browser.run("document.querySelector('#alerts').innerText")
    started = servers.start_server(running.build, running.nodes[1].server)
    found = clusters.load(running.directory)
    changed = [found.nodes[0], state.StorageNode(started, found.nodes[1].proxy), *found.nodes[2:]]
    state.save_cluster(replace(found, nodes=tuple(changed)))
    browser.wait_for("!document.querySelector('#nodes tr.away')", AWAY_S)


@needs_chromium
def test_a_browser_shows_it(running: Cluster, tmp_path: Path) -> None:
    with serve(running) as address, open_browser(tmp_path) as browser:
        check_layout(browser, address)
        check_keyboard(browser)
        check_errors(browser)
        check_a_kill(browser, running)
        assert browser.complaints == []
