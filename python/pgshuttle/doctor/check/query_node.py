"""The checks of pgshuttle doctor: facts in, findings out. nodes has those of a node."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from pgshuttle import __version__
from pgshuttle.doctor.check.nodes import NODE_CHECKS, make_analyze, name_some
from pgshuttle.doctor.check.relations import check_relations
from pgshuttle.doctor.check.standbys import check_standbys
from pgshuttle.doctor.facts import Facts
from pgshuttle.doctor.findings import Finding, Level, error, good, note, warning

OLDEST_MAJOR = 15
NEWEST_MAJOR = 19
EXTENSION = "pg_shuttle"
ALL_NODES = "query"


def check_version(facts: Facts) -> Iterator[Finding]:
    """Is the query node one that the extension is made for?"""
    version = facts.query.settings.get("server_version", "?")
    is_known = OLDEST_MAJOR <= facts.query.major <= NEWEST_MAJOR
    yield Finding(
        Level.OK if is_known else Level.ERROR,
        f"PostgreSQL {version}",
        "" if is_known else f"pg_shuttle is made for {OLDEST_MAJOR} to {NEWEST_MAJOR}.",
    )


def check_extension(facts: Facts) -> Iterator[Finding]:
    """Is the extension there, and of one version with its files and this tool?"""
    made = facts.query.extensions.get(EXTENSION, "")
    level, text, advice = Level.OK, f"version {made}", ""
    if not facts.has_files:
        level, text = Level.ERROR, "its files are not installed in this server"
        major = facts.query.major
        advice = f"Install the package postgresql-{major}-shuttle, or run make install with "
        advice += "PG_CONFIG, the path of this server's pg_config."
    elif not made:
        level, text = Level.NOTE, "not created in this database"
        advice = (
            "Batched joins over postgres_fdw need no more than the library. For the wrapper "
            "shuttle: CREATE EXTENSION pg_shuttle CASCADE;"
        )
    elif made != facts.has_files:
        level, text = Level.WARNING, f"version {made} here, {facts.has_files} in the files"
        advice = "ALTER EXTENSION pg_shuttle UPDATE;"
    elif made != __version__:
        level, text = Level.NOTE, f"version {made}, and this tool is {__version__}"
    yield Finding(level, text, advice)


def make_preload(setting: str, value: str | None) -> str:
    """The statement that adds the library to those that this server has in the setting."""
    if value is None:
        return (
            f"As a superuser: SHOW {setting}; then ALTER SYSTEM SET {setting} = with each name "
            f"it shows in quotes of its own, and '{EXTENSION}' last."
        )
    names = [name.strip().strip('"') for name in value.split(",")]
    quoted = ["'" + name.replace("'", "''") + "'" for name in [*names, EXTENSION] if name]
    return f"ALTER SYSTEM SET {setting} = {', '.join(quoted)};"


def check_library(facts: Facts) -> Iterator[Finding]:
    """Is the library loaded before the first statement of a session?"""
    # None: the setting is shown to superusers and members of pg_read_all_settings
    shared = facts.query.settings.get("shared_preload_libraries")
    session = facts.query.settings.get("session_preload_libraries")
    for_sessions = make_preload("session_preload_libraries", session)
    if facts.load_error:
        yield error(
            f"could not be loaded: {facts.load_error}",
            f"Have a superuser run: {for_sessions} SELECT pg_reload_conf();",
        )
    elif shared is not None and EXTENSION in shared:
        yield good("in shared_preload_libraries")
    elif facts.was_loaded and shared is None:
        yield good("loaded for each session")
    elif facts.was_loaded:
        yield note(
            "loaded for each session",
            "In shared_preload_libraries, the server also finishes commits after a crash, and "
            "shuttle.node_stats counts all sessions: "
            f"{make_preload('shared_preload_libraries', shared)} Then restart the server.",
        )
    else:
        yield warning(
            "not preloaded: nothing looks ahead before a session loads it",
            f"{for_sessions} SELECT pg_reload_conf();",
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
            yield warning(
                f"{name} is {value}: {meaning}",
                f"See source and sourcefile of {name} in pg_settings, and reset it there.",
            )


def check_partitionwise(facts: Facts) -> Iterator[Finding]:
    """May partitions that lie on one node be joined there?"""
    if facts.query.settings.get("enable_partitionwise_join") == "off" and facts.partitioned[1:]:
        yield note(
            f"enable_partitionwise_join is off; on nodes: {name_some(facts.partitioned)}",
            "Switched on, a node joins its partitions of equal bounds; planning is dearer.",
        )


def check_parents(facts: Facts) -> Iterator[Finding]:
    """Does the planner know what partitioned tables hold as a whole?"""
    if facts.unknown_parents:
        yield warning(
            f"never analyzed as a whole: {name_some(facts.unknown_parents)}",
            f"{make_analyze(facts.unknown_parents)} Joins are planned by these statistics, and "
            "not by those of partitions.",
        )


def check_servers(facts: Facts) -> Iterator[Finding]:
    """Is there anything to ask?"""
    if not facts.nodes:
        yield note(
            "no foreign server of postgres_fdw or shuttle in this database",
            "Define each node by CREATE SERVER, with the foreign data wrapper shuttle and the "
            "options host, port and dbname, and who it is asked as by CREATE USER MAPPING.",
        )
    if facts.is_standby and facts.nodes:
        yield note("this is a standby: nodes are not looked at from here")


def check_comparison(facts: Facts) -> Iterator[Finding]:
    """Have nodes the tables that they should have?"""
    if facts.not_compared:
        yield note(
            f"those on storage nodes were not compared: {facts.not_compared}",
            "Have a role that may run it run: SELECT * FROM shuttle.check();",
        )
    elif any(node.storage for node in facts.nodes) and not any(
        node.storage.problems for node in facts.nodes if node.storage
    ):
        yield good("storage nodes have what they should have")


QUERY_CHECKS: Mapping[Callable[[Facts], Iterator[Finding]], str] = {
    check_version: "version",
    check_extension: "extension",
    check_library: "library",
    check_settings: "settings",
    check_partitionwise: "settings",
    check_parents: "statistics",
    check_servers: "servers",
    check_comparison: "tables",
    check_standbys: "query nodes",
}


def name(found: Iterable[Finding], where: str, check: str) -> list[Finding]:
    return [replace(one, where=where, check=one.check or check) for one in found]


def find_all(facts: Facts) -> list[Finding]:
    found: list[Finding] = []
    for look, check in QUERY_CHECKS.items():
        found += name(look(facts), ALL_NODES, check)
    for node in facts.nodes:
        for look_there, check in NODE_CHECKS.items():
            found += name(look_there(facts, node), node.name, check)
        found += name(check_relations(facts, node), node.name, "definitions")
    return found
