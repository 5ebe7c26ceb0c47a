"""The kernel's cache of files: putting files out of it, and how much of them is in it."""

import ctypes
import mmap
import os
from collections.abc import Sequence
from pathlib import Path


def measure_cached(descriptor: int, nbytes: int) -> int:
    """Returns how many bytes of a file are cached, of a file that is ours."""
    npages = -(-nbytes // mmap.PAGESIZE)
    # mincore() takes an address, and ctypes only gives that of memory that may be written
    with mmap.mmap(descriptor, nbytes, access=mmap.ACCESS_COPY) as mapped:
        first = ctypes.c_char.from_buffer(mapped)
        states = (ctypes.c_ubyte * npages)()
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.mincore(
            ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(nbytes), states
        )
        del first  # or the file could not be unmapped
    if failed:
        raise OSError(ctypes.get_errno(), "mincore")
    return mmap.PAGESIZE * sum(state & 1 for state in states)


def drop(paths: Sequence[Path]) -> float:
    """Has the kernel forget files, which nobody may write meanwhile.

    Returns which part of them it still has.
    """
    ncached = nall = 0
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # only what is on disk can be forgotten
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            nbytes = os.fstat(descriptor).st_size
            if nbytes > 0:
                ncached += measure_cached(descriptor, nbytes)
                nall += nbytes
        finally:
            os.close(descriptor)
    return ncached / max(nall, 1)
