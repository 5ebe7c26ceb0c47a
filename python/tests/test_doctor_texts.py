"""The doctor has this server compute no text of a node that calls what users wrote."""

from types import SimpleNamespace

import pytest
from conftest import run_on, small_cluster
from doctoring import drop_stock_servers, find_problems, nothing_is_left, run

from pgshuttle.cluster.state import Cluster
from pgshuttle.doctor.read.expressions import calls, is_of_postgres

__all__ = ["nothing_is_left"]  # a fixture that each test uses

running = small_cluster(1, drop_stock_servers)

SPY = """
CREATE SEQUENCE ran;
CREATE FUNCTION spy(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql
    AS $$ BEGIN PERFORM nextval('public.ran'); RETURN i; END $$;
"""
THERE = """
CREATE TABLE item_a (id int NOT NULL, v int,
    g int GENERATED ALWAYS AS (spy(3)) STORED, h int GENERATED ALWAYS AS (id + 1) STORED,
    CONSTRAINT bounds CHECK (id >= spy(0) AND id < 100), CONSTRAINT other CHECK (v > spy(1)));
CREATE SCHEMA apart;
CREATE VIEW apart.spied_view AS SELECT 1 AS i;
CREATE TABLE read_a (id int NOT NULL CHECK
    (id::text <> table_to_xml('apart.spied_view'::regclass, true, false, '')::text));
"""
HERE = """
CREATE TABLE item (id int NOT NULL, v int, g int, h int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE item_a PARTITION OF item FOR VALUES FROM (0) TO (100) SERVER node1;
CREATE SCHEMA apart;
CREATE VIEW apart.spied_view AS SELECT spy(1) AS i;
CREATE TABLE read (id int NOT NULL) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE read_a PARTITION OF read FOR VALUES FROM (0) TO (100) SERVER node1;
CREATE ROLE maker;
GRANT CREATE ON SCHEMA public TO maker;
GRANT USAGE ON FOREIGN SERVER node1 TO maker;
GRANT ALL ON SEQUENCE ran TO maker;
SET ROLE maker;
SET shuttle.auto_distribute = off;
CREATE TABLE key (id int NOT NULL) PARTITION BY RANGE ((id + spy(0)));
CREATE FOREIGN TABLE key_a PARTITION OF key FOR VALUES FROM (0) TO (100) SERVER node1
    OPTIONS (table_name 'read_a');
RESET ROLE;
SELECT setval('ran', 1, false);
"""
END = "DROP FUNCTION spy; DROP SEQUENCE ran"
# the same on both sides
TYPES = """
CREATE TYPE mood AS ENUM ('bad', 'good');
CREATE DOMAIN fine AS mood CHECK (VALUE = 'good'::mood);
CREATE DOMAIN spied AS int CHECK (spy(VALUE) > 0) CHECK (spy(VALUE)::bool);
"""
ALIKE = """(id int PRIMARY KEY, f fine, s spied, m mood,
    g int GENERATED ALWAYS AS (spy(id) + 1) STORED,
    h mood GENERATED ALWAYS AS (COALESCE(m, 'bad'::mood)) STORED)"""


def test_functions_of_users_are_not_called(running: Cluster) -> None:
    run(running, here=SPY + HERE, there=SPY + THERE)
    try:
        assert find_problems(running) != []
        assert run_on(running.query, "SELECT is_called FROM ran") == [(False,)]
    finally:
        run(running, here="DROP TABLE item, read, key", there="DROP TABLE item_a, read_a")
        run(running, here="DROP SCHEMA apart CASCADE", there="DROP SCHEMA apart CASCADE")
        run(running, here="DROP OWNED BY maker; DROP ROLE maker")
        run(running, here=END, there=END)


def test_equal_texts_are_no_difference(running: Cluster) -> None:
    keyless = ALIKE.replace(" PRIMARY KEY", " NOT NULL")
    here = f"{SPY}{TYPES} CREATE FOREIGN TABLE alike {keyless} SERVER node1"
    run(running, here=here, there=f"{SPY}{TYPES} CREATE TABLE alike {ALIKE}")
    try:
        assert [one["text"] for one in find_problems(running) if one["level"] != "ok"] == []
    finally:
        drop = "TABLE alike; DROP DOMAIN fine; DROP DOMAIN spied; DROP TYPE mood"
        run(running, here=f"DROP FOREIGN {drop}; {END}", there=f"DROP {drop}; {END}")


@pytest.mark.parametrize(
    ("text", "is_called"),
    [
        ("(id <> LENGTH('now ('::text))", False),
        ("((now < 3) AND (id IN (1)))", False),
        ("(at < now())", True),
        ('(id > "now" (3))', True),
        ("(id > NOW\n())", True),
        ('"a\'b" > now() OR "c\'d" = 1', True),
    ],
)
def test_which_functions_are_called(text: str, *, is_called: bool) -> None:
    assert calls(text, {"now"}) == is_called


@pytest.mark.parametrize(
    ("text", "is_safe"),
    [
        ("((id > 5) AND (v < 'mallory.f(0)'::text))", True),
        ("((id)::numeric(10,2) > 1e5.0)", True),
        ("true); CALL anything(", False),
        ("(id > mallory.f(0))", False),
        ('(id > "m" . f(0))', False),
        ("(id > m1\n.f(0))", False),
        ("(id OPERATOR(m.=) 3)", False),
        ("(id = 'x'::m.d)", False),
        ("(COALESCE(MOOD, 3) IS NOT NULL)", False),
        ("(ROW(3)::doctor_columns IS NOT NULL)", False),
        ('"a\'b" > m.f(0) OR "c\'d" = 1', False),
        (r"E'\'' || m.f(0) || ''", False),
        ("$$'$$ || m.f(0) || ''", False),
        ("(id < 3) -- '\n and m.f(0) '", False),
        ("(id < 3) /* ' */ and m.f(0) /* ' */", False),
        ('U&"d\\0061t" = 1', False),
    ],
)
def test_what_calls_users_code(text: str, *, is_safe: bool) -> None:
    columns = [
        SimpleNamespace(type="integer", name="id", remote_name="id"),
        SimpleNamespace(type="shop.mood", name="v2", remote_name="mood"),
    ]
    assert is_of_postgres(text, columns) == is_safe  # type: ignore[arg-type]
