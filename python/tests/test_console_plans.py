"""What the console's plans run: nothing that another role wrote."""

import json

import psycopg
import pytest
from conftest import run_on, small_cluster
from consoling import fill, page_session, set_search_path

from pgshuttle.base.connections import Connection
from pgshuttle.cluster.state import Cluster
from pgshuttle.console import statements

running = small_cluster(1, fill)
session = page_session()


def test_a_plan_runs_no_function_that_others_may_have_made(running: Cluster) -> None:
    run_on(
        running.query,
        "CREATE SCHEMA anybodys",
        "CREATE SCHEMA ours",
        "CREATE FUNCTION anybodys.noted(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION ours.noted(bigint) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2'",
    )
    text = "SELECT noted(7)"
    try:
        session = set_search_path(running, "anybodys, ours, public")
        assert '["1"' in json.dumps(statements.plan(session, text))
        run_on(running.query, "GRANT CREATE ON SCHEMA anybodys TO PUBLIC")
        assert '["2"' in json.dumps(statements.plan(session, text))
        assert list(session.execute("SHOW search_path")) == [("pg_catalog, pg_temp",)]
        run_on(running.query, "CREATE ROLE maker", "ALTER SCHEMA ours OWNER TO maker")
        with pytest.raises(psycopg.errors.UndefinedFunction):
            statements.plan(session, text)
        session.close()
    finally:
        run_on(running.query, "ALTER DATABASE shuttle RESET search_path")
        run_on(running.query, "DROP SCHEMA anybodys, ours CASCADE", "DROP ROLE IF EXISTS maker")


def test_a_plan_runs_no_function_of_owners(running: Cluster, session: Connection) -> None:
    run_on(
        running.query,
        "CREATE ROLE maker",
        "SET shuttle.auto_distribute = off",
        "CREATE TABLE theirs (id int)",
        "CREATE TABLE ours_above (id int, n int DEFAULT 1 / 0)",
        "CREATE TABLE theirs_below () INHERITS (ours_above)",
        "CREATE VIEW their_view AS SELECT id FROM item",
        "ALTER TABLE theirs OWNER TO maker",
        "ALTER VIEW their_view OWNER TO maker",
    )
    try:
        statements.plan(session, "SELECT count(*) FROM ours_above WHERE id = $1")
        with pytest.raises(psycopg.errors.DivisionByZero):  # the planner computes it
            statements.plan(session, "INSERT INTO ours_above (id) VALUES ($1)")
        run_on(running.query, "ALTER TABLE theirs_below OWNER TO maker")
        for used, refused in (
            ("theirs", "theirs"),
            ("theirs_below", "theirs_below"),
            ("ours_above", "theirs_below"),
            ("their_view", "their_view"),
        ):
            with pytest.raises(statements.NoPlanError, match=f'"{refused}" is of the role "maker"'):
                statements.plan(session, f"TABLE {used}")
            assert not list(session.execute(statements.PREPARED))
        run_on(running.query, "ALTER TABLE ours_above OWNER TO maker")
        with pytest.raises(statements.NoPlanError, match='"ours_above" is of'):
            statements.plan(session, "INSERT INTO ours_above (id) VALUES ($1)")
    finally:
        run_on(running.query, "DROP TABLE theirs, theirs_below, ours_above", "DROP VIEW their_view")
        run_on(running.query, "DROP ROLE maker")


def test_a_plan_runs_nothing_that_tables_do_not_name(running: Cluster, session: Connection) -> None:
    """As a function that is inlined, and the domain of a column."""
    run_on(
        running.query,
        "CREATE ROLE maker",
        "CREATE SCHEMA lures AUTHORIZATION maker",
        "CREATE FUNCTION lures.lure(int) RETURNS int IMMUTABLE LANGUAGE plpgsql"
        " AS 'BEGIN RAISE ''lured''; END'",
        "CREATE FUNCTION above(int) RETURNS int IMMUTABLE LANGUAGE sql"
        " AS 'SELECT $1 + lures.lure(1)'",
        "CREATE DOMAIN limited AS int CHECK (VALUE > lures.lure(1))",
        "SET shuttle.auto_distribute = off",
        "CREATE TABLE ours (id int, n limited)",
    )
    try:
        with pytest.raises(psycopg.errors.RaiseException):  # the planner calls it
            statements.plan(session, "SELECT above($1)")
        run_on(running.query, "ALTER FUNCTION lures.lure(int) OWNER TO maker")
        for text in ("SELECT above($1)", "SELECT $1::int::limited", "TABLE item"):
            with pytest.raises(statements.NoPlanError, match='"maker" has functions'):
                statements.plan(session, text)
        run_on(
            running.query,
            "ALTER FUNCTION lures.lure(int) OWNER TO postgres",
            "ALTER DOMAIN limited OWNER TO maker",
        )
        with pytest.raises(statements.NoPlanError, match='"maker" has functions or domains'):
            statements.plan(session, "INSERT INTO ours VALUES ($1, $2)")
    finally:
        run_on(running.query, "DROP TABLE ours", "DROP DOMAIN limited")
        run_on(running.query, "DROP FUNCTION above(int)", "DROP SCHEMA lures CASCADE")
        run_on(running.query, "DROP ROLE maker")
