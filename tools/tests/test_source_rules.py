"""Each rule of make lint finds what it is for, and leaves good code alone."""

from pathlib import Path

import pytest
from check_library import ENTRY_POINTS, complaints
from lib.sourcecheck.c_rules import check_c_file, check_short_share
from lib.sourcecheck.compat_rules import check_compat
from lib.sourcecheck.cycles import MAX_CYCLE_FILES, check_cycles, cycle_lines
from lib.sourcecheck.headings import check_headings
from lib.sourcecheck.ladders import PLANNER_UPWARD, check_ladders
from lib.sourcecheck.other_rules import (
    check_python,
    check_search_paths,
    check_test_names,
    check_tests,
)
from lib.sourcecheck.source import Function, Source


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with a door and an internal header in each of three rooms."""
    for room in ("planner", "storage", "base"):
        folder = tmp_path / "src" / room
        folder.mkdir(parents=True)
        (folder / f"shuttle_{room}.h").touch()
        (folder / f"{room}_internal.h").touch()
    return tmp_path


def complaints_of(tree: Path, path: str, text: str) -> list[str]:
    source = Source(Path("src") / path, text)
    return [str(finding) for finding in check_c_file(tree, source) if not finding.warning]


BAD = [
    ("base/a.c", '#include "storage/shuttle_storage.h"\n', "above it on the ladder"),
    ("planner/a.c", '#include "base/base_internal.h"\n', "belongs to base/ alone"),
    ("base/a.c", '#include "shuttle_base.h"\n', "lacks its room"),
    ("base/a.c", "#include <libpq-fe.h>\n", "libpq is known only in storage/"),
    ("base/a.c", "\tPQclear(result);\n", "PQclear: libpq is known only in storage/"),
    ("base/a.c", "#if PG_VERSION_NUM < 160000\n", "only in base/shuttle_compat*.h"),
    ("storage/a.c", '\tExplainPropertyText("a", b, es);\n', "only in explain/"),
    ("planner/a.c", "\tplanner_hook = plan;\n", "set only in a room's hooks.c"),
    ("base/a.c", '\tereport(ERROR,\n\t\t\t(errmsg("errcode(1)")));\n', "has no errcode"),
    ("base/a.c", "\n" * 1001, "no file has over 1000"),
    ("base/a.c", "static void\nlong_one(void)\n{\n" + "\tx();\n" * 98 + "}\n", "over 100"),
    ("helpers/a.c", "\n", "no room of the ladder"),
]

GOOD = [
    ("planner/a.c", '#include "storage/shuttle_storage.h"\n#include "executor/executor.h"\n'),
    ("storage/a.c", "#include <libpq-fe.h>\n\tPQclear(result);\n"),
    ("base/a.c", "/* PQclear() and PG_VERSION_NUM in words */\n"),
    ("base/a.c", '\tereport(ERROR,\n\t\t\t(errcode(ERRCODE_X),\n\t\t\t errmsg("a")));\n'),
    ("planner/hooks.c", "\tplanner_hook = plan;\n"),
    ("planner/a.c", "\tif (planner_hook == plan)\n"),
    ("shuttle.c", '#include "planner/shuttle_planner.h"\n'),
    ("base/shuttle_compat.h", "#if PG_VERSION_NUM < 160000\n#endif\n"),
    ("base/shuttle_compat_libpq.h", "#if PG_VERSION_NUM < 160000\n#endif\n"),
]


@pytest.mark.parametrize(("path", "text", "expected"), BAD)
def test_bad_c_is_found(tree: Path, path: str, text: str, expected: str) -> None:
    found = complaints_of(tree, path, text)
    assert len(found) == 1
    assert expected in found[0]
    assert found[0].startswith(f"src/{path}:")


@pytest.mark.parametrize(("path", "text"), GOOD)
def test_good_c_passes(tree: Path, path: str, text: str) -> None:
    assert complaints_of(tree, path, text) == []


COMPAT = """#define SHUTTLE_TELLS
#define LockHeldByMe shuttle_lock_held
static inline int
shuttle_form(int a)
{
\treturn a;
}
typedef struct Group
{
\tint a;
} Group;
extern void _PG_init(void);
"""


@pytest.mark.parametrize(
    "use", ["#ifdef SHUTTLE_TELLS", "LockHeldByMe(a);", "shuttle_form(1);", "Group a;", "_PG_init"]
)
def test_names_of_versions_are_included(use: str) -> None:
    header = Source(Path("src/base/shuttle_compat_lock.h"), COMPAT)
    include = '#include "base/shuttle_compat_lock.h"\n'
    found = list(check_compat([header, Source(Path("src/base/a.c"), f"/* {use} */\n{use}\n")]))
    assert [(f.line, 'include "base/shuttle_compat_lock.h"' in f.message) for f in found] == [
        (2, True)
    ]
    assert not list(check_compat([header, Source(Path("src/base/a.c"), include + use)]))


def test_functions_are_measured() -> None:
    text = "int\none(int a,\n\tint b)\n{\n\treturn a;\n}\n\n"
    text += "int two(void);\n\nstruct s\n{\n\tint a;\n};\n"
    functions = list(Source(Path("src/a.c"), text).functions())
    assert [(f.name, f.line, f.nlines) for f in functions] == [("one", 2, 5)]


def test_share_of_short_functions() -> None:
    short = Function(Path("a.c"), "short", 1, 40)
    longer = Function(Path("a.c"), "longer", 1, 41)
    assert not list(check_short_share([short] * 85 + [longer] * 15))
    found = list(check_short_share([short] * 84 + [longer] * 16))
    assert "longer() has 41 lines" in str(found[0])


def test_python_sizes() -> None:
    body = "    x = 1\n" * 40
    assert "over 40" in str(next(check_python(Path("a.py"), f"def f() -> None:\n{body}")))
    assert list(check_python(Path("a.py"), "\n" * 301))


def test_expected_files(tmp_path: Path) -> None:
    for kind in ("sql", "specs", "expected"):
        (tmp_path / "test" / kind).mkdir(parents=True)
    (tmp_path / "test/sql/a.sql").write_text("SELECT 1;")
    (tmp_path / "test/specs/a.spec").touch()
    (tmp_path / "test/sql/b.sql").touch()
    for name in ("a.out", "a_1.out", "gone.out"):
        (tmp_path / "test/expected" / name).touch()
    found = "\n".join(str(finding) for finding in check_tests(tmp_path))
    assert "both would use one expected file" in found
    assert "b.sql:1: no expected output" in found
    assert "a_1.out:1:" in found
    assert "gone.out:1: no test" in found


def test_exports() -> None:
    symbols = ENTRY_POINTS | {"pg_finfo_f", "f"}
    assert complaints(symbols, {"f"}) == []
    assert complaints(symbols | {"stray"}, {"f", "g"}) == [
        "exports stray, which is no SQL function",
        "does not export g, which the SQL script uses",
    ]


HEADINGS = """/* ---- scans (scan.c, remote_*.c) */
extern void shuttle_scan(void);
pg_noreturn extern void shuttle_remote_scan(void);

/* Locks (lock.c). */
extern void shuttle_lock(void);

/* True of a lock. */
extern bool shuttle_is_lock(int a,
							int b);

/* ---- what nobody is told the file of */
extern int shuttle_count;
"""


def test_headings_name_the_files_of_declarations() -> None:
    bodies = {
        "scan": "void\nshuttle_scan(void)\n{\n}\n",
        "remote_scan": "void\nshuttle_remote_scan(void)\n{\n}\n",
        "lock": "void\nshuttle_lock(void)\n{\n}\nbool\nshuttle_is_lock(int a, int b)\n{\n}\n",
        "count": "int\t\t\tshuttle_count = 0;\n",
    }
    sources = [Source(Path(f"src/{name}.c"), text) for name, text in bodies.items()]
    sources.append(Source(Path("src/scan.h"), HEADINGS))
    assert [str(finding) for finding in check_headings(sources)] == [
        "src/scan.h:9: shuttle_is_lock is defined in lock.c; its heading names others"
    ]


def circle_of(count: int) -> list[Source]:
    """Files of which each calls the next, and the last the first."""
    return [
        Source(
            Path(f"src/f{i}.c"),
            f"int shuttle_variable_{i} = 0;\n\n/* shuttle_f0() */\nvoid\nshuttle_f{i}(void)\n"
            f"{{\n\tshuttle_f{(i + 1) % count}();\n}}\n",
        )
        for i in range(count)
    ]


def test_long_cycles_of_calls_are_found() -> None:
    assert not list(check_cycles(circle_of(MAX_CYCLE_FILES)))
    found = [str(finding) for finding in check_cycles(circle_of(MAX_CYCLE_FILES + 1))]
    assert len(found) == 1
    assert f"{MAX_CYCLE_FILES + 1} files call in a cycle" in found[0]
    assert all(f"f{i}" in found[0] for i in range(MAX_CYCLE_FILES + 1))


def test_cycles_are_told_with_their_names() -> None:
    reader = Source(Path("src/reader.c"), "void\nshuttle_read(void)\n{\n\tshuttle_list--;\n}\n")
    owner = Source(Path("src/owner.c"), "List *shuttle_list = NIL;\n")
    assert list(cycle_lines([reader, owner])) == []
    owner = Source(owner.path, owner.text + "void\nshuttle_own(void)\n{\n\tshuttle_read();\n}\n")
    assert list(cycle_lines([reader, owner])) == [
        "2 files:",
        "  src/owner.c -> src/reader.c: shuttle_read",
        "  src/reader.c -> src/owner.c: shuttle_list",
    ]


def names_used_upwards(count: int) -> list[Source]:
    """A file at the bottom of the planner that calls functions at its top."""
    names = [f"shuttle_top_{i}" for i in range(count)]
    top = "".join(f"void\n{name}(void)\n{{\n}}\n" for name in names)
    calls = "".join(f"\t{name}();\n" for name in names)
    return [
        Source(Path("src/planner/router/top.c"), top),
        Source(Path("src/planner/facts/ground.c"), f"void\nshuttle_ground(void)\n{{\n{calls}}}\n"),
    ]


def test_names_used_up_the_ladder_of_sub_rooms_are_found() -> None:
    assert not list(check_ladders(names_used_upwards(PLANNER_UPWARD)))
    found = [str(finding) for finding in check_ladders(names_used_upwards(PLANNER_UPWARD + 1))]
    assert len(found) == 1
    assert f"{PLANNER_UPWARD + 1} names are used upwards" in found[0]
    assert "shuttle_top_0 (ground -> top)" in found[0]


def test_a_sub_room_without_a_place_is_found() -> None:
    (found,) = check_ladders([Source(Path("src/executor/cellar/wine.c"), "")])
    assert "cellar has no place on the ladder of executor/" in str(found)


def test_first_words_of_tests_are_folders(tree: Path) -> None:
    for name in ("sql/base_a.sql", "specs/storage.spec", "t/other_a.pl", "sql/postgres_fdw_a.sql"):
        path = tree / "test" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [str(finding) for finding in check_test_names(tree)] == [
        "test/t/other_a.pl:1: the first word of its name is no folder of src"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SET search_path = pg_catalog\n", True),
        ("\" ('search_path', 'pg_catalog'),\"", True),
        ('SET("search_path", "\'pg_catalog\'")', True),
        ("set_config('search_path', 'pg_catalog, pg_temp', false)", False),
        ("SET search_path = pg_catalog, pg_temp AS", False),
        ("current_setting('search_path'), pg_catalog.set_config(", False),
    ],
)
def test_a_search_path_has_temporary_objects_last(text: str, found: bool) -> None:
    assert bool(list(check_search_paths(Path("a.sql"), text))) == found
