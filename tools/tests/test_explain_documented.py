"""docs/explain.md names whatever EXPLAIN prints of ours, and its tables name nothing else."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/explain.md").read_text()
SOURCES = [path.read_text() for path in sorted(ROOT.glob("src/**/*.c"))]

# A counter with its unit; a property; a group that the other formats show; a node of a plan.
PRINTED = (
    r'\[SHUTTLE_\w+\] = \{"([^"]+)", (?:NULL|"\w+"), COUNTER_',
    r'\bExplainProperty\w+\("([^"]+)"',
    r'\bshuttle_explain_(?:text|lines)\(es, "([^"]+)"',
    r'\bExplainOpenGroup\("[^"]+", "([^"]+)"',
    r'\.CustomName = "([^"]+)"',
    r'\bshuttle_\w+_name\[\] = "([^"]+)"',
)


def printed_names() -> set[str]:
    return {name for form in PRINTED for text in SOURCES for name in re.findall(form, text)}


def test_every_printed_name_is_documented() -> None:
    assert {name for name in printed_names() if f"`{name}`" not in PAGE} == set()


def test_the_tables_name_nothing_else() -> None:
    listed = set(re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE))
    assert "Served" in listed
    assert listed - printed_names() == set()


def test_every_counter_has_a_label() -> None:
    header = (ROOT / "src/base/shuttle_counters.h").read_text()
    enum = header.split("typedef enum ShuttleCounter", 1)[1].split("SHUTTLE_NCOUNTERS", 1)[0]
    labels = (ROOT / "src/explain/explain_output.c").read_text()
    assert re.findall(r"^\t(SHUTTLE_\w+)", enum, re.MULTILINE) == re.findall(
        r'^\t\[(SHUTTLE_\w+)\] = \{"\w', labels, re.MULTILINE
    )


def test_each_form_is_found() -> None:
    names = printed_names()
    assert names >= {"Storage Rows Scanned", "Prefetched Pages", "Commit", "Written Tables"}
    assert names >= {"Look Ahead", "Keyed Write", "Routed Append", "Remote Plan"}
    # these print by the forms above; another that shows itself may need one more
    shown = {
        path.name for path in ROOT.glob("src/**/*.c") if "ExplainCustomScan = " in path.read_text()
    }
    assert shown == {
        "call_node.c",
        "conflict_by_row.c",
        "keyed_write.c",
        "lock_ahead.c",
        "look_ahead.c",
        "routed_statement.c",
    }
