"""What asyncpg does with tables on several nodes; DSN says where."""

import asyncio
import os
from datetime import UTC, datetime
from io import BytesIO

import asyncpg

DSN = os.environ["DSN"]


async def write_many(connection: asyncpg.Connection) -> None:
    names = [(f"a{n}",) for n in range(200)]
    await connection.executemany("INSERT INTO customer (name) VALUES ($1)", names)
    rows = [(f"r{n}", datetime.now(UTC)) for n in range(300)]
    done = await connection.copy_records_to_table("customer", columns=["name", "at"], records=rows)
    assert done == "COPY 300", done
    done = await connection.copy_records_to_table("item", columns=["name"], records=names)
    assert done == "COPY 200", done
    sink = BytesIO()
    done = await connection.copy_from_table("customer", output=sink, format="binary")
    assert done == "COPY 500", done


async def read(connection: asyncpg.Connection) -> None:
    async with connection.transaction():
        cursor = connection.cursor("SELECT id FROM customer ORDER BY id", prefetch=50)
        ids = [row["id"] async for row in cursor]
    assert ids == sorted(ids)
    assert len(ids) == 500
    query = "SELECT * FROM customer WHERE id = ANY($1::bigint[])"
    assert len(await connection.fetch(query, ids[:5])) == 5
    try:
        await connection.fetch("SELECT pg_sleep(20) FROM customer LIMIT 1", timeout=0.2)
        raise AssertionError("no timeout")
    except TimeoutError:
        assert await connection.fetchval("SELECT count(*) FROM kind") == 1


async def fail(connection: asyncpg.Connection) -> None:
    async with connection.transaction(isolation="repeatable_read"):
        try:
            async with connection.transaction():
                await connection.execute("INSERT INTO orders (customer_id) VALUES (-1)")
            raise AssertionError("no foreign key")
        except asyncpg.ForeignKeyViolationError as error:
            assert error.constraint_name == "orders_customer_id_fkey"


async def change_table(connection: asyncpg.Connection) -> None:
    """Statements that are kept follow a changed table."""
    await connection.fetchrow("SELECT * FROM customer WHERE id = $1", 1)
    await connection.execute("ALTER TABLE customer ADD COLUMN extra int")
    row = await connection.fetchrow("SELECT * FROM customer WHERE id = $1", 1)
    assert "extra" in row.keys()  # noqa: SIM118
    await connection.execute("ALTER TABLE customer DROP COLUMN extra")


async def main() -> None:
    connection = await asyncpg.connect(DSN)
    for step in (write_many, read, fail, change_table):
        await step(connection)
    await connection.close()
    async with asyncpg.create_pool(DSN, min_size=2, max_size=4) as pool:
        query = "SELECT count(*) FROM customer WHERE id = $1"
        assert sum(await asyncio.gather(*(pool.fetchval(query, n) for n in range(1, 41)))) == 40


asyncio.run(main())
print("ok")
