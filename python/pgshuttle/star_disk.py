"""What a disk can do with reads of single pages, and how much of it processes used.

A query that reads pages one after the other waits for each; one that asks for
them ahead can at best be as fast as the disk is with many reads at a time.
"""

import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = 8192
DEPTHS = (16, 128)
NREADS = 4000
US_PER_S = 1e6

Read = Callable[[int, Sequence[int]], None]  # a file, and the pages to read


@dataclass(frozen=True)
class RawReads:
    """Pages read at random places without a server. depth: reads at a time."""

    how: str
    depth: int
    read_us: float


def drop_file(path: Path) -> None:
    """Has the kernel forget the pages of a file."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)  # what is not written yet can't be dropped
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def list_children(pid: int) -> list[int]:
    """Lists the processes that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(path.parent.name))
    return found


def count_disk_bytes(pid: int) -> int:
    """Counts what a process and those that it started had the disk read."""
    total = 0
    for one in (pid, *list_children(pid)):
        try:
            text = Path(f"/proc/{one}/io").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            continue
        lines = dict(line.split(": ") for line in text.splitlines())
        total += int(lines["read_bytes"])
    return total


def read_each(fd: int, pages: Sequence[int]) -> None:
    """Reads one page after the other."""
    for page in pages:
        os.pread(fd, PAGE_BYTES, page * PAGE_BYTES)


def make_ahead(depth: int) -> Read:
    """Makes a reader that asks for pages ahead, as servers do."""

    def read(fd: int, pages: Sequence[int]) -> None:
        for number in range(-depth, len(pages)):
            if number + depth < len(pages):
                start = pages[number + depth] * PAGE_BYTES
                os.posix_fadvise(fd, start, PAGE_BYTES, os.POSIX_FADV_WILLNEED)
            if number >= 0:
                os.pread(fd, PAGE_BYTES, pages[number] * PAGE_BYTES)

    return read


def make_threads(depth: int) -> Read:
    """Makes a reader of so many threads."""

    def read(fd: int, pages: Sequence[int]) -> None:
        with ThreadPoolExecutor(depth) as threads:
            shares = [pages[first::depth] for first in range(depth)]
            list(threads.map(read_each, [fd] * depth, shares))

    return read


def time_reads(path: Path, read: Read, nreads: int) -> float:
    """Returns the microseconds a page of reading random pages of a file that is not cached."""
    npages = path.stat().st_size // PAGE_BYTES
    pages = random.sample(range(npages), min(nreads, npages))
    drop_file(path)
    fd = os.open(path, os.O_RDONLY)
    try:
        start_s = time.perf_counter()
        read(fd, pages)
        return (time.perf_counter() - start_s) / len(pages) * US_PER_S
    finally:
        os.close(fd)


def measure_disk(paths: Sequence[Path], nreads: int = NREADS) -> list[RawReads]:
    """Measures what the disk below some files can do; the best of one try a file counts."""
    ways: list[tuple[str, int, Read]] = [("one after the other", 1, read_each)]
    for depth in DEPTHS:
        ways.append(("asked for ahead", depth, make_ahead(depth)))
        ways.append(("by threads", depth, make_threads(depth)))
    return [
        RawReads(how, depth, round(min(time_reads(path, read, nreads) for path in paths), 2))
        for how, depth, read in ways
    ]


def find_limit(found: Sequence[RawReads]) -> float:
    """Returns the least part of the time of single reads that the disk needs with many."""
    alone_us = next(reads.read_us for reads in found if reads.depth == 1)
    return round(min(reads.read_us for reads in found) / alone_us, 4)
