"""Standbys that are query nodes, as pgshuttle doctor reads of them."""

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import StandbyFacts

# what the server knows of itself; no row: it is none
OWN = """
SELECT n.setting, coalesce(r.status = 'streaming', false), pg_is_wal_replay_paused(),
    coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::float8,
    coalesce(l.seconds, 0)::float8, f.setting = 'on'
FROM pg_settings n CROSS JOIN pg_settings f
    LEFT JOIN pg_stat_wal_receiver r ON true
    LEFT JOIN shuttle.query_node_leases l ON l.name = n.setting
WHERE n.name = 'shuttle.query_node_name' AND n.setting <> '' AND f.name = 'hot_standby_feedback'
"""

# lag is shown to pg_read_all_stats
REGISTERED = """
SELECT name, connected, coalesce(extract(epoch FROM replay_lag), 0)::float8,
    extract(epoch FROM lease)::float8
FROM shuttle.query_nodes WHERE role = 'standby' ORDER BY 1
"""


def read_standbys(connection: Connection, *, is_standby: bool) -> list[StandbyFacts]:
    """All that are registered; of a standby itself, if it has a name."""
    ((is_there,),) = read_rows(connection, "SELECT to_regclass('shuttle.query_nodes') IS NOT NULL")
    if not is_there:
        return []
    if is_standby:
        return [StandbyFacts(*row) for row in read_rows(connection, OWN)]
    return [
        StandbyFacts(name, is_connected, lag_seconds=lag, lease_seconds=lease)
        for name, is_connected, lag, lease in read_rows(connection, REGISTERED)
    ]
