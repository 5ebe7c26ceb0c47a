"""The runbook of docs/production.md: each symptom is caused, and cured as its row says.

Rows of commits that were not answered are in test_runbook_commits.
"""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import run_on, short_directory, small_cluster
from doctoring import find_all, find_problems, make_limited, mend, nothing_is_left
from runbook import FOREIGN, ITEM, TIMEOUT_S, WRITE_ONE, find_row, items, read_rows, session

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import builds, catalog, processes, servers
from pgshuttle.cluster.state import Cluster

__all__ = ["items", "nothing_is_left"]  # fixtures of each test

running = small_cluster(2)
MAPPING = "CREATE USER MAPPING FOR PUBLIC SERVER small OPTIONS (user 'postgres')"
NO_MAPPING = "DROP USER MAPPING FOR PUBLIC SERVER small"


def await_room(server: servers.Server) -> None:
    """Sessions that were closed may have their places for a moment yet."""
    limit = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with session(server, "postgres"):
                return
        except ToolError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.1)


@dataclass
class Small:
    """A third node, with low limits."""

    build: builds.ServerBuild
    server: servers.Server

    def stop(self) -> None:
        servers.stop_server(self.server)

    def start(self) -> None:
        self.server = servers.start_server(self.build, self.server)

    def change(self, setting: str, value: int) -> None:
        """Changes a setting as an administrator does."""
        await_room(self.server)
        with session(self.server, "postgres") as there:
            there.run(f"ALTER SYSTEM SET {setting} = {value}")
        self.stop()
        self.start()


@pytest.fixture
def small(running: Cluster, extended_build: builds.ServerBuild) -> Iterator[Small]:
    """The small node; its table item is three."""
    limits = {"max_connections": "5", "max_prepared_transactions": "0", "max_wal_senders": "0"}
    with short_directory() as directory:
        directory.chmod(0o777)
        server = servers.create_server(extended_build, "small", directory, directory, limits)
        made = Small(extended_build, server)
        made.start()
        place = f"host '127.0.0.1', port '{made.server.port}', dbname 'postgres'"
        try:
            with session(made.server, "postgres") as there:
                there.run(ITEM, "INSERT INTO item VALUES (7, 'x')")
            with session(running.query) as here:
                here.run(f"CREATE SERVER small FOREIGN DATA WRAPPER shuttle OPTIONS ({place})")
                here.run(MAPPING, FOREIGN.format("three", "small"))
            yield made
            run_on(running.query, "DROP SERVER small CASCADE")
        finally:
            made.stop()


def test_the_library_is_not_loaded(running: Cluster) -> None:
    row = find_row("`unrecognized")
    with session(running.nodes[0].server) as there:
        assert row.tells(there.fail("EXPLAIN (DIST) SELECT 1"))
        there.run(*row.statements(), "EXPLAIN (DIST) SELECT 1")


@pytest.mark.usefixtures("small")
def test_a_mapping_is_missing(running: Cluster) -> None:
    row = find_row("`user mapping")
    with session(running.query) as here:
        here.run(NO_MAPPING)
        assert row.tells(here.fail("SELECT * FROM three"))
        here.run(MAPPING)
        assert here.run("SELECT * FROM three") == [(7, "x")]


@pytest.mark.usefixtures("small")
def test_a_password_is_required(running: Cluster) -> None:
    """The small node trusts everybody, so that a password does not help."""
    row = find_row("2F003")
    with session(running.query) as here:
        here.run("CREATE ROLE clerk", "GRANT SELECT ON three TO clerk")
        mapping = "CREATE USER MAPPING FOR clerk SERVER small OPTIONS (user 'postgres'{})"
        for option in ("", ", password 'x'"):
            here.run(mapping.format(option), "SET ROLE clerk")
            assert row.tells(here.fail("SELECT * FROM three"))
            here.run("RESET ROLE", "DROP USER MAPPING FOR clerk SERVER small")
        (option,) = re.findall("`(password_required [^`]*)`", row.do)
        here.run(mapping.format(f", {option}"), "SET ROLE clerk")
        assert here.run("SELECT * FROM three") == [(7, "x")]
        here.run("RESET ROLE", "DROP OWNED BY clerk", "DROP ROLE clerk")


def test_a_node_is_away(running: Cluster, small: Small) -> None:
    row = find_row("08001, `could")
    small.stop()
    with session(running.query) as here:
        told = here.fail("SELECT * FROM three")
        assert row.tells(told)
        assert re.search(rf"127\.0\.0\.1.*{small.server.port}.*refused", told.detail, re.DOTALL)
        small.start()
        assert here.run("SELECT * FROM three") == [(7, "x")]


def test_a_node_has_no_connection_left(running: Cluster, small: Small) -> None:
    row = find_row("08001, `too")
    with session(running.query) as here, ExitStack() as others:

        def fill() -> None:
            for _ in range(5):
                others.enter_context(catalog.connect(small.server, "postgres"))

        fill()
        assert row.tells(here.fail("SELECT * FROM three"))
        others.close()
        small.change("max_connections", 9)
        fill()
        assert here.run("SELECT * FROM three") == [(7, "x")]


def test_a_connection_is_lost(running: Cluster) -> None:
    row = find_row("08006")
    with session(running.query) as here:
        here.run("BEGIN", WRITE_ONE)
        ((pid,),) = here.run("SELECT node_pid FROM shuttle.nodes WHERE server = 'node1'")
        run_on(running.nodes[0].server, f"SELECT pg_terminate_backend({pid}, 10000)")
        assert row.tells(here.fail("SELECT * FROM one"))
        assert here.run("SELECT * FROM one") == []
        here.run("BEGIN", WRITE_ONE, "COMMIT")


def test_a_node_cannot_prepare(running: Cluster, small: Small) -> None:
    row = find_row("55000")
    both = ("BEGIN", WRITE_ONE, "INSERT INTO three VALUES (1, 'x')")
    with session(running.query) as here:
        assert row.tells(here.fail(*both))
        small.change("max_prepared_transactions", 10)
        here.run(*both, "COMMIT")


def mend_errors(running: Cluster) -> None:
    """Runs what the doctor prints for its errors."""
    for found in find_problems(running, ExitCode.FAILED):
        if found["level"] == "error":
            mend(running, found["advice"])


def test_the_definitions_differ(running: Cluster) -> None:
    row = find_row("42P01")
    run_on(running.nodes[0].server, "ALTER TABLE item RENAME v TO word")
    with session(running.query) as here:
        told = here.fail("SELECT v FROM one")
        assert (told.sqlstate, row.tells(told)) == ("42703", True)
        mend_errors(running)
        here.run("SELECT * FROM one")


def test_a_privilege_is_missing(running: Cluster) -> None:
    row = find_row("42501")
    make_limited(running)
    with session(running.query) as here:
        here.run("ALTER USER MAPPING FOR PUBLIC SERVER node1 OPTIONS (SET user 'limited')")
        told = here.fail("SELECT v FROM one")
        assert (told.sqlstate, row.tells(told)) == ("42501", True)
        mend_errors(running)
        here.run("SELECT v FROM one")


def test_a_value_does_not_fit(running: Cluster) -> None:
    row = find_row("22P02")
    run_on(running.nodes[0].server, "INSERT INTO item VALUES (1, 'x')")
    with session(running.query) as here:
        here.run("ALTER FOREIGN TABLE one ALTER v TYPE int")
        assert row.tells(here.fail("SELECT * FROM one"))
        here.run("ALTER FOREIGN TABLE one ALTER v TYPE text")
        assert here.run("SELECT * FROM one") == [(1, "x")]


def test_merge_is_refused(running: Cluster) -> None:
    row = find_row("0A000")
    source = "(VALUES (1, 'y')) AS new (id, v)"
    merge = f"MERGE INTO {{}} AS old USING {source} ON old.id = new.id"
    change = " WHEN MATCHED THEN UPDATE SET v = new.v"
    with session(running.query) as here:
        here.run(WRITE_ONE)
        assert row.tells(here.fail(merge.format("one") + change))
        here.run("INSERT INTO one VALUES (1, 'z') ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v")
        assert here.run("SELECT * FROM one") == [(1, "z")]
        here.run("CREATE TABLE parts (id int, v text) PARTITION BY LIST (id)")
        here.run("ALTER TABLE parts ATTACH PARTITION one DEFAULT")
        here.run(merge.format("parts") + change)
        assert here.run("SELECT * FROM parts") == [(1, "y")]


def test_a_join_is_slow(running: Cluster) -> None:
    """Nobody has said that a table became large: it is read as a whole."""
    row = find_row("a join is slow")
    explain, _doctor = re.findall("`([^`]*)`", row.look)
    join = f"{explain} SELECT * FROM few JOIN one USING (id)"  # noqa: S608
    node = running.nodes[0].server
    with session(running.query) as here:
        here.run("CREATE TABLE few AS SELECT i AS id FROM generate_series(1, 200) i")
        rows = "INSERT INTO item SELECT i, 'x' FROM generate_series({}, {}) i"
        run_on(node, rows.format(1, 10), "ANALYZE item")
        here.run("ANALYZE few, one")
        run_on(node, rows.format(11, 100000), "ANALYZE item")
        assert "Look Ahead" not in str(here.run(join))
        advice = [one["advice"] for one in find_all(running) if one["check"] == "statistics"]
        assert "ANALYZE public.one;" in advice
        here.run("ANALYZE one")
        assert "Look Ahead" in str(here.run(join))


@pytest.mark.usefixtures("small")
def test_pg_dump_stops(running: Cluster, extended_build: builds.ServerBuild) -> None:
    row = find_row("`pg_dump`")
    dump = [extended_build.bin_dir / "pg_dump", "--include-foreign-data=small", "-t", "three"]
    dump.append(Path(catalog.write_dsn(running.query)))
    run_on(running.query, NO_MAPPING)
    with pytest.raises(ToolError) as raised:
        processes.run(dump, timeout_s=TIMEOUT_S)
    (said,) = re.findall("`([^`]*)`", row.seen)[1:]
    assert re.search(said.replace("...", ".*"), str(raised.value))
    run_on(running.query, MAPPING)
    assert "7\tx" in processes.run(dump, timeout_s=TIMEOUT_S)


def test_every_row_is_tried() -> None:
    here = Path(__file__)
    tests = here.read_text() + here.with_name("test_runbook_commits.py").read_text()
    tried = re.findall(r'find_row\("([^"]*)"(?:, "([^"]*)")?\)', tests)
    assert {find_row(*one).seen for one in tried} == {row.seen for row in read_rows()}


def test_what_fails_between_two_changes(running: Cluster) -> None:
    """The table of changes of the schema: what fails between the first side and the other."""
    node = running.nodes[0].server
    with session(running.query) as here:
        here.run("INSERT INTO one VALUES (1, 'x')")
        run_on(node, "ALTER TABLE item ADD CHECK (v <> 'bad')")
        assert here.fail("INSERT INTO one VALUES (2, 'bad')").sqlstate == "23514"
        run_on(node, "ALTER TABLE item RENAME v TO w")
        assert here.run("SELECT id FROM one") == [(1,)]
        assert here.fail("SELECT v FROM one").sqlstate == "42703"
        assert here.fail("INSERT INTO one (id) VALUES (2)").sqlstate == "42703"
        here.run("ALTER FOREIGN TABLE one RENAME v TO w", "INSERT INTO one (id) VALUES (2)")
        run_on(node, "DELETE FROM item WHERE w IS NOT NULL")
        run_on(node, "ALTER TABLE item DROP CONSTRAINT item_v_check, ALTER w TYPE int USING NULL")
        assert here.run("SELECT id FROM one") == [(2,)]
        assert here.fail("SELECT id FROM one WHERE lower(w) = 'x'").sqlstate == "42883"
        told = here.fail("SELECT id FROM one WHERE w = 'x'")
        assert (told.sqlstate, find_row("22P02").tells(told)) == ("22P02", True)
        assert here.fail("UPDATE one SET w = 'y'").sqlstate == "42804"
        here.run("ALTER FOREIGN TABLE one ALTER w TYPE int", "UPDATE one SET w = 7")
        here.run("ALTER FOREIGN TABLE one DROP w")
        here.run("INSERT INTO one VALUES (4)")
        run_on(node, "DELETE FROM item WHERE w IS NULL", "ALTER TABLE item ALTER w SET NOT NULL")
        assert here.fail("INSERT INTO one VALUES (5)").sqlstate == "23502"
