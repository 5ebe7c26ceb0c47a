"""Makes the databases of a run: the plain side, two nodes, and the far side."""

from collections.abc import Iterator
from dataclasses import replace

from lib.randomqueries.dice import Dice
from lib.randomqueries.objects import OWN
from lib.randomqueries.schema import make_nodes
from lib.randomqueries.session import Session
from lib.randomwrites.shapes import random_shape
from lib.randomwrites.tables import (
    COLUMNS,
    PARENTS,
    TABLES,
    TABLETS,
    Leaf,
    Middle,
    Table,
    column_types,
    create_local,
    distributed,
    leaves_on,
    not_null,
    plain_tables,
    policies,
    views,
)

PLAIN, FAR, NODES = "plain", "far", ("one", "two")
DATABASES = (PLAIN, *NODES, FAR, TABLETS)
STORES = ("tablets_one", "tablets_two", "tablets_three")
WRAPPERS = {"one": "shuttle", "two": "shuttle", "guest": "postgres_fdw"}
ROWS = ((1, 12), (1001, 1006), (2001, 2006))  # of ids, in each table with keys
WORDS = ("none", "x", "change", "null", "some")

# What a case makes is in schema c, and goes with it.
COMMON = f"{OWN} CREATE SEQUENCE numbers START 5000; CREATE SCHEMA base; CREATE SCHEMA c"
PARENT_TABLES = """
CREATE TABLE par1 (id int PRIMARY KEY);
CREATE TABLE par2 (id int PRIMARY KEY);
INSERT INTO par1 SELECT generate_series(1, {n});
INSERT INTO par2 SELECT generate_series(1, {n})
"""


def base_rows(dice: Dice) -> Iterator[list[str | None]]:
    for first, last in ROWS:
        for identity in range(first, last + 1):
            key = None if dice.chance(0.15) else str(identity * 10)
            parent = None if dice.chance(0.3) else str(dice.between(1, PARENTS))
            yield [str(identity), key, str(dice.between(0, 99)), dice.pick(WORDS), parent]


def reset_function(leaves: list[str]) -> str:
    """Sets the tables of a database back to their first rows."""
    columns = ", ".join(COLUMNS)
    body = [f"TRUNCATE {', '.join(leaves)};"]
    body += [
        f"INSERT INTO {leaf} ({columns}) SELECT {columns} FROM base.{leaf} ORDER BY id;"
        for leaf in leaves
    ]
    return f"CREATE FUNCTION base.reset() RETURNS void LANGUAGE sql AS $$ {' '.join(body)} $$"


def make_plain(session: Session, seed: int) -> dict[str, list[list[str | None]]]:
    """The plain side; returns what the rows of each leaf are."""
    session.run(COMMON)
    session.run(PARENT_TABLES.format(n=PARENTS))
    for statement in (*plain_tables(), *views(), *policies()):
        session.run(statement)
    columns = ", ".join(COLUMNS)
    found = {}
    leaves = [leaf.name for table in TABLES for leaf in table.leaves]
    for table in TABLES:
        if not table.logs and not table.serial and not table.numbered:
            rows = list(base_rows(Dice(seed, "rows", table.name)))
            session.copy(f"COPY {table.name} ({columns}) FROM STDIN", rows)
    for leaf in leaves:
        session.run(f"CREATE TABLE base.{leaf} AS SELECT {columns} FROM {leaf} ORDER BY id")
        kept = session.run(f"SELECT {columns} FROM base.{leaf} ORDER BY id")
        found[leaf] = [[None if v is None else v.decode() for v in row] for row in kept]
    session.run(reset_function(leaves))
    return found


def make_leaves(
    session: Session, server: str | None, rows: dict[str, list[list[str | None]]], seed: int
) -> None:
    """The tables of a node, or those of the far side that are local."""
    names = []
    for table, leaf in leaves_on(server):
        if not (server is None and table.partition_by):
            shape = random_shape(Dice(seed, "node", leaf.name), len(column_types(table)))
            session.run(create_local(table, leaf.name, shape))
        session.run(f"CREATE TABLE base.{leaf.name} (id int, k int, v int, s text, p int)")
        session.copy(f"COPY base.{leaf.name} FROM STDIN", rows[leaf.name])
        names.append(leaf.name)
    session.run(reset_function(names))


def foreign_table(dice: Dice, table: Table, leaf: Leaf) -> str:
    options = []
    if dice.chance(0.25):
        options.append(f"batch_size '{dice.pick((1, 2, 100))}'")
    if dice.chance(0.2):
        options.append(f"fetch_size '{dice.pick((1, 3))}'")
    if dice.chance(0.15):
        estimate = "use_remote_estimate" if leaf.server == "guest" else "shuttle_remote_estimate"
        options.append(f"{estimate} 'true'")
    if dice.chance(0.3):
        options.append("async_capable 'true'")
    if table.numbered:
        options.append("shuttle_remote_default 'on'")
    tail = f" OPTIONS ({', '.join(options)})" if options else ""
    columns = column_types(table, far=True)
    shape = random_shape(dice, len(columns))
    text = (
        f"CREATE FOREIGN TABLE {leaf.name} ({', '.join(shape.columns(columns))})"
        f" SERVER {leaf.server}{tail}{shape.end('FOREIGN TABLE', leaf.name)}"
    )
    parent = leaf.within or table.name
    attach = f"; ALTER TABLE {parent} ATTACH PARTITION {leaf.name} {leaf.bound}"
    return text + (attach if table.partition_by else "")


def make_middle(dice: Dice, table: Table, middle: Middle) -> str:
    columns = column_types(table)
    shape = random_shape(dice, len(columns))
    return (
        f"CREATE TABLE {middle.name} ({', '.join(shape.columns(columns))})"
        f" PARTITION BY {middle.partition_by}{shape.end('TABLE', middle.name)};"
        f" ALTER TABLE {table.name} ATTACH PARTITION {middle.name} {middle.bound}"
    )


def make_far(session: Session, seed: int, rows: dict[str, list[list[str | None]]]) -> None:
    session.run("CREATE EXTENSION pg_shuttle CASCADE")
    session.run(COMMON)
    for server, wrapper in WRAPPERS.items():
        session.define_server(server, wrapper, "two" if server == "guest" else server)
    for table in TABLES:
        if table.partition_by:
            columns = ", ".join(column_types(table))
            session.run(f"CREATE TABLE {table.name} ({columns}) PARTITION BY {table.partition_by}")
        for middle in table.middles:
            session.run(make_middle(Dice(seed, "middle", middle.name), table, middle))
        for leaf in table.leaves:
            if leaf.server is not None:
                session.run(foreign_table(Dice(seed, "options", leaf.name), table, leaf))
            elif table.partition_by:
                shape = random_shape(Dice(seed, "here", leaf.name), len(column_types(table)))
                session.run(create_local(table, leaf.name, shape))
                session.run(not_null(table))
                session.run(f"ALTER TABLE {table.name} ATTACH PARTITION {leaf.name} {leaf.bound}")
    make_leaves(session, None, rows, seed)
    for statement in views():
        session.run(statement)


def make_distributed(session: Session, seed: int, rows: dict[str, list[list[str | None]]]) -> None:
    """Local tables first, which are distributed over two or three nodes."""
    dice = Dice(seed, "tablets")
    session.run("CREATE EXTENSION pg_shuttle CASCADE")
    session.run(COMMON)
    session.run(PARENT_TABLES.format(n=PARENTS))
    nodes = STORES[: dice.between(2, 3)]
    make_nodes(session, nodes, "")
    for node in nodes:
        # one for all: with two, the clerk and views of ours do not see each other's writes
        options = f"ADD user '{session.user}', ADD password_required 'false'"
        session.run(f"ALTER USER MAPPING FOR PUBLIC SERVER {node} OPTIONS ({options})")
    tables = [distributed(table) for table in TABLES]
    for table, first in zip(tables, TABLES, strict=True):
        shape = random_shape(dice, len(column_types(table)))
        session.run(create_local(replace(table, partition_by=""), table.name, shape))
        session.run(f"CREATE TABLE base.{table.name} (id int, k int, v int, s text, p int)")
        for leaf in first.leaves:
            session.copy(f"COPY base.{table.name} FROM STDIN", rows[leaf.name])
    session.run(reset_function([table.name for table in tables]))
    session.run("SELECT base.reset()")
    session.run("SELECT shuttle.reference_table(t) FROM unnest('{par1, par2}'::regclass[]) t")
    for table in tables:
        if table.partition_by:
            key = dice.pick(COLUMNS[1:]) if table.loose or table.logs else "id"
            call = f"distribute_table('{table.name}', '{key}', {dice.between(1, 5)})"
        else:
            call = f"reference_table('{table.name}')"
        if not table.is_local:
            session.run(f"SELECT shuttle.{call}")
    for statement in (*views(), *policies()):
        session.run(statement)
    session.run("ANALYZE")


def make_world(sessions: dict[str, Session], seed: int) -> None:
    """Everything that all cases of a run share."""
    rows = make_plain(sessions[PLAIN], seed)
    for node in NODES:
        sessions[node].run(f"{OWN} CREATE SCHEMA base; CREATE SEQUENCE numbers")
        sessions[node].run(PARENT_TABLES.format(n=PARENTS))
        make_leaves(sessions[node], node, rows, seed)
        sessions[node].run("SELECT base.reset(); ANALYZE")
    make_far(sessions[FAR], seed, rows)
    sessions[FAR].run("SELECT base.reset(); ANALYZE")
    sessions[PLAIN].run("ANALYZE")
    make_distributed(sessions[TABLETS], seed, rows)
