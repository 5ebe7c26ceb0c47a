"""The checks of pgshuttle doctor that look at one node."""

from collections.abc import Callable, Iterator, Mapping

from pgshuttle.base.connections import quote
from pgshuttle.doctor.facts import Facts, NodeFacts
from pgshuttle.doctor.findings import Finding, error, good, note, warning

STALE_FACTOR = 2.0  # rows there, as a multiple of what the statistics here say
FEWEST_ROWS = 1000  # smaller tables are cheap whatever their statistics say
MOST_NAMES = 5  # tables that one finding names


def name_some(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def make_analyze(names: list[str]) -> str:
    """The statement that analyzes the tables that a finding names."""
    return f"ANALYZE {', '.join(names[:MOST_NAMES])};"


def check_rights(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """May this user reach the node at all?"""
    if not node.may_use:
        yield warning(
            f"{facts.user} may not use this server; it was not looked at",
            f"GRANT USAGE ON FOREIGN SERVER {quote(node.name)} TO {quote(facts.user)};",
        )
    elif not node.has_mapping:
        yield error(
            f"{facts.user} has no user mapping",
            f"CREATE USER MAPPING FOR {quote(facts.user)} SERVER {quote(node.name)}; Then give it, "
            "by ALTER USER MAPPING, the options user, if the role has another name there, and "
            "password, if the node asks for one.",
        )


def check_way(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Does it answer, and how far is it?"""
    if node.error:
        yield error(
            node.error,
            "See host and port of the server's options, the node's pg_hba.conf, and the user "
            "mapping.",
        )
    elif node.round_trip_ms is not None:
        version = node.server.settings.get("server_version", "of unknown version")
        text = f"PostgreSQL {version}, about {node.round_trip_ms:.2g} ms away, by {node.wrapper}"
        if node.trip_cost:
            text += f"; plans are made for a cost of {node.trip_cost}, by shuttle_round_trip_cost"
        elif node.planned_trip_ms is not None:
            text += f"; plans are made for {node.planned_trip_ms:.2g} ms"
        yield good(text)


def check_two_phase(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Could it take part in a commit over several nodes?"""
    several = sum(other.wrapper == "shuttle" for other in facts.nodes) > 1
    if several and node.server.settings.get("max_prepared_transactions") == "0":
        yield warning(
            "max_prepared_transactions is 0: a transaction can't write here and on another node",
            "Set it to max_connections there, and restart the node.",
        )


def check_standbys(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Could a promotion lose what the node has prepared?"""
    if node.follows_primary and node.server.settings.get("synchronous_standby_names") == "":
        yield warning(
            "no standby is synchronous: the promotion of one can lose this node's part of a "
            "commit that other nodes keep",
            "Set synchronous_standby_names there, or Patroni's synchronous_mode.",
        )


def check_extensions(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Has the node what the server's option says that it has?"""
    if not node.server.extensions:  # could not be read
        return
    for name in node.shipped_extensions:
        there = node.server.extensions.get(name)
        here = facts.query.extensions.get(name)
        if there is None:
            yield error(
                f"the option extensions names {name}, which is missing there",
                f"Run on the node: CREATE EXTENSION {quote(name)}; Or take it out of the option.",
            )
        elif here is not None and here != there:
            yield warning(f"{name} is {here} here and {there} there")


def check_sameness(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Do both sides sort, convert and reckon alike?"""
    here, there = facts.query, node.server
    for name, label, meaning in (
        ("server_encoding", "encoding", "values are converted, and some may not be able to be"),
        ("block_size", "block size", "pages are estimated with the size of this side"),
    ):
        mine, its = here.settings.get(name), there.settings.get(name)
        if its is not None and mine != its:
            yield warning(f"{mine} here and {its} there: {meaning}", check=label)
    if there.collation and here.collation != there.collation:
        text = f"{here.collation} here and {there.collation} there: text sorts differently"
        advice = 'Create both databases with one collation, or use COLLATE "C" for keys.'
        yield warning(text, advice, check="collation")
    elif there.collation_version and here.collation_version != there.collation_version:
        text = (
            f"version {here.collation_version or 'unknown'} here and {there.collation_version} "
            "there: some texts may sort differently"
        )
        advice = "Bring both systems to one release of their C library or ICU, then REINDEX."
        yield warning(text, advice, check="collation")
    if there.time_zones and here.time_zones != there.time_zones:
        yield warning(
            "their data differs: a time with a zone may be another moment there",
            "Bring tzdata (or PostgreSQL, where it has its own) to one release on both sides.",
        )


def check_statistics(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Does the planner know how large the tables are?"""
    never = [table for table in node.tables if table.rows_here < 0]
    stale = [
        table
        for table in node.tables
        if table.rows_here >= 0
        and table.rows_there is not None
        and max(table.rows_here, table.rows_there) > FEWEST_ROWS
        and not 1 / STALE_FACTOR < (table.rows_here + 1) / (table.rows_there + 1) < STALE_FACTOR
    ]
    for tables, text in (
        (never, "never analyzed"),
        (stale, f"statistics over {STALE_FACTOR:g} times wrong"),
    ):
        if tables:
            names = name_some([table.name for table in tables])
            # of partitions: joins are planned by the statistics of the whole table
            whole = list(dict.fromkeys(table.root or table.name for table in tables))
            yield warning(f"{text}: {names}", make_analyze(whole))
    ncompared = sum(table.rows_there is not None for table in node.tables)
    if ncompared and not never and not stale:
        compared = f"{ncompared} foreign table{'s' if ncompared > 1 else ''}"
        text = f"row counts of {compared} are near those of the node"
        yield good(text)


def check_storage(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Can it hold tables, and has it what it should have?"""
    storage = node.storage
    if storage is None:
        return
    lacks = [name for name in facts.used_extensions if name not in node.server.extensions]
    if not storage.may_look:
        yield note(
            f"{facts.user} may not call shuttle.use_node(): it was not checked",
        )
    elif storage.refusal:
        yield error(storage.refusal, storage.hint)
    if node.server.extensions and lacks:
        text = f"lacks {name_some(lacks)}, whose types tables here have"
        advice = "Before such tables are distributed, run on the node: "
        advice += " ".join(f"CREATE EXTENSION {quote(name)};" for name in lacks)
        yield warning(text, advice)
    if storage.power != "ok":
        yield warning(f"what the remote user may do there: {storage.power}", storage.advice)
    if storage.closed_schemas:
        yield warning(
            f"the remote user may not create tables in {storage.closed_schemas}",
            f"Run on the node: GRANT CREATE ON SCHEMA {storage.closed_schemas} TO "
            f"{storage.remote_user};",
        )
    for problem, hint in storage.problems:
        yield error(problem, hint, check="tables")


NODE_CHECKS: Mapping[Callable[[Facts, NodeFacts], Iterator[Finding]], str] = {
    check_rights: "privileges",
    check_way: "reachable",
    check_two_phase: "prepared transactions",
    check_standbys: "standbys",
    check_extensions: "extensions",
    check_sameness: "time zones",
    check_statistics: "statistics",
    check_storage: "storage node",
}
