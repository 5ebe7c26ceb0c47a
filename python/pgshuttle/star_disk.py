"""What star joins have the disk read: how the kernel forgets files, and what processes read."""

import os
from pathlib import Path

from pgshuttle import processes

PAGE_BYTES = 8192


def drop_file(path: Path) -> None:
    """Has the kernel forget the pages of a file."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)  # what is not written yet can't be dropped
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def count_disk_bytes(pid: int) -> int:
    """Counts what a process and those that it started had the disk read."""
    total = 0
    for one in (pid, *processes.list_children(pid)):
        try:
            text = Path(f"/proc/{one}/io").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            continue
        lines = dict(line.split(": ") for line in text.splitlines())
        total += int(lines["read_bytes"])
    return total
