#!/usr/bin/env python3
"""Checks what the library exports: its entry points and SQL functions alone.

usage: tools/check_library.py LIBRARY SQL_SCRIPT
"""

import re
import subprocess
import sys
from pathlib import Path

# Background workers are found by name, too.
ENTRY_POINTS = {
    "Pg_magic_func",
    "_PG_init",
    "shuttle_worker_launcher_main",
    "shuttle_worker_look_main",
    "shuttle_statistics_worker_main",
}
INFO = "pg_finfo_"
SQL_SYMBOL = re.compile(r"'MODULE_PATHNAME'\s*,\s*'(\w+)'", re.IGNORECASE)


def exported(library: Path) -> set[str]:
    command = ["nm", "-D", "--defined-only", str(library)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def complaints(symbols: set[str], wanted: set[str]) -> list[str]:
    functions = {name.removeprefix(INFO) for name in symbols if name.startswith(INFO)}
    allowed = ENTRY_POINTS | functions | {INFO + name for name in functions}
    lines = [f"exports {name}, which is no SQL function" for name in sorted(symbols - allowed)]
    lines += [f"does not export {name}" for name in sorted(ENTRY_POINTS - symbols)]
    for name in sorted(wanted - (symbols & functions)):
        lines.append(f"does not export {name}, which the SQL script uses")
    return lines


def main() -> int:
    library, script = (Path(argument) for argument in sys.argv[1:3])
    wanted = set(SQL_SYMBOL.findall(script.read_text()))
    lines = complaints(exported(library), wanted)
    for line in lines:
        print(f"{library}: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
