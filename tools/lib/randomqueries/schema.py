"""Makes the tables on the server: local ones, remote copies, foreign ones over these.

local.x is what a query reads on the local side; guest.x and engine.x lead to
remote.x, which has the same rows in another order, and other names of columns.
tablets.x is a copy that is distributed over databases of the server by a column
at random, or a reference table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lib.randomqueries.dice import Dice
from lib.randomqueries.kinds import KINDS
from lib.randomqueries.objects import BASE, LOOKUP, OWN, UNFOLDED, UNION, VIEW
from lib.randomqueries.session import Session
from lib.randomqueries.tables import COLUMNS, UNION_STEP, Part, Shape, Table, leaves
from lib.randomqueries.writes import TABLES as WRITTEN

TRANSPORTS = {"guest": "postgres_fdw", "engine": "shuttle"}
TABLETS = "tablets"
NODES = ("tablets_one", "tablets_two")
KEYS = ("id", "k", "s", "g", "m", "n", "t", "d", "z", "u")  # other types have no hash values
INDEXED = ("id", "k", "s", "g", "n", "t", "v", "c", "w", "d", "z", "u")
SMALL = 100  # rows: below it some tables have no indexes


def make_schema(session: Session, tables: tuple[Table, ...], seed: int) -> None:
    """Makes everything that queries refer to."""
    session.run(OWN)
    session.run(BASE)
    for transport, wrapper in TRANSPORTS.items():
        session.define_server(transport, wrapper, session.database)
    make_nodes(session, NODES, OWN)
    for table in tables:
        if table.shape.is_view:
            continue
        dice = Dice(seed, "schema", table.name)
        make_local(session, dice, table)
        for part in leaves(table.shape.parts) or [Part(table.name, "")]:
            make_remote(session, dice, table.size, part)
        for transport in TRANSPORTS:
            make_foreign(session, dice, table.shape, transport)
        make_distributed(session, dice, table, common_key(seed))
    for schema in ("local", *TRANSPORTS, TABLETS):
        session.run(LOOKUP.format(s=schema))
        for view in (table.shape for table in tables if table.shape.is_view):
            session.run(view_sql(schema, view))
        for name, sql in UNFOLDED.items():
            session.run(f"CREATE VIEW {schema}.{name} AS {sql.format(s=schema)}")
    session.run("ANALYZE")


def make_nodes(session: Session, nodes: Sequence[str], own: str) -> None:
    """own: what they have at first."""
    for node in nodes:
        session.run(f"CREATE DATABASE {node} TEMPLATE template0")
        there = replace(session, database=node)
        there.connect()
        there.run(own)
        there.close()
        session.define_server(node, "shuttle", node, "PUBLIC")
        session.run(f"SELECT FROM shuttle.use_node('{node}')")


def common_key(seed: int) -> str:
    """The column by which most tables are distributed."""
    return Dice(seed, "key").pick(KEYS)


def make_distributed(session: Session, dice: Dice, table: Table, common: str) -> None:
    """Indexes are made before or behind, as a user has them."""
    name = f"{TABLETS}.{table.name}"
    key = common if dice.chance(0.95) else dice.pick(KEYS)
    session.run(
        f"CREATE TABLE {name} ({columns_sql(list(COLUMNS))});"
        f"INSERT INTO {name} SELECT * FROM local.{table.name} ORDER BY md5(id::text)"
    )
    make_indexes(session, dice, name, table.size)
    if table.name not in WRITTEN and dice.chance(0.4):
        session.run(
            f"ALTER TABLE {name} ADD PRIMARY KEY (id); SELECT shuttle.reference_table('{name}')"
        )
        return
    tablets = 3 if key == common else dice.between(1, 5)
    session.run(f"SELECT shuttle.distribute_table('{name}', '{key}', {tablets})")


def view_sql(schema: str, view: Shape) -> str:
    if view.union_of is None:
        return VIEW.format(s=schema, name=view.name, table=view.view_of)
    first, second = view.union_of
    others = [f"id + {UNION_STEP} AS id", *COLUMNS[1:]]
    return UNION.format(
        s=schema,
        name=view.name,
        columns=", ".join(COLUMNS),
        others=", ".join(others),
        first=first,
        second=second,
    )


def columns_sql(columns: list[str]) -> str:
    return ", ".join(f"{name} {KINDS[name].type}" for name in columns)


def make_local(session: Session, dice: Dice, table: Table) -> None:
    shape = table.shape
    columns = columns_sql(list(COLUMNS))
    session.run(f"CREATE TABLE local.{shape.name} ({columns}){partitioned(shape.partition_by)}")
    if not shape.inherited:
        make_local_parts(session, shape.name, shape.parts)
    session.copy(f"COPY local.{shape.name} FROM STDIN", table.rows)
    if shape.inherited:
        make_local_heirs(session, shape)
    make_indexes(session, dice, f"local.{shape.name}", table.size)


def partitioned(by: str | None) -> str:
    return f" PARTITION BY {by}" if by else ""


def make_local_parts(session: Session, parent: str, parts: tuple[Part, ...]) -> None:
    for part in parts:
        session.run(
            f"CREATE TABLE local.{part.name} PARTITION OF local.{parent} {part.bound}"
            + partitioned(part.partition_by)
        )
        make_local_parts(session, part.name, part.parts)


def make_local_heirs(session: Session, shape: Shape) -> None:
    """Tables that inherit, each with the rows that its bound says."""
    for part in shape.parts:
        session.run(
            f"CREATE TABLE local.{part.name} () INHERITS (local.{shape.name});"
            f"WITH moved AS (DELETE FROM ONLY local.{shape.name} WHERE {part.bound} RETURNING *)"
            f" INSERT INTO local.{part.name} SELECT * FROM moved"
        )


def make_indexes(session: Session, dice: Dice, table: str, size: int) -> None:
    if size < SMALL and dice.chance(0.4):
        return
    for column in INDEXED:
        session.run(f"CREATE INDEX ON {table} ({remote_name(table, column)})")


def remote_name(table: str, column: str) -> str:
    """Some columns have another name on the remote side, which needs quotes."""
    if table.startswith("remote.") and column in ("m", "t", "u"):
        return f'"the {column}"'
    return column


def make_remote(session: Session, dice: Dice, size: int, part: Part) -> None:
    """A copy of a local table: another order of columns and rows, a dropped column."""
    name = f"remote.{part.name}"
    columns = dice.sample(COLUMNS, len(COLUMNS))
    definitions = [f"{remote_name(name, column)} {KINDS[column].type}" for column in columns]
    definitions.insert(dice.between(0, len(columns)), "gone int")
    order = dice.pick(("id", "id DESC", "k, id DESC", "md5(id::text)"))
    session.run(
        f"CREATE TABLE {name} ({', '.join(definitions)});"
        f"ALTER TABLE {name} DROP COLUMN gone;"
        f"INSERT INTO {name} SELECT {', '.join(columns)} FROM local.{part.name} ORDER BY {order}"
    )
    make_indexes(session, dice, name, size)


def make_foreign(session: Session, dice: Dice, shape: Shape, transport: str) -> None:
    """The foreign table, or the partitioned one over local and foreign ones."""
    if shape.parts:
        session.run(
            f"CREATE TABLE {transport}.{shape.name} ({columns_sql(list(COLUMNS))})"
            + partitioned(shape.partition_by)
        )
        if shape.inherited:
            session.run(
                f"INSERT INTO {transport}.{shape.name} SELECT * FROM ONLY local.{shape.name}"
            )
        attach = "INHERIT" if shape.inherited else "ATTACH"
        for statement in part_statements(dice, transport, shape.name, shape.parts, attach):
            session.run(statement)
    else:
        session.run(foreign_table(dice, transport, shape.name))
        if dice.chance(0.7):
            session.run(f"ANALYZE {transport}.{shape.name}")


def foreign_table(dice: Dice, transport: str, name: str) -> str:
    """The order of columns is that of the local table: whole rows are compared, too."""
    columns = []
    for column in COLUMNS:
        there = remote_name("remote.", column).strip('"')
        option = f" OPTIONS (column_name '{there}')" if there != column else ""
        collation = " COLLATE own.folded" if "COLLATE" in KINDS[column].type else ""
        columns.append(f"{column} {KINDS[column].type.split(' ')[0]}{option}{collation}")
    options = ["schema_name 'remote'"]
    if transport == "guest":
        options.append(f"fetch_size '{dice.pick((1, 3, 100))}'")
    estimate = "use_remote_estimate" if transport == "guest" else "shuttle_remote_estimate"
    if dice.chance(0.15):
        options.append(f"{estimate} 'true'")
    if dice.chance(0.4):
        options.append("async_capable 'true'")
    return (
        f"CREATE FOREIGN TABLE {transport}.{name} ({', '.join(columns)})"
        f" SERVER {transport} OPTIONS ({', '.join(options)})"
    )


def part_statements(
    dice: Dice, transport: str, parent: str, parts: tuple[Part, ...], attach: str
) -> Iterator[str]:
    for part in parts:
        name = f"{transport}.{part.name}"
        columns = columns_sql(dice.sample(COLUMNS, len(COLUMNS)))
        if part.parts:
            yield f"CREATE TABLE {name} ({columns}){partitioned(part.partition_by)}"
        elif part.local:
            yield f"CREATE TABLE {name} ({columns})"
            yield (
                f"INSERT INTO {name} ({', '.join(COLUMNS)})"
                f" SELECT {', '.join(COLUMNS)} FROM local.{part.name}"
            )
        else:
            yield foreign_table(dice, transport, part.name)
        if attach == "INHERIT":
            yield f"ALTER TABLE {name} INHERIT {transport}.{parent}"
        else:
            yield f"ALTER TABLE {transport}.{parent} ATTACH PARTITION {name} {part.bound}"
        yield from part_statements(dice, transport, part.name, part.parts, attach)
