"""A mirror that refuses files which its index names, as mirrors do between two updates."""

import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from email.utils import formatdate
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lib.testrun.installed import ROOT

GONE, THERE = "18.2-1", "18.1-1"
FIELDS = """Package: postgresql-18
Binary: postgresql-18
Version: {version}
Maintainer: nobody <nobody@example.invalid>
Architecture: any
Format: 1.0
Directory: pool
Checksums-Sha256:
{files}
"""
needs_apt = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-source"))), reason="apt or dpkg-dev is missing"
)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_words: object) -> None:
        pass


def describe(path: Path, name: str) -> str:
    data = path.read_bytes()
    return f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}"


def make_source(pool: Path, version: str) -> str:
    """Makes a source package of one file, and returns its paragraph of the index."""
    work = pool / "work"
    tree = work / f"postgresql-18-{version.split('-', maxsplit=1)[0]}"
    (tree / "debian").mkdir(parents=True)
    (tree / "configure").write_text("#!/bin/sh\n")
    head = f"postgresql-18 ({version}) unstable; urgency=low\n\n  * All.\n\n"
    tail = " -- nobody <nobody@example.invalid>  Thu, 01 Jan 2026 00:00:00 +0000\n"
    (tree / "debian/changelog").write_text(head + tail)
    (tree / "debian/control").write_text(
        "Source: postgresql-18\nMaintainer: nobody <nobody@example.invalid>\n"
        "Standards-Version: 4.6.2\n\nPackage: postgresql-18\nArchitecture: any\n"
        "Description: nothing\n"
    )
    subprocess.run(
        ["dpkg-source", "-q", "--format=1.0", "-sn", "-b", tree.name],
        cwd=work,
        check=True,
        capture_output=True,
    )
    files = [path for path in work.iterdir() if path.is_file()]
    paragraph = FIELDS.format(
        version=version, files="\n".join(describe(path, path.name) for path in files)
    )
    for path in files:
        path.rename(pool / path.name)
    shutil.rmtree(work)
    return paragraph


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A mirror whose index names two versions; yields its address and the directory of files."""
    root = tmp_path / "mirror"
    index = root / "dists/sid/main/source"
    pool = root / "pool"
    pool.mkdir(parents=True)
    index.mkdir(parents=True)
    listed = index / "Sources"
    listed.write_text("\n".join(make_source(pool, version) for version in (GONE, THERE)))
    (root / "dists/sid/Release").write_text(
        f"Suite: sid\nCodename: sid\nComponents: main\nDate: {formatdate(usegmt=True)}\n"
        f"SHA256:\n{describe(listed, 'main/source/Sources')}\n"
    )
    handler = partial(QuietHandler, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", pool
        server.shutdown()
        thread.join()


def fetch(tmp_path: Path, address: str) -> subprocess.CompletedProcess[str]:
    sources = tmp_path / "sources.list"
    sources.write_text(f"deb-src [trusted=yes allow-insecure=yes] {address} sid main\n")
    cache = tmp_path / "cache"
    return subprocess.run(
        [ROOT / "tools/servers", "source", "18"],
        env=os.environ | {"SHUTTLE_CACHE": str(cache), "SHUTTLE_SOURCES": str(sources)},
        capture_output=True,
        text=True,
        check=False,
    )


def remove(pool: Path, version: str) -> None:
    for path in pool.glob(f"*_{version}*"):
        path.unlink()


@needs_apt
def test_a_version_that_is_refused_is_named_and_the_next_is_tried(
    tmp_path: Path, mirror: tuple[str, Path]
) -> None:
    address, pool = mirror
    remove(pool, GONE)
    done = fetch(tmp_path, address)
    assert done.returncode == 0, done.stderr
    assert f"could not be had: postgresql-18 {GONE}, from {address}/pool/" in done.stderr
    assert done.stdout.strip().endswith(f"postgresql-{THERE.split('-', maxsplit=1)[0]}")
    assert (Path(done.stdout.strip()) / "configure").exists()


@needs_apt
def test_a_mirror_that_has_none_is_named(tmp_path: Path, mirror: tuple[str, Path]) -> None:
    address, pool = mirror
    for version in (GONE, THERE):
        remove(pool, version)
    done = fetch(tmp_path, address)
    assert done.returncode == 1
    (last,) = done.stderr.strip().splitlines()[-1:]
    for word in (address, GONE, THERE, "PostgreSQL 18"):
        assert word in last


@needs_apt
def test_a_mirror_that_is_away_is_named(tmp_path: Path) -> None:
    done = fetch(tmp_path, "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "not all of these sources answered" in done.stderr
    assert "http://127.0.0.1:9" in done.stderr.strip().splitlines()[-1]
