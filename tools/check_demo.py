#!/usr/bin/env python3
"""Checks what make demo measured and drew, but for times, which depend on the machine.

usage: tools/check_demo.py demo-results/demo-quick.json
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PNG = b"\x89PNG\r\n\x1a\n"
LEAST_FIGURE_BYTES = 20_000
LEAST_COUNTS = 40  # claims about round trips, requests and rows
TIMES = ("ms", "of the time")  # units of claims that a busy machine misses
PARTS = ("push_downs", "procedures", "prefetch", "spreading")


def complaints(found: dict[str, Any], figure: Path) -> Iterator[str]:
    counted = [claim for claim in found["claims"] if claim["unit"] not in TIMES]
    measured = [claim for claim in counted if claim["ok"] is not None]
    if len(measured) < LEAST_COUNTS:
        yield f"only {len(measured)} claims about round trips, requests and rows were measured"
    for claim in measured:
        if not claim["ok"]:
            where = f"{claim['family']}; {claim['detail']}"
            yield f"{where}: {claim['measured']} {claim['unit']}, not {claim['bound']}"
    for line in found["complaints"]:
        yield f"a server's log: {line}"
    if found["trips"] is None or not found["trips"]["same_rows"]:
        yield "the ways to join the trips did not give the same rows, or were not measured"
    yield from (f"there is no part {part}" for part in PARTS if part not in (found["parts"] or {}))
    if not figure.is_file():
        yield f"there is no {figure}"
    elif figure.read_bytes()[: len(PNG)] != PNG or figure.stat().st_size < LEAST_FIGURE_BYTES:
        yield f"{figure} is no picture"


def main() -> int:
    results = Path(sys.argv[1])
    found = list(complaints(json.loads(results.read_text()), results.with_suffix(".png")))
    for complaint in found:
        print(f"check_demo: {complaint}")
    if not found:
        print("check_demo: round trips, requests, rows and the picture are as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
