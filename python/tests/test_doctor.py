"""Each check of the doctor, on facts that are made up."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from pgshuttle import __version__
from pgshuttle.doctor.check import query_node as check_query_node
from pgshuttle.doctor.facts import (
    AccessFacts,
    Facts,
    NodeFacts,
    RelationFacts,
    ServerFacts,
    StorageFacts,
    TableFacts,
)
from pgshuttle.doctor.findings import Finding, Level


def make_server(**settings: str) -> ServerFacts:
    """A server as it should be."""
    fine = {
        "server_version": "18.1",
        "server_version_num": "180001",
        "server_encoding": "UTF8",
        "block_size": "8192",
        "max_prepared_transactions": "100",
        "enable_nestloop": "on",
        "shared_preload_libraries": "pg_shuttle",
    }
    return ServerFacts(fine | settings, "C", "", {"pg_shuttle": __version__}, "zones")


def make_node(**changes: object) -> NodeFacts:
    """A node as it should be."""
    node = NodeFacts("far", "shuttle", True, True, [], "", 1.0, make_server(), [])
    node.tables = [TableFacts("orders", 5000, 5100)]
    return dataclasses.replace(node, **changes)  # type: ignore[arg-type]


def make_facts(*nodes: NodeFacts, **settings: str) -> Facts:
    """An installation as it should be, but for these settings of the query node."""
    query = make_server(**settings)
    return Facts(query, "me", False, False, __version__, "", True, list(nodes))


def find_bad(facts: Facts) -> list[Finding]:
    """The findings that are more than good news."""
    return [found for found in check_query_node.find_all(facts) if found.level is not Level.OK]


def test_nothing_is_found_where_all_is_well() -> None:
    assert find_bad(make_facts(make_node())) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("shuttle.enable_batched_join", "off"),
        ("shuttle.batch_size", "1"),
        ("shuttle.debug_spoil_look_ahead", "on"),
        ("enable_nestloop", "off"),
    ],
)
def test_settings(setting: str, value: str) -> None:
    (found,) = find_bad(make_facts(make_node(), **{setting: value}))
    assert found.level is Level.WARNING
    assert setting in found.text
    assert setting in found.advice


@pytest.mark.parametrize(("tables", "nfound"), [([], 0), (["a"], 0), (["a", "b"], 1)])
def test_joins_of_partitions_are_advised(tables: list[str], nfound: int) -> None:
    facts = make_facts(make_node(), enable_partitionwise_join="off")
    facts.partitioned = tables
    found = find_bad(facts)
    assert len(found) == nfound
    assert all("enable_partitionwise_join" in one.text for one in found)
    facts.query.settings["enable_partitionwise_join"] = "on"
    assert find_bad(facts) == []


@pytest.mark.parametrize(
    ("change", "level", "word"),
    [
        ({"has_files": ""}, Level.ERROR, "not installed"),
        ({"has_files": "9.9.9"}, Level.WARNING, "9.9.9 in the files"),
        ({"load_error": "no such file"}, Level.ERROR, "no such file"),
        ({"unknown_parents": ["orders"]}, Level.WARNING, "ANALYZE orders;"),
        ({"not_compared": "permission denied"}, Level.NOTE, "permission denied"),
        (
            {"used_extensions": ["uuid-ossp"]},
            Level.WARNING,
            'run on the node: CREATE EXTENSION "uuid-ossp";',
        ),
    ],
)
def test_query_node(change: dict[str, Any], level: Level, word: str) -> None:
    facts = dataclasses.replace(make_facts(make_node(storage=StorageFacts())), **change)
    (found,) = find_bad(facts)
    assert found.level is level
    assert word in f"{found.text} {found.advice}"


def test_extension_that_was_not_created() -> None:
    facts = make_facts(make_node())
    facts.query.extensions = {}
    (found,) = find_bad(facts)
    assert "CREATE EXTENSION" in found.advice


def test_library_that_nobody_loads() -> None:
    facts = make_facts(make_node(), shared_preload_libraries="")
    assert find_bad(facts)[0].level is Level.NOTE
    (found,) = find_bad(dataclasses.replace(facts, was_loaded=False))
    assert "session_preload_libraries" in found.advice


@pytest.mark.parametrize(
    ("value", "statement"),
    [
        ("", "SET session_preload_libraries = 'pg_shuttle';"),
        ('a, "b c"', "SET session_preload_libraries = 'a', 'b c', 'pg_shuttle';"),
        (None, "SHOW session_preload_libraries;"),
    ],
)
def test_the_advice_keeps_other_libraries(value: str | None, statement: str) -> None:
    assert statement in check_query_node.make_preload("session_preload_libraries", value)


def test_the_advice_has_this_servers_libraries() -> None:
    facts = make_facts(make_node(), shared_preload_libraries="pg_cron")
    (found,) = find_bad(facts)
    assert "SET shared_preload_libraries = 'pg_cron', 'pg_shuttle';" in found.advice


def test_newest_version() -> None:
    assert not find_bad(make_facts(make_node(), server_version_num="190000"))


def test_version_that_is_too_old() -> None:
    (found,) = find_bad(make_facts(make_node(), server_version_num="140009"))
    assert found.level is Level.ERROR


@pytest.mark.parametrize(
    ("changes", "level", "advice"),
    [
        ({"may_use": False}, Level.WARNING, 'GRANT USAGE ON FOREIGN SERVER "far" TO "me";'),
        ({"has_mapping": False}, Level.ERROR, 'CREATE USER MAPPING FOR "me" SERVER "far";'),
        ({"error": "connection refused"}, Level.ERROR, "pg_hba.conf"),
    ],
)
def test_nodes_that_are_not_reached(changes: dict[str, object], level: Level, advice: str) -> None:
    nothing = {"server": ServerFacts(), "tables": [], "round_trip_ms": None}
    (found,) = find_bad(make_facts(make_node(**nothing, **changes)))
    assert found.level is level
    assert advice in found.advice


@pytest.mark.parametrize(
    ("setting", "value", "check"),
    [("server_encoding", "LATIN1", "encoding"), ("block_size", "16384", "block size")],
)
def test_nodes_that_differ(setting: str, value: str, check: str) -> None:
    (found,) = find_bad(make_facts(make_node(server=make_server(**{setting: value}))))
    assert (found.where, found.check, found.level) == ("far", check, Level.WARNING)
    assert value in found.text


@pytest.mark.parametrize(
    ("part", "value", "check"),
    [
        ("collation", "de_DE.UTF-8", "collation"),
        ("collation_version", "2.36", "collation"),
        ("time_zones", "other", "time zones"),
    ],
)
def test_nodes_with_other_data(part: str, value: str, check: str) -> None:
    server = dataclasses.replace(make_server(), **{part: value})  # type: ignore[arg-type]
    (found,) = find_bad(make_facts(make_node(server=server)))
    assert found.check == check


def test_the_round_trip_that_plans_are_made_for() -> None:
    found = check_query_node.find_all(make_facts(make_node(planned_trip_ms=0.9)))
    assert any(one.text.endswith("by shuttle; plans are made for 0.9 ms") for one in found)


def test_two_phase_commit_matters_with_several_nodes() -> None:
    node = make_node(server=make_server(max_prepared_transactions="0"))
    assert find_bad(make_facts(node)) == []
    (found,) = find_bad(make_facts(node, make_node(name="farther")))
    assert (found.where, found.check) == ("far", "prepared transactions")


def test_promotions_lose_nothing_with_synchronous_standbys() -> None:
    node = make_node(server=make_server(synchronous_standby_names=""))
    assert find_bad(make_facts(node)) == []
    node.follows_primary = True
    (found,) = find_bad(make_facts(node))
    assert (found.level, found.check) == (Level.WARNING, "standbys")
    node.server.settings["synchronous_standby_names"] = "ANY 1 (a, b)"
    assert find_bad(make_facts(node)) == []


def test_extensions_that_a_server_promises() -> None:
    facts = make_facts(make_node(shipped_extensions=["cube", "pg_shuttle"]))
    (found,) = find_bad(facts)
    assert found.level is Level.ERROR
    assert "cube" in found.text
    facts.nodes[0].server.extensions = {"cube": "1.0", "pg_shuttle": "0.0.1"}
    (found,) = find_bad(facts)
    assert found.level is Level.WARNING


def test_statistics() -> None:
    tables = [
        TableFacts("fine", 5000, None),
        TableFacts("small", 10, 900),
        TableFacts("new", -1, 100),
        TableFacts("old", 5000, 50_000),
    ]
    new, old = find_bad(make_facts(make_node(tables=tables)))
    assert new.advice == "ANALYZE new;"
    assert old.advice == "ANALYZE old;"


def test_no_servers() -> None:
    (found,) = find_bad(make_facts())
    assert "CREATE SERVER" in found.advice


def test_partitions_are_analyzed_with_their_table() -> None:
    tables = [TableFacts("orders_0", -1, 10, "orders"), TableFacts("orders_1", -1, 10, "orders")]
    (found,) = find_bad(make_facts(make_node(tables=tables)))
    assert "orders_0, orders_1" in found.text
    assert found.advice == "ANALYZE orders;"


def test_a_user_who_is_not_shown_where_the_library_is_loaded() -> None:
    facts = make_facts(make_node())
    del facts.query.settings["shared_preload_libraries"]
    facts.was_loaded = True
    assert find_bad(facts) == []


@pytest.mark.parametrize(
    ("storage", "level", "word"),
    [
        (StorageFacts(refusal="It is full.", hint="Clean up."), Level.ERROR, "Clean up."),
        (StorageFacts(may_look=False), Level.NOTE, "me may not call"),
        (
            StorageFacts(closed_schemas="public", remote_user="you"),
            Level.WARNING,
            "Run on the node: GRANT CREATE ON SCHEMA public TO you;",
        ),
        (StorageFacts(power="runs", advice="Take less."), Level.WARNING, "runs Take less."),
        (StorageFacts(problems=[("it has no table", "Make it.")]), Level.ERROR, "table Make it."),
    ],
)
def test_storage_nodes(storage: StorageFacts, level: Level, word: str) -> None:
    (found,) = find_bad(make_facts(make_node(storage=storage)))
    assert (found.where, found.level) == ("far", level)
    assert word in f"{found.text} {found.advice}"


def test_storage_nodes_that_are_fine() -> None:
    facts = make_facts(make_node(storage=StorageFacts()))
    assert "storage nodes have what they should have" in [
        one.text for one in check_query_node.find_all(facts)
    ]


def test_a_remote_user_whose_name_is_not_shown() -> None:
    """The options of a mapping for PUBLIC are shown to the server's owner: no name is made up."""
    access = AccessFacts({"SELECT": []}, may_write=True, has_schema=False, hides_rows=True)
    access.sequences = ["numbers"]
    relation = RelationFacts("item", "item", ("public", "thing"), "public.thing", False, "")
    relation.access, relation.there, relation.kind = access, [], "r"
    found = find_bad(make_facts(make_node(relations=[relation])))
    assert [one.text.split(" ", 3)[:3] for one in found[:3]] == [["the", "remote", "user"]] * 3
    assert not any("Run on the node" in one.advice for one in found)


def test_statements_have_no_gaps() -> None:
    """What is printed as a statement can be typed; what is not known is said in words."""
    directory = Path(check_query_node.__file__).parent
    for path in directory.glob("*.py"):
        source = path.read_text()
        assert not re.search(r'"[^"]*\.\.\.[^"]*"', source)
