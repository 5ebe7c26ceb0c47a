"""Each kind of expression that an installed version knows is decided about, here or by the router.

A statement with a kind that the router does not name stays on the query node. So a new version
of PostgreSQL is safe before anybody has looked at it; this lists what is to be looked at.
"""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROUTER = (ROOT / "src/planner/router/router_refusals.c").read_text()
CACHE = Path(os.environ.get("SHUTTLE_CACHE", "/var/cache/pg_shuttle"))
HEADERS = sorted(
    header
    for place in ("*/include/postgresql", "*/usr/include/postgresql/*")
    for header in CACHE.glob(f"{place}/server/nodes/primnodes.h")
)

# Kinds that no analyzed statement has: the planner and the executor make them, or the parser
# only between its steps.
NOT_IN_STATEMENTS = {
    "Alias",
    "AlternativeSubPlan",
    "CoerceToDomainValue",
    "Expr",
    "IntoClause",
    "RangeVar",
    "SubPlan",
    "TableFunc",  # looked at as a range table entry
    "ViewClause",
    "WindowFuncRunCondition",
}
# Kinds that keep a statement here.
STAY_HERE = {
    "JsonBehavior",
    "JsonConstructorExpr",
    "JsonExpr",
    "JsonFormat",
    "JsonIsPredicate",
    "JsonReturning",
    "JsonTablePath",
    "JsonTablePathScan",
    "JsonTablePlan",
    "JsonTableSiblingJoin",
    "JsonValueExpr",
    "MergeSupportFunc",
    "NextValueExpr",
}
# Looked at before the others, by what they refer to.
ELSEWHERE = {"Var", "ReturningExpr", "MergeAction"}


def node_types(header: Path) -> set[str]:
    """The structs of a header that are nodes."""
    form = r"typedef struct (\w+)\n\{\n(?:\t[^\n]*\n|\n)*?\t(?:pg_node_attr|NodeTag|Expr)\b"
    return set(re.findall(form, header.read_text()))


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.relative_to(CACHE).parts[0])
def test_somebody_has_decided(header: Path) -> None:
    types = node_types(header)
    assert {"Var", "FuncExpr", "CaseExpr"} <= types
    named = set(re.findall(r"\bcase T_(\w+):", ROUTER))
    assert types - named - NOT_IN_STATEMENTS - STAY_HERE - ELSEWHERE == set()


def test_router_refuses_the_rest() -> None:
    kinds = ROUTER.split("check_kind(", 1)[1].split("\n}\n", 1)[0]
    assert "default:" in kinds
    assert not STAY_HERE & set(re.findall(r"\bcase T_(\w+):", kinds))
