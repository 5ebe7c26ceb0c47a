"""What tests of the doctor's comparison with nodes share."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import invoke, run_on
from typer.testing import CliRunner

from pgshuttle.base.errors import ExitCode
from pgshuttle.cluster import catalog, servers
from pgshuttle.cluster.state import Cluster
from pgshuttle.commands import cli

# relations in schema public that are nobody's but a test's
DROP_ALL = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT format('%s %s', CASE relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END,
            c.oid::regclass)
        FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'f')
            AND NOT relispartition
    LOOP EXECUTE format('DROP %s CASCADE', name); END LOOP;
    FOR name IN SELECT format('%s %s', CASE typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END,
            oid::regtype)
        FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd', 'c')
    LOOP EXECUTE format('DROP %s CASCADE', name); END LOOP;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'limited') THEN
        DROP OWNED BY limited;
        DROP ROLE limited;
    END IF;
END $$;
DROP SCHEMA IF EXISTS "Of" CASCADE;
DROP FUNCTION IF EXISTS change()
"""
AS_BEFORE = "ALTER USER MAPPING FOR PUBLIC SERVER node1 OPTIONS (SET user 'shuttle')"


@pytest.fixture(autouse=True)
def nothing_is_left(running: Cluster) -> Iterator[None]:
    """Each test begins and ends without tables."""
    yield
    for server in (running.query, *(node.server for node in running.nodes)):
        run_on(server, DROP_ALL, user=servers.SUPERUSER)
    run_on(running.query, AS_BEFORE)


def drop_stock_servers(made: Cluster) -> None:
    """The doctor looks at each server: those of our wrapper are enough."""
    for number in range(1, len(made.nodes) + 1):
        run_on(made.query, f"DROP SERVER {catalog.stock_server_name(number)} CASCADE")


def qualified(text: str) -> str:
    """With the schema of the tables of drifts, as the doctor names them."""
    return re.sub(r'(?<![\w.":])item(_[ab])?\b', r"public.item\1", text)


def find_all(running: Cluster, code: ExitCode | None = None) -> list[dict[str, Any]]:
    """What the doctor prints. Without a code, that of the worst finding is expected."""
    if code is None:
        directory = running.directory
        done = CliRunner().invoke(cli.app, ["doctor", "--dir", str(directory), "--json"])
        found = list(json.loads(done.stdout))
        failed = any(one["level"] == "error" for one in found)
        assert done.exit_code == (ExitCode.FAILED if failed else ExitCode.OK)
        return found
    return list(json.loads(invoke("doctor", "--json", directory=running.directory, code=code)))


def find_problems(running: Cluster, code: ExitCode | None = None) -> list[dict[str, Any]]:
    found = find_all(running, code)
    return [one for one in found if one["check"] == "definitions" and one["where"] == "node1"]


def make_limited(running: Cluster) -> None:
    """Makes a role of the first node to which tables can be given."""
    run_on(
        running.nodes[0].server,
        f"CREATE ROLE limited LOGIN; GRANT limited TO {catalog.REMOTE_USER}",
        user=servers.SUPERUSER,
    )


def run(running: Cluster, *, here: str = "", there: str = "") -> None:
    run_on(running.nodes[0].server, there)
    run_on(running.query, here)


def mend(running: Cluster, advice: str) -> None:
    """Runs the statements of an advice as they are printed."""
    advice = advice.split(" Or", maxsplit=1)[0]
    words, _, statements = advice.partition(": ")
    assert words in ("Run here", "Run on the node"), advice
    run(running, **{"here" if words == "Run here" else "there": statements})
