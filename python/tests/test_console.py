"""What the console reads of a cluster, and for whom."""

import asyncio
import json
import threading
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from conftest import invoke, run_on, small_cluster
from consoling import fill, page_session, set_search_path

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ExitCode
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster
from pgshuttle.console import checks, commits, nodes, sessions, statements, tablets
from pgshuttle.console.texts import literal

STATISTICS = """
CREATE TABLE pg_stat_statements AS
SELECT 1::oid AS userid, 1::oid AS dbid, true AS toplevel, 7::bigint AS queryid, ''::text AS query,
    5::bigint AS calls, 1.5::float8 AS total_exec_time, 0.3::float8 AS mean_exec_time,
    0.9::float8 AS max_exec_time, 10::bigint AS rows
"""


running = small_cluster(2, fill)
session = page_session()


def test_nodes_are_asked(running: Cluster, session: Connection) -> None:
    look = nodes.read_look(session)
    assert [server.name for server in look.servers] == ["node1", "node2"]
    found = nodes.probe(session, "node1")
    assert found.is_up
    assert found.answer is not None
    shown = nodes.describe(look.servers[0], found, 0, look.moment.nodes[0])
    assert (shown["state"], shown["role"], shown["kind"]) == ("up", "primary", "storage")
    assert shown["host"] == f"127.0.0.1:{running.nodes[0].front.port}"
    assert shown["connections"] >= 1
    assert shown["max_connections"] > shown["connections"]
    assert nodes.describe_own(look.own, "here")["role"] == "primary"
    json.dumps(shown)


def test_the_map_takes_two_queries_however_many_tablets(session: Connection) -> None:
    asked: list[bytes] = []

    class Counted:
        def execute(self, query: bytes, values: Any) -> Any:  # noqa: ANN401
            asked.append(query)
            return session.execute(query, values)

    found = tablets.read_map(Counted())  # type: ignore[arg-type]
    assert len(asked) == 2
    assert found["nodes"] == ["node1", "node2"]
    by_name = {table["name"]: table for table in found["tables"]}
    item = by_name["item"]
    assert (item["key"], by_name["kind"]["kind"]) == ("id", "reference")
    assert sum(cell["tablets"] for cell in item["cells"]) == 4
    assert sum(cell["rows"] for cell in item["cells"]) == 1000
    own = tablets.read_tablets(session, item["id"])
    assert len(own) == 4
    name, place = own[0]["name"], own[0]["node"]
    other = "node2" if place == "node1" else "node1"
    sql = f"CALL shuttle.move_tablet('{name}', '{other}');"
    assert sql in [action["sql"] for action in own[0]["actions"]]
    assert tablets.read_moves(session) == []


def test_it_is_read_only(session: Connection) -> None:
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        session.execute("CREATE TABLE more (id int)")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        session.execute("DELETE FROM public.item")


def test_it_shows_what_a_role_may_see(running: Cluster) -> None:
    run_on(running.query, "CREATE ROLE looker LOGIN", "GRANT USAGE ON SCHEMA shuttle TO looker")
    try:
        with sessions.open_session(catalog.write_dsn(running.query, user="looker")) as session:
            look = nodes.read_look(session)
            found = nodes.probe(session, "node1")
            assert found.is_up is None
            shown = nodes.describe(look.servers[0], found, 0, None)
            assert (shown["state"], shown["connections"]) == ("unknown", None)
            refused = commits.read_commits(session)
            assert "permission denied" in refused["error"]
            assert "TO looker;" in refused["actions"][0]["sql"]
            run_on(running.query, refused["actions"][0]["sql"])
            assert "transactions" in commits.read_commits(session)
            assert len(tablets.read_map(session)["tables"]) == 3
    finally:
        run_on(running.query, "DROP OWNED BY looker", "DROP ROLE looker")


def test_prepared_transactions_are_shown(running: Cluster, session: Connection) -> None:
    assert commits.read_commits(session)["transactions"] == []
    run_on(running.nodes[0].server, "BEGIN; PREPARE TRANSACTION 'of somebody else'")
    try:
        found = commits.read_commits(session)
        assert [one for one in found["transactions"] if one["in_doubt"]] == []
    finally:
        run_on(running.nodes[0].server, "ROLLBACK PREPARED 'of somebody else'")


def check_plans(session: Connection, user_id: int) -> None:
    page = statements.write_plan(session, 7, user_id)
    assert "Plan of a statement" in page
    assert "item" in page
    assert "≈ " in page  # it did not run


def test_statements_and_their_plans(
    running: Cluster, session: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = statements.read_statements(session)
    assert "CREATE EXTENSION pg_stat_statements" in found["actions"][1]["sql"]
    run_on(running.query, STATISTICS)
    monkeypatch.setattr(statements, "find_view", lambda _connection: "public.pg_stat_statements")
    ((own,),) = run_on(running.query, "SELECT oid::int8 FROM pg_roles WHERE rolname = 'postgres'")
    ((database,),) = run_on(
        running.query, "SELECT oid::int8 FROM pg_database WHERE datname = current_database()"
    )

    def set_query(text: str, user_id: int = own) -> None:
        values = f"userid = {user_id}, dbid = {database}, query = {literal(text)}"
        run_on(running.query, f"UPDATE pg_stat_statements SET {values}")  # noqa: S608

    try:
        set_query("SELECT note FROM item WHERE id = $1")
        (row,) = statements.read_statements(session)["statements"]
        assert (row["id"], row["calls"], row["user"]) == ("7", 5, "postgres")
        check_plans(session, own)
        set_query("SELECT count(*) FROM item")
        check_plans(session, own)
        for text in ("SELECT 1; DELETE FROM item", "nonsense", "SELECT 1/0 FROM missing"):
            set_query(text)
            with pytest.raises(statements.NoPlanError):
                statements.write_plan(session, 7, own)
            assert not list(session.execute(statements.PREPARED))
        set_query("SELECT 1", 2)
        with pytest.raises(statements.NoPlanError, match="another role"):
            statements.write_plan(session, 7, 2)
        assert run_on(running.query, "SELECT count(*) FROM item") == [(1000,)]
        set_query("SELECT 1")
        run_on(running.query, "UPDATE pg_stat_statements SET toplevel = false")
        with pytest.raises(statements.NoPlanError, match="does not know"):
            statements.write_plan(session, 7, own)
    finally:
        run_on(running.query, "DROP TABLE pg_stat_statements")


def test_the_doctor_ends_its_session(running: Cluster) -> None:
    session = sessions.open_session(catalog.write_dsn(running.query))
    assert checks.read_findings(session)["findings"]
    assert session.closed


def test_the_doctor_calls_nothing_that_others_may_have_made(running: Cluster) -> None:
    """Functions and operators of a schema of the search path may fit better than PostgreSQL's."""
    run_on(
        running.query,
        "CREATE SCHEMA lures",
        "CREATE FUNCTION lures.lure() RETURNS bool LANGUAGE plpgsql AS 'BEGIN RAISE ''lure''; END'",
        "CREATE FUNCTION lures.same(oid, regclass) RETURNS bool LANGUAGE sql"
        " AS 'SELECT lures.lure()'",
        "CREATE OPERATOR lures.= (FUNCTION = lures.same, LEFTARG = oid, RIGHTARG = regclass)",
        "CREATE FUNCTION lures.pg_partition_root(oid) RETURNS regclass LANGUAGE sql"
        " AS 'SELECT lures.lure()::text::regclass'",
    )
    try:
        session = set_search_path(running, "lures, public")
        assert checks.read_findings(session)["findings"]
    finally:
        run_on(running.query, "ALTER DATABASE shuttle RESET search_path")
        run_on(running.query, "DROP SCHEMA lures CASCADE")


def test_the_end_of_the_console_ends_what_runs(running: Cluster) -> None:
    """As the doctor, which goes on after a statement that is cancelled."""
    made = sessions.Sessions(catalog.write_dsn(running.query), 1)
    begun = threading.Event()

    def examine(connection: Connection) -> None:
        for _ in range(50):
            with suppress(psycopg.errors.QueryCanceled):
                begun.set()
                connection.execute("SELECT pg_sleep(0.2)")

    async def check() -> None:
        reading = asyncio.create_task(made.read(examine))
        await asyncio.to_thread(begun.wait)
        await asyncio.wait_for(asyncio.to_thread(made.close), 5)
        with pytest.raises(sessions.AwayError):
            await reading

    asyncio.run(check())


def test_without_the_extension_it_says_so(running: Cluster) -> None:
    dsn = catalog.write_dsn(running.query, dbname="postgres")
    output = invoke("console", "--dsn", dsn, code=ExitCode.FAILED)
    assert "CREATE EXTENSION pg_shuttle" in output
