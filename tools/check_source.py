#!/usr/bin/env python3
"""Checks the rules of our sources that a machine can check.

C: includes run down the ladder of rooms, names down that of their sub-rooms; sizes of
files and functions; libpq, PG_VERSION_NUM and EXPLAIN output in their places; headers of
version differences included where their names are used; an errcode in each error; no long
cycle of calls; headings of headers name the files that define what stands below; public
names that begin with their file's topic; own includes in order; files that comments name;
large structs; plan nodes known outside facts/. SQL of ours: search_path.
Python: sizes; imports run down the ladder of packages. Tests: names, expected files. All:
sizes of committed files. Prints file:line.
With --cycles it prints instead which C files call each other in cycles, and by what names.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from lib.sourcecheck.c_rules import check_c_file, check_folders, check_short_share
from lib.sourcecheck.compat_rules import check_compat
from lib.sourcecheck.cycles import check_cycles, cycle_lines
from lib.sourcecheck.headings import check_headings
from lib.sourcecheck.ladders import check_ladders
from lib.sourcecheck.other_rules import (
    check_committed_sizes,
    check_python,
    check_search_paths,
    check_test_names,
    check_tests,
)
from lib.sourcecheck.packages import check_packages, check_python_test_names
from lib.sourcecheck.shape import (
    check_include_order,
    check_named_files,
    check_plan_nodes,
    check_struct_sizes,
)
from lib.sourcecheck.source import Finding, Source
from lib.sourcecheck.topics import check_topics

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "#!/usr/bin/env python3"


def check_python_files() -> Iterator[Finding]:
    for folder in ("tools", "python/pgshuttle", "python/tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in ("", ".py"):
                text = path.read_text(errors="replace")
                if path.suffix or text.startswith(PYTHON):
                    yield from check_python(path.relative_to(ROOT), text)


def c_sources() -> list[Source]:
    paths = sorted((ROOT / "src").rglob("*.[ch]"))
    return [Source(path.relative_to(ROOT), path.read_text()) for path in paths]


def check_c_sources() -> Iterator[Finding]:
    sources = c_sources()
    for source in sources:
        yield from check_c_file(ROOT, source)
    yield from check_compat(sources)
    yield from check_cycles(sources)
    yield from check_headings(sources)
    yield from check_ladders(sources)
    yield from check_topics(sources)
    yield from check_include_order(ROOT, sources)
    yield from check_named_files(ROOT, sources)
    yield from check_struct_sizes(sources)
    yield from check_plan_nodes(sources)
    yield from check_folders([source.path for source in sources])
    yield from check_short_share([f for source in sources for f in source.functions()])


def check_sql_of_ours() -> Iterator[Finding]:
    for pattern in ("src/**/*.c", "sql/*.sql", "python/pgshuttle/**/*.py"):
        for path in sorted(ROOT.glob(pattern)):
            yield from check_search_paths(path.relative_to(ROOT), path.read_text())


def findings() -> Iterator[Finding]:
    yield from check_c_sources()
    yield from check_sql_of_ours()
    yield from check_python_files()
    yield from check_packages(ROOT)
    yield from check_python_test_names(ROOT)
    yield from check_tests(ROOT)
    yield from check_test_names(ROOT)
    yield from check_committed_sizes(ROOT)


def main() -> int:
    if sys.argv[1:] == ["--cycles"]:
        print("\n".join(cycle_lines(c_sources())))
        return 0
    found = list(findings())
    for finding in found:
        print(finding)
    nerrors = sum(not finding.warning for finding in found)
    if nerrors:
        print(f"check_source: {nerrors} findings")
    return 1 if nerrors else 0


if __name__ == "__main__":
    sys.exit(main())
