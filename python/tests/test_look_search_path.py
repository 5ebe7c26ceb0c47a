"""No command runs functions or operators that another role left in the search path."""

import json

import pytest
from conftest import Invoke, invoke, run_on, small_cluster

from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster
from pgshuttle.console import checks, commits, nodes, sessions, statements, tablets, watch

running = small_cluster(2)

TYPES = ("oid", "name", "text", '"char"', "bool", "int", "bigint")
SPIES = [
    "CREATE SCHEMA evil",
    "CREATE SEQUENCE evil.ran",
    *(
        f"CREATE FUNCTION evil.same(a {one}, b {one}) RETURNS bool LANGUAGE plpgsql AS "
        "$$BEGIN PERFORM nextval('evil.ran'); RETURN a OPERATOR(pg_catalog.=) b; END$$;"
        f"CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = {one}, RIGHTARG = {one})"
        for one in TYPES
    ),
    *(
        f"CREATE FUNCTION evil.{function} RETURNS {result} LANGUAGE plpgsql AS "
        f"$$BEGIN PERFORM nextval('evil.ran'); RETURN pg_catalog.{call}; END$$"
        for function, result, call in (
            ("now()", "timestamptz", "now()"),
            ("quote_ident(a text)", "text", "quote_ident(a)"),
            ("current_setting(a text)", "text", "current_setting(a)"),
            ("current_setting(a text, b bool)", "text", "current_setting(a, b)"),
            ("set_config(a text, b text, c bool)", "text", "set_config(a, b, c)"),
            ("to_regprocedure(a text)", "regprocedure", "to_regprocedure(a)"),
            ("format(a text, b name, c name)", "text", "format(a, b, c)"),
            ("starts_with(a text, b text)", "bool", "starts_with(a, b)"),
        )
    ),
    "ALTER DATABASE shuttle SET search_path = evil, pg_catalog, public",
]
END = ("ALTER DATABASE shuttle RESET search_path", "DROP SCHEMA evil CASCADE", "DROP TABLE t, u, k")


@pytest.fixture
def run(running: Cluster) -> Invoke:
    return lambda *words, **more: invoke(*words, directory=running.directory, **more)


def test_what_others_left_is_not_run(running: Cluster, run: Invoke) -> None:
    make = "CREATE TABLE public.t (id int PRIMARY KEY); CREATE TABLE public.u (id int PRIMARY KEY)"
    run_on(running.query, make, "CREATE TABLE public.k (id int PRIMARY KEY)", *SPIES)
    ((table_id,),) = run_on(running.query, "SELECT 'public.t'::regclass::oid::int8")
    try:
        run("distribute", "public.t.id", "--reference", "public.k", "--yes")
        for command in (("tables",), ("distribute",), ("top", "--count", "1"), ("doctor",)):
            run(*command)
        run("explain", "SELECT 1")
        with sessions.open_session(catalog.write_dsn(running.query)) as session:
            for read in (
                watch.read_who,
                tablets.read_map,
                tablets.read_moves,
                nodes.read_look,
                commits.read_commits,
                statements.read_statements,
            ):
                read(session)
            tablets.read_tablets(session, table_id)
            assert nodes.probe(session, "node1").is_up
            with pytest.raises(statements.NoPlanError):
                statements.write_plan(session, 1, 10)
            assert statements.plan(session, "SELECT * FROM public.u WHERE id = 1")
            checks.read_findings(session)
        assert run_on(running.query, "SELECT is_called FROM evil.ran") == [(False,)]
    finally:
        run_on(running.query, *END)


def test_names_are_short_and_resolved_as_the_role_does(running: Cluster, run: Invoke) -> None:
    make = "CREATE SCHEMA own CREATE TABLE t (id int PRIMARY KEY)"
    drop = "ALTER DATABASE shuttle RESET search_path", "DROP SCHEMA own CASCADE", "DROP TABLE t"
    path = "ALTER DATABASE shuttle SET search_path = own, public"
    run_on(running.query, make, "CREATE TABLE public.t (id int PRIMARY KEY)", path)
    try:
        run("distribute", "t.id", "public.t.id", "--yes")
        found = {one["table"] for one in json.loads(run("tables", "--json"))}
        assert found == {"t", "public.t"}
        plan = json.loads(run("explain", "SELECT * FROM t", "--json"))
        assert "FROM own.t_" in json.dumps(plan)
    finally:
        run_on(running.query, *drop)
