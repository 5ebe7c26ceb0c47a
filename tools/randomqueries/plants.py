"""Bugs that are planted to see whether random queries find them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from testrun.installed import TestRunError


@dataclass(frozen=True)
class Edit:
    """A text that is there once, and what stands there with the bug."""

    file: str
    old: str
    new: str


Plants: TypeAlias = dict[str, tuple[Edit, ...]]

PLANTS: Plants = {
    # keys are compared by their hash alone, of which few bits are left
    "hash_alone": (
        Edit(
            "src/executor/join/key_set.c",
            "shape->hash = hash;",
            "shape->hash = hash & 1023;",
        ),
        Edit(
            "src/executor/join/key_set.c",
            "(!shape->nulls[i] &&",
            "(false &&",
        ),
    ),
    # the rows of a key are stored under the next one
    "next_ordinal": (
        Edit(
            "src/executor/join/key_range.c",
            "add_row(set, range, range->first + ordinal, tuple);",
            "add_row(set, range, range->first + (ordinal + 1) % range->nkeys, tuple);",
        ),
    ),
    # one row a key is taken for enough although a local filter is left
    "one_row_filter": (
        Edit(
            "src/executor/join/look_ahead_links.c",
            "direct && context->one_row && node->ss.ps.qual == NULL);",
            "direct && context->one_row);",
        ),
    ),
    # a key with a NULL never has rows
    "null_is_empty": (
        Edit(
            "src/executor/join/served_scan.c",
            "column->null_is_empty = null_is_empty(",
            "column->null_is_empty = true || null_is_empty(",
        ),
    ),
}


@contextlib.contextmanager
def planted(tree: Path, plants: Plants, name: str) -> Iterator[None]:
    """Puts a bug into a copy of the tree, and takes it out at the end."""
    clean = {edit.file: (tree / edit.file).read_text() for edit in plants[name]}
    changed = dict(clean)
    for edit in plants[name]:
        if changed[edit.file].count(edit.old) != 1:
            raise TestRunError(f'plant {name}: {edit.file} does not have once "{edit.old}"')
        changed[edit.file] = changed[edit.file].replace(edit.old, edit.new)
    write(tree, changed)
    try:
        yield
    finally:
        write(tree, clean)


def write(tree: Path, texts: dict[str, str]) -> None:
    for file, text in texts.items():
        (tree / file).write_text(text)
