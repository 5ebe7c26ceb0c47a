"""What psycopg does with tables on several nodes; DSN says where."""

import os

import psycopg
from psycopg.types.json import Jsonb

INSERT = "INSERT INTO customer (name, doc) VALUES (%s, %s) RETURNING id"


def write_many(connection: psycopg.Connection) -> None:
    with connection.pipeline():
        cursors = [connection.execute(INSERT, (f"p{n}", Jsonb({"n": n}))) for n in range(20)]
    assert len({row[0] for cursor in cursors for row in cursor}) == 20
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO item (name) VALUES (%s)", [(f"i{n}",) for n in range(30)])
        assert cursor.rowcount == 30
        with cursor.copy("COPY customer (name, doc) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["text", "jsonb"])
            for n in range(100):
                copy.write_row((f"c{n}", Jsonb([n])))
    connection.commit()


def read(connection: psycopg.Connection) -> None:
    with connection.cursor("named", scrollable=True) as cursor:
        cursor.itersize = 7
        cursor.execute("SELECT id FROM customer ORDER BY id")
        first = cursor.fetchmany(3)
        cursor.scroll(-2)
        assert cursor.fetchmany(2) == first[1:]
        assert len(cursor.fetchall()) == 117
    with connection.cursor() as cursor, cursor.copy("COPY customer TO STDOUT") as copy:
        assert sum(1 for _ in copy.rows()) == 120
    connection.prepare_threshold = 0
    for n in range(1, 9):
        found = connection.execute("SELECT doc FROM customer WHERE id = %s", (n,)).fetchone()
        assert found == ({"n": n - 1},)


def fail(connection: psycopg.Connection) -> None:
    """Errors are those of a local table, and savepoints survive them."""
    with connection.transaction():
        for statement, constraint in (
            ("INSERT INTO customer (id, name) VALUES (1, 'again')", "customer_pkey"),
            ("INSERT INTO orders (customer_id) VALUES (-1)", "orders_customer_id_fkey"),
            ("INSERT INTO item (id, name) VALUES (1, 'new')", "item_pkey"),
        ):
            try:
                with connection.transaction():
                    connection.execute(statement)
                raise AssertionError(statement)
            except psycopg.IntegrityError as error:
                assert error.diag.constraint_name == constraint, error


def prepare(dsn: str) -> None:
    """Another connection finds what was prepared, and ends it."""
    count = "SELECT count(*) FROM customer WHERE name = 'two'"
    with psycopg.connect(dsn) as connection:
        for branch in ("a", "b"):
            connection.tpc_begin(connection.xid(1, "global", branch))
            connection.execute("INSERT INTO customer (name) SELECT 'two' FROM generate_series(1, 20)")
            connection.tpc_prepare()
            connection.close()
            connection = psycopg.connect(dsn)
        connection.autocommit = True
        assert connection.execute(count).fetchone() == (0,)
        first, second = sorted(connection.tpc_recover(), key=lambda xid: xid.bqual)
        connection.tpc_commit(first)
        connection.tpc_rollback(second)
        assert connection.execute(count).fetchone() == (20,)
        assert connection.tpc_recover() == []
        connection.close()


with psycopg.connect(os.environ["DSN"]) as opened:
    write_many(opened)
    read(opened)
    fail(opened)
prepare(os.environ["DSN"])
print("ok")
