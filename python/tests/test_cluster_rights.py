"""Who the query node of a cluster is on its storage nodes, and what ordinary roles get done."""

import psycopg
import pytest
from conftest import made_powerful, run_on, small_cluster

from pgshuttle.cluster import catalog
from pgshuttle.cluster.servers import SUPERUSER
from pgshuttle.cluster.state import Cluster

running = small_cluster(2)

# A role without more than a schema of its own and USAGE on the servers. far() runs on nodes.
CLERK = """
CREATE ROLE clerk LOGIN;
CREATE SCHEMA clerk AUTHORIZATION clerk;
GRANT USAGE ON FOREIGN SERVER node1, node2 TO clerk;
GRANT USAGE ON SCHEMA shuttle TO clerk;
"""
TABLE = """
CREATE FUNCTION clerk.far(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RETURN $1 < 7; END';
CREATE TABLE clerk.item (id int PRIMARY KEY CHECK (clerk.far(id)));
CREATE TABLE clerk.codeless (id int PRIMARY KEY);
SELECT shuttle.distribute_table('clerk.item', 'id', 2);
SELECT shuttle.distribute_table('clerk.codeless', 'id', 3);
INSERT INTO clerk.item SELECT generate_series(1, 6);
INSERT INTO clerk.codeless SELECT generate_series(1, 9);
"""
PLACES = """
SELECT tablet::text, node::text FROM shuttle.tablets
WHERE relation = 'clerk.codeless'::regclass ORDER BY 1
"""


def test_the_remote_user_is_no_superuser(running: Cluster) -> None:
    (node, *_) = running.nodes
    query = (
        "SELECT rolsuper, rolcreaterole, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    assert run_on(node.server, query) == [(False, False, False)]
    look = "SELECT verdict FROM shuttle.use_node('node1') WHERE subject = 'privileges'"
    assert run_on(running.query, look) == [("ok",)]
    with made_powerful(node):
        assert run_on(running.query, look) == [("runs programs",)]


def test_nodes_ask_for_its_password(running: Cluster) -> None:
    """So superusers of the query node need not lend it to others, and nodes subscribe to nodes."""
    place = {"host": "127.0.0.1", "user": catalog.REMOTE_USER}
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(catalog.write_dsn(running.nodes[0].server, **place))


def test_an_ordinary_role_spreads_tables(running: Cluster) -> None:
    """One has a function of its own, which nodes do not run for it where a superuser is asked."""
    run_on(running.query, CLERK)
    try:
        run_on(running.query, TABLE, user="clerk")
        with pytest.raises(psycopg.errors.CheckViolation):
            run_on(running.query, "INSERT INTO clerk.item VALUES (7)", user="clerk")
        tablet, place = run_on(running.query, PLACES)[0]
        other = "node2" if place == "node1" else "node1"
        with catalog.may_subscribe(running):
            run_on(running.query, f"CALL shuttle.move_tablet('{tablet}', '{other}')")
        assert run_on(running.query, PLACES)[0] == (tablet, other)
        read = "SELECT (SELECT count(*) FROM clerk.item), (SELECT count(*) FROM clerk.codeless)"
        assert run_on(running.query, read, user="clerk") == [(6, 9)]
    finally:
        run_on(running.query, "DROP OWNED BY clerk CASCADE", "DROP ROLE clerk")


def test_nobody_is_a_superuser_behind_a_move(running: Cluster) -> None:
    query = "SELECT rolsuper FROM pg_roles WHERE rolname = 'shuttle'"
    with catalog.may_subscribe(running):
        ((version,),) = run_on(running.query, "SHOW server_version_num")
        for node in running.nodes:
            assert run_on(node.server, query, user=SUPERUSER) == [(int(version) < 160000,)]
    for node in running.nodes:
        assert run_on(node.server, query, user=SUPERUSER) == [(False,)]
