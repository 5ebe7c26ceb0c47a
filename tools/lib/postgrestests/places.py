"""The servers of a run: one alone, and one whose tables are on storage nodes."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lib.postgrestests.sources import Suite, build_library
from lib.testrun.cluster import Cluster, run_as_server_user, temporary_cluster
from lib.testrun.installed import Installed, TestRunError, give_to_server

DATABASE = "regression"
NODES = ("n1", "n2")
LIMIT_S = 60.0
SETTINGS = """
autovacuum = off
log_line_prefix = '%m [%p] %q%a %e '
log_error_verbosity = verbose
max_connections = 60
statement_timeout = '100s'
"""
ALONE = "shared_preload_libraries = ''\n"
ON_NODES = "log_statement = ddl\n"
# As pg_regress sets them.
OF_DATABASE = (
    "lc_messages TO 'C'",
    "lc_monetary TO 'C'",
    "lc_numeric TO 'C'",
    "lc_time TO 'C'",
    "bytea_output TO 'hex'",
    "timezone_abbreviations TO 'Default'",
)
INTERNAL_ERROR = re.compile(r"ERROR:  XX000: (.*)")
VARIABLES = {
    "PGTZ": "America/Los_Angeles",
    "PGDATESTYLE": "Postgres, MDY",
    "PGOPTIONS": "-c intervalstyle=postgres_verbose",
    "PGAPPNAME": "pg_regress",
    "PG_DLSUFFIX": ".so",
}


@dataclass(frozen=True)
class Place:
    """A server with the database of the tests, and where its files are."""

    cluster: Cluster
    base: Path
    variables: dict[str, str]


@dataclass(frozen=True)
class Places:
    alone: Place
    distributed: Place
    nodes: Place
    ends_copy: bool  # psql reads data also of a COPY that has failed

    def each(self) -> tuple[Place, ...]:
        return (self.alone, self.distributed, self.nodes)


def execute(place: Place, database: str, *commands: str) -> None:
    """Runs commands as the superuser; each is a transaction of its own."""
    options = [option for command in commands for option in ("-c", command)]
    psql = [place.cluster.installed.program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"]
    psql += ["-o", "/dev/null"]
    code, output = run_as_server_user(
        [*psql, "-d", database, *options], place.cluster.environment(), place.base, LIMIT_S
    )
    if code != 0:
        raise TestRunError(f"a server could not be prepared:\n{output}")


@contextlib.contextmanager
def start(
    installed: Installed, suite: Suite, base: Path, name: str, settings: str
) -> Iterator[Place]:
    directory = base / name
    (directory / "results").mkdir(parents=True)
    give_to_server(directory)
    variables = VARIABLES | {
        "PG_ABS_SRCDIR": str(suite.directory),
        "PG_ABS_BUILDDIR": str(directory),
        "PG_LIBDIR": str(base / "lib"),
    }
    with temporary_cluster(installed, directory, SETTINGS + settings) as cluster:
        yield Place(cluster, directory, variables)


def make_database(place: Place) -> None:
    execute(
        place,
        "postgres",
        f"CREATE DATABASE {DATABASE} TEMPLATE template0",
        *(f"ALTER DATABASE {DATABASE} SET {setting}" for setting in OF_DATABASE),
    )


def add_nodes(query: Place, nodes: Place) -> None:
    execute(query, DATABASE, "CREATE EXTENSION pg_shuttle CASCADE")
    for name in NODES:
        execute(nodes, "postgres", f"CREATE DATABASE {name} TEMPLATE template0")
        options = f"host '{nodes.base}', port '{nodes.cluster.port}', dbname '{name}'"
        user = nodes.cluster.environment()["PGUSER"]
        execute(
            query,
            DATABASE,
            f"CREATE SERVER {name} FOREIGN DATA WRAPPER shuttle OPTIONS ({options})",
            f"GRANT USAGE ON FOREIGN SERVER {name} TO PUBLIC",
            f"CREATE USER MAPPING FOR PUBLIC SERVER {name}"
            f" OPTIONS (user '{user}', password_required 'false')",
            f"SELECT shuttle.use_node('{name}')",
        )
    execute(
        query,
        DATABASE,
        f"ALTER DATABASE {DATABASE} SET shuttle.auto_distribute = '%'",
        f"ALTER DATABASE {DATABASE} SET shuttle.tablets = 3",
    )


def internal_errors(places: Places) -> list[str]:
    """What only a bug can cause, of nodes; a test asks for those that the server alone has, too."""
    known = {message for _, message in read_internal_errors(places.alone.cluster)}
    found = read_internal_errors(places.nodes.cluster)
    return [line for line, message in found if message not in known]


def read_internal_errors(cluster: Cluster) -> list[tuple[str, str]]:
    with cluster.log.open(errors="replace") as lines:
        found = [(line.rstrip("\n"), INTERNAL_ERROR.search(line)) for line in lines]
    return [(line, match[1]) for line, match in found if match]


def ends_copy(place: Place) -> bool:
    """True of minor releases of psql that look for the end of data in any case."""
    script = place.base / "copy.sql"
    script.write_text("COPY missing FROM stdin;\n\\echo seen\n")
    psql = [place.cluster.installed.program("psql"), "-X", "-q", "-d", DATABASE]
    command = ["sh", "-c", f"{shlex.join(psql)} <{script}"]
    _, output = run_as_server_user(command, place.cluster.environment(), place.base, LIMIT_S)
    return "seen" not in output


@contextlib.contextmanager
def start_places(installed: Installed, suite: Suite, base: Path) -> Iterator[Places]:
    build_library(installed, suite, base / "lib")
    with contextlib.ExitStack() as stack:
        alone, query, nodes = (
            stack.enter_context(start(installed, suite, base, name, settings))
            for name, settings in (("alone", ALONE), ("query", ""), ("nodes", ON_NODES))
        )
        make_database(alone)
        make_database(query)
        add_nodes(query, nodes)
        yield Places(alone, query, nodes, ends_copy(alone))
