"""The doctor compares foreign tables made by hand with nodes, and its statements mend them."""

import json
import re
from typing import Any

import psycopg
import pytest
from conftest import invoke, small_cluster
from doctoring import find_problems, mend, nothing_is_left, run

from pgshuttle.base import connections
from pgshuttle.base.errors import ExitCode
from pgshuttle.cluster.state import Cluster

THERE = """
CREATE TABLE fine (id int PRIMARY KEY, name varchar(10) NOT NULL, low text COLLATE "C",
    twice int GENERATED ALWAYS AS (id * 2) STORED, extra int);
CREATE TABLE lost (id int PRIMARY KEY);
CREATE TABLE changed (id int PRIMARY KEY, code text, wide int, short varchar(5), sort text,
    part int, more int NOT NULL);
CREATE TABLE keyless (id int);
CREATE TABLE low (id int PRIMARY KEY CONSTRAINT low_id CHECK (id < 100 AND id >= 0), v text);
ALTER TABLE low ADD CONSTRAINT low_new CHECK (id < 50) NOT VALID;
CREATE TABLE high (id int PRIMARY KEY CONSTRAINT high_id CHECK (id < 150), v text);
CREATE TABLE top (id int PRIMARY KEY CHECK (id < 100), v int);
CREATE TABLE listed (id int, kind text NOT NULL CHECK (kind IN ('a', 'b')), PRIMARY KEY (id, kind));
"""
HERE = """
CREATE FOREIGN TABLE fine (id int NOT NULL, name varchar(10), low text COLLATE "C",
    other int OPTIONS (column_name 'twice') GENERATED ALWAYS AS (id * 2) STORED) SERVER node1;
CREATE FOREIGN TABLE gone (id int) SERVER node1;
CREATE FOREIGN TABLE lost (id int, v text) SERVER node1;
CREATE FOREIGN TABLE changed (id int, code int, wide bigint, short varchar(8),
    sort text COLLATE "POSIX", part int NOT NULL) SERVER node1;
CREATE FOREIGN TABLE keyless (id int) SERVER node1;
CREATE TABLE ranged (id int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE low PARTITION OF ranged FOR VALUES FROM (0) TO (100) SERVER node1;
CREATE FOREIGN TABLE high PARTITION OF ranged FOR VALUES FROM (100) TO (200) SERVER node1;
CREATE FOREIGN TABLE top PARTITION OF ranged FOR VALUES FROM (200) TO (300) SERVER node1;
CREATE TABLE kinds (id int, kind text) PARTITION BY LIST (kind);
CREATE FOREIGN TABLE listed PARTITION OF kinds FOR VALUES IN ('b', 'a') SERVER node1;
"""
EXPECTED = """
warning: public.changed.id is NOT NULL there only
error: public.changed.code is integer here and text there
warning: public.changed.wide is bigint here and integer there
warning: public.changed.short is character varying(8) here and character varying(5) there
error: public.changed.sort has collation pg_catalog."POSIX" here and default there
warning: public.changed.part is NOT NULL here only
error: public.changed lacks more, which is NOT NULL and without a default there
warning: public.fine.name is NOT NULL there only
error: public.gone is missing
warning: public.listed.id is NOT NULL there only
warning: public.lost.id is NOT NULL there only
error: public.lost has no column v
error: public.top.v is text here and integer there
error: public.high refuses, by high_id, some rows
error: public.low refuses, by low_new, some rows
error: public.top refuses, by top_id_check, every row
note: nothing there keeps rows out that are not of the bounds; queries would miss them: public.high
warning: no primary key or unique index there
"""

__all__ = ["nothing_is_left"]  # a fixture that each test uses

running = small_cluster(2)


def test_definitions_are_compared(running: Cluster) -> None:
    run(running, there=THERE, here=HERE)
    found = find_problems(running, ExitCode.FAILED)
    expected = EXPECTED.strip().splitlines()
    texts = [f"{one['level']}: {one['text']}" for one in found]
    assert [text[: len(line)] for text, line in zip(texts, expected, strict=True)] == expected
    for one in found:
        if "tell rows apart" not in one["advice"]:
            mend(running, one["advice"])
    run(running, there="ALTER TABLE keyless ADD PRIMARY KEY (id); ALTER TABLE gone ADD UNIQUE (id)")
    run(running, here="ALTER FOREIGN TABLE keyless ALTER id SET NOT NULL")
    note, good = find_problems(running, ExitCode.OK)
    mend(running, note["advice"])
    (good,) = find_problems(running, ExitCode.OK)
    assert good["text"] == "9 foreign tables have the columns of the node's"


@pytest.mark.parametrize("change", ["DROP CONSTRAINT solid_key", "DROP low", "ALTER id TYPE text"])
def test_drift_is_seen(running: Cluster, change: str) -> None:
    run(
        running,
        there="DROP TABLE IF EXISTS solid; CREATE TABLE solid (id int CONSTRAINT "
        "solid_key PRIMARY KEY, low text); CREATE UNIQUE INDEX ON solid (low) WHERE low > 'm'; "
        "CREATE UNIQUE INDEX ON solid (upper(low))",
        here="DROP FOREIGN TABLE IF EXISTS solid; IMPORT FOREIGN SCHEMA public LIMIT TO (solid) "
        "FROM SERVER node1 INTO public",
    )
    run(running, there=f"ALTER TABLE solid {change}")
    code = ExitCode.OK if "CONSTRAINT" in change else ExitCode.FAILED
    assert any("solid" in one["text"] for one in find_problems(running, code))
    invoke("doctor", "--strict", directory=running.directory, code=ExitCode.FAILED)
    run(running, here="DROP FOREIGN TABLE solid")


KEYED_THERE = """
CREATE TABLE keyed_a (id int, k text, note int UNIQUE, PRIMARY KEY (k, id) INCLUDE (note));
CREATE TABLE keyed_b (id int, k text, note int, PRIMARY KEY (id, k));
CREATE TABLE keyed_c (id int, k text, note int UNIQUE);
CREATE UNIQUE INDEX ON keyed_c (k, id) WHERE id > 0;
"""
KEYED_HERE = """
CREATE TABLE keyed (id int, kind text, note int) PARTITION BY LIST (kind);
CREATE FOREIGN TABLE keyed_a (id int, kind text OPTIONS (column_name 'k'), note int) SERVER node1;
CREATE FOREIGN TABLE keyed_b (id int, kind text OPTIONS (column_name 'k'), note int) SERVER node1;
CREATE FOREIGN TABLE keyed_c (id int, kind text OPTIONS (column_name 'k'), note int) SERVER node1;
ALTER TABLE keyed ATTACH PARTITION keyed_a FOR VALUES IN ('a');
ALTER TABLE keyed ATTACH PARTITION keyed_b FOR VALUES IN ('b');
ALTER TABLE keyed ATTACH PARTITION keyed_c FOR VALUES IN ('c');
"""


def test_keys_of_partitions_are_compared_by_their_columns(running: Cluster) -> None:
    """Another unique index, or a partial one, does not stand for the key."""
    run(running, there=KEYED_THERE, here=KEYED_HERE)
    problems = find_problems(running, ExitCode.FAILED)
    found = [one for one in problems if "no unique key" in one["text"]]
    assert [(one["level"], one["text"].split(": ")[0]) for one in found] == [
        (
            "error",
            'public.keyed_b has no unique key ("note"), which there is behind public.keyed_a',
        ),
        (
            "error",
            'public.keyed_c has no unique key ("kind", "id"), which there is behind public.keyed_a',
        ),
    ]
    assert found[1]["advice"].endswith('ADD PRIMARY KEY ("k", "id");')
    for one in problems:
        if one["level"] != "note":  # nothing keeps rows out
            mend(running, one["advice"])
    left = [one for one in find_problems(running, ExitCode.OK) if one["level"] != "note"]
    assert not any("keyed" in one["text"] for one in left)


def test_a_column_that_is_missing_is_added_to_rows(running: Cluster) -> None:
    """NOT NULL would refuse the rows that are there: it is asked for when they have values."""
    run(
        running,
        there="CREATE TABLE filled (id int PRIMARY KEY, v text NOT NULL); "
        "INSERT INTO filled VALUES (1, 'a'); ALTER TABLE filled DROP v",
        here="CREATE FOREIGN TABLE filled (id int NOT NULL, v text NOT NULL) SERVER node1",
    )
    (missing,) = (one for one in find_problems(running, ExitCode.FAILED) if "filled" in one["text"])
    mend(running, missing["advice"])
    run(running, there="UPDATE filled SET v = 'a'")
    (empty,) = (one for one in find_problems(running, ExitCode.OK) if "filled" in one["text"])
    mend(running, empty["advice"])
    assert not any("filled" in one["text"] for one in find_problems(running, ExitCode.OK))
    run(running, here="DROP FOREIGN TABLE filled", there="DROP TABLE filled")


def test_what_the_server_compares_is_named_once(running: Cluster) -> None:
    """Tablets and copies of reference tables are mended by the statements of shuttle.check()."""
    run(
        running,
        here="CREATE TABLE spread (id int PRIMARY KEY, v text); "
        "CREATE TABLE copied (LIKE spread INCLUDING ALL); "
        "SELECT shuttle.use_node('node1'); SELECT shuttle.distribute_table('spread', 'id'); "
        "SELECT shuttle.reference_table('copied')",
    )
    run(running, there="ALTER TABLE spread DROP v; ALTER TABLE copied DROP v")
    found = json.loads(
        invoke("doctor", "--json", directory=running.directory, code=ExitCode.FAILED)
    )
    named = [
        one for one in found if re.search("spread|copied", one["text"]) and one["level"] == "error"
    ]
    assert sorted((one["check"], one["text"]) for one in named) == [
        ("tables", "public.copied has no column v"),
        ("tables", "public.spread has no column v"),
    ]
    for one in named:
        mend(running, one["advice"])
    assert not any(
        re.search("spread|copied", one["text"]) for one in find_problems(running, ExitCode.OK)
    )
    run(running, here="DROP TABLE spread, copied")


def test_a_default_partition_alone(running: Cluster) -> None:
    """It takes all rows: there are no bounds to compare."""
    run(
        running,
        there="CREATE TABLE rest (id int PRIMARY KEY, v text CHECK (v < 'm'))",
        here="CREATE TABLE all_of (id int NOT NULL, v text) PARTITION BY RANGE (id); "
        "CREATE FOREIGN TABLE rest PARTITION OF all_of DEFAULT SERVER node1",
    )
    assert [one["level"] for one in find_problems(running, ExitCode.OK)] == ["ok"]


def test_partitions_do_not_cost_statements(
    running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All partitions of a hash are read together, however many there are."""
    execute: Any = psycopg.Connection.execute
    asked, counts = [], []

    def count(connection: connections.Connection, query: bytes, *values: object) -> object:
        asked.append(query)
        return execute(connection, query, *values)

    make_there = "CREATE TABLE part_{} (id int PRIMARY KEY, v text CHECK (v < 'm'))"
    make_here = "CREATE FOREIGN TABLE part_{0} PARTITION OF hashed FOR VALUES WITH (MODULUS 16, REMAINDER {0}) SERVER node1"  # noqa: E501
    run(running, here="CREATE TABLE hashed (id int, v text) PARTITION BY HASH (id)")
    monkeypatch.setattr(psycopg.Connection, "execute", count)
    for numbers in (range(2), range(2, 16)):
        there, here = ("; ".join(map(text.format, numbers)) for text in (make_there, make_here))
        run(running, there=there, here=here)
        asked.clear()
        find_problems(running, ExitCode.OK)
        counts.append(len(asked))
    assert counts[0] > 0
    assert counts[1] == counts[0]
