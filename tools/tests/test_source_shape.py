"""Order of includes, named files, sizes of structs and places of plan nodes."""

from pathlib import Path

import pytest
from lib.sourcecheck.shape import (
    MOST_LARGE_STRUCTS,
    MOST_PLAN_NODE_FILES,
    MOST_STRUCT_FIELDS,
    check_include_order,
    check_named_files,
    check_plan_nodes,
    check_struct_sizes,
    nfields,
)
from lib.sourcecheck.source import Source


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("base/shuttle_base.h", "planner/join/join.h", "planner/scan/scan.c"):
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def test_own_includes_are_in_order(tree: Path) -> None:
    good = (
        '#include "postgres.h"\n\n#include "base/shuttle_base.h"\n#include "planner/join/join.h"\n'
    )
    bad = "".join(sorted(good.splitlines(True), reverse=True))
    path = Path("src/planner/a.c")
    assert not list(check_include_order(tree, [Source(path, good)]))
    assert [str(found) for found in check_include_order(tree, [Source(path, bad)])] == [
        'src/planner/a.c:3: "base/shuttle_base.h" belongs before "planner/join/join.h"'
    ]


COMMENTS = [
    ("/* scan.c, setrefs.c, x.c */", ""),
    ("/* planner/scan/scan.c, scan/scan.c and src/planner/scan/scan.c */", ""),
    ("/* as src/backend/executor/nodeHash.c and commands/explain.h do */", ""),
    ('"gone.c"', ""),
    ("/* see\n * gone.c */", "src/planner/join/join.c:2: there is no gone.c"),
    ("/* join/scan.c */", "src/planner/join/join.c:1: there is no join/scan.c"),
    ("/* ../scan.c */", "src/planner/join/join.c:1: there is no ../scan.c"),
]


@pytest.mark.parametrize(("text", "expected"), COMMENTS)
def test_files_that_comments_name_exist(tree: Path, text: str, expected: str) -> None:
    sources = [
        Source(Path("src/planner/join/join.c"), text),
        Source(Path("src/planner/scan/scan.c"), ""),
    ]
    assert "\n".join(str(found) for found in check_named_files(tree, sources)) == expected


def struct(name: str, count: int) -> str:
    return f"typedef struct {name}\n{{\n" + "\tint\t\ta;\n" * count + f"}} {name};\n\n"


def test_large_structs_are_found() -> None:
    few = "".join(struct(f"Large{i}", MOST_STRUCT_FIELDS + 1) for i in range(MOST_LARGE_STRUCTS))
    few += struct("ShuttleSettings", MOST_STRUCT_FIELDS + 1)
    path = Path("src/base/a.h")
    assert not list(check_struct_sizes([Source(path, few + struct("Fits", MOST_STRUCT_FIELDS))]))
    more = few + struct("More", MOST_STRUCT_FIELDS + 1)
    found = [str(finding) for finding in check_struct_sizes([Source(path, more)])]
    assert len(found) == MOST_LARGE_STRUCTS + 1
    assert f"More has {MOST_STRUCT_FIELDS + 1} fields" in found[-1]


def test_fields_are_counted() -> None:
    inner = "\tunion\n\t{\n\t\tint\t\ta;\n\t\tint\t\tb;\n\t}\t\t\tu;\n"
    assert nfields("\tint\t\ta,\n\t\t\t\tb;\n\tbool\t\t(*f) (int a, int b);\n" + inner) == len(
        "abfu"
    )


def test_plan_nodes_are_known_in_facts() -> None:
    case = "\tcase T_Append:\n\tcase T_AppendState:\n"
    facts = Source(Path("src/executor/facts/plan_facts.c"), case)
    paths = Source(Path("src/planner/join/path.c"), "\tcase T_AppendPath:\n\tcase T_Var:\n")
    others = [Source(Path(f"src/executor/join/f{i}.c"), case) for i in range(MOST_PLAN_NODE_FILES)]
    assert not list(check_plan_nodes([facts, paths, *others]))
    last = Source(Path("src/executor/join/last.c"), case)
    found = [str(finding) for finding in check_plan_nodes([facts, paths, *others, last])]
    assert len(found) == MOST_PLAN_NODE_FILES + 1
    assert found[-1].startswith("src/executor/join/last.c:1: a plan node is known outside facts/")
