"""The tables of bench star, and the server that they are read with, cold or cached."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg import sql

from pgshuttle import catalog, servers, star_disk, state
from pgshuttle.building import make_schema, making
from pgshuttle.state import Cluster

SCHEMA = "star"
NDIMENSIONS = 4
SAMPLED_ROWS = 10_000
LEAST_ROWS_A_SAMPLE = 200  # rows of a dimension for each sampled row, at least
SAMPLED_PERCENT = 2
DATA_FACTOR = 4.5  # a dimension's size over shared_buffers, where these are small
CACHED_FACTOR = 2.4  # shared_buffers over a dimension's size, where these are large
LEAST_BUFFERS_KB = 1024

Connection = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True)
class Stored:
    """The files of the tables, and how large they are."""

    files: tuple[Path, ...]
    dimension_bytes: int
    all_bytes: int

    @property
    def small_buffers_kb(self) -> int:
        """shared_buffers that one dimension does not fit into."""
        return max(LEAST_BUFFERS_KB, int(self.dimension_bytes / DATA_FACTOR / 1024))

    @property
    def large_buffers_kb(self) -> int:
        """shared_buffers that hold all pages that are looked up."""
        return max(4 * LEAST_BUFFERS_KB, int(self.dimension_bytes * CACHED_FACTOR / 1024))


def fill_dimension(connection: Connection, number: int, nrows: int) -> None:
    """Makes a dimension; rows of some 130 bytes."""
    name = sql.Identifier(SCHEMA, f"dim{number}")
    fill = sql.SQL(
        "CREATE TABLE {} AS SELECT i::int AS id, (i * 7919 %% 100000)::int AS x,"
        " repeat('x', 90) AS filler FROM generate_series(1, {}::bigint) AS i"
    )
    connection.execute(fill.format(name, sql.Literal(nrows)), [])
    connection.execute(sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (id)").format(name))
    connection.execute(sql.SQL("VACUUM (FREEZE, ANALYZE) {}").format(name))


def fill_fact(connection: Connection, ndimension_rows: int, nsampled: int) -> None:
    """Makes the fact table; each row points to a random row of each dimension."""
    name = sql.Identifier(SCHEMA, "fact")
    keys = sql.SQL(", ").join(
        sql.SQL("(1 + floor(random() * {}))::int AS {}").format(
            sql.Literal(ndimension_rows), sql.Identifier(f"d{number}")
        )
        for number in range(1, NDIMENSIONS + 1)
    )
    nrows = nsampled * 100 // SAMPLED_PERCENT
    connection.execute("SELECT setseed(0.5)")
    fill = sql.SQL("CREATE TABLE {} AS SELECT i AS id, {} FROM generate_series(1, {}) AS i")
    connection.execute(fill.format(name, keys, sql.Literal(nrows)))
    connection.execute(sql.SQL("VACUUM (FREEZE, ANALYZE) {}").format(name))


def make_tables(cluster: Cluster, nrows: int, nsampled: int) -> None:
    """Makes all tables, unless a cluster that was kept has them."""
    size = f"{nrows} rows a dimension, {nsampled} sampled"
    schema = sql.Identifier(SCHEMA)
    with making("the tables"), catalog.connect(cluster.query) as connection:
        found = connection.execute(
            "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s",
            [SCHEMA],
        ).fetchone()
        if found is not None and found[0] == size:
            return
        make_schema(connection, SCHEMA)
        for number in range(1, NDIMENSIONS + 1):
            fill_dimension(connection, number, nrows)
        fill_fact(connection, nrows, nsampled)
        done = sql.SQL("COMMENT ON SCHEMA {} IS {}")
        connection.execute(done.format(schema, sql.Literal(size)))


def find_stored(cluster: Cluster) -> Stored:
    """Finds the files of the tables and their indexes."""
    with catalog.connect(cluster.query) as connection:
        rows = connection.execute(
            "SELECT c.relname, pg_relation_filepath(c.oid) FROM pg_class c"
            " WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'i', 't')",
            [SCHEMA],
        ).fetchall()
    paths = {str(name): cluster.query.data_dir / str(path) for name, path in rows}
    files = [
        file
        for path in paths.values()
        for file in sorted(path.parent.glob(f"{path.name}*"))
        if file.name[len(path.name) : len(path.name) + 1] in ("", ".", "_")
    ]
    dimension = [name for name in paths if name.startswith("dim1")]
    sizes = {name: path.stat().st_size for name, path in paths.items()}
    return Stored(
        files=tuple(files),
        dimension_bytes=sum(sizes[name] for name in dimension),
        all_bytes=sum(file.stat().st_size for file in files),
    )


def list_io_methods(cluster: Cluster) -> list[str]:
    """Lists how this server can read; before 18 there is one way, without a name."""
    with catalog.connect(cluster.query) as connection:
        found = connection.execute(
            "SELECT enumvals FROM pg_settings WHERE name = 'io_method'"
        ).fetchone()
    if found is None:
        return [""]
    known = found[0] if isinstance(found[0], list) else []
    return [method for method in ("worker", "io_uring") if method in known]


def restart(cluster: Cluster, settings: Mapping[str, str], drop: tuple[Path, ...]) -> Cluster:
    """Starts the query node anew with other settings; the kernel forgets some files."""
    with catalog.connect(cluster.query) as connection:
        for name, value in settings.items():
            change = sql.SQL("ALTER SYSTEM SET {} = {}")
            connection.execute(change.format(sql.Identifier(name), sql.Literal(value)))
    servers.stop_server(cluster.query)
    for path in drop:
        star_disk.drop_file(path)
    cluster = replace(cluster, query=servers.start_server(cluster.build, cluster.query))
    state.save_cluster(cluster)
    return cluster
