"""The nodes of the page: what is known of each here, and what it says itself."""

from dataclasses import dataclass
from typing import Any

import psycopg

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.console.texts import Action, literal
from pgshuttle.look import node_rates
from pgshuttle.look.node_rates import Moment
from pgshuttle.look.target import first_line

# of one answer: with the time that a cancelled connection attempt takes, below the 5 s
# after which the page has to know
PROBE_MS = 1500

SERVERS = """
SELECT s.srvname::text, coalesce(o.host, ''), coalesce(o.port, '5432'), coalesce(o.dbname, ''),
    coalesce(o.tags, ''), coalesce(o.holds, 'false')::bool, stats.round_trip_ms,
    (SELECT max(paused_until) > now() FROM shuttle.nodes n WHERE n.server = s.srvname)
FROM shuttle.node_stats stats JOIN pg_foreign_server s ON s.srvname = stats.server,
    LATERAL (SELECT
        max(option_value) FILTER (WHERE option_name IN ('host', 'hostaddr')) AS host,
        max(option_value) FILTER (WHERE option_name = 'port') AS port,
        max(option_value) FILTER (WHERE option_name = 'dbname') AS dbname,
        max(option_value) FILTER (WHERE option_name = 'shuttle_tags') AS tags,
        max(option_value) FILTER (WHERE option_name = 'shuttle_holds_tablets') AS holds
     FROM pg_options_to_table(s.srvoptions)) o
ORDER BY s.srvname
"""

# Asked of every server, the query node too. Roles without privileges see these numbers as well.
SELF = """
SELECT pg_catalog.pg_is_in_recovery() AS standby,
    pg_catalog.current_setting('server_version') AS version,
    (SELECT pg_catalog.sum(numbackends) FROM pg_catalog.pg_stat_database)::int AS connections,
    pg_catalog.current_setting('max_connections')::int
        - pg_catalog.current_setting('superuser_reserved_connections')::int AS max_connections,
    (SELECT pg_catalog.count(*) FROM pg_catalog.pg_prepared_xacts)::int AS prepared,
    pg_catalog.current_setting('max_prepared_transactions')::int AS max_prepared
"""

ASK = "SELECT ok, result->0, coalesce(error, '') FROM shuttle.run_on_nodes(%s, ARRAY[%s::name])"
SESSIONS = (
    "SELECT result FROM shuttle.run_on_nodes('SELECT pid, usename, state, query "
    "FROM pg_stat_activity', ARRAY[NODE]::name[]);"
)
NUMBERS = ("connections", "max_connections", "prepared", "max_prepared")


@dataclass(frozen=True)
class Server:
    """What the query node knows of a node, without asking it."""

    name: str
    host: str
    port: str
    database: str
    tags: str
    holds_tablets: bool
    trip_ms: float | None
    is_paused: bool | None


@dataclass(frozen=True)
class Probe:
    """What a node answered. is_up: None if this role may not ask."""

    is_up: bool | None
    error: str = ""
    answer: dict[str, Any] | None = None


@dataclass(frozen=True)
class Look:
    """The query node's view of its nodes, at one moment."""

    servers: tuple[Server, ...]
    moment: Moment
    own: dict[str, Any]


def read_own(connection: Connection) -> dict[str, Any]:
    ((row,),) = read_rows(connection, f"SELECT row_to_json(own) FROM ({SELF}) own")  # noqa: S608
    return dict(row)


def read_look(connection: Connection) -> Look:
    servers = tuple(Server(*row) for row in read_rows(connection, SERVERS))
    return Look(servers, node_rates.read_moment(connection), read_own(connection))


def probe(connection: Connection, name: str) -> Probe:
    """Asks a node for itself, by a connection of its own."""
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL statement_timeout = {PROBE_MS}".encode())
            ((is_up, answer, error),) = read_rows(connection, ASK, SELF, name)
    except psycopg.errors.InsufficientPrivilege as refusal:
        return Probe(None, first_line(refusal))
    except psycopg.errors.QueryCanceled:
        return Probe(False, f"no answer within {PROBE_MS / 1000:g} s")
    if not is_up:
        return Probe(False, error)
    values = {**answer, **{name: int(answer[name]) for name in NUMBERS}}
    return Probe(True, "", values | {"standby": answer["standby"] in ("t", "true", True)})


def list_actions(server: Server) -> list[Action]:
    name = literal(server.name)
    pause = Action("let transactions go on", f"SELECT shuttle.resume_node({name});")
    if not server.is_paused:
        pause = Action(
            "hold new transactions back for 30 s, for a restart",
            f"SELECT shuttle.pause_node({name});",
        )
    actions = [
        pause,
        Action("count anew", f"SELECT shuttle.reset_node_stats({name});"),
        Action(
            "sessions on it",
            SESSIONS.replace("NODE", name),
        ),
    ]
    if server.holds_tablets:
        actions.append(Action("move its tablets away", f"CALL shuttle.drain_node({name});"))
        actions.append(Action("take it out, once empty", f"SELECT shuttle.remove_node({name});"))
    return actions


def name_state(server: Server, found: Probe | None) -> str:
    if found is None or found.is_up is None:
        return "unknown"
    if not found.is_up:
        return "away"
    return "paused" if server.is_paused else "up"


def describe(
    server: Server, found: Probe | None, since_s: float, rates: node_rates.NodeCounts | None
) -> dict[str, Any]:
    """Says what the page shows of a node. since_s: when its state began, in seconds of 1970."""
    answer = (found.answer if found else None) or {}
    is_standby = answer.get("standby")
    return {
        "name": server.name,
        "kind": "storage" if server.holds_tablets else "foreign server",
        "state": name_state(server, found),
        "since": since_s,
        "error": found.error if found else "",
        "role": "" if is_standby is None else "standby" if is_standby else "primary",
        "host": f"{server.host}:{server.port}" if "," not in server.host else server.host,
        "database": server.database,
        "tags": server.tags,
        "trip_ms": server.trip_ms,
        "requests": rates.requests if rates else 0,
        "received": rates.bytes_received if rates else 0,
        "sent": rates.bytes_sent if rates else 0,
        "waiting": rates.waiting_ms / 1000 if rates else 0,
        "errors": rates.errors if rates else 0,
        **{name: answer.get(name) for name in ("version", *NUMBERS)},
        "actions": [action.describe() for action in list_actions(server)],
    }


def describe_own(own: dict[str, Any], place: str) -> dict[str, Any]:
    """Says what the page shows of the query node."""
    return {
        "name": "query node",
        "kind": "query",
        "state": "up",
        "error": "",
        "role": "standby" if own["standby"] else "primary",
        "host": place,
        **{name: own[name] for name in ("version", *NUMBERS)},
        "actions": [],
    }
