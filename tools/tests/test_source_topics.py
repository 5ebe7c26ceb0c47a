"""Names that begin with their file's topic, and those that do not."""

from pathlib import Path

import pytest
from lib.sourcecheck.source import Source
from lib.sourcecheck.topics import MOST_OTHER_NAMES, begins_with_topic, check_topics, public_names


def defining(path: str, *names: str) -> Source:
    return Source(Path(path), "".join(f"void\n{name}(void)\n{{\n}}\n\n" for name in names))


GOOD = [
    ("shuttle_remote_scan_send", "src/executor/scan/remote_scan.c"),
    ("shuttle_key_set", "src/executor/join/key_set.c"),
    ("shuttle_keys_close", "src/executor/join/key_range.c"),
    ("shuttle_reference_copy_size", "src/planner/join/reference_copies.c"),
    ("shuttle_copies_make", "src/tablets/reference/copy_rows.c"),
    ("shuttle_batch_send", "src/executor/join/batches.c"),
    ("shuttle_planner_init", "src/planner/hooks.c"),
    ("shuttle_fdw_handler", "src/shuttle_fdw.c"),
]
BAD = [
    ("shuttle_foreign_scan_send", "src/executor/scan/remote_scan.c"),
    ("shuttle_is_key_set", "src/executor/join/key_set.c"),
    ("shuttle_keyed_write", "src/executor/join/key_set.c"),
    ("shuttle_hooks_init", "src/planner/hooks.c"),
]


@pytest.mark.parametrize(("name", "path"), GOOD)
def test_topic_is_known(name: str, path: str) -> None:
    assert begins_with_topic(name, Path(path))


@pytest.mark.parametrize(("name", "path"), BAD)
def test_other_topic_is_seen(name: str, path: str) -> None:
    assert not begins_with_topic(name, Path(path))


def test_names_that_tell_no_file_are_found() -> None:
    names = [f"shuttle_other_{i}" for i in range(MOST_OTHER_NAMES + 1)]
    good = defining("src/base/points.c", "shuttle_point_reach")
    assert not list(check_topics([good, defining("src/base/counters.c", *names[1:])]))
    found = [str(f) for f in check_topics([good, defining("src/base/counters.c", *names)])]
    assert len(found) == 1
    assert found[0].startswith(
        f"src/base/counters.c:1: {MOST_OTHER_NAMES + 1} names do not begin with the topic"
    )
    assert "shuttle_other_0 (counters.c)" in found[0]
    assert "shuttle_point_reach" not in found[0]


def test_variables_have_topics_too() -> None:
    source = Source(Path("src/base/counters.c"), "ShuttleCounters shuttle_session_counters;\n")
    assert public_names(source) == {"shuttle_session_counters"}


def test_functions_of_sql_scripts_and_headers_are_left_out() -> None:
    source = defining("src/cluster/admin/adopt.c", "shuttle_release_server", "shuttle_adopt_server")
    text = "SHUTTLE_SQL_FUNCTION(shuttle_release_server);\n" + source.text
    assert public_names(Source(source.path, text)) == {"shuttle_adopt_server"}
    names = [f"shuttle_other_{i}" for i in range(MOST_OTHER_NAMES + 1)]
    assert not list(check_topics([defining("src/base/shuttle_compat.h", *names)]))
