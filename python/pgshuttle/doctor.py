"""The checks of pgshuttle doctor: facts in, findings out."""

from collections.abc import Callable, Iterator

from pgshuttle import __version__
from pgshuttle.facts import Facts, NodeFacts, ServerFacts
from pgshuttle.findings import Finding, Level

OLDEST_MAJOR = 15
NEWEST_MAJOR = 18
STALE_FACTOR = 2.0  # rows there, as a multiple of what the statistics here say
FEWEST_ROWS = 1000  # smaller tables are cheap whatever their statistics say
MOST_NAMES = 5  # tables that one finding names
EXTENSION = "pg_shuttle"
ALL_NODES = "query"


def major_of(server: ServerFacts) -> int:
    """The major version; 0 if it is not known."""
    return int(server.settings.get("server_version_num", "0")) // 10000


def name_some(names: list[str]) -> str:
    """Names the first few of many."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def check_version(facts: Facts) -> Iterator[Finding]:
    """Is the query node one that the extension is made for?"""
    version = facts.query.settings.get("server_version", "?")
    good = OLDEST_MAJOR <= major_of(facts.query) <= NEWEST_MAJOR
    yield Finding(
        ALL_NODES,
        Level.OK if good else Level.ERROR,
        "version",
        f"PostgreSQL {version}",
        "" if good else f"pg_shuttle is made for {OLDEST_MAJOR} to {NEWEST_MAJOR}.",
    )


def check_extension(facts: Facts) -> Iterator[Finding]:
    """Is the extension there, and of one version with its files and this tool?"""
    made = facts.query.extensions.get(EXTENSION, "")
    level, text, advice = Level.OK, f"version {made}", ""
    if not facts.has_files:
        level, text = Level.ERROR, "its files are not installed in this server"
        advice = "Install the package postgresql-NN-shuttle, or run make install PG_CONFIG=..."
    elif not made:
        level, text = Level.NOTE, "not created in this database"
        advice = (
            "Batched joins over postgres_fdw need no more than the library. For the wrapper "
            "shuttle: CREATE EXTENSION pg_shuttle CASCADE."
        )
    elif made != facts.has_files:
        level, text = Level.WARNING, f"version {made} here, {facts.has_files} in the files"
        advice = "ALTER EXTENSION pg_shuttle UPDATE;"
    elif made != __version__:
        level, text = Level.NOTE, f"version {made}, and this tool is {__version__}"
    yield Finding(ALL_NODES, level, "extension", text, advice)


def check_library(facts: Facts) -> Iterator[Finding]:
    """Is the library loaded before the first statement of a session?"""
    shared = EXTENSION in facts.query.settings.get("shared_preload_libraries", "")
    if facts.load_error:
        yield Finding(
            ALL_NODES,
            Level.ERROR,
            "library",
            f"could not be loaded: {facts.load_error}",
            "Have an administrator set session_preload_libraries = 'pg_shuttle'.",
        )
    elif shared:
        yield Finding(ALL_NODES, Level.OK, "library", "in shared_preload_libraries")
    elif facts.was_loaded:
        yield Finding(
            ALL_NODES,
            Level.NOTE,
            "library",
            "loaded for each session",
            "In shared_preload_libraries, sessions also tell each other how far nodes are, and "
            "shuttle.node_stats counts all of them.",
        )
    else:
        yield Finding(
            ALL_NODES,
            Level.WARNING,
            "library",
            "not preloaded: nothing looks ahead before a session loads it",
            "ALTER SYSTEM SET session_preload_libraries = 'pg_shuttle'; SELECT pg_reload_conf();",
        )


def check_settings(facts: Facts) -> Iterator[Finding]:
    """Is anything switched off, or left over from testing?"""
    bad = {
        "shuttle.enable_batched_join": ("off", "plans are those without the extension"),
        "shuttle.batch_size": ("1", "each row is asked for alone"),
        "shuttle.debug_force_batched_join": ("on", "batched joins even where they are slower"),
        "shuttle.debug_spoil_look_ahead": ("on", "guesses are spoilt on purpose"),
        "enable_nestloop": ("off", "a batched join is a nested loop, and not chosen"),
    }
    for name, (value, meaning) in bad.items():
        if facts.query.settings.get(name) == value:
            yield Finding(
                ALL_NODES,
                Level.WARNING,
                "settings",
                f"{name} is {value}: {meaning}",
                f"See source and sourcefile of {name} in pg_settings, and reset it there.",
            )


def check_partitionwise(facts: Facts) -> Iterator[Finding]:
    """May partitions that lie on one node be joined there?"""
    if facts.query.settings.get("enable_partitionwise_join") == "off" and facts.partitioned[1:]:
        yield Finding(
            ALL_NODES,
            Level.NOTE,
            "settings",
            f"enable_partitionwise_join is off; on nodes: {name_some(facts.partitioned)}",
            "Switched on, a node joins its partitions of equal bounds; planning is dearer.",
        )


def check_servers(facts: Facts) -> Iterator[Finding]:
    """Is there anything to ask?"""
    if not facts.nodes:
        yield Finding(
            ALL_NODES,
            Level.NOTE,
            "servers",
            "no foreign server of postgres_fdw or shuttle in this database",
            "CREATE SERVER ... FOREIGN DATA WRAPPER shuttle OPTIONS (host ..., dbname ...).",
        )
    if facts.is_standby and facts.nodes:
        yield Finding(
            ALL_NODES, Level.NOTE, "servers", "this is a standby: nodes are not looked at from here"
        )


def check_rights(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """May this user reach the node at all?"""
    if not node.may_use:
        yield Finding(
            node.name,
            Level.WARNING,
            "privileges",
            f"{facts.user} may not use this server; it was not looked at",
            f"GRANT USAGE ON FOREIGN SERVER {node.name} TO {facts.user};",
        )
    elif not node.has_mapping:
        yield Finding(
            node.name,
            Level.ERROR,
            "privileges",
            f"{facts.user} has no user mapping",
            f"CREATE USER MAPPING FOR {facts.user} SERVER {node.name} OPTIONS (user ..., "
            "password ...);",
        )
    elif node.error:
        yield Finding(
            node.name,
            Level.ERROR,
            "reachable",
            node.error,
            "See host and port of the server's options, the node's pg_hba.conf, and the user "
            "mapping.",
        )


def check_round_trip(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """How far is it?"""
    if node.round_trip_ms is not None:
        version = node.server.settings.get("server_version", "of unknown version")
        text = f"PostgreSQL {version}, about {node.round_trip_ms:.2g} ms away, by {node.wrapper}"
        yield Finding(node.name, Level.OK, "reachable", text)


def check_two_phase(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Could it take part in a commit over several nodes?"""
    several = sum(other.wrapper == "shuttle" for other in facts.nodes) > 1
    if several and node.server.settings.get("max_prepared_transactions") == "0":
        yield Finding(
            node.name,
            Level.WARNING,
            "prepared transactions",
            "max_prepared_transactions is 0: a transaction can't write here and on another node",
            "Set it to max_connections there, and restart the node.",
        )


def check_extensions(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Has the node what the server's option says that it has?"""
    if not node.server.extensions:  # could not be read
        return
    for name in node.shipped_extensions:
        there = node.server.extensions.get(name)
        here = facts.query.extensions.get(name)
        if there is None:
            yield Finding(
                node.name,
                Level.ERROR,
                "extensions",
                f"the option extensions names {name}, which is missing there",
                f"CREATE EXTENSION {name}; on the node, or take it out of the option.",
            )
        elif here is not None and here != there:
            yield Finding(
                node.name, Level.WARNING, "extensions", f"{name} is {here} here and {there} there"
            )


def check_sameness(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Do both sides sort, convert and reckon alike?"""
    here, there = facts.query, node.server
    for name, label, meaning in (
        ("server_encoding", "encoding", "values are converted, and some may not be able to be"),
        ("block_size", "block size", "pages are estimated with the size of this side"),
    ):
        mine, its = here.settings.get(name), there.settings.get(name)
        if its is not None and mine != its:
            yield Finding(
                node.name, Level.WARNING, label, f"{mine} here and {its} there: {meaning}"
            )
    if there.collation and here.collation != there.collation:
        text = f"{here.collation} here and {there.collation} there: text sorts differently"
        advice = 'Create both databases with one collation, or use COLLATE "C" for keys.'
        yield Finding(node.name, Level.WARNING, "collation", text, advice)
    elif there.collation_version and here.collation_version != there.collation_version:
        text = (
            f"version {here.collation_version or 'unknown'} here and {there.collation_version} "
            "there: some texts may sort differently"
        )
        advice = "Bring both systems to one release of their C library or ICU, then REINDEX."
        yield Finding(node.name, Level.WARNING, "collation", text, advice)
    if there.time_zones and here.time_zones != there.time_zones:
        yield Finding(
            node.name,
            Level.WARNING,
            "time zones",
            "their data differs: a time with a zone may be another moment there",
            "Bring tzdata (or PostgreSQL, where it has its own) to one release on both sides.",
        )


def check_statistics(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Does the planner know how large the tables are?"""
    never = [table.name for table in node.tables if table.rows_here < 0]
    stale = [
        table.name
        for table in node.tables
        if table.rows_here >= 0
        and table.rows_there is not None
        and max(table.rows_here, table.rows_there) > FEWEST_ROWS
        and not 1 / STALE_FACTOR < (table.rows_here + 1) / (table.rows_there + 1) < STALE_FACTOR
    ]
    for names, text in (
        (never, "never analyzed"),
        (stale, f"statistics over {STALE_FACTOR:g} times wrong"),
    ):
        if names:
            yield Finding(
                node.name,
                Level.WARNING,
                "statistics",
                f"{text}: {name_some(names)}",
                f"ANALYZE {', '.join(names[:MOST_NAMES])};",
            )
    if node.tables and not never and not stale:
        text = f"of {len(node.tables)} foreign tables are near what the node has"
        yield Finding(node.name, Level.OK, "statistics", text)


QUERY_CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    check_version,
    check_extension,
    check_library,
    check_settings,
    check_partitionwise,
    check_servers,
)
NODE_CHECKS: tuple[Callable[[Facts, NodeFacts], Iterator[Finding]], ...] = (
    check_rights,
    check_round_trip,
    check_two_phase,
    check_extensions,
    check_sameness,
    check_statistics,
)


def find_all(facts: Facts) -> list[Finding]:
    """Runs every check."""
    found = [finding for check in QUERY_CHECKS for finding in check(facts)]
    for node in facts.nodes:
        for check_node in NODE_CHECKS:
            found += check_node(facts, node)
    return found
