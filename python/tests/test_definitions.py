"""The doctor compares foreign tables made by hand with nodes, and its statements mend them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import invoke, run_on, small_cluster
from typer.testing import CliRunner

from pgshuttle import catalog, cli
from pgshuttle.errors import ExitCode
from pgshuttle.state import Cluster

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
warning: changed.id is NOT NULL there only
error: changed.code is integer here and text there
warning: changed.wide is bigint here and integer there
warning: changed.short is character varying(8) here and character varying(5) there
error: changed.sort has collation pg_catalog."POSIX" here and default there
warning: changed.part is NOT NULL here only
error: changed lacks more, which is NOT NULL and without a default there
warning: fine.name is NOT NULL there only
error: public.gone is missing
warning: listed.id is NOT NULL there only
warning: lost.id is NOT NULL there only
error: public.lost has no column v
error: top.v is text here and integer there
error: public.high refuses, by high_id, some rows
error: public.low refuses, by low_new, some rows
error: public.top refuses, by top_id_check, every row
note: nothing there keeps rows out that are not of the bounds; queries would miss them: high
warning: no primary key or unique index there
"""

running = small_cluster(2)

# relations in schema public that are nobody's but a test's
DROP_ALL = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT format('%s %s', CASE relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END,
            c.oid::regclass)
        FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'f')
            AND NOT relispartition
    LOOP EXECUTE format('DROP %s CASCADE', name); END LOOP;
END $$;
DROP SCHEMA IF EXISTS "Of" CASCADE
"""


@pytest.fixture(autouse=True)
def nothing_is_left(running: Cluster) -> Iterator[None]:
    """Each test begins and ends without tables."""
    yield
    for server in (running.query, *(node.server for node in running.nodes)):
        with catalog.connect(server) as connection:
            connection.execute(DROP_ALL)


def find_all(running: Cluster, code: ExitCode | None = None) -> list[dict[str, Any]]:
    """What the doctor prints. Without a code, any findings will do."""
    if code is None:
        directory = running.directory
        done = CliRunner().invoke(cli.app, ["doctor", "--dir", str(directory), "--json"])
        return list(json.loads(done.stdout))
    return list(json.loads(invoke("doctor", "--json", directory=running.directory, code=code)))


def find_problems(running: Cluster, code: ExitCode | None = None) -> list[dict[str, Any]]:
    found = find_all(running, code)
    return [one for one in found if one["check"] == "definitions" and one["where"] == "node1"]


def run(running: Cluster, *, here: str = "", there: str = "") -> None:
    run_on(running.nodes[0].server, there)
    run_on(running.query, here)


def mend(running: Cluster, advice: str) -> None:
    """Runs the statements of an advice as they are printed."""
    advice = advice.split(" Or", maxsplit=1)[0]
    words, _, statements = advice.partition(": ")
    assert words in ("Run here", "Run on the node"), advice
    run(running, **{"here" if words == "Run here" else "there": statements})


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
        ("error", 'public.keyed_b has no unique key ("note"), which there is behind keyed_a'),
        ("error", 'public.keyed_c has no unique key ("kind", "id"), which there is behind keyed_a'),
    ]
    assert found[1]["advice"].endswith('ADD PRIMARY KEY ("k", "id");')
    for one in problems:
        mend(running, one["advice"])
    assert not any("keyed" in one["text"] for one in find_problems(running, ExitCode.OK))


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
        ("tables", "copied has no column v"),
        ("tables", "spread has no column v"),
    ]
    for one in named:
        mend(running, one["advice"])
    assert not any(
        re.search("spread|copied", one["text"]) for one in find_problems(running, ExitCode.OK)
    )
    run(running, here="DROP TABLE spread, copied")


@dataclass(frozen=True)
class Drift:
    """One difference: a table, what changes on a side, what is found, where it is mended."""

    there: str
    here: str
    change: str  # on the node
    found: str  # the beginning of the finding, behind its level
    mended: str  # the statement, or its beginning


FOREIGN = "SERVER node1 OPTIONS (table_name 'thing')"
KEYED = "id int NOT NULL"
PLAIN = f"CREATE FOREIGN TABLE item ({KEYED}, v text {{}}) {FOREIGN}"
THING = "CREATE TABLE thing (id int PRIMARY KEY, v text {})"
TWICE = "w int GENERATED ALWAYS AS (id * {}) STORED"
WITH_TWICE = f"CREATE FOREIGN TABLE item ({KEYED}, v text, {{}}) {FOREIGN}"
PART = """CREATE TABLE item (id int{}, v text{}) PARTITION BY {} (id);
CREATE FOREIGN TABLE item_a PARTITION OF item {} SERVER node1 OPTIONS (table_name 'thing')"""
HASHED = PART.format(" NOT NULL", "", "HASH", "FOR VALUES WITH (MODULUS 4, REMAINDER 1)")
RANGED = PART.format("", "", "RANGE", "FOR VALUES FROM (0) TO (100)")
RANGED_TWICE = f"""CREATE TABLE item (id int NOT NULL, v text, {TWICE.format(2)})
PARTITION BY RANGE (id);
CREATE FOREIGN TABLE item_a PARTITION OF item FOR VALUES FROM (0) TO (100) {FOREIGN}"""
THING_TWICE = f"CREATE TABLE thing (id int PRIMARY KEY, v text, {TWICE.format(2)})"
HASH_THERE = """CREATE TABLE whole (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
CREATE TABLE thing PARTITION OF whole FOR VALUES WITH (MODULUS 4, REMAINDER 1)"""
RANGE_THERE = """CREATE TABLE whole (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE thing PARTITION OF whole FOR VALUES FROM (0) TO (100)"""
MOVED = "ALTER TABLE whole DETACH PARTITION thing; ALTER TABLE whole ATTACH PARTITION thing "
HERE_TABLE = "Run here: ALTER FOREIGN TABLE item "
THERE_TABLE = "Run on the node: ALTER TABLE public.thing "

DRIFTS = {
    "not_null_plain": Drift(
        THING.format(""),
        PLAIN.format(""),
        "ALTER TABLE thing ALTER v SET NOT NULL",
        "warning: item.v is NOT NULL there only: an INSERT of NULL fails",
        f'{HERE_TABLE}ALTER "v" SET NOT NULL;',
    ),
    "not_null_partition": Drift(
        THING.format(""),
        RANGED,
        "ALTER TABLE thing ALTER v SET NOT NULL",
        "error: item_a.v is NOT NULL there only: an INSERT of NULL fails",
        f'{THERE_TABLE}ALTER "v" DROP NOT NULL;',
    ),
    "not_null_key_of_a_partition": Drift(
        "CREATE TABLE thing (id int UNIQUE, v text)",
        HASHED.replace(" NOT NULL", ""),
        "ALTER TABLE thing DROP CONSTRAINT thing_id_key, ADD PRIMARY KEY (id)",
        "warning: item_a.id is NOT NULL there only",
        'Run here: ALTER TABLE item ALTER "id" SET NOT NULL;',
    ),
    "expression_plain": Drift(
        THING_TWICE,
        WITH_TWICE.format(TWICE.format(2)),
        f"ALTER TABLE thing DROP w, ADD {TWICE.format(3)}",
        "error: item.w is generated as (id * 2) here and as (id * 3) there",
        "Run here: ALTER FOREIGN TABLE item ",
    ),
    "expression_renamed": Drift(
        f"CREATE TABLE thing (v int PRIMARY KEY, id text, {TWICE.format(2).replace('id', 'v')})",
        f"""CREATE FOREIGN TABLE item (id int OPTIONS (column_name 'v') NOT NULL,
            v text OPTIONS (column_name 'id'), "W" int OPTIONS (column_name 'w')
            GENERATED ALWAYS AS (id * 2) STORED) {FOREIGN}""",
        "ALTER TABLE thing DROP w, ADD w int GENERATED ALWAYS AS (v * 3) STORED",
        "error: item.W is generated as (id * 2) here and as (id * 3) there",
        "Run here: ALTER FOREIGN TABLE item ",
    ),
    "expression_partition": Drift(
        THING_TWICE,
        RANGED_TWICE,
        f"ALTER TABLE thing DROP w, ADD {TWICE.format(3)}",
        "error: item_a.w is generated as (id * 2) here and as (id * 3) there",
        THERE_TABLE,
    ),
    "generated_here_only": Drift(
        THING_TWICE,
        WITH_TWICE.format(TWICE.format(2)),
        "ALTER TABLE thing ALTER w DROP EXPRESSION",
        "error: item.w is generated here, and the node does not compute it",
        f'{THERE_TABLE}DROP "w", ADD "w" integer GENERATED ALWAYS AS ((id * 2)) STORED;',
    ),
    "generated_here_only_partition": Drift(
        THING_TWICE,
        RANGED_TWICE,
        "ALTER TABLE thing ALTER w DROP EXPRESSION",
        "error: item_a.w is generated here, and the node does not compute it",
        f'{THERE_TABLE}DROP "w", ADD "w" integer GENERATED ALWAYS AS ((id * 2)) STORED;',
    ),
    "generated_there_only": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text, w int)",
        WITH_TWICE.format("w int"),
        f"ALTER TABLE thing DROP w, ADD {TWICE.format(3)}",
        "error: item.w is generated on the node: statements that write it fail",
        f'{HERE_TABLE}DROP "w", ADD "w" integer GENERATED ALWAYS AS ((id * 3)) STORED;',
    ),
    "generated_there_only_partition": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text)",
        RANGED,
        "ALTER TABLE thing DROP v, ADD v text GENERATED ALWAYS AS ('a') STORED",
        "error: item_a.v is generated on the node: statements that write it fail",
        f'{THERE_TABLE}ALTER "v" DROP EXPRESSION;',
    ),
    "generated_column_lost": Drift(
        THING_TWICE,
        WITH_TWICE.format(TWICE.format(2)),
        "ALTER TABLE thing DROP w",
        "error: public.thing has no column w",
        f'{THERE_TABLE}ADD "w" integer GENERATED ALWAYS AS ((id * 2)) STORED;',
    ),
    "collation_plain": Drift(
        THING.format(""),
        PLAIN.format(""),
        'ALTER TABLE thing ALTER v TYPE text COLLATE "POSIX"',
        "error: item.v has collation default here and pg_catalog.",
        f'{HERE_TABLE}ALTER "v" TYPE text COLLATE pg_catalog."POSIX";',
    ),
    "collation_partition": Drift(
        THING.format(""),
        RANGED,
        'ALTER TABLE thing ALTER v TYPE text COLLATE "POSIX"',
        "error: item_a.v has collation default here and pg_catalog.",
        f'{THERE_TABLE}ALTER "v" TYPE text COLLATE pg_catalog."default";',
    ),
    "type_with_a_collation": Drift(
        THING.format('COLLATE "POSIX"'),
        PLAIN.format('COLLATE "POSIX"'),
        'ALTER TABLE thing ALTER v TYPE varchar(5) COLLATE "POSIX"',
        "warning: item.v is text here and character varying(5) there",
        f'{HERE_TABLE}ALTER "v" TYPE character varying(5) COLLATE pg_catalog."POSIX";',
    ),
    "type_partition_with_a_default": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text DEFAULT 'a')",
        RANGED,
        "ALTER TABLE thing ALTER v DROP DEFAULT, ALTER v TYPE int USING 1, ALTER v SET DEFAULT 7",
        "error: item_a.v is text here and integer there",
        f'{THERE_TABLE}ALTER "v" DROP DEFAULT, ALTER "v" TYPE text COLLATE pg_catalog."default" '
        'USING "v"::text, ALTER "v" SET DEFAULT CAST(7 AS text);',
    ),
    "column_that_new_rows_lack": Drift(
        THING.format(""),
        RANGED,
        "ALTER TABLE thing ADD more int NOT NULL",
        "error: item_a lacks more, which is NOT NULL",
        f'{THERE_TABLE}ALTER "more" DROP NOT NULL;',
    ),
    "table": Drift(
        """CREATE SCHEMA "Of"; CREATE TABLE "Of".thing (id int PRIMARY KEY, v text COLLATE "C")""",
        PLAIN.format('COLLATE "C"').replace("(table_name", "(schema_name 'Of', table_name"),
        'DROP SCHEMA "Of" CASCADE',
        'error: "Of".thing is missing, the table behind item',
        'Run on the node: CREATE SCHEMA "Of"; CREATE TABLE "Of".thing ("id" integer NOT NULL, '
        '"v" text COLLATE pg_catalog."C");',
    ),
    "hash_check": Drift(
        f"{HASH_THERE.replace('thing', 'other')}; "
        "CREATE TABLE thing (id int PRIMARY KEY CONSTRAINT own "
        "CHECK (satisfies_hash_partition('whole'::regclass, 4, 1, id)), v text)",
        HASHED,
        "ALTER TABLE thing DROP CONSTRAINT own, ADD CONSTRAINT own CHECK "
        "(satisfies_hash_partition('whole'::regclass, 4, 3, id))",
        "error: public.thing refuses, by own, every row of the bounds of item_a",
        f'{THERE_TABLE}DROP CONSTRAINT "own";',
    ),
    "hash_narrower_check": Drift(
        f"{HASH_THERE.replace('thing', 'other')}; "
        "CREATE TABLE thing (id int PRIMARY KEY CONSTRAINT own "
        "CHECK (satisfies_hash_partition('whole'::regclass, 4, 1, id)), v text)",
        HASHED,
        "ALTER TABLE thing ADD CONSTRAINT more CHECK "
        "(satisfies_hash_partition('whole'::regclass, 8, 5, id))",
        "error: public.thing refuses, by more, some rows of the bounds of item_a",
        f'{THERE_TABLE}DROP CONSTRAINT "more";',
    ),
    "hash_no_check": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text)",
        HASHED,
        "",
        "note: nothing there keeps rows out that are not of the bounds",
        'Run on the node: CREATE TABLE "public"."thing_hash" ("id" integer) PARTITION BY HASH '
        '("id"); ALTER TABLE public.thing ADD CHECK (satisfies_hash_partition('
        '\'"public"."thing_hash"\'::regclass, 4, 1, "id"));',
    ),
    "hash_partition_there": Drift(
        HASH_THERE,
        HASHED,
        f"{MOVED} FOR VALUES WITH (MODULUS 4, REMAINDER 2)",
        "error: public.thing, behind item_a, refuses rows of its bounds here",
        "Run on the node: ALTER TABLE public.whole DETACH PARTITION public.thing; ALTER TABLE "
        "public.whole ATTACH PARTITION public.thing FOR VALUES WITH (modulus 4, remainder 1);",
    ),
    "range_partition_there": Drift(
        RANGE_THERE,
        RANGED,
        f"{MOVED} FOR VALUES FROM (0) TO (50)",
        "error: public.thing, behind item_a, refuses rows of its bounds here",
        "Run on the node: ALTER TABLE public.whole DETACH PARTITION public.thing; ALTER TABLE "
        "public.whole ATTACH PARTITION public.thing FOR VALUES FROM (0) TO (100);",
    ),
}


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS.keys())
def test_each_drift_is_found_and_mended(running: Cluster, drift: Drift) -> None:
    """The statement that is printed runs as it is, and nothing is left to be found."""
    run(running, there=drift.there, here=drift.here)
    if drift.change:
        assert not [one for one in find_problems(running) if one["level"] in ("error", "warning")]
        run(running, there=drift.change)
    found = [one for one in find_problems(running) if one["level"] != "note" or not drift.change]
    found = [one for one in found if one["level"] != "ok"]
    texts = [f"{one['level']}: {one['text']}" for one in found]
    assert [text[: len(drift.found)] for text in texts] == [drift.found]
    (one,) = found
    assert one["advice"].startswith(drift.mended)
    code = ExitCode.FAILED if one["level"] == "error" else ExitCode.OK
    assert find_problems(running, code)
    mend(running, one["advice"])
    left = [one["text"] for one in find_problems(running, ExitCode.OK) if one["level"] != "ok"]
    # what keeps rows out is another finding, and the keys of a lost table are not known
    others = ("no primary key", *(["nothing there keeps"] if drift.change else []))
    assert not [text for text in left if not text.startswith(others)]


SIBLINGS_THERE = "CREATE TABLE {} (id int PRIMARY KEY, v text CONSTRAINT short CHECK (v < 'm'))"
SIBLINGS_HERE = """
CREATE TABLE item (id int NOT NULL, v text) PARTITION BY HASH (id);
CREATE FOREIGN TABLE item_a PARTITION OF item FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER node1;
CREATE FOREIGN TABLE item_b PARTITION OF item FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER node1
"""


def test_a_check_that_one_partition_has_alone(running: Cluster) -> None:
    """What all partitions have is as their owner wants it."""
    there = "; ".join(SIBLINGS_THERE.format(name) for name in ("item_a", "item_b"))
    run(running, there=there, here=SIBLINGS_HERE)
    assert not [one for one in find_problems(running, ExitCode.OK) if one["level"] == "error"]
    run(running, there="ALTER TABLE item_b ADD CONSTRAINT alone CHECK (v <> 'x' AND id > 7)")
    (one,) = (one for one in find_problems(running, ExitCode.FAILED) if one["level"] == "error")
    assert one["text"].startswith("public.item_b, behind item_b, refuses rows by alone, CHECK (((v")
    assert one["text"].endswith("which others of item do not have: item_a on node1")
    mend(running, one["advice"])
    assert not [one for one in find_problems(running, ExitCode.OK) if one["level"] == "error"]


TABLET_DRIFTS = (
    "ALTER TABLE {} ADD CONSTRAINT alone CHECK (v <> 'x')",
    "ALTER TABLE {} ALTER v SET NOT NULL",
    "CREATE UNIQUE INDEX alone ON {} (v)",
    "ALTER TABLE spread DROP w; ALTER TABLE spread ADD w int GENERATED ALWAYS AS (id * 3) STORED",
    'ALTER TABLE spread ALTER v TYPE text COLLATE "POSIX"',
    "ALTER TABLE spread ALTER v SET NOT NULL",
    "ALTER TABLE spread DETACH PARTITION {0}; DROP TABLE IF EXISTS parked; "
    "CREATE TABLE parked (id int); DROP TABLE parked",
)


@pytest.mark.parametrize("change", TABLET_DRIFTS)
def test_drift_of_tablets(running: Cluster, change: str) -> None:
    """What shuttle.check() finds is the doctor's finding, with a statement that mends it."""
    run(
        running,
        here="CREATE TABLE spread (id int PRIMARY KEY, v text, "
        "w int GENERATED ALWAYS AS (id * 2) STORED); "
        "SELECT shuttle.use_node('node1'); SELECT shuttle.distribute_table('spread', 'id')",
    )
    with catalog.connect(running.nodes[0].server) as connection:
        ((tablet,),) = catalog.read_rows(
            connection,
            "SELECT inhrelid::regclass::text FROM pg_inherits "
            "WHERE inhparent = 'spread'::regclass ORDER BY 1 LIMIT 1",
        )
    run(running, there=change.format(tablet))
    tables = [one for one in find_all(running, ExitCode.FAILED) if one["check"] == "tables"]
    (one,) = tables
    assert one["level"] == "error"
    assert "spread" in one["text"]
    mend(running, one["advice"])
    (good,) = (one for one in find_all(running, ExitCode.OK) if one["check"] == "tables")
    assert good["level"] == "ok"
    run(running, here="DROP TABLE spread")
